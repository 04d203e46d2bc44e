-- migrate:up
-- Members and leads that ended in a merge of duplicates, and leads with an email that their member no longer has, each
-- with its member. Events of a merged id still name the person until they age out: an erasure must find them.
create table merged_people (
    studio_id uuid not null,
    id uuid not null,
    kind text not null check (kind in ('member', 'lead')),
    member_id uuid not null,
    merged_at timestamptz not null default clock_timestamp(),
    primary key (studio_id, id),
    foreign key (studio_id, member_id) references members (studio_id, id)
);
create index merged_people_of_member on merged_people (studio_id, member_id);
