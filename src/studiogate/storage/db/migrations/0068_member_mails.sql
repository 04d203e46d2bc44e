-- migrate:up

-- A mail about a booking has no recipient: the member's address is read when it is sent.
-- squawk-ignore ban-drop-not-null
alter table mails alter column submission_id drop not null;
-- squawk-ignore ban-drop-not-null
alter table mails alter column recipient drop not null;
alter table mails add column event_id uuid;
alter table mails add column booking_id uuid;
alter table mails add column member_id uuid;
-- migrate:step
-- In the order in which bookings lock these tables.
alter table mails add constraint mails_booking_fkey
    foreign key (studio_id, booking_id) references bookings (studio_id, id) on delete cascade not valid;
-- migrate:step
alter table mails add constraint mails_member_fkey
    foreign key (studio_id, member_id) references members (studio_id, id) on delete cascade not valid;
-- migrate:step
alter table mails add constraint mails_event_fkey
    foreign key (studio_id, event_id) references events (studio_id, id) on delete cascade not valid;
-- migrate:step
-- squawk-ignore ban-drop-constraint
alter table mails drop constraint mails_kind_check;
alter table mails add constraint mails_kind_check check (kind in (
    'notification', 'confirmation', 'staff_invitation', 'staff_password_reset', 'staff_sign_in', 'booked', 'waitlisted',
    'promoted', 'class_changed', 'class_cancelled', 'booking_cancelled')) not valid;
alter table mails add constraint mails_to_somebody check (
    num_nonnulls(event_id, booking_id, member_id) in (0, 3)
    and (booking_id is null) = (recipient is not null)) not valid;
-- migrate:step
-- One mail per event and booking, whatever happens to the worker.
create unique index concurrently mails_once_per_event on mails (studio_id, event_id, booking_id) where event_id is not null;
-- migrate:step
create index concurrently mails_of_booking on mails (studio_id, booking_id) where booking_id is not null;
-- migrate:step
create index concurrently mails_of_member on mails (studio_id, member_id, created_at) where member_id is not null;
