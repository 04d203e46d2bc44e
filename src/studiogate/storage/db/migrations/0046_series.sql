-- migrate:up
-- A weekly pattern in the location's local time, and what its classes have in common. Housekeeping creates the classes
-- up to generated_until; revision is raised by every change.
create table class_series (
    studio_id uuid not null references studios,
    id uuid not null,
    title text not null,
    description text,
    class_type_id uuid,
    location_id uuid not null,
    room_id uuid,
    instructor_id uuid,
    capacity head_count not null,
    allow_waitlist boolean not null default true,
    spot_selection_mode spot_selection_mode,
    visible boolean not null default true,
    policy booking_policy not null default '{}',
    weekdays integer[] not null check (cardinality(weekdays) between 1 and 7),
    local_start time not null,
    minutes integer not null check (minutes between 1 and 10080),
    every_weeks integer not null default 1 check (every_weeks between 1 and 52),
    first_date date not null,
    last_date date,
    generated_until date,
    revision integer not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint class_series_pkey primary key (studio_id, id),
    constraint class_series_location_fkey foreign key (studio_id, location_id) references locations (studio_id, id),
    constraint class_series_room_fkey foreign key (studio_id, room_id) references rooms (studio_id, id),
    constraint class_series_class_type_fkey
        foreign key (studio_id, class_type_id) references class_types (studio_id, id),
    constraint class_series_instructor_fkey
        foreign key (studio_id, instructor_id) references instructors (studio_id, id)
);
create trigger touch before update on class_series for each row execute function touch_updated_at();
create index class_series_of_location on class_series (studio_id, location_id, id);

-- migrate:step
-- The series that a class belongs to, and its local date in the pattern. A detached class was changed by itself: changes
-- of the series leave it alone. series_revision is the revision of the series that last wrote the class.
alter table classes
    add column series_id uuid,
    add column series_date date,
    add column detached boolean not null default false,
    add column series_revision integer not null default 0,
    add constraint classes_series_fkey foreign key (studio_id, series_id) references class_series (studio_id, id) not valid;
-- migrate:step
create unique index concurrently classes_of_series on classes (studio_id, series_id, series_date) where series_id is not null;

-- migrate:step
-- Whatever changes a class of a series, except a change of the series itself, which raises series_revision, detaches it.
create function detach_from_series() returns trigger language plpgsql as $$
begin
    new.detached := true;
    return new;
end
$$;
create trigger detach before update of title, description, class_type_id, location_id, room_id, instructor_id, start_time,
        end_time, capacity, allow_waitlist, spot_selection_mode, visible, policy on classes
    for each row when (
        old.series_id is not null and not new.detached and new.series_revision = old.series_revision
        and (
            old.title is distinct from new.title
            or old.description is distinct from new.description
            or old.class_type_id is distinct from new.class_type_id
            or old.location_id is distinct from new.location_id
            or old.room_id is distinct from new.room_id
            or old.instructor_id is distinct from new.instructor_id
            or old.start_time is distinct from new.start_time
            or old.end_time is distinct from new.end_time
            or old.capacity is distinct from new.capacity
            or old.allow_waitlist is distinct from new.allow_waitlist
            or old.spot_selection_mode is distinct from new.spot_selection_mode
            or old.visible is distinct from new.visible
            or old.policy is distinct from new.policy))
    execute function detach_from_series();

-- migrate:step
-- Days without classes, at one location or (null) at all. Series create none; with mode cancel, those that existed when
-- the closure was made were cancelled.
create table closures (
    studio_id uuid not null references studios,
    id uuid not null,
    location_id uuid,
    first_date date not null,
    last_date date not null,
    mode text not null check (mode in ('cancel', 'skip')),
    reason text,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint closures_pkey primary key (studio_id, id),
    constraint closures_dates check (last_date >= first_date),
    constraint closures_location_fkey foreign key (studio_id, location_id) references locations (studio_id, id)
);
create index closures_by_date on closures (studio_id, last_date, id);
