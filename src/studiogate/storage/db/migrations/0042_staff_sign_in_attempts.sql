-- migrate:up
-- Attempts that count against the limits of signing in and of asking for a password reset. What was typed as an email
-- is not stored, only its hash: it may be anybody's.

create table staff_sign_in_attempts (
    id uuid not null,
    kind text not null check (kind in ('sign_in', 'password_reset')),
    email_key bytea not null check (octet_length(email_key) = 32),
    address text not null,
    attempted_at timestamptz not null default clock_timestamp(),
    constraint staff_sign_in_attempts_pkey primary key (id)
);
create index staff_sign_in_attempts_of_email on staff_sign_in_attempts (kind, email_key, attempted_at);
create index staff_sign_in_attempts_of_address on staff_sign_in_attempts (kind, address, attempted_at);
create index staff_sign_in_attempts_by_age on staff_sign_in_attempts (attempted_at);
