-- migrate:up
-- The status of a class follows from the clock and is not stored. Stored is which one the events have announced, so
-- that the worker finds what it has yet to announce. Classes that are there already count as announced; the next
-- migration corrects this for those that are not over.
alter table classes add column announced_status text not null default 'completed';
alter table classes alter column announced_status set default 'scheduled';
alter table classes add constraint classes_announced_status
    check (announced_status in ('scheduled', 'in_progress', 'completed')) not valid;

-- What was announced is not a change that readers can see.
drop trigger touch on classes;
create trigger touch before update on classes for each row
    when (old.announced_status = new.announced_status) execute function touch_updated_at();

-- A new class is created with the status that it has now. A class that is moved to a later time, also by a process that
-- does not know the column, will begin once more.
create function keep_announced_status() returns trigger language plpgsql as $$
declare
    in_order constant text[] := array['scheduled', 'in_progress', 'completed'];
    now_is constant text := case when now() < new.start_time then 'scheduled'
                                 when now() < new.end_time then 'in_progress' else 'completed' end;
begin
    if tg_op = 'INSERT' or array_position(in_order, now_is) < array_position(in_order, new.announced_status) then
        new.announced_status := now_is;
    end if;
    return new;
end
$$;

-- Triggers run in the order of their names: this one after touch, which must see what the statement itself changes.
create trigger track_status before insert or update of start_time, end_time on classes
    for each row execute function keep_announced_status();
