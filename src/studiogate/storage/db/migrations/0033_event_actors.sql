-- migrate:up
-- squawk-ignore-file ban-alter-domain-with-add-constraint

-- Who made the change. Events that a process of the release before still writes get the default: nearly all of its
-- writes are partners'. The column is added while its domain allows everything, so that no row is rewritten or read.
create domain event_actor as text;
alter table events add column actor event_actor not null default 'partner';
alter domain event_actor
    add constraint known check (value in ('partner', 'staff', 'visitor', 'system')) not valid;
