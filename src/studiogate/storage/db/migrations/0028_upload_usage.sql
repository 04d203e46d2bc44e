-- migrate:up
alter table form_submissions validate constraint form_submissions_member_is_verified;

-- migrate:step
-- What uploaded files take up, per studio and per form, kept by triggers: every writer counts, and nobody has to add
-- up all files. An upload locks its studio's row before it compares the sum with the quota.
create table studio_upload_usage (
    studio_id uuid not null references studios (studio_id) on delete cascade,
    files bigint not null default 0,
    bytes bigint not null default 0,
    constraint studio_upload_usage_pkey primary key (studio_id)
);

create table form_upload_usage (
    studio_id uuid not null,
    form_id uuid not null,
    files bigint not null default 0,
    bytes bigint not null default 0,
    constraint form_upload_usage_pkey primary key (studio_id, form_id),
    constraint form_upload_usage_form_fkey
        foreign key (studio_id, form_id) references forms (studio_id, id) on delete cascade
);

-- The studio's row always comes first, so that two statements cannot wait for each other.
create function count_added_uploads() returns trigger language plpgsql as $$
begin
    insert into studio_upload_usage as u (studio_id, files, bytes)
    select a.studio_id, count(*), sum(a.size) from added a group by a.studio_id order by a.studio_id
    on conflict (studio_id) do update set files = u.files + excluded.files, bytes = u.bytes + excluded.bytes;
    insert into form_upload_usage as u (studio_id, form_id, files, bytes)
    select a.studio_id, a.form_id, count(*), sum(a.size) from added a group by a.studio_id, a.form_id
    on conflict (studio_id, form_id) do update set files = u.files + excluded.files, bytes = u.bytes + excluded.bytes;
    return null;
end
$$;

create function count_removed_uploads() returns trigger language plpgsql as $$
begin
    update studio_upload_usage u set files = u.files - r.files, bytes = u.bytes - r.bytes
    from (select studio_id, count(*) as files, sum(size) as bytes from removed group by studio_id) r
    where u.studio_id = r.studio_id;
    update form_upload_usage u set files = u.files - r.files, bytes = u.bytes - r.bytes
    from (select studio_id, form_id, count(*) as files, sum(size) as bytes from removed group by studio_id, form_id) r
    where u.studio_id = r.studio_id and u.form_id = r.form_id;
    return null;
end
$$;

-- migrate:step
-- The triggers lock the table against writers until this migration ends: the sums below miss nothing.
create trigger count_added after insert on form_uploads referencing new table as added
    for each statement execute function count_added_uploads();
create trigger count_removed after delete on form_uploads referencing old table as removed
    for each statement execute function count_removed_uploads();

insert into studio_upload_usage (studio_id, files, bytes)
select studio_id, count(*), sum(size) from form_uploads group by studio_id;
insert into form_upload_usage (studio_id, form_id, files, bytes)
select studio_id, form_id, count(*), sum(size) from form_uploads group by studio_id, form_id;
