-- migrate:up
-- The request that claimed the token of a form, so that its later transactions find the claim to be theirs. Claims of an
-- earlier release have none and stay used.
alter table staff_form_tokens add column request_id uuid;
