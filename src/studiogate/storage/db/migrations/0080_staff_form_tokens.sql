-- migrate:up
-- Forms of the console that took effect: a form that is sent twice takes effect once. The token is claimed in the
-- transaction of the effect. Housekeeping deletes old ones.

create table staff_form_tokens (
    studio_id uuid not null references studios (studio_id),
    account_id uuid not null references staff_accounts (id),
    token text not null check (token <> ''),
    claimed_at timestamptz not null default clock_timestamp(),
    -- Where the first answer led to, so that the second one leads there too.
    location text,
    constraint staff_form_tokens_pkey primary key (studio_id, account_id, token)
);
create index staff_form_tokens_by_age on staff_form_tokens (studio_id, claimed_at);
