-- migrate:up
-- Readers ask for the rows of these tables that changed since their last visit (updated_after). A new row has the moment
-- at which it is written, as a changed one has: at the start of a long transaction, such as an import, a reader may have
-- seen later changes already.
alter table locations alter column updated_at set default clock_timestamp();
-- migrate:step
alter table rooms alter column updated_at set default clock_timestamp();
-- migrate:step
alter table class_types alter column updated_at set default clock_timestamp();
-- migrate:step
alter table instructors alter column updated_at set default clock_timestamp();
-- migrate:step
alter table products alter column updated_at set default clock_timestamp();
-- migrate:step
alter table prices alter column updated_at set default clock_timestamp();

-- migrate:step
create index concurrently locations_changed on locations (studio_id, updated_at, created_at, id);
-- migrate:step
create index concurrently rooms_changed on rooms (studio_id, updated_at, created_at, id);
-- migrate:step
create index concurrently class_types_changed on class_types (studio_id, updated_at, created_at, id);
-- migrate:step
create index concurrently instructors_changed on instructors (studio_id, updated_at, created_at, id) where active;
