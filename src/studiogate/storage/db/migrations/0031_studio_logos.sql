-- migrate:up
-- A studio's logo, as it is shown on hosted pages. It is kept in the database so that every process serves it and every
-- backup holds it. The name is the last segment of its address and changes with the content.
create table studio_logos (
    studio_id uuid not null references studios (studio_id) on delete cascade,
    name text not null check (name ~ '^[0-9a-f]{16}\.(png|jpg|webp)$'),
    content_type text not null,
    content bytea not null,
    updated_at timestamptz not null default now(),
    constraint studio_logos_pkey primary key (studio_id)
);

create trigger touch before update on studio_logos for each row execute function touch_updated_at();
