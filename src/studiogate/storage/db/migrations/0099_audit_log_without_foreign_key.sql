-- migrate:up
-- As for events: no studio is ever deleted, so the check of each entry's studio found nothing, and every booking locked
-- the studio's row for it.
-- squawk-ignore ban-drop-constraint
alter table audit_log drop constraint audit_log_studio_id_fkey;
