-- migrate:up
-- The email that a merged member had: whoever has it is the member that was kept. It goes when that one is erased.
alter table merged_people add column email text;
-- migrate:step
create index concurrently merged_people_by_email on merged_people (studio_id, email) where email is not null;
-- migrate:step
-- The event of a merge names the member that is gone.
alter table events add column merged_id uuid;
-- migrate:step
-- Readers see when a member was erased.
create or replace trigger touch before update on members for each row
    when (old.email is distinct from new.email
          or old.first_name is distinct from new.first_name
          or old.last_name is distinct from new.last_name
          or old.phone is distinct from new.phone
          or old.role is distinct from new.role
          or old.membership_type is distinct from new.membership_type
          or old.membership_start_date is distinct from new.membership_start_date
          or old.membership_end_date is distinct from new.membership_end_date
          or old.erased_at is distinct from new.erased_at
          or old.created_at is distinct from new.created_at)
    execute function touch_updated_at();
-- migrate:step
-- As in 0060, and whether a member was erased. Processes of the release before ignore it.
create or replace function booking_facts(of_studio uuid, of_class uuid, of_members uuid[], class_begins timestamptz, class_ends timestamptz)
returns json language plpgsql volatile as $$
declare
    found json;
begin
    select coalesce(json_agg(facts), '[]') into found from (
        select m.id, m.suspended, m.erased_at is not null as erased, (
                   select coalesce(json_agg(row_to_json(each)), '[]') from (
                       select s.id, s.status, s.credits_remaining, s.started_at, s.current_period_end,
                              s.pause_starts_at, s.pause_ends_at, s.auto_renew, s.cancel_at_period_end, s.cancel_at,
                              array(select o.class_type_id from product_class_types o
                                    where o.studio_id = of_studio and o.product_id = s.product_id) as class_type_ids,
                              array(select o.location_id from product_locations o
                                    where o.studio_id = of_studio and o.product_id = s.product_id) as location_ids
                       from memberships s
                       where s.studio_id = of_studio and s.member_id = m.id and s.status in ('active', 'paused')
                   ) each) as memberships,
               (select json_build_object('id', b.id, 'status', b.status) from bookings b
                where b.studio_id = of_studio and b.class_id = of_class and b.member_id = m.id
                  and b.status <> 'cancelled') as live_booking,
               array(select json_build_array(b.status, b.start_time, b.end_time) from bookings b
                     where b.studio_id = of_studio and b.member_id = m.id and b.class_id <> of_class
                       and b.status in ('confirmed', 'checked_in', 'no_show')
                       and b.start_time > class_begins - interval '7 days'
                       and b.start_time < greatest(class_ends, class_begins + interval '2 days')
                       and (b.start_time > class_begins - interval '2 days' or b.end_time > class_begins)) as bookings_nearby,
               array(select distinct f.form_id from form_submissions f
                     where f.studio_id = of_studio and f.member_id = m.id
                       and f.status in ('pending', 'confirmed')) as submitted_forms
        from unnest(of_members) as given(id)
        cross join lateral (select * from members m where m.studio_id = of_studio and m.id = given.id offset 0) m) facts;
    return found;
end
$$;
