-- migrate:up
-- People who work at studios. One person may work at several, with one password: accounts, their sessions, links and
-- attempts to sign in belong to no studio. They are found by an email or by a secret before any studio is known.

create table staff_accounts (
    id uuid not null,
    email text not null check (email <> ''),
    name text not null default '',
    -- argon2id with its parameters and salt; null until the person has chosen one.
    password_hash text check (password_hash like '$argon2id$%'),
    -- Sealed with the deployment's key. It counts once the person has confirmed it with a code.
    totp_secret bytea,
    totp_confirmed_at timestamptz,
    totp_last_step bigint,
    disabled_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint staff_accounts_pkey primary key (id),
    constraint staff_accounts_second_factor check (totp_confirmed_at is null or totp_secret is not null)
);
create unique index staff_accounts_email_key on staff_accounts (lower(email));
create trigger touch before update on staff_accounts for each row execute function touch_updated_at();

-- What an account may do in a studio. Ids of locations are checked when the role is given, as those of keys are.
create table staff_roles (
    studio_id uuid not null references studios (studio_id),
    account_id uuid not null references staff_accounts (id),
    role text not null check (role in ('owner', 'manager', 'front_desk', 'instructor', 'developer')),
    location_ids uuid[] check (cardinality(location_ids) > 0),
    instructor_id uuid,
    disabled_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint staff_roles_pkey primary key (studio_id, account_id),
    constraint staff_roles_instructor_fkey
        foreign key (studio_id, instructor_id) references instructors (studio_id, id),
    constraint staff_roles_instructor_has_one check ((role = 'instructor') = (instructor_id is not null))
);
create index staff_roles_of_account on staff_roles (account_id);
create trigger touch before update on staff_roles for each row execute function touch_updated_at();
