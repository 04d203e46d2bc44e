-- migrate:up
-- A class type that is no longer offered: old classes keep it, new ones cannot have it.
alter table class_types add column active boolean not null default true;
-- migrate:step
-- How many weeks ahead the classes of a series are created.
alter table studios add column schedule_weeks_ahead integer not null default 8;
