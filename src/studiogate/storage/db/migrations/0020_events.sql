-- migrate:up
-- The log of what happened, and the endpoints that are told.

-- Writers insert without a sequence, so that writers of one studio never wait for each other's counter. A sequencer
-- numbers what is committed, under the lock of the studio's head; only numbered events are read or delivered.
-- No foreign key to the studio: each check would lock the studio's one row, and every writer of the studio meets there.
create table events (
    studio_id uuid not null,
    id uuid not null,
    sequence bigint check (sequence >= 1),
    type text not null,
    -- The resource's own id.
    subject uuid not null,
    -- All of these a reader must have.
    scopes text[] not null check (cardinality(scopes) > 0),
    -- Where it is visible: the resource's location; the studio's own id where the resource is studio-wide; nil where
    -- a resource that could have a location has none, which only unrestricted readers see.
    place uuid not null,
    -- json, not jsonb: the resource exactly as GET returns it, member order included.
    object json not null,
    previous_attributes json not null,
    created_at timestamptz not null default clock_timestamp(),
    constraint events_pkey primary key (studio_id, id)
);
create unique index events_log on events (studio_id, sequence) where sequence is not null;
create index events_by_type on events (studio_id, type, sequence) where sequence is not null;
create index events_by_place on events (studio_id, place, type, sequence) where sequence is not null;
create index events_unsequenced on events (studio_id, created_at, id) where sequence is null;

create table event_heads (
    studio_id uuid not null references studios (studio_id),
    sequence bigint not null default 0,
    constraint event_heads_pkey primary key (studio_id)
);

-- Secrets are sealed with the deployment's key; the database alone cannot sign anything.
create table webhook_endpoints (
    studio_id uuid not null references studios (studio_id),
    id uuid not null,
    credential_id text not null,
    url text not null,
    event_types text[] not null check (cardinality(event_types) > 0),
    description text,
    enabled boolean not null default true,
    disabled_reason text check (disabled_reason in ('gone', 'failing')),
    disabled_at timestamptz,
    failing_since timestamptz,
    secret bytea not null,
    previous_secret bytea,
    previous_secret_until timestamptz,
    deleted_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint webhook_endpoints_pkey primary key (studio_id, id),
    constraint webhook_endpoints_credential_fkey
        foreign key (studio_id, credential_id) references credentials (studio_id, id)
);
create index webhook_endpoints_list on webhook_endpoints (studio_id, created_at desc, id desc);

-- One row for an event and an endpoint, or for a test (which has a body of its own). ``due_at`` is when the next
-- attempt may start; a claim moves it to the end of the lease, so that a worker's death frees its deliveries.
create table webhook_deliveries (
    studio_id uuid not null,
    id uuid not null,
    endpoint_id uuid not null,
    event_id uuid,
    event_type text not null,
    body text,
    status text not null default 'pending' check (status in ('pending', 'succeeded', 'failed', 'withheld')),
    attempts integer not null default 0,
    due_at timestamptz not null default now(),
    claim uuid,
    created_at timestamptz not null default now(),
    constraint webhook_deliveries_pkey primary key (studio_id, id),
    constraint webhook_deliveries_of_event_or_test check ((event_id is null) = (body is not null)),
    constraint webhook_deliveries_endpoint_fkey
        foreign key (studio_id, endpoint_id) references webhook_endpoints (studio_id, id),
    constraint webhook_deliveries_event_fkey
        foreign key (studio_id, event_id) references events (studio_id, id) on delete cascade
);
create index webhook_deliveries_list on webhook_deliveries (studio_id, endpoint_id, created_at desc, id desc);
create index webhook_deliveries_of_event on webhook_deliveries (studio_id, event_id);
create index webhook_deliveries_due on webhook_deliveries (studio_id, endpoint_id, due_at) where status = 'pending';
create index webhook_deliveries_waiting on webhook_deliveries (due_at, studio_id) where status = 'pending';
create index webhook_deliveries_old on webhook_deliveries (studio_id, created_at);

create table webhook_attempts (
    studio_id uuid not null,
    delivery_id uuid not null,
    number integer not null check (number >= 1),
    attempted_at timestamptz not null,
    duration_ms integer not null,
    status integer check (status between 100 and 999),
    error text,
    response text,
    constraint webhook_attempts_pkey primary key (studio_id, delivery_id, number),
    constraint webhook_attempts_delivery_fkey
        foreign key (studio_id, delivery_id) references webhook_deliveries (studio_id, id) on delete cascade
);

create trigger touch before update on webhook_endpoints for each row execute function touch_updated_at();
