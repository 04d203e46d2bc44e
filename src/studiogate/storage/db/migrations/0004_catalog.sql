-- migrate:up
-- Money is numeric without a fixed scale: it is stored with its currency's own number of decimals and leaves as
-- it is kept.

create table products (
    studio_id uuid not null references studios (studio_id),
    id uuid not null,
    key text not null check (key <> ''),
    name text not null,
    product_type text not null,
    active boolean not null default true,
    client_visible boolean not null default true,
    credits_granted integer check (credits_granted >= 0),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint products_pkey primary key (studio_id, id),
    constraint products_key_key unique (studio_id, key)
);
create index products_list on products (studio_id, active, created_at desc, id desc);

create table product_locations (
    studio_id uuid not null,
    product_id uuid not null,
    location_id uuid not null,
    constraint product_locations_pkey primary key (studio_id, product_id, location_id),
    constraint product_locations_product_fkey foreign key (studio_id, product_id) references products (studio_id, id),
    constraint product_locations_location_fkey
        foreign key (studio_id, location_id) references locations (studio_id, id)
);

create table product_class_types (
    studio_id uuid not null,
    product_id uuid not null,
    class_type_id uuid not null,
    constraint product_class_types_pkey primary key (studio_id, product_id, class_type_id),
    constraint product_class_types_product_fkey
        foreign key (studio_id, product_id) references products (studio_id, id),
    constraint product_class_types_class_type_fkey
        foreign key (studio_id, class_type_id) references class_types (studio_id, id)
);

create table prices (
    studio_id uuid not null,
    id uuid not null,
    product_id uuid not null,
    amount numeric not null check (amount >= 0),
    currency text not null check (currency ~ '^[A-Z]{3}$'),
    price_type text not null check (price_type in ('one_time', 'recurring')),
    "interval" text check ("interval" in ('day', 'week', 'month', 'year')),
    "default" boolean not null default false,
    active boolean not null default true,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint prices_pkey primary key (studio_id, id),
    constraint prices_interval_when_recurring check (("interval" is not null) = (price_type = 'recurring')),
    constraint prices_product_fkey foreign key (studio_id, product_id) references products (studio_id, id)
);
create index prices_of_product on prices (studio_id, product_id, created_at desc, id desc);

create table price_locations (
    studio_id uuid not null,
    price_id uuid not null,
    location_id uuid not null,
    constraint price_locations_pkey primary key (studio_id, price_id, location_id),
    constraint price_locations_price_fkey foreign key (studio_id, price_id) references prices (studio_id, id),
    constraint price_locations_location_fkey foreign key (studio_id, location_id) references locations (studio_id, id)
);

create trigger touch before update on products for each row execute function touch_updated_at();
create trigger touch before update on prices for each row execute function touch_updated_at();
