-- migrate:up
-- squawk-ignore-file ban-drop-constraint, ban-drop-not-null, ban-alter-domain-with-add-constraint

-- The price that a membership renews by, kept from its first renewal on: a later default price does not change what
-- a member agreed to.
alter table memberships
    add column price_id uuid,
    add constraint memberships_price_fkey foreign key (studio_id, price_id) references prices (studio_id, id) not valid;
-- migrate:step
-- What housekeeping looks for: a planned end, and the end of a period that is not paid.
create index concurrently memberships_cancel_due on memberships (studio_id, cancel_at)
    where status in ('active', 'paused', 'past_due') and cancel_at is not null;
-- migrate:step
create index concurrently memberships_unpaid_due on memberships (studio_id, current_period_end) where status = 'past_due';

-- migrate:step
-- One row per period that a membership was renewed for, with the purchase that pays for it.
create table renewals (
    studio_id uuid not null,
    membership_id uuid not null,
    period_start timestamptz not null,
    period_end timestamptz not null,
    purchase_id uuid not null,
    created_at timestamptz not null default now(),
    constraint renewals_pkey primary key (studio_id, membership_id, period_start),
    constraint renewals_purchase_key unique (studio_id, purchase_id),
    constraint renewals_period check (period_end > period_start),
    constraint renewals_membership_fkey foreign key (studio_id, membership_id) references memberships (studio_id, id),
    constraint renewals_purchase_fkey foreign key (studio_id, purchase_id) references purchases (studio_id, id)
);

-- migrate:step
-- A ledger line that belongs to no booking: the credits of a renewed membership. Every line that exists meets the new
-- constraints, so they need not be checked against the whole table.
alter table credit_ledger
    alter column booking_id drop not null,
    drop constraint credit_ledger_delta_of_reason,
    add constraint credit_ledger_delta_of_reason check (
        case reason when 'renewed' then booking_id is null
                    when 'returned' then delta = 1 and booking_id is not null
                    when 'forfeited' then delta = 0 and booking_id is not null
                    else delta = -1 and booking_id is not null end
    ) not valid;
alter domain ledger_reason drop constraint known;
alter domain ledger_reason
    add constraint known check (value in ('booked', 'promoted', 'returned', 'forfeited', 'renewed')) not valid;
