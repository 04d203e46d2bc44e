-- migrate:up
-- Where a location is, for maps and listings. City and state have been there from the start.
alter table locations add column line1 text;
alter table locations add column line2 text;
alter table locations add column postal_code text;
alter table locations add column country text;
alter table locations add column latitude double precision;
alter table locations add column longitude double precision;
alter table locations add column phone text;
