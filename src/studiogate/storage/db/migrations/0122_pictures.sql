-- migrate:up
-- Pictures of class types and instructors: files in the upload folder, named by a hash of their content. Several rows can
-- have the same picture. One that a row gave up is kept for a while: what partners have read still refers to it.
create table pictures (
    studio_id uuid not null references studios (studio_id),
    name text not null check (name ~ '^[0-9a-f]{32}\.jpg$'),
    created_at timestamptz not null default now(),
    -- When a row gave it up; others may still have it.
    unused_since timestamptz,
    constraint pictures_pkey primary key (studio_id, name)
);
create index pictures_given_up on pictures (studio_id, unused_since) where unused_since is not null;

-- Whatever gives a row a picture (staff, an import) makes the picture known.
create function note_picture() returns trigger language plpgsql as $$
begin
    if new.picture is not null then
        insert into pictures as p (studio_id, name) values (new.studio_id, new.picture)
        on conflict (studio_id, name) do update set unused_since = null where p.unused_since is not null;
    end if;
    if tg_op = 'UPDATE' then
        update pictures set unused_since = clock_timestamp()
        where studio_id = old.studio_id and name = old.picture;
    end if;
    return new;
end
$$;

-- migrate:step
alter table class_types add column picture text;
alter table class_types add constraint class_types_picture_fkey
    foreign key (studio_id, picture) references pictures (studio_id, name) not valid;
create trigger note_first_picture before insert on class_types for each row
    when (new.picture is not null) execute function note_picture();
create trigger note_picture before update on class_types for each row
    when (old.picture is distinct from new.picture) execute function note_picture();
-- migrate:step
alter table instructors add column picture text;
alter table instructors add constraint instructors_picture_fkey
    foreign key (studio_id, picture) references pictures (studio_id, name) not valid;
create trigger note_first_picture before insert on instructors for each row
    when (new.picture is not null) execute function note_picture();
create trigger note_picture before update on instructors for each row
    when (old.picture is distinct from new.picture) execute function note_picture();
