-- migrate:up

-- Writers are not stopped while the rows that were there before 0043 are checked.
alter table mails validate constraint mails_kind_check;
alter table mails validate constraint mails_account_fkey;
