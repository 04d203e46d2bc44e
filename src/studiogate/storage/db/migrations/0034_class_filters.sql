-- migrate:up
-- Pages of classes by type or instructor are read along these, in the list's order.
create index concurrently classes_of_type on classes (studio_id, class_type_id, start_time, id);
-- migrate:step
create index concurrently classes_of_instructor on classes (studio_id, instructor_id, start_time, id);
