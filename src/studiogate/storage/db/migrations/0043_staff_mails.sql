-- migrate:up
-- Mails with a one-time link for an account. The link is made when the mail is sent, so that the queue holds no secret.
-- Processes of an earlier release put such a mail off, and the next round of a new one sends it.

-- squawk-ignore ban-drop-not-null
alter table mails alter column submission_id drop not null;
alter table mails add column account_id uuid;
-- squawk-ignore ban-drop-constraint
alter table mails drop constraint mails_kind_check;
-- The same list as in 0068, which may have been applied before.
alter table mails add constraint mails_kind_check check (kind in (
    'notification', 'confirmation', 'staff_invitation', 'staff_password_reset', 'staff_sign_in', 'booked', 'waitlisted',
    'promoted', 'class_changed', 'class_cancelled', 'booking_cancelled')) not valid;
alter table mails add constraint mails_account_fkey
    foreign key (studio_id, account_id) references staff_roles (studio_id, account_id) not valid;
-- migrate:step
create index concurrently mails_of_account on mails (studio_id, account_id) where account_id is not null;
