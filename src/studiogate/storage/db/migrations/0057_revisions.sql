-- migrate:up
-- A revision per row, raised by every change of the row's own fields. A studio file carries the revisions that it was
-- exported with, so that an import can tell which rows have changed since.
alter table studios add column revision integer not null default 1;
-- migrate:step
alter table locations add column revision integer not null default 1;
-- migrate:step
alter table rooms add column revision integer not null default 1;
-- migrate:step
alter table room_spots add column revision integer not null default 1;
-- migrate:step
alter table class_types add column revision integer not null default 1;
-- migrate:step
alter table instructors add column revision integer not null default 1;
-- migrate:step
alter table classes add column revision integer not null default 1;
-- migrate:step
alter table products add column revision integer not null default 1;
-- migrate:step
alter table prices add column revision integer not null default 1;
-- migrate:step
alter table members add column revision integer not null default 1;
-- migrate:step
alter table memberships add column revision integer not null default 1;
-- migrate:step
alter table purchases add column revision integer not null default 1;
-- migrate:step
alter table leads add column revision integer not null default 1;
-- migrate:step
alter table forms add column revision integer not null default 1;
-- migrate:step
alter table bookings add column revision integer not null default 1;
-- migrate:step
alter table form_submissions add column revision integer not null default 1;

-- migrate:step
create function raise_revision() returns trigger language plpgsql as $$
begin
    new.revision := old.revision + 1;
    return new;
end
$$;

-- Triggers run in the order of their names: these run before touch, so a new updated_at alone is not seen as a change.
create trigger raise_revision before update on studios for each row
    when (old.* is distinct from new.*) execute function raise_revision();
-- migrate:step
create trigger raise_revision before update on locations for each row
    when (old.* is distinct from new.*) execute function raise_revision();
-- migrate:step
create trigger raise_revision before update on rooms for each row
    when (old.* is distinct from new.*) execute function raise_revision();
-- migrate:step
create trigger raise_revision before update on room_spots for each row
    when (old.* is distinct from new.*) execute function raise_revision();
-- migrate:step
create trigger raise_revision before update on class_types for each row
    when (old.* is distinct from new.*) execute function raise_revision();
-- migrate:step
create trigger raise_revision before update on instructors for each row
    when (old.* is distinct from new.*) execute function raise_revision();
-- migrate:step
create trigger raise_revision before update on products for each row
    when (old.* is distinct from new.*) execute function raise_revision();
-- migrate:step
create trigger raise_revision before update on prices for each row
    when (old.* is distinct from new.*) execute function raise_revision();
-- migrate:step
create trigger raise_revision before update on memberships for each row
    when (old.* is distinct from new.*) execute function raise_revision();
-- migrate:step
create trigger raise_revision before update on purchases for each row
    when (old.* is distinct from new.*) execute function raise_revision();
-- migrate:step
create trigger raise_revision before update on leads for each row
    when (old.* is distinct from new.*) execute function raise_revision();
-- migrate:step
create trigger raise_revision before update on form_submissions for each row
    when (old.* is distinct from new.*) execute function raise_revision();

-- migrate:step
-- What bookings move by themselves (the counts, a position on the waitlist) and what the clock announces is no change of
-- the row's own fields. The statements that move these set nothing else.
create trigger raise_revision before update on classes for each row
    when (old.booked_count = new.booked_count and old.waitlist_count = new.waitlist_count
          and old.announced_status = new.announced_status and old.* is distinct from new.*)
    execute function raise_revision();
-- migrate:step
create trigger raise_revision before update on bookings for each row
    when (old.updated_at = new.updated_at and old.* is distinct from new.*) execute function raise_revision();

-- migrate:step
-- Columns of type json can be compared as text only.
create trigger raise_revision before update on forms for each row
    when (old.title is distinct from new.title
          or old.slug is distinct from new.slug
          or old.description is distinct from new.description
          or old.fields::text is distinct from new.fields::text
          or old.settings::text is distinct from new.settings::text
          or old.status is distinct from new.status
          or old.version is distinct from new.version
          or old.created_at is distinct from new.created_at)
    execute function raise_revision();

-- migrate:step
-- A condition cannot refer to the whole row of a table with a generated column.
create trigger raise_revision before update on members for each row
    when (old.first_name is distinct from new.first_name
          or old.last_name is distinct from new.last_name
          or old.email is distinct from new.email
          or old.phone is distinct from new.phone
          or old.role is distinct from new.role
          or old.membership_type is distinct from new.membership_type
          or old.membership_start_date is distinct from new.membership_start_date
          or old.membership_end_date is distinct from new.membership_end_date
          or old.suspended is distinct from new.suspended
          or old.staff_notes is distinct from new.staff_notes
          or old.created_at is distinct from new.created_at)
    execute function raise_revision();
