-- migrate:up

-- updated_at rises with what readers can see, and with nothing else: a staff note or a write of the values that are
-- there already changes no resource.
create or replace trigger touch before update on leads for each row
    when (old.email is distinct from new.email or old.first_name is distinct from new.first_name
          or old.last_name is distinct from new.last_name or old.phone is distinct from new.phone
          or old.source is distinct from new.source or old.status is distinct from new.status
          or old.lifecycle_stage is distinct from new.lifecycle_stage or old.metadata is distinct from new.metadata
          or old.created_at is distinct from new.created_at)
    execute function touch_updated_at();

-- migrate:step
create or replace trigger touch before update on members for each row
    when (old.first_name is distinct from new.first_name or old.last_name is distinct from new.last_name
          or old.email is distinct from new.email or old.phone is distinct from new.phone
          or old.role is distinct from new.role or old.membership_type is distinct from new.membership_type
          or old.membership_start_date is distinct from new.membership_start_date or old.membership_end_date is distinct from new.membership_end_date
          or old.created_at is distinct from new.created_at)
    execute function touch_updated_at();

-- migrate:repeat
-- Members that came by an import before it converted their leads.
update leads set status = 'converted', lifecycle_stage = 'member'
where (studio_id, id) in (
    select l.studio_id, l.id from leads l join members m on m.studio_id = l.studio_id and m.email = l.email
    where m.role <> 'lead' and l.status <> 'converted' limit 500);
