-- migrate:up
-- Figures of finished days, which insights and sums are read from: one row per day, location and value of a dimension.
-- Housekeeping computes a day when it is over, and again after events that are about it.
create table daily_figures (
    studio_id uuid not null references studios (studio_id),
    dimension text not null,
    day date not null,
    -- Nil where there is none.
    location_id uuid not null,
    -- The id, the hour or the source that the row is about; of the money: the currency and how it was paid.
    key text not null,
    classes integer not null default 0,
    capacity integer not null default 0,
    booked integer not null default 0,
    attended integer not null default 0,
    no_shows integer not null default 0,
    cancelled integer not null default 0,
    late integer not null default 0,
    waited integer not null default 0,
    promoted integer not null default 0,
    gained integer not null default 0,
    lost integer not null default 0,
    amount numeric not null default 0,
    constraint daily_figures_pkey primary key (studio_id, dimension, day, location_id, key)
);
create index daily_figures_of_day on daily_figures (studio_id, day);
-- The days that are kept, and whether one has to be computed.
create table figure_days (
    studio_id uuid not null references studios (studio_id),
    day date not null,
    is_due boolean not null default true,
    constraint figure_days_pkey primary key (studio_id, day)
);
create index figure_days_due on figure_days (studio_id, day desc) where is_due;
-- Up to which event and which day a studio's days are known.
create table figure_cursors (
    studio_id uuid not null references studios (studio_id),
    sequence bigint not null,
    through date not null,
    constraint figure_cursors_pkey primary key (studio_id)
);
-- migrate:step
create index concurrently memberships_started on memberships (studio_id, started_at) where started_at is not null;
-- migrate:step
create index concurrently memberships_ended on memberships (studio_id, ended_at) where ended_at is not null;
