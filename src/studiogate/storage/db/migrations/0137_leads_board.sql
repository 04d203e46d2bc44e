-- migrate:up
-- The board of leads reads each status, or each status of one source, the newest first.
create index concurrently leads_by_status on leads (studio_id, status, created_at desc, id desc);
-- migrate:step
create index concurrently leads_by_source on leads (studio_id, coalesce(source, ''), status, created_at desc, id desc);
