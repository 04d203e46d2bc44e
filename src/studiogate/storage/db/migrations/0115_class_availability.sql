-- migrate:up
-- The counts of a class as class.availability_changed last announced them, at first those of the new class, and when the
-- class is to be looked at again because it changed within a second of its last announcement. Only the worker, under
-- the lock of the studio's event head, and the creation of a class write here, so no booking waits for it.
create table class_availability (
    studio_id uuid not null,
    class_id uuid not null,
    capacity integer not null,
    booked_count integer not null,
    available_count integer not null,
    waitlist_count integer not null,
    announced_at timestamptz,
    due_at timestamptz,
    primary key (studio_id, class_id),
    foreign key (studio_id, class_id) references classes (studio_id, id) on delete cascade
);
create index class_availability_due on class_availability (studio_id, due_at) where due_at is not null;

-- migrate:step
create function begin_availability() returns trigger language plpgsql as $$
begin
    insert into class_availability (studio_id, class_id, capacity, booked_count, available_count, waitlist_count)
    select a.studio_id, a.id, a.capacity, a.booked_count,
           case when a.status = 'cancelled' then 0 else greatest(a.capacity - a.booked_count, 0) end, a.waitlist_count
    from added a on conflict do nothing;
    return null;
end
$$;
create trigger begin_availability after insert on classes referencing new table as added
    for each statement execute function begin_availability();

-- migrate:step
-- Up to which event of the log the counts were compared. New studios begin with their first event. Set before the counts
-- below are read, so that no change is lost in between.
alter table event_heads add column compared bigint;
alter table event_heads alter column compared set default 0;
-- migrate:repeat
update event_heads set compared = sequence where studio_id in (
    select studio_id from event_heads where compared is null limit 500);

-- migrate:repeat
-- Of classes that are over, nothing is announced.
insert into class_availability (studio_id, class_id, capacity, booked_count, available_count, waitlist_count)
select c.studio_id, c.id, c.capacity, c.booked_count,
       case when c.status = 'cancelled' then 0 else greatest(c.capacity - c.booked_count, 0) end, c.waitlist_count
from classes c
where c.end_time > now() and not exists (
    select from class_availability a where a.studio_id = c.studio_id and a.class_id = c.id)
limit 500
on conflict do nothing;
