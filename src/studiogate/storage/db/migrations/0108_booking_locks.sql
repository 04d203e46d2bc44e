-- migrate:up

-- Bookings as cancelling them needs to know them: the booking with its receipt, its membership and its live waitlist
-- entry. Volatile, for the same reason as booking_facts.
create function cancellation_facts(of_studio uuid, of_bookings uuid[])
returns json language plpgsql volatile as $$
declare
    found json;
begin
    select coalesce(json_agg(facts), '[]') into found from (
        select b.id, b.class_id, b.member_id, b.status, b.policy::text, b.membership_id, b.credits_taken,
               b.class_spot_id, b.promoted_at,
               (select k.id from booking_cancellations k
                where k.studio_id = of_studio and k.booking_id = b.id) as cancellation_id,
               (select row_to_json(s) from memberships s
                where s.studio_id = of_studio and s.id = b.membership_id) as membership,
               case when b.status = 'waitlisted' then (
                   select row_to_json(e) from waitlist_entries e where e.studio_id = of_studio
                   and e.booking_id = b.id and e.status in ('waiting', 'offered')) end as entry,
               clock_timestamp() as now
        from bookings b
        where b.studio_id = of_studio and b.id = any(of_bookings)) facts;
    return found;
end
$$;

-- Lock the members of a batch of bookings and cancellations, and read all facts. The three arrays describe its requests
-- in order of arrival: the class, which the caller has locked, and the member who books or the booking to cancel.
--
-- Each query of a volatile function takes its own snapshot, so that this one sees what has changed while the caller
-- waited for its locks, and the facts are those after all locks.
--
-- In a class with a waitlist, a cancellation or a free seat moves waiting members: all of them (at most `depth` per
-- class) and the members of its requests are waited for, by id, together with the member of the oldest request. The
-- transaction holds nothing but classes while it waits. All other members are taken only if they are free.
create function lock_booking_members(of_studio uuid, of_classes uuid[], of_members uuid[], of_bookings uuid[], depth integer)
returns table (class_id uuid, is_moving boolean, members json, spots json, bookings json, busy uuid[], now timestamptz)
language plpgsql volatile as $$
declare
    people uuid[] := of_members;
    moving uuid[] := '{}';
    waited_for uuid[];
    locked uuid[];
    held_elsewhere uuid[] := '{}';
    instant timestamptz;
begin
    if of_classes = '{}' then
        return;
    end if;
    if array_position(of_members, null) is not null then
        people := array(
            select coalesce(each.member_id, (select b.member_id from bookings b
                                             where b.studio_id = of_studio and b.id = each.booking_id))
            from unnest(of_members, of_bookings) with ordinality as each(member_id, booking_id, place)
            order by each.place);
    end if;
    waited_for := people[1:1];
    moving := array(
        select c.id from classes c
        where c.studio_id = of_studio and c.id = any(of_classes) and c.waitlist_count > 0 and (
            c.booked_count < c.capacity or exists (
                select from unnest(of_classes, of_bookings) as each(class_id, booking_id)
                where each.class_id = c.id and each.booking_id is not null)));
    if moving <> '{}' then
        waited_for := waited_for || array(
            select w.member_id from waitlist_entries w
            where w.studio_id = of_studio and w.class_id = any(moving) and w.status = 'waiting' and w.position <= depth
        ) || array(
            select each.member_id from unnest(of_classes, people) as each(class_id, member_id)
            where each.class_id = any(moving));
    end if;
    locked := array(
        select m.id from members m where m.studio_id = of_studio and m.id = any(waited_for)
        order by m.id for no key update of m);
    if cardinality(people) > 1 then
        locked := locked || array(
            select m.id from members m
            where m.studio_id = of_studio and m.id = any(people) and m.id <> all(locked)
            for no key update of m skip locked);
    end if;
    if not people <@ locked then
        held_elsewhere := array(
            select m.id from members m where m.studio_id = of_studio and m.id = any(people) and m.id <> all(locked));
    end if;
    instant := clock_timestamp();
    return query
        select c.id, c.id = any(moving),
               case when asked.members <> '{}' and c.id <> all(moving)
                    then booking_facts(of_studio, c.id, asked.members, c.start_time, c.end_time) end,
               case when asked.members <> '{}' and c.spot_selection_mode is not null then class_spots(of_studio, c.id) end,
               case when asked.bookings <> '{}' then cancellation_facts(of_studio, asked.bookings) end,
               held_elsewhere, instant
        from (select each.class_id,
                     array_remove(array_agg(case when each.booking_id is null and each.member_id = any(locked)
                                                 then each.member_id end), null) as members,
                     array_remove(array_agg(each.booking_id), null) as bookings
              from unnest(of_classes, people, of_bookings) as each(class_id, member_id, booking_id)
              group by each.class_id) asked
        cross join lateral (
            select * from classes c where c.studio_id = of_studio and c.id = asked.class_id offset 0) c;
end
$$;

-- The spots of a class: whether somebody holds each of them.
create function class_spots(of_studio uuid, of_class uuid)
returns json language plpgsql volatile as $$
declare
    found json;
begin
    select coalesce(json_agg(json_build_object('id', p.id, 'label', p.label, 'held', exists (
               select from bookings b where b.studio_id = of_studio and b.class_id = of_class and b.class_spot_id = p.id
               and b.status <> 'cancelled'))), '[]') into found
    from classes c join room_spots p on p.studio_id = c.studio_id and p.room_id = c.room_id
    where c.studio_id = of_studio and c.id = of_class and c.spot_selection_mode is not null;
    return found;
end
$$;
