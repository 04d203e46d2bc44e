-- migrate:up

-- Lock the members of a batch of bookings and cancellations. The three arrays describe its requests in order of arrival:
-- the class, which the caller has locked, and the member who books or the booking to cancel. Returned are the classes in
-- which waiting members may move, the members that are locked now and those that others hold, and when that was.
--
-- Each query of a volatile function takes its own snapshot, so that this one sees what has changed while the caller
-- waited for its locks. The caller reads the facts afterwards, by further volatile functions: they are those after all
-- locks. This one read them too, and with them each class again, by one query more for every booking.
--
-- In a class with a waitlist, a cancellation or a free seat moves waiting members: all of them (at most `depth` per
-- class) and the members of its requests are waited for, by id, together with the member of the oldest request. The
-- transaction holds nothing but classes while it waits. All other members are taken only if they are free.
-- No release has called it.
-- squawk-ignore ban-drop-function
drop function lock_booking_members(uuid, uuid[], uuid[], uuid[], integer);
create function lock_booking_members(
    of_studio uuid, of_classes uuid[], of_members uuid[], of_bookings uuid[], depth integer,
    out moving uuid[], out locked uuid[], out busy uuid[], out now timestamptz)
language plpgsql volatile as $$
declare
    people uuid[] := of_members;
    waited_for uuid[];
begin
    if of_classes is null then
        return;
    end if;
    busy := '{}';
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
        busy := array(
            select m.id from members m where m.studio_id = of_studio and m.id = any(people) and m.id <> all(locked));
    end if;
    now := clock_timestamp();
end
$$;
