-- migrate:up

-- In a transaction of its own: checking takes a weaker lock than adding does.
alter table studios validate constraint studios_mail_switches_check;
-- migrate:step
alter table mails validate constraint mails_event_fkey;
alter table mails validate constraint mails_booking_fkey;
alter table mails validate constraint mails_member_fkey;
alter table mails validate constraint mails_kind_check;
alter table mails validate constraint mails_to_somebody;
