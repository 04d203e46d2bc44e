-- migrate:up
-- Who made a booking and who cancelled it: the id of a partner's key, or the staff account. The history of a class names
-- them. Rows from before have none, and so have imported ones.
alter table bookings add column made_by text;
-- migrate:step
alter table booking_cancellations add column made_by text;
