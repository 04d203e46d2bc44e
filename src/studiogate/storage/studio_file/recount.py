"""Update what follows from changed rows: the waitlist, the counters, the copies, the credit ledger.

Imported bookings take and return no credit, and no member is promoted: the sweep fills seats that an import frees.
"""

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection
from studiogate.storage.status_lists import OPEN_ENTRY, SEAT_HOLDING

# Bookings have copies of their class's location and times, which follow a change of the class.
MOVE_BOOKINGS = """
    update bookings b set location_id = k.location_id, start_time = k.start_time, end_time = k.end_time
    from classes k join change_classes c on c.id = k.id and c.existing
    where k.studio_id = $1 and b.studio_id = $1 and b.class_id = k.id
        and (b.location_id, b.start_time, b.end_time) is distinct from (k.location_id, k.start_time, k.end_time)"""

MOVE_ENTRIES = """
    update waitlist_entries w set location_id = k.location_id
    from classes k join change_classes c on c.id = k.id and c.existing
    where k.studio_id = $1 and w.studio_id = $1 and w.class_id = k.id
        and w.location_id is distinct from k.location_id"""

# An entry whose booking is no longer waitlisted was converted or cancelled.
END_WAITING = f"""
    with ended as (
        update waitlist_entries w
        set status = case b.status when 'cancelled' then 'cancelled' else 'converted' end, position = null,
            promoted_at = case b.status when 'cancelled' then w.promoted_at else now() end
        from change_bookings c join bookings b on b.studio_id = $1 and b.id = c.id
        where w.studio_id = $1 and w.booking_id = b.id and w.status in ({OPEN_ENTRY})
            and b.status <> 'waitlisted'
        returning w.booking_id, w.status
    )
    update bookings b set promoted_at = now() from ended
    where b.studio_id = $1 and b.id = ended.booking_id and ended.status = 'converted'"""

# New entries follow those that already wait, in the order in which their bookings were created.
BEGIN_WAITING = """
    insert into waitlist_entries (studio_id, id, class_id, member_id, booking_id, location_id, position, status,
                                  created_at)
    select $1, gen_random_uuid(), b.class_id, b.member_id, b.id, b.location_id,
           coalesce((select max(w.position) from waitlist_entries w where w.studio_id = $1 and w.class_id = b.class_id
                     and w.status = 'waiting'), 0)
           + row_number() over (partition by b.class_id order by b.created_at, c.n),
           'waiting', b.created_at
    from change_bookings c join bookings b on b.studio_id = $1 and b.id = c.id
    where b.status = 'waitlisted'
        and not exists (select from waitlist_entries w where w.studio_id = $1 and w.booking_id = b.id)"""

# The bookings show the position, so those of moved entries have changed too.
CLOSE_GAPS = """
    with moved as (
        update waitlist_entries w set position = o.position
        from (select id, row_number() over (partition by class_id order by position, created_at, id) as position
              from waitlist_entries where studio_id = $1 and status = 'waiting'
                  and class_id in (select class_id from change_bookings)) o
        where w.studio_id = $1 and w.id = o.id and w.position <> o.position
        returning w.booking_id)
    update bookings set updated_at = clock_timestamp()
    where studio_id = $1 and id = any(array(select booking_id from moved))"""

COUNT = f"""
    update classes k set booked_count = n.booked, waitlist_count = n.waiting
    from (select f.id, count(b.id) filter (where b.status in ({SEAT_HOLDING})) as booked,
                 count(b.id) filter (where b.status = 'waitlisted') as waiting
          from final_classes f left join bookings b on b.studio_id = $1 and b.class_id = f.id group by f.id) n
    where k.studio_id = $1 and k.id = n.id
        and (k.booked_count, k.waitlist_count) is distinct from (n.booked, n.waiting)"""

# A changed number of credits is an adjustment. New memberships have their line from the database.
ADJUST_CREDITS = """
    insert into credit_ledger (studio_id, id, membership_id, delta, reason)
    select $1, gen_random_uuid(), s.id, s.credits_remaining - l.total, 'adjusted'
    from change_memberships c join memberships s on s.studio_id = $1 and s.id = c.id
    cross join lateral (select coalesce(sum(o.delta), 0) as total from credit_ledger o
                        where o.studio_id = $1 and o.membership_id = s.id) l
    where c.existing and s.credits_remaining <> l.total"""


async def settle(connection: Connection, access: Access) -> int:
    """Run the updates, after classes and bookings are in their tables; return for how many memberships the credits were
    adjusted. The classes must be locked."""
    for statement in (MOVE_BOOKINGS, MOVE_ENTRIES, END_WAITING, BEGIN_WAITING, CLOSE_GAPS, COUNT):
        await connection.execute(statement, access.studio_id)
    status: str = await connection.execute(ADJUST_CREDITS, access.studio_id)
    return int(status.rpartition(" ")[2])
