-- migrate:up

-- What all processes of an installation must agree on. The fingerprint is a keyed hash: it tells whether a process has
-- the same secret key as the others, and nothing about the key.
create table deployment (
    only_row boolean not null default true check (only_row),
    key_fingerprint bytea not null check (length(key_fingerprint) = 16),
    constraint deployment_pkey primary key (only_row)
);

-- Sealing an endpoint's secret anew under another key changes nothing that partners see.
drop trigger touch on webhook_endpoints;
create trigger touch before update on webhook_endpoints for each row
    when (current_setting('studiogate.resealing', true) is distinct from 'on')
    execute function touch_updated_at();
