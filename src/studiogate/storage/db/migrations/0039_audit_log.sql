-- migrate:up
-- Who changed what on the studio's side: written in the transaction of the change, kept for 400 days.
create table audit_log (
    studio_id uuid not null references studios,
    id uuid not null,
    occurred_at timestamptz not null default clock_timestamp(),
    channel text not null check (channel in ('console', 'command', 'import', 'partner', 'system')),
    account_id uuid,
    actor_name text not null,
    address text,
    action text not null,
    subject_type text not null,
    subject_id uuid not null,
    changes jsonb not null default '{}',
    reason text,
    primary key (studio_id, id)
);

-- The log, newest first; and everything about one subject.
create index audit_log_by_time on audit_log (studio_id, occurred_at, id);
create index audit_log_of_subject on audit_log (studio_id, subject_id, occurred_at, id);
