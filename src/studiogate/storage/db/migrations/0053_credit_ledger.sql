-- migrate:up
-- squawk-ignore-file ban-drop-constraint, ban-alter-domain-with-add-constraint

-- From now on the ledger explains every credit: the deltas of a membership add up to its credits. New lines that belong
-- to no booking: 'granted' (the credits of a new membership), 'opening' (what a membership had before its ledger was
-- complete) and 'adjusted' (a change by staff or by an import). Every line that exists meets the new constraints.
alter domain ledger_reason drop constraint known;
alter domain ledger_reason
    add constraint known check (
        value in ('booked', 'promoted', 'returned', 'forfeited', 'renewed', 'granted', 'opening', 'adjusted')) not valid;
alter table credit_ledger
    drop constraint credit_ledger_delta_of_reason,
    add constraint credit_ledger_delta_of_reason check (
        case when reason in ('renewed', 'granted', 'opening', 'adjusted') then booking_id is null
             when reason = 'returned' then delta = 1 and booking_id is not null
             when reason = 'forfeited' then delta = 0 and booking_id is not null
             else delta = -1 and booking_id is not null end
    ) not valid;

-- migrate:step
-- Written by the database, because every way to create a membership needs it: a sale, an import, and an import by a
-- process of the release before.
create function grant_credits() returns trigger language plpgsql as $$
begin
    insert into credit_ledger (studio_id, id, membership_id, delta, reason)
    select added.studio_id, gen_random_uuid(), added.id, added.credits_remaining, 'granted'
    from added where added.credits_remaining > 0;
    return null;
end
$$;
create trigger grant_credits after insert on memberships
    referencing new table as added for each statement execute function grant_credits();

-- migrate:step
-- The purchase by which staff sold a membership, and the price that was agreed.
create table sales (
    studio_id uuid not null,
    membership_id uuid not null,
    purchase_id uuid not null,
    price_id uuid not null,
    created_at timestamptz not null default now(),
    constraint sales_pkey primary key (studio_id, membership_id),
    constraint sales_purchase_key unique (studio_id, purchase_id),
    constraint sales_membership_fkey foreign key (studio_id, membership_id) references memberships (studio_id, id),
    constraint sales_purchase_fkey foreign key (studio_id, purchase_id) references purchases (studio_id, id),
    constraint sales_price_fkey foreign key (studio_id, price_id) references prices (studio_id, id)
);
