-- migrate:up
-- What the worker that reported last said about itself: when, and whether it has a server for mails. Commands read it,
-- because their own settings are those of a shell. Workers of an earlier release report nothing.
alter table deployment add column worker_seen_at timestamptz;
alter table deployment add column worker_sends_mail boolean;
