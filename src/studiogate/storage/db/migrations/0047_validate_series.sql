-- migrate:up

-- Writers are not stopped while the rows that were there before 0046 are checked.
alter table classes validate constraint classes_series_fkey;
