-- migrate:up

-- Mails with a signed link to a form, which staff send to a member. The row names the form and the member and holds
-- neither an address nor a token: both are added when the mail is sent. Processes of an earlier release leave such a
-- mail in the queue, and the next round of a new one sends it.
alter table mails add column form_id uuid;
-- Until when the link opens the form.
alter table mails add column expires_at timestamptz;
alter table mails add constraint mails_form_fkey
    foreign key (studio_id, form_id) references forms (studio_id, id) on delete cascade not valid;
-- migrate:step
-- squawk-ignore ban-drop-constraint
alter table mails drop constraint mails_kind_check;
alter table mails add constraint mails_kind_check check (kind in (
    'notification', 'confirmation', 'staff_invitation', 'staff_password_reset', 'staff_sign_in', 'booked', 'waitlisted',
    'promoted', 'class_changed', 'class_cancelled', 'booking_cancelled', 'form_link')) not valid;
-- squawk-ignore ban-drop-constraint
alter table mails drop constraint mails_to_somebody;
alter table mails add constraint mails_to_somebody check (
    case when kind = 'form_link' then
        num_nonnulls(form_id, expires_at, member_id) = 3
        and num_nonnulls(event_id, booking_id, submission_id, account_id, recipient) = 0
    else
        num_nonnulls(form_id, expires_at) = 0 and num_nonnulls(event_id, booking_id, member_id) in (0, 3)
        and (booking_id is null) = (recipient is not null)
    end) not valid;
-- migrate:step
create index concurrently mails_of_form on mails (studio_id, form_id) where form_id is not null;
