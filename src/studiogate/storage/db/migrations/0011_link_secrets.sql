-- migrate:up

-- What a studio's hosted pages sign with: links made for one member, and the tokens that forms carry. All processes
-- share it, and it lives as long as the studio. Two random UUIDs are 244 bits from the server's strong source; no
-- extension is needed for them. Links of one studio say nothing to another's pages.
create table studio_secrets (
    studio_id uuid not null references studios (studio_id) on delete cascade,
    link_secret bytea not null default decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')
        check (length(link_secret) = 32),
    constraint studio_secrets_pkey primary key (studio_id)
);
insert into studio_secrets (studio_id) select studio_id from studios;

create function add_studio_secret() returns trigger language plpgsql as $$
begin
    insert into studio_secrets (studio_id) values (new.studio_id);
    return null;
end
$$;
create trigger add_secret after insert on studios for each row execute function add_studio_secret();
