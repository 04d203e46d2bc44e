-- migrate:up
-- How a purchase was paid, and the money that was received and paid back for it, line by line: sums by day count a
-- payment on the day on which it was recorded, which need not be that of the purchase. The database writes the lines.
alter table purchases add column paid_by text;
alter table purchases add constraint purchases_paid_by_check
    check (paid_by in ('cash', 'card', 'transfer', 'other')) not valid;
create table purchase_payments (
    studio_id uuid not null references studios (studio_id),
    purchase_id uuid not null,
    id uuid not null default gen_random_uuid(),
    received_at timestamptz not null default clock_timestamp(),
    amount numeric not null check (amount <> 0),
    paid_by text,
    constraint purchase_payments_pkey primary key (studio_id, purchase_id, id),
    constraint purchase_payments_purchase_fkey foreign key (studio_id, purchase_id)
        references purchases (studio_id, id) on delete cascade
);
create index purchase_payments_by_time on purchase_payments (studio_id, received_at);

-- The difference between what a purchase has brought in and its lines becomes a line. The row of the purchase must be
-- locked; this reads the lines as they are after that lock.
create function note_payment(of_studio uuid, of_purchase uuid, at timestamptz) returns integer
language plpgsql volatile as $$
begin
    insert into purchase_payments (studio_id, purchase_id, received_at, amount, paid_by)
    select u.studio_id, u.id, at, difference.amount, u.paid_by
    from purchases u cross join lateral (
        select case when u.status in ('completed', 'partially_refunded', 'refunded')
                    then coalesce(u.amount_total, 0) - coalesce(u.refunded_amount, 0) else 0 end
               - coalesce((select sum(p.amount) from purchase_payments p
                           where p.studio_id = u.studio_id and p.purchase_id = u.id), 0) as amount) difference
    where u.studio_id = of_studio and u.id = of_purchase and difference.amount <> 0;
    return 1;
end
$$;
create function keep_payments() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        perform note_payment(new.studio_id, new.id, new.created_at);
        return null;
    end if;
    -- Another way for the same money is a correction. What was paid after a failed payment is other money.
    if new.paid_by is distinct from old.paid_by and old.status in ('completed', 'partially_refunded', 'refunded') then
        update purchase_payments set paid_by = new.paid_by where studio_id = new.studio_id and purchase_id = new.id;
    end if;
    perform note_payment(new.studio_id, new.id, clock_timestamp());
    return null;
end
$$;
-- migrate:step
create trigger keep_payments_of_new after insert on purchases for each row
    when (new.status in ('completed', 'partially_refunded', 'refunded')) execute function keep_payments();
create trigger keep_payments after update on purchases for each row
    when (old.status is distinct from new.status or old.amount_total is distinct from new.amount_total
          or old.refunded_amount is distinct from new.refunded_amount or old.paid_by is distinct from new.paid_by)
    execute function keep_payments();
-- migrate:step
-- A transaction of its own.
-- squawk-ignore constraint-missing-not-valid
alter table purchases validate constraint purchases_paid_by_check;
-- migrate:repeat
with locked as materialized (
    select u.studio_id, u.id, u.created_at from purchases u
    where u.status in ('completed', 'partially_refunded', 'refunded')
      and coalesce(u.amount_total, 0) > coalesce(u.refunded_amount, 0)
      and not exists (select from purchase_payments p where p.studio_id = u.studio_id and p.purchase_id = u.id)
    limit 500 for no key update)
select note_payment(studio_id, id, created_at) from locked;
