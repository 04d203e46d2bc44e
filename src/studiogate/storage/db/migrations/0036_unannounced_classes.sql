-- migrate:up
-- The classes whose status the clock has yet to change; it is empty until the update below.
create index concurrently classes_ahead on classes (studio_id, start_time, id)
    where status = 'scheduled' and announced_status <> 'completed';

-- migrate:repeat
-- Nothing was announced of the classes that are in progress or to come.
update classes set announced_status = 'scheduled'
where (studio_id, id) in (
    select studio_id, id from classes where end_time > now() and announced_status = 'completed' limit 500);

-- migrate:step
alter table classes validate constraint classes_announced_status;
