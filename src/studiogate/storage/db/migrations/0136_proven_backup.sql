-- migrate:up
-- The newest backup that was restored and passed the checks of `doctor`. Of the installation, so without a studio.
create table proven_backup (
    only_row boolean not null default true check (only_row),
    taken_at timestamptz not null,
    proven_at timestamptz not null,
    constraint proven_backup_pkey primary key (only_row)
);
