-- migrate:up

create table purchases (
    studio_id uuid not null,
    id uuid not null,
    member_id uuid not null,
    product_id uuid,
    product_key text not null,
    product_type text not null,
    quantity integer not null default 1 check (quantity >= 1),
    amount_total numeric check (amount_total >= 0),
    currency text check (currency ~ '^[A-Z]{3}$'),
    refunded_amount numeric check (refunded_amount >= 0),
    status text check (status in ('pending', 'completed', 'failed', 'cancelled', 'partially_refunded', 'refunded')),
    location_id uuid,
    booking_id uuid,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint purchases_pkey primary key (studio_id, id),
    constraint purchases_member_fkey foreign key (studio_id, member_id) references members (studio_id, id),
    constraint purchases_product_fkey foreign key (studio_id, product_id) references products (studio_id, id),
    constraint purchases_location_fkey foreign key (studio_id, location_id) references locations (studio_id, id),
    constraint purchases_booking_fkey foreign key (studio_id, booking_id) references bookings (studio_id, id)
);
create unique index purchases_one_fee_a_booking on purchases (studio_id, booking_id) where booking_id is not null;
create index purchases_list on purchases (studio_id, created_at desc, id desc);
create index purchases_of_member on purchases (studio_id, member_id, created_at desc, id desc);
create index purchases_by_location on purchases (studio_id, location_id, created_at desc, id desc);
create index purchases_changed on purchases (studio_id, updated_at, created_at, id);

create trigger touch before update on purchases for each row execute function touch_updated_at();
