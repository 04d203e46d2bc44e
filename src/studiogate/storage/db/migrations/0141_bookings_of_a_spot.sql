-- migrate:up
-- Staff change the spots of a room: a spot that bookings have stays, and whether any has it must not read all bookings.
-- So does the foreign key, for every spot that is removed.
create index concurrently bookings_of_spot on bookings (studio_id, class_spot_id, start_time)
    where class_spot_id is not null;
