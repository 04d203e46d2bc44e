-- migrate:up

-- What the booking rules look at of some members, for one class. It is a function because it must be volatile: its query
-- takes its own snapshot. The statement that waits for the locks of class and members sees everything else as it was
-- before it began to wait; called by that statement, once the locks are held, this one sees what is there now.
--
-- Other bookings around the class are returned with their times: which of them overlap, and which are on the class's own
-- day, is decided by the booking rules. No class lasts longer than a week, so that far back an overlap can begin.
--
-- member_facts, its predecessor for one member, remains for processes of the release before.
create function booking_facts(of_studio uuid, of_class uuid, of_members uuid[], class_begins timestamptz, class_ends timestamptz)
returns json language plpgsql volatile as $$
declare
    found json;
begin
    select coalesce(json_agg(facts), '[]') into found from (
        select m.id, m.suspended, (
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
