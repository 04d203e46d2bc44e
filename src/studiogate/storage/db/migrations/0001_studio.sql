-- migrate:up
-- Every table carries studio_id and every key starts with it: a row of one studio cannot point at another's.

create function touch_updated_at() returns trigger language plpgsql as $$
begin
    -- The moment of the change, not of the transaction's start: a reader that asks for what changed since its
    -- last visit then misses as little as a clock allows.
    new.updated_at := clock_timestamp();
    return new;
end
$$;

create table studios (
    studio_id uuid not null,
    name text not null check (name <> ''),
    slug text not null check (slug ~ '^[a-z0-9](-?[a-z0-9])*$'),
    timezone text not null,
    logo_url text,
    primary_color text,
    currency text not null check (currency ~ '^[A-Z]{3}$'),
    country text not null check (country ~ '^[A-Z]{2}$'),
    test boolean not null default false,
    policy jsonb not null default '{}' check (jsonb_typeof(policy) = 'object'),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint studios_pkey primary key (studio_id),
    constraint studios_slug_key unique (slug)
);

create table locations (
    studio_id uuid not null references studios (studio_id),
    id uuid not null,
    name text not null,
    city text not null,
    state text not null,
    timezone text not null,
    active boolean not null default true,
    is_primary boolean not null default false,
    policy jsonb not null default '{}' check (jsonb_typeof(policy) = 'object'),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint locations_pkey primary key (studio_id, id)
);
create index locations_list on locations (studio_id, created_at desc, id desc);
create unique index locations_one_primary on locations (studio_id) where is_primary;

create trigger touch before update on studios for each row execute function touch_updated_at();
create trigger touch before update on locations for each row execute function touch_updated_at();
