-- migrate:up
-- The classes whose status the clock has yet to change; it is empty until the update below.
create index classes_ahead on classes (studio_id, start_time, id)
    where status = 'scheduled' and announced_status <> 'completed';

-- migrate:step
-- Nothing was announced of the classes that are in progress or to come. By themselves: 0035 had locked the table.
update classes set announced_status = 'scheduled' where end_time > now() and announced_status = 'completed';

-- migrate:step
alter table classes validate constraint classes_announced_status;
