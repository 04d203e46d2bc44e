-- migrate:up

-- Replaced by those of folded names (0099).
-- squawk-ignore require-concurrent-index-deletion
drop index members_in_order_of_last_name;
-- squawk-ignore require-concurrent-index-deletion
drop index members_in_order_of_first_name;
-- squawk-ignore require-concurrent-index-deletion
drop index members_in_order_of_last_part;
