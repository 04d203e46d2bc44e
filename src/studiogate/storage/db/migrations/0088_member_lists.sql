-- migrate:up
-- Members are searched by the beginning of the email and by the end of the phone number (by names: 0099). Each index has
-- the order in which pages of results are read; text is compared byte by byte, so that a prefix is a range in every
-- collation.
create index concurrently members_in_order_of_email on members (studio_id, (email collate "C"), id);
-- migrate:step
create index concurrently members_in_order_of_phone on members (studio_id, (reverse(phone) collate "C"), id);

-- migrate:step
-- Lists of members by what they are: suspended, or with a membership in a status. Only statements that repeat the
-- condition of the latter use it: a plan made on empty tables could otherwise prefer it to the primary key.
create index concurrently members_suspended on members (studio_id, created_at desc, id desc) where suspended;
-- migrate:step
create index concurrently memberships_by_status on memberships (studio_id, status, created_at desc, id desc)
    where coalesce(status, '') <> '';
