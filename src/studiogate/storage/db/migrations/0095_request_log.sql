-- migrate:up
-- The requests of partners' keys, for the people who look after keys: what was asked for and what was answered, without
-- paths, queries, bodies or anything else that could hold personal data. API processes write it in batches; housekeeping
-- deletes what is old or beyond the number that is kept per studio.
create table request_log (
    studio_id uuid not null references studios (studio_id),
    id uuid not null,
    credential_id text not null,
    occurred_at timestamptz not null,
    method text not null,
    route text not null,
    status integer not null,
    code text,
    milliseconds real not null,
    bytes bigint not null,
    request_id text not null,
    -- Requests of the same key and process since this one that are not listed, because there were too many.
    unlisted integer not null default 0,
    constraint request_log_pkey primary key (studio_id, id)
);
create index request_log_by_key on request_log (studio_id, credential_id, occurred_at, id);
create index request_log_by_time on request_log (studio_id, occurred_at, id);
