-- migrate:up

-- A file that was uploaded for a field. It waits for a submission that names it; what nobody names is swept.
create table form_uploads (
    studio_id uuid not null,
    id uuid not null,
    form_id uuid not null,
    field_key text not null,
    filename text not null,
    content_type text not null,
    size bigint not null check (size > 0),
    sha256 bytea not null check (length(sha256) = 32),
    -- The name on the disk is random and has nothing of the uploader's.
    stored_name text not null check (stored_name ~ '^[0-9a-f]{32}$'),
    submission_id uuid,
    created_at timestamptz not null default now(),
    constraint form_uploads_pkey primary key (studio_id, id),
    constraint form_uploads_stored_name_key unique (studio_id, stored_name),
    constraint form_uploads_form_fkey foreign key (studio_id, form_id) references forms (studio_id, id),
    constraint form_uploads_submission_fkey
        foreign key (studio_id, submission_id) references form_submissions (studio_id, id)
);
create index form_uploads_waiting on form_uploads (studio_id, created_at) where submission_id is null;
create index form_uploads_of_submission on form_uploads (studio_id, submission_id) where submission_id is not null;

-- Mails to be sent, written with the submission they are about; the text is made when they are sent.
create table mails (
    studio_id uuid not null,
    id uuid not null,
    submission_id uuid not null,
    kind text not null check (kind in ('notification', 'confirmation')),
    recipient text not null check (recipient <> ''),
    status text not null default 'queued' check (status in ('queued', 'sent', 'failed')),
    attempts integer not null default 0 check (attempts >= 0),
    -- Also the end of a lease: whoever sends it moves this ahead first.
    due_at timestamptz not null default now(),
    problem text,
    created_at timestamptz not null default now(),
    sent_at timestamptz,
    constraint mails_pkey primary key (studio_id, id),
    constraint mails_submission_fkey
        foreign key (studio_id, submission_id) references form_submissions (studio_id, id)
);
create index mails_due on mails (studio_id, due_at) where status = 'queued';
create index mails_done on mails (studio_id, created_at) where status <> 'queued';

-- When a person becomes a member, what they submitted before becomes theirs.
create index form_submissions_not_of_a_member on form_submissions (studio_id, submitter_email)
    where member_id is null;
