-- migrate:up
-- Members are found by the beginning of a name or of the email, or by the end of the phone number: an index for each,
-- compared byte by byte, so that a prefix is a range in every collation.
create index members_by_first_name on members (studio_id, lower(first_name) text_pattern_ops);
-- migrate:step
create index members_by_last_name on members (studio_id, lower(last_name) text_pattern_ops);
-- migrate:step
create index members_by_email_prefix on members (studio_id, email text_pattern_ops);
-- migrate:step
create index members_by_phone_end on members (studio_id, reverse(phone) text_pattern_ops);
