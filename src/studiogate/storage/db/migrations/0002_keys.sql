-- migrate:up
-- The directory of credentials. A key names its credential by a globally unique id, because the studio is not
-- known before the key is: looking it up is one of the few statements that do not start from a studio_id.

create table credentials (
    studio_id uuid not null references studios (studio_id),
    id text not null check (id ~ '^[0-9A-Za-z]{8}$'),
    name text not null check (name <> ''),
    scopes text[] not null check (cardinality(scopes) > 0),
    location_ids uuid[] check (cardinality(location_ids) > 0),
    expires_at timestamptz,
    rate_limit integer check (rate_limit > 0),
    created_by text not null,
    last_used_at timestamptz,
    revoked_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint credentials_pkey primary key (studio_id, id),
    constraint credentials_id_key unique (id)
);

create table credential_secrets (
    studio_id uuid not null,
    credential_id text not null,
    secret_hash bytea not null check (octet_length(secret_hash) = 32),
    expires_at timestamptz,
    created_at timestamptz not null default now(),
    constraint credential_secrets_pkey primary key (studio_id, credential_id, secret_hash),
    constraint credential_secrets_credential_fkey
        foreign key (studio_id, credential_id) references credentials (studio_id, id)
);

create trigger touch before update on credentials for each row execute function touch_updated_at();
