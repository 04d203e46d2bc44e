-- migrate:up
-- In a transaction of its own: checking takes a weaker lock than adding does.
alter table bookings validate constraint bookings_moved_to_fkey;
-- migrate:step
alter table bookings validate constraint bookings_moved_from_fkey;
-- migrate:step
alter table booking_cancellations validate constraint booking_cancellations_cancellation_type_check;
