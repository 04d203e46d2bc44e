-- migrate:up

-- A visitor who types an email is not thereby its owner. Only a verified submission belongs to a member, satisfies a
-- waiver or counts for a form that takes one submission per email.
alter table form_submissions
    add column verified boolean not null default false,
    -- A digest of the page's token and of what was sent with it: a page that is sent twice is one submission.
    add column page_key bytea;

-- Processes of the version before link a submission to a member by its email alone. While they still run, such a
-- submission is stored without its member.
create function unlink_unverified_submission() returns trigger language plpgsql as $$
begin
    new.member_id := null;
    return new;
end
$$;
create trigger unlink_unverified before insert on form_submissions for each row
    when (new.member_id is not null and not new.verified) execute function unlink_unverified_submission();

-- migrate:step
create unique index concurrently form_submissions_page_key on form_submissions (studio_id, page_key)
    where page_key is not null;
-- migrate:step
create index concurrently form_submissions_verified_by_email on form_submissions (studio_id, form_id, submitter_email)
    where verified and status in ('pending', 'confirmed');

-- migrate:repeat
-- Nothing tells whether an existing submission came through a key or from a visitor who typed somebody's email.
-- Verified are those that cannot be a stranger's: a form with require_auth opened by a signed link or a key only, and
-- what staff have confirmed. The others belong to no member until staff confirm them.
update form_submissions set verified = true
where (studio_id, id) in (
    select n.studio_id, n.id from form_submissions n join forms f on f.studio_id = n.studio_id and f.id = n.form_id
    where not n.verified
      and (n.status = 'confirmed' or (n.member_id is not null and (f.settings ->> 'require_auth') = 'true'))
    limit 500);

-- migrate:step
-- From now on no submission gets a member unverified; those that have one lose it in the next step.
create or replace trigger unlink_unverified before insert or update on form_submissions for each row
    when (new.member_id is not null and not new.verified) execute function unlink_unverified_submission();
alter table form_submissions
    add constraint form_submissions_member_is_verified check (verified or member_id is null) not valid;

-- migrate:repeat
update form_submissions set member_id = null
where (studio_id, id) in (
    select studio_id, id from form_submissions where member_id is not null and not verified limit 500);

-- migrate:step
-- How many confirmations an address was sent within the last hour.
create index concurrently mails_confirmations on mails (studio_id, recipient, created_at) where kind = 'confirmation';
