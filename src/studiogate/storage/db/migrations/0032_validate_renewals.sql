-- migrate:up

-- Writers are not stopped while the rows that were there before 0024 are checked.
alter table memberships validate constraint memberships_price_fkey;
-- migrate:step
alter table credit_ledger validate constraint credit_ledger_delta_of_reason;
