-- migrate:up
-- What somebody has changed in the form builder and not published: the form's content as JSON, as it was left. It may
-- have faults. A form has one draft; ``revision`` rises with each time it is saved, and ``form_version`` is the version
-- of the form that it was begun from.
create table form_drafts (
    studio_id uuid not null,
    form_id uuid not null,
    content text not null,
    form_version integer not null,
    revision integer not null default 1,
    updated_at timestamptz not null default clock_timestamp(),
    constraint form_drafts_pkey primary key (studio_id, form_id)
);
-- migrate:step
alter table form_drafts add constraint form_drafts_form_fkey
    foreign key (studio_id, form_id) references forms (studio_id, id) on delete cascade;
-- migrate:step
-- The inbox of submissions: each status is read along its own range.
create index concurrently form_submissions_inbox on form_submissions (studio_id, status, created_at desc, id desc);
-- migrate:step
create index concurrently form_submissions_inbox_of_form
    on form_submissions (studio_id, form_id, status, created_at desc, id desc);
