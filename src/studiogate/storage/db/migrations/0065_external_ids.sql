-- migrate:up
-- The ids that rows had in the systems they were imported from, so that a later import finds the same rows again.
-- Rows of several tables: row_id has no foreign key, and a row that is gone is not created again by an import.
create table external_ids (
    studio_id uuid not null references studios,
    source text not null check (length(source) between 1 and 60),
    kind text not null check (kind in ('members', 'memberships', 'schedule', 'products', 'leads')),
    external_id text not null check (length(external_id) between 1 and 200),
    row_id uuid not null,
    created_at timestamptz not null default now(),
    primary key (studio_id, source, kind, external_id)
);

create index external_ids_of_row on external_ids (studio_id, row_id);
