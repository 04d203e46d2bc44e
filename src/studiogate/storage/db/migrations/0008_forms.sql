-- migrate:up
-- fields and settings are json, not jsonb: a form comes back as it was written, member order included.

create table forms (
    studio_id uuid not null references studios (studio_id),
    id uuid not null,
    title text not null check (title <> ''),
    slug text not null check (slug ~ '^[a-z0-9](-?[a-z0-9])*$'),
    description text,
    fields json not null default '[]' check (json_typeof(fields) = 'array'),
    settings json not null default '{}' check (json_typeof(settings) = 'object'),
    status text not null default 'draft' check (status in ('draft', 'published', 'archived')),
    version integer not null default 1 check (version >= 1),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint forms_pkey primary key (studio_id, id),
    constraint forms_slug_key unique (studio_id, slug)
);
create index forms_list on forms (studio_id, created_at desc, id desc);
create index forms_published on forms (studio_id, created_at desc, id desc) where status = 'published';

-- The fields as they were at each version: a submission stays readable after the form has moved on.
create table form_versions (
    studio_id uuid not null,
    form_id uuid not null,
    version integer not null,
    fields json not null,
    created_at timestamptz not null default now(),
    constraint form_versions_pkey primary key (studio_id, form_id, version),
    constraint form_versions_form_fkey foreign key (studio_id, form_id) references forms (studio_id, id)
);

create table form_submissions (
    studio_id uuid not null,
    id uuid not null,
    form_id uuid not null,
    form_version integer not null,
    submitter_name text,
    submitter_email text not null,
    data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
    consents jsonb not null default '[]' check (jsonb_typeof(consents) = 'array'),
    status text not null default 'pending' check (status in ('pending', 'confirmed', 'rejected', 'spam')),
    member_id uuid,
    lead_id uuid,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint form_submissions_pkey primary key (studio_id, id),
    constraint form_submissions_form_fkey foreign key (studio_id, form_id) references forms (studio_id, id),
    constraint form_submissions_version_fkey
        foreign key (studio_id, form_id, form_version) references form_versions (studio_id, form_id, version),
    constraint form_submissions_member_fkey foreign key (studio_id, member_id) references members (studio_id, id),
    constraint form_submissions_lead_fkey foreign key (studio_id, lead_id) references leads (studio_id, id)
);
create index form_submissions_list on form_submissions (studio_id, form_id, created_at desc, id desc);
create index form_submissions_changed on form_submissions (studio_id, form_id, updated_at, created_at, id);
create index form_submissions_by_email on form_submissions (studio_id, form_id, submitter_email);
create index form_submissions_of_member on form_submissions (studio_id, member_id, form_id) where member_id is not null;

create trigger touch before update on forms for each row execute function touch_updated_at();
create trigger touch before update on form_submissions for each row execute function touch_updated_at();
