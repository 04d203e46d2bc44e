-- migrate:up

-- In a transaction of its own: checking takes a weaker lock than adding does.
alter table mails validate constraint mails_form_fkey;
alter table mails validate constraint mails_kind_check;
alter table mails validate constraint mails_to_somebody;
