-- migrate:up
-- In a transaction of its own: checking takes a weaker lock than adding does.
alter table class_types validate constraint class_types_picture_fkey;
-- migrate:step
alter table instructors validate constraint instructors_picture_fkey;
