-- migrate:up
-- Which transaction wrote an event or an audit entry, so that an event of a change that nobody recorded can be found.
-- Rows from before have none.
alter table events add column transaction_id xid8;
alter table events alter column transaction_id set default pg_current_xact_id();
-- migrate:step
alter table audit_log add column transaction_id xid8;
alter table audit_log alter column transaction_id set default pg_current_xact_id();
