-- migrate:up

-- What the booking rules look at of one member, for one class. It is a function because it must be volatile: its query
-- has eyes of its own. The statement that waits for the locks of class and member sees everything else as it was before
-- it began to wait; called by that statement, once the locks are held, this one sees what is there now.
--
-- Bookings of the days around the class are told with their times: which of them are on the class's own day is the
-- studio's calendar's to say. No class lasts longer than a week, so that far back an overlap can begin.
create function member_facts(of_studio uuid, of_class uuid, of_member uuid, class_begins timestamptz, class_ends timestamptz)
returns json language plpgsql volatile as $$
declare
    found json;
begin
    select row_to_json(facts) into found from (
        select m.id, m.suspended, (
                   select coalesce(json_agg(row_to_json(each)), '[]') from (
                       select s.id, s.status, s.credits_remaining, s.started_at, s.current_period_end,
                              s.pause_starts_at, s.pause_ends_at,
                              array(select o.class_type_id from product_class_types o
                                    where o.studio_id = of_studio and o.product_id = s.product_id) as class_type_ids,
                              array(select o.location_id from product_locations o
                                    where o.studio_id = of_studio and o.product_id = s.product_id) as location_ids
                       from memberships s
                       where s.studio_id = of_studio and s.member_id = of_member and s.status in ('active', 'paused')
                   ) each) as memberships,
               (select json_build_object('id', b.id, 'status', b.status) from bookings b
                where b.studio_id = of_studio and b.class_id = of_class and b.member_id = of_member
                  and b.status <> 'cancelled') as live_booking,
               array(select b.start_time from bookings b
                     where b.studio_id = of_studio and b.member_id = of_member and b.class_id <> of_class
                       and b.status in ('confirmed', 'checked_in', 'no_show')
                       and b.start_time > class_begins - interval '2 days'
                       and b.start_time < class_begins + interval '2 days') as bookings_nearby,
               exists (select from bookings b
                       where b.studio_id = of_studio and b.member_id = of_member and b.class_id <> of_class
                         and b.status in ('confirmed', 'checked_in')
                         and b.start_time < class_ends and b.start_time > class_begins - interval '7 days'
                         and b.end_time > class_begins) as overlapping,
               array(select distinct f.form_id from form_submissions f
                     where f.studio_id = of_studio and f.member_id = of_member
                       and f.status in ('pending', 'confirmed')) as submitted_forms
        from members m where m.studio_id = of_studio and m.id = of_member) facts;
    return found;
end
$$;
