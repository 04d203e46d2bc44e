-- migrate:up
-- How pages and mails write times and dates. Null: as is usual in the studio's country.
alter table studios add column hour_cycle text;
alter table studios add column date_order text;
