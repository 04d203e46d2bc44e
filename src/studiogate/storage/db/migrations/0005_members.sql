-- migrate:up

create table members (
    studio_id uuid not null references studios (studio_id),
    id uuid not null,
    first_name text not null,
    last_name text not null,
    name text not null generated always as (btrim(first_name || ' ' || last_name)) stored,
    email text check (email <> ''),
    phone text,
    role text not null default 'member' check (role in ('member', 'user', 'lead')),
    membership_type text,
    membership_start_date timestamptz,
    membership_end_date timestamptz,
    suspended boolean not null default false,
    staff_notes text not null default '',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint members_pkey primary key (studio_id, id)
);
create unique index members_email_key on members (studio_id, email);
create index members_list on members (studio_id, created_at desc, id desc);
create index members_changed on members (studio_id, updated_at, created_at, id);

create table memberships (
    studio_id uuid not null,
    id uuid not null,
    member_id uuid not null,
    product_id uuid not null,
    status text not null check (status in ('pending', 'active', 'paused', 'past_due', 'cancelled', 'expired')),
    auto_renew boolean not null default false,
    state_version integer not null default 1 check (state_version >= 1),
    started_at timestamptz,
    current_period_start timestamptz,
    current_period_end timestamptz,
    paused_at timestamptz,
    pause_starts_at timestamptz,
    pause_ends_at timestamptz,
    pause_reason text,
    cancel_at_period_end boolean not null default false,
    cancel_at timestamptz,
    cancelled_at timestamptz,
    cancellation_reason text,
    ended_at timestamptz,
    credits_granted integer check (credits_granted >= 0),
    credits_remaining integer,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint memberships_pkey primary key (studio_id, id),
    constraint memberships_credits_never_negative check (credits_remaining >= 0),
    constraint memberships_member_fkey foreign key (studio_id, member_id) references members (studio_id, id),
    constraint memberships_product_fkey foreign key (studio_id, product_id) references products (studio_id, id)
);
create index memberships_of_member on memberships (studio_id, member_id, created_at desc, id desc);
-- What housekeeping looks for: a period, a pause or a term that is due to change.
create index memberships_period_due on memberships (studio_id, current_period_end) where status = 'active';
create index memberships_pause_due on memberships (studio_id, pause_starts_at)
    where status = 'active' and pause_starts_at is not null;
create index memberships_resume_due on memberships (studio_id, pause_ends_at)
    where status = 'paused' and pause_ends_at is not null;

create table leads (
    studio_id uuid not null references studios (studio_id),
    id uuid not null,
    email text not null check (email <> ''),
    first_name text not null default '',
    last_name text not null default '',
    phone text,
    source text,
    status text not null default 'new'
        check (status in ('new', 'contacted', 'qualified', 'unqualified', 'converted', 'lost')),
    lifecycle_stage text default 'lead'
        check (lifecycle_stage in ('lead', 'trial', 'member', 'former_member')),
    metadata jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
    staff_notes text not null default '',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint leads_pkey primary key (studio_id, id),
    constraint leads_email_key unique (studio_id, email)
);
create index leads_list on leads (studio_id, created_at desc, id desc);
create index leads_changed on leads (studio_id, updated_at, created_at, id);

create trigger touch before update on members for each row execute function touch_updated_at();
create trigger touch before update on memberships for each row execute function touch_updated_at();
create trigger touch before update on leads for each row execute function touch_updated_at();
