-- migrate:up
-- What a booking leaves behind: the cancellation receipt, the credit ledger, the remembered first results.

-- The receipt is kept as it was given (json, not jsonb: member order included); the other columns are what the rules
-- and the doctor ask about.
create table booking_cancellations (
    studio_id uuid not null,
    id uuid not null,
    booking_id uuid not null,
    member_id uuid not null,
    cancelled_at timestamptz not null,
    cancellation_type text not null
        check (cancellation_type in ('standard', 'late', 'graced', 'studio', 'class_cancelled', 'waitlist_left')),
    late boolean not null,
    graced_for_promotion boolean not null,
    credits_forfeited integer not null check (credits_forfeited in (0, 1)),
    credits_returned integer not null check (credits_returned in (0, 1)),
    purchase_id uuid,
    receipt json not null,
    constraint booking_cancellations_pkey primary key (studio_id, id),
    constraint booking_cancellations_booking_key unique (studio_id, booking_id),
    constraint booking_cancellations_once check (credits_forfeited + credits_returned <= 1),
    constraint booking_cancellations_booking_fkey foreign key (studio_id, booking_id) references bookings (studio_id, id),
    constraint booking_cancellations_member_fkey foreign key (studio_id, member_id) references members (studio_id, id),
    constraint booking_cancellations_purchase_fkey
        foreign key (studio_id, purchase_id) references purchases (studio_id, id)
);
create index booking_cancellations_late on booking_cancellations (studio_id, member_id, cancelled_at)
    where late and not graced_for_promotion;

create table credit_ledger (
    studio_id uuid not null,
    id uuid not null,
    membership_id uuid not null,
    booking_id uuid not null,
    delta integer not null check (delta in (-1, 0, 1)),
    reason text not null check (reason in ('booked', 'promoted', 'returned', 'forfeited')),
    created_at timestamptz not null default now(),
    constraint credit_ledger_pkey primary key (studio_id, id),
    constraint credit_ledger_delta_of_reason check (
        delta = case reason when 'returned' then 1 when 'forfeited' then 0 else -1 end
    ),
    constraint credit_ledger_membership_fkey
        foreign key (studio_id, membership_id) references memberships (studio_id, id),
    constraint credit_ledger_booking_fkey foreign key (studio_id, booking_id) references bookings (studio_id, id)
);
-- A booking takes its credit once and gives it back or loses it once.
create unique index credit_ledger_taken_once on credit_ledger (studio_id, booking_id) where delta = -1;
create unique index credit_ledger_settled_once on credit_ledger (studio_id, booking_id) where delta <> -1;
create index credit_ledger_of_membership on credit_ledger (studio_id, membership_id, created_at);

create table idempotency_keys (
    studio_id uuid not null,
    credential_id text not null,
    key text not null check (length(key) between 8 and 120),
    fingerprint bytea not null,
    status smallint,
    body bytea,
    completed_at timestamptz,
    constraint idempotency_keys_pkey primary key (studio_id, credential_id, key),
    constraint idempotency_keys_credential_fkey
        foreign key (studio_id, credential_id) references credentials (studio_id, id)
);
create index idempotency_keys_completed on idempotency_keys (studio_id, completed_at);
