-- migrate:up
-- Staff filter the board of leads by the form that was sent last.
create index concurrently leads_by_form on leads
    (studio_id, (metadata -> 'form_submissions' -> -1 ->> 'form_id'), status, created_at desc, id desc)
    where metadata -> 'form_submissions' -> -1 ->> 'form_id' is not null;
