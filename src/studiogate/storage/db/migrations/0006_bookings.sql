-- migrate:up
-- location_id on bookings and waitlist entries is a copy of their class's, so that a key restricted to locations
-- pages along an index; start_time and end_time on bookings are copies too, so that a member's day and overlaps are
-- one short stretch of an index. Whoever moves a class (an import) moves the copies; the doctor compares them.

create table bookings (
    studio_id uuid not null,
    id uuid not null,
    class_id uuid not null,
    member_id uuid not null,
    location_id uuid,
    start_time timestamptz not null,
    end_time timestamptz not null,
    status text not null check (status in ('waitlisted', 'confirmed', 'checked_in', 'no_show', 'cancelled')),
    booking_source text,
    class_spot_id uuid,
    membership_id uuid,
    credits_taken integer not null default 0 check (credits_taken in (0, 1)),
    policy jsonb,
    promoted_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint bookings_pkey primary key (studio_id, id),
    constraint bookings_class_fkey foreign key (studio_id, class_id) references classes (studio_id, id),
    constraint bookings_member_fkey foreign key (studio_id, member_id) references members (studio_id, id),
    constraint bookings_location_fkey foreign key (studio_id, location_id) references locations (studio_id, id),
    constraint bookings_spot_fkey foreign key (studio_id, class_spot_id) references room_spots (studio_id, id),
    constraint bookings_membership_fkey foreign key (studio_id, membership_id) references memberships (studio_id, id)
);
-- The last line of defence: at most one live booking a member, at most one live holder a spot.
create unique index bookings_one_live on bookings (studio_id, class_id, member_id) where status <> 'cancelled';
create unique index bookings_spot_held_once on bookings (studio_id, class_id, class_spot_id)
    where status <> 'cancelled' and class_spot_id is not null;
create index bookings_list on bookings (studio_id, created_at desc, id desc);
create index bookings_by_status on bookings (studio_id, status, created_at desc, id desc);
create index bookings_by_location on bookings (studio_id, location_id, status, created_at desc, id desc);
create index bookings_of_class on bookings (studio_id, class_id, created_at desc, id desc);
create index bookings_of_member on bookings (studio_id, member_id, created_at desc, id desc);
create index bookings_of_member_by_time on bookings (studio_id, member_id, start_time)
    where status in ('confirmed', 'checked_in', 'no_show');
create index bookings_changed on bookings (studio_id, updated_at, created_at, id);

create table waitlist_entries (
    studio_id uuid not null,
    id uuid not null,
    class_id uuid not null,
    member_id uuid not null,
    booking_id uuid not null,
    location_id uuid,
    position integer check (position >= 1),
    status text not null check (status in ('waiting', 'offered', 'converted', 'expired', 'cancelled')),
    promoted_at timestamptz,
    skip_reason text,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint waitlist_entries_pkey primary key (studio_id, id),
    constraint waitlist_entries_position_while_waiting check ((status = 'waiting') = (position is not null)),
    constraint waitlist_entries_booking_key unique (studio_id, booking_id),
    constraint waitlist_entries_class_fkey foreign key (studio_id, class_id) references classes (studio_id, id),
    constraint waitlist_entries_member_fkey foreign key (studio_id, member_id) references members (studio_id, id),
    constraint waitlist_entries_booking_fkey foreign key (studio_id, booking_id) references bookings (studio_id, id),
    constraint waitlist_entries_location_fkey
        foreign key (studio_id, location_id) references locations (studio_id, id)
);
create unique index waitlist_entries_one_waiting on waitlist_entries (studio_id, class_id, member_id)
    where status = 'waiting';
create index waitlist_entries_list on waitlist_entries (studio_id, created_at desc, id desc);
create index waitlist_entries_by_status on waitlist_entries (studio_id, status, created_at desc, id desc);
create index waitlist_entries_by_location on waitlist_entries (studio_id, location_id, status, created_at desc, id desc);
create index waitlist_entries_of_class on waitlist_entries (studio_id, class_id, created_at desc, id desc);
create index waitlist_entries_of_member on waitlist_entries (studio_id, member_id, created_at desc, id desc);
create index waitlist_entries_changed on waitlist_entries (studio_id, updated_at, created_at, id);

create trigger touch before update on bookings for each row execute function touch_updated_at();
create trigger touch before update on waitlist_entries for each row execute function touch_updated_at();
