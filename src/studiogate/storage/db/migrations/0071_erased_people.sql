-- migrate:up
-- An erased member keeps bookings, ledger and purchases, without anything that says who it was.
alter table members add column erased_at timestamptz;

-- migrate:step
-- Files of erased people that must leave the disk of the machine that has them. The row is written with the erasure and
-- goes once the file is gone, so a crash in between leaves no file behind.
create table removed_files (
    studio_id uuid not null references studios,
    stored_name text not null,
    removed_at timestamptz not null default clock_timestamp(),
    primary key (studio_id, stored_name)
);

-- migrate:step
-- Nothing brings an erased person back, such as the import of an older file.
create function keep_erased() returns trigger language plpgsql as $$
begin
    new.first_name := old.first_name;
    new.last_name := old.last_name;
    new.email := old.email;
    new.phone := old.phone;
    new.staff_notes := old.staff_notes;
    new.membership_type := old.membership_type;
    new.suspended := old.suspended;
    new.erased_at := old.erased_at;
    return new;
end
$$;
create trigger keep_erased before update on members for each row when (old.erased_at is not null)
execute function keep_erased();

-- An erasure is a change of the row's own fields, as before (0057) and with the new column.
create or replace trigger raise_revision before update on members for each row
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
          or old.erased_at is distinct from new.erased_at
          or old.created_at is distinct from new.created_at)
    execute function raise_revision();
