-- migrate:up
-- The console finds the events of one resource. Only numbered events are in the index: requests that write events do not
-- maintain it.
create index concurrently events_by_subject on events (studio_id, subject, sequence) where sequence is not null;
