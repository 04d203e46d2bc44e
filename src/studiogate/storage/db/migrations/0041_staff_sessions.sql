-- migrate:up
-- Secrets that let a person in. Only hashes of them are stored.

create table staff_links (
    id uuid not null,
    account_id uuid not null references staff_accounts (id),
    purpose text not null check (purpose in ('invitation', 'password_reset', 'sign_in')),
    token_hash bytea not null check (octet_length(token_hash) = 32),
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at timestamptz,
    constraint staff_links_pkey primary key (id),
    constraint staff_links_token_key unique (token_hash)
);
create index staff_links_of_account on staff_links (account_id);
create index staff_links_by_age on staff_links (expires_at);

create table staff_sessions (
    id uuid not null,
    account_id uuid not null references staff_accounts (id),
    -- The studio that the person works in at the moment. Their role there is looked up with every request.
    chosen_studio_id uuid not null references studios (studio_id),
    token_hash bytea not null check (octet_length(token_hash) = 32),
    address text not null,
    user_agent text not null,
    created_at timestamptz not null default clock_timestamp(),
    last_used_at timestamptz not null default clock_timestamp(),
    -- When the person last typed their password; null if they came by a link.
    password_at timestamptz,
    expires_at timestamptz not null,
    ended_at timestamptz,
    constraint staff_sessions_pkey primary key (id),
    constraint staff_sessions_token_key unique (token_hash)
);
create index staff_sessions_of_account on staff_sessions (account_id, created_at);
create index staff_sessions_by_age on staff_sessions (expires_at);
