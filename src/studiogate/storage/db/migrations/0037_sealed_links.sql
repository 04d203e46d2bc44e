-- migrate:up

-- Link secrets are 32 bytes as they are, or 60 bytes sealed (nonce, secret, tag). Processes of an earlier release do
-- not know the sealed form, so an installation that has studios keeps what it has until `secrets rotate` seals it.
alter table deployment add column seals_links boolean not null default false;
-- migrate:step
-- squawk-ignore ban-drop-constraint
alter table studio_secrets drop constraint studio_secrets_link_secret_check;
alter table studio_secrets add constraint studio_secrets_link_secret_check
    check (length(link_secret) in (32, 60)) not valid;
-- migrate:step
create index concurrently studio_secrets_unsealed on studio_secrets (studio_id) where length(link_secret) = 32;
