-- migrate:up

create table rooms (
    studio_id uuid not null,
    id uuid not null,
    location_id uuid not null,
    name text not null,
    capacity integer not null check (capacity >= 0),
    active boolean not null default true,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint rooms_pkey primary key (studio_id, id),
    constraint rooms_location_fkey foreign key (studio_id, location_id) references locations (studio_id, id)
);
create index rooms_list on rooms (studio_id, created_at desc, id desc);
create index rooms_by_location on rooms (studio_id, location_id, created_at desc, id desc);

create table room_spots (
    studio_id uuid not null,
    id uuid not null,
    room_id uuid not null,
    label text not null,
    x double precision,
    y double precision,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint room_spots_pkey primary key (studio_id, id),
    constraint room_spots_label_key unique (studio_id, room_id, label),
    constraint room_spots_room_fkey foreign key (studio_id, room_id) references rooms (studio_id, id)
);
create index room_spots_list on room_spots (studio_id, room_id, created_at desc, id desc);

create table class_types (
    studio_id uuid not null references studios (studio_id),
    id uuid not null,
    name text not null,
    description text,
    beginner_safe boolean,
    recovery boolean,
    policy jsonb not null default '{}' check (jsonb_typeof(policy) = 'object'),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint class_types_pkey primary key (studio_id, id)
);
create index class_types_list on class_types (studio_id, created_at desc, id desc);

create table instructors (
    studio_id uuid not null references studios (studio_id),
    id uuid not null,
    name text not null,
    tagline text not null default '',
    tags text[] not null default '{}',
    active boolean not null default true,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint instructors_pkey primary key (studio_id, id)
);
create index instructors_list on instructors (studio_id, created_at desc, id desc) where active;

-- in_progress and completed follow from the clock and are not stored. The seat counters live on the class row:
-- whoever changes them holds its lock.
create table classes (
    studio_id uuid not null references studios (studio_id),
    id uuid not null,
    title text not null,
    description text,
    class_type_id uuid,
    location_id uuid,
    room_id uuid,
    instructor_id uuid,
    start_time timestamptz not null,
    end_time timestamptz not null,
    capacity integer not null check (capacity >= 0),
    booked_count integer not null default 0,
    waitlist_count integer not null default 0 check (waitlist_count >= 0),
    allow_waitlist boolean not null default true,
    spot_selection_mode text check (spot_selection_mode in ('optional', 'required')),
    status text not null default 'scheduled' check (status in ('scheduled', 'cancelled')),
    visible boolean not null default true,
    policy jsonb not null default '{}' check (jsonb_typeof(policy) = 'object'),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint classes_pkey primary key (studio_id, id),
    constraint classes_never_oversold check (booked_count between 0 and capacity),
    -- A week at most: the list of classes in progress looks back exactly that far.
    constraint classes_duration check (end_time > start_time and end_time <= start_time + interval '7 days'),
    -- Far from the calendar's ends, so that policies and days can be counted from any class.
    constraint classes_calendar check (start_time >= '1970-01-01T00:00:00Z' and start_time < '2200-01-01T00:00:00Z'),
    constraint classes_class_type_fkey foreign key (studio_id, class_type_id) references class_types (studio_id, id),
    constraint classes_location_fkey foreign key (studio_id, location_id) references locations (studio_id, id),
    constraint classes_room_fkey foreign key (studio_id, room_id) references rooms (studio_id, id),
    constraint classes_instructor_fkey foreign key (studio_id, instructor_id) references instructors (studio_id, id)
);
create index classes_list on classes (studio_id, start_time, id);
create index classes_by_location on classes (studio_id, location_id, start_time, id);
create index classes_cancelled on classes (studio_id, start_time, id) where status = 'cancelled';
create index classes_cancelled_by_location on classes (studio_id, location_id, start_time, id)
    where status = 'cancelled';
-- What housekeeping looks for: classes with people who wait.
create index classes_with_waitlist on classes (studio_id, start_time, id) where waitlist_count > 0;
create index classes_changed on classes (studio_id, updated_at, start_time, id);

create trigger touch before update on rooms for each row execute function touch_updated_at();
create trigger touch before update on room_spots for each row execute function touch_updated_at();
create trigger touch before update on class_types for each row execute function touch_updated_at();
create trigger touch before update on instructors for each row execute function touch_updated_at();
create trigger touch before update on classes for each row execute function touch_updated_at();
