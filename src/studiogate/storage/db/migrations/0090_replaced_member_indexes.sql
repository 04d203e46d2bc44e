-- migrate:up
-- The indexes of 0088 serve every search. Dropping one takes a lock for a moment only, and the runner bounds the wait.
-- squawk-ignore require-concurrent-index-deletion
drop index members_by_last_name;
-- squawk-ignore require-concurrent-index-deletion
drop index members_by_first_name;
-- squawk-ignore require-concurrent-index-deletion
drop index members_by_email_prefix;
-- squawk-ignore require-concurrent-index-deletion
drop index members_by_phone_end;
