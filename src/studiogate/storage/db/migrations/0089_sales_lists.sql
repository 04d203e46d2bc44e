-- migrate:up
-- Lists of purchases by status, which is pending where none was given, also at some locations only.
create index concurrently purchases_by_status
    on purchases (studio_id, (coalesce(status, 'pending')), created_at desc, id desc);
-- migrate:step
create index concurrently purchases_by_location_and_status
    on purchases (studio_id, location_id, (coalesce(status, 'pending')), created_at desc, id desc);

-- migrate:step
-- Fees that nobody has paid: a few among all purchases.
create index concurrently purchases_open_fees on purchases (studio_id, created_at desc, id desc)
    where product_type = 'fee' and coalesce(status, 'pending') in ('pending', 'failed');
-- migrate:step
create index concurrently purchases_open_fees_of_member on purchases (studio_id, member_id, created_at desc, id desc)
    where product_type = 'fee' and coalesce(status, 'pending') in ('pending', 'failed');

-- migrate:step
-- Memberships by their next renewal. After an import many periods can end at the same instant: the order is complete. It
-- is one of an expression, so that no plan sorts what another index of periods yields.
create index concurrently memberships_renewing on memberships (studio_id, (coalesce(current_period_end, 'infinity')), id)
    where status = 'active' and auto_renew;
