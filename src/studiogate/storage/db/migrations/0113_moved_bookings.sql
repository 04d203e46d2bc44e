-- migrate:up
-- The booking that took the place of one when staff moved a member to another class, and the other way round. Both are
-- written in one transaction, the old booking first, so the references are checked at its end.
alter table bookings add column moved_to_booking_id uuid, add column moved_from_booking_id uuid;
-- migrate:step
alter table bookings add constraint bookings_moved_to_fkey
    foreign key (studio_id, moved_to_booking_id) references bookings (studio_id, id)
    deferrable initially deferred not valid;
alter table bookings add constraint bookings_moved_from_fkey
    foreign key (studio_id, moved_from_booking_id) references bookings (studio_id, id)
    deferrable initially deferred not valid;
-- migrate:step
-- squawk-ignore ban-drop-constraint
alter table booking_cancellations drop constraint booking_cancellations_cancellation_type_check;
alter table booking_cancellations add constraint booking_cancellations_cancellation_type_check check (cancellation_type in (
    'standard', 'late', 'graced', 'studio', 'moved', 'class_cancelled', 'waitlist_left')) not valid;
