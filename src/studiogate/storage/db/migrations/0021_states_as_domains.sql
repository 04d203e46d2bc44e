-- migrate:up
-- squawk-ignore-file changing-column-type, ban-alter-domain-with-add-constraint, ban-drop-constraint

-- PostgreSQL parses all check constraints of a table at every statement that writes to it, also those on columns that
-- the statement leaves alone. A domain's constraint is parsed once a session, and checked only where its column is
-- written. So what one column may hold is said by its domain, on the tables that every booking writes to; what several
-- columns owe each other stays with the table.
--
-- Each column gets its domain while the domain allows everything: no table is rewritten. The constraint comes after.
create domain booking_status as text;
create domain credit_count as integer;
create domain class_status as text;
create domain spot_selection_mode as text;
create domain booking_policy as jsonb;
create domain head_count as integer;
create domain membership_status as text;
create domain ledger_reason as text;
create domain event_sequence as bigint;
create domain idempotency_key as text;

alter table bookings
    drop constraint bookings_status_check,
    drop constraint bookings_credits_taken_check,
    alter column status type booking_status,
    alter column credits_taken type credit_count;

alter table classes
    drop constraint classes_status_check,
    drop constraint classes_spot_selection_mode_check,
    drop constraint classes_policy_check,
    drop constraint classes_capacity_check,
    drop constraint classes_waitlist_count_check,
    alter column status type class_status,
    alter column spot_selection_mode type spot_selection_mode,
    alter column policy type booking_policy,
    alter column capacity type head_count,
    alter column booked_count type head_count,
    alter column waitlist_count type head_count;

alter table memberships
    drop constraint memberships_status_check,
    alter column status type membership_status;

alter table credit_ledger
    drop constraint credit_ledger_reason_check,
    drop constraint credit_ledger_delta_check, -- each reason has its delta
    alter column reason type ledger_reason;

alter table events
    drop constraint events_sequence_check,
    alter column sequence type event_sequence;

alter table idempotency_keys
    drop constraint idempotency_keys_key_check,
    alter column key type idempotency_key;

alter domain booking_status
    add constraint known check (value in ('waitlisted', 'confirmed', 'checked_in', 'no_show', 'cancelled'));
alter domain credit_count add constraint none_or_one check (value in (0, 1));
alter domain class_status add constraint known check (value in ('scheduled', 'cancelled'));
alter domain spot_selection_mode add constraint known check (value in ('optional', 'required'));
alter domain booking_policy add constraint is_object check (jsonb_typeof(value) = 'object');
alter domain head_count add constraint not_negative check (value >= 0);
alter domain membership_status
    add constraint known check (value in ('pending', 'active', 'paused', 'past_due', 'cancelled', 'expired'));
alter domain ledger_reason add constraint known check (value in ('booked', 'promoted', 'returned', 'forfeited'));
alter domain event_sequence add constraint from_one_on check (value >= 1);
alter domain idempotency_key add constraint of_length check (length(value) between 8 and 120);
