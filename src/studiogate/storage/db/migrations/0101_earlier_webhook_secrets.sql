-- migrate:up

-- Secrets of a webhook endpoint that were replaced before its previous one and still sign, each until its own end, the
-- latest first. Processes of an earlier release ignore them, and know only the previous secret.
alter table webhook_endpoints add column earlier_secrets bytea[] not null default '{}';
alter table webhook_endpoints add column earlier_secrets_until timestamptz[] not null default '{}';
