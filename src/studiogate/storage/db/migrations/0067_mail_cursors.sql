-- migrate:up

-- Mails to members about their bookings. The worker makes them from committed, numbered events and keeps its place in
-- each studio's log.

-- The kinds that a studio has switched on or off, such as {"booked": false}. Others have their default.
alter table studios add column mail_switches jsonb not null default '{}';
alter table studios add constraint studios_mail_switches_check
    check (jsonb_typeof(mail_switches) = 'object') not valid;

-- migrate:step
create table mail_cursors (
    studio_id uuid not null references studios (studio_id),
    -- The last event that was turned into mails, or needed none.
    sequence bigint not null default 0 check (sequence >= 0),
    constraint mail_cursors_pkey primary key (studio_id)
);
-- migrate:step
-- No mails about what happened before this release.
insert into mail_cursors (studio_id, sequence) select studio_id, sequence from event_heads;

-- migrate:step
-- A transaction that loads data, such as an import, sets studiogate.silent: partners get its events, members no mails.
-- The default is constant while the column is added, so that no row is rewritten.
alter table events add column silent boolean not null default false;
alter table events alter column silent
    set default coalesce(current_setting('studiogate.silent', true), '') = 'on';
