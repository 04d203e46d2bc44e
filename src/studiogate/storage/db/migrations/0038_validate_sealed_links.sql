-- migrate:up

-- Writers are not stopped while the rows that were there before 0037 are checked.
alter table studio_secrets validate constraint studio_secrets_link_secret_check;
