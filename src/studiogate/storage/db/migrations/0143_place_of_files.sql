-- migrate:up
-- Where a file is: the name of a folder, which is that of the machine that received it, or the bucket. Null: not known.
alter table form_uploads add column place text;
-- migrate:step
alter table pictures add column place text;
