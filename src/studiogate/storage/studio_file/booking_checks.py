"""Classes and bookings as they would be after the import: nothing oversold, nothing held twice; and history that fits
the rows it is about. Every check selects its faults.

``final_classes`` and ``final_bookings`` contain the classes that the file changes, with all of their bookings; those of
the file replace the stored ones. ``n`` and ``place`` are null for rows that are not in the file. ``may_be_freed`` is
whether the import can leave a stored class with more free seats than before.
"""

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import IMPORT_TRANSITIONS, BookingStatus
from studiogate.storage.db.pool import Connection
from studiogate.storage.status_lists import ATTENDABLE, OPEN_ENTRY, SEAT_HOLDING

FINAL_CLASSES = """
    insert into final_classes
    select s.n, s.place, f.id, coalesce(c.capacity, k.capacity), coalesce(c.status, k.status),
           case when c.id is null then k.room_id else c.room_id end,
           k.id is not null and (c.capacity > k.capacity
                                 or f.id in (select class_id from change_bookings where existing))
    from (select id from change_classes union select class_id from change_bookings) f(id)
    left join stage_classes s on s.id = f.id
    left join change_classes c on c.id = f.id
    left join classes k on k.studio_id = $1 and k.id = f.id
    where c.id is not null or k.id is not null"""

FINAL_BOOKINGS = """
    insert into final_bookings
    select c.n, c.place, c.id, c.class_id, c.member_id, c.status, c.class_spot_id from change_bookings c
    union all
    select null, null, b.id, b.class_id, b.member_id, b.status, b.class_spot_id from bookings b
    where b.studio_id = $1 and b.class_id in (select id from final_classes)
        and not exists (select from change_bookings c where c.id = b.id)"""

OVERBOOKED = f"""
    select coalesce(k.n, b.n), coalesce(k.place || '.capacity', b.place || '.class_id'),
           format('is overbooked: %s seats are taken and it has %s', b.seats, k.capacity)
    from final_classes k join (
        select class_id, count(*) as seats, min(n) as n, (array_agg(place order by n))[1] as place
        from final_bookings where status in ({SEAT_HOLDING}) group by class_id
    ) b on b.class_id = k.id
    where b.seats > k.capacity"""


def _held_twice(what: str, message: str) -> str:
    """Return the check for a value that two bookings hold: stored ones first, so that the fault is the file's."""
    return f"""
        select n, place || '.{what}', '{message}: ' || coalesce(first_place, 'booking ' || first_id)
        from (select n, place, first_value(place) over w as first_place, first_value(id) over w as first_id,
                     row_number() over w as number
              from final_bookings where status <> 'cancelled' and {what} is not null
              window w as (partition by class_id, {what} order by n nulls first, id)) d
        where number > 1 and place is not null"""


SPOT_ELSEWHERE = """
    select coalesce(b.n, k.n), coalesce(b.place || '.class_spot_id', k.place || '.room_id'),
           case when b.place is null then format('booking %s holds a spot of another room', b.id)
                else 'is no spot of the class''s room' end
    from final_bookings b join final_classes k on k.id = b.class_id
    left join stage_room_spots s on s.id = b.class_spot_id
    left join room_spots p on p.studio_id = $1 and p.id = b.class_spot_id
    where b.status <> 'cancelled' and (s.id is not null or p.id is not null)
        and coalesce(s.room_id, p.room_id) is distinct from k.room_id
        and (b.place is not null or k.place is not null)"""

SPOT_MOVED = """
    select c.n, c.place || '.id', 'is held by bookings and cannot move to another room'
    from change_room_spots c join room_spots p on p.studio_id = $1 and p.id = c.id
    where p.room_id <> c.room_id and exists (
        select from bookings b where b.studio_id = $1 and b.class_spot_id = c.id and b.status <> 'cancelled')"""

LIVE_IN_CANCELLED = f"""
    select b.n, b.place || '.status', 'must be cancelled: its class is'
    from final_bookings b join final_classes k on k.id = b.class_id
    where k.status = 'cancelled' and b.status in ({ATTENDABLE}) and b.place is not null"""

CLASS_CANCELLED = """
    select c.n, c.place || '.status', case c.status
        when 'cancelled' then format('a class is cancelled by `studiogate class cancel %s` only', c.id)
        else 'the class was cancelled and stays so: give it a new id' end
    from change_classes c join classes k on k.studio_id = $1 and k.id = c.id where c.status <> k.status"""

BOOKING_MOVED = """
    select c.n, c.place || m.member, 'cannot change: cancel the booking and give a new one with a new id'
    from change_bookings c join bookings b on b.studio_id = $1 and b.id = c.id
    cross join lateral (values ('.class_id', c.class_id <> b.class_id), ('.member_id', c.member_id <> b.member_id))
        m(member, moved)
    where m.moved"""

# Pairs of the stored status and the file's.
_FORBIDDEN = ", ".join(
    f"('{stored}', '{given}')"
    for stored, possible in IMPORT_TRANSITIONS.items()
    for given in BookingStatus
    if given not in {stored, *possible}
)
BOOKING_STATUS = f"""
    select c.n, c.place || '.status', case
        when b.status = 'cancelled' then 'the booking was cancelled, which is final: leave it out, or give a new id'
        when c.status = 'waitlisted' then format('the booking is %s and cannot go back to the waitlist', b.status)
        else 'the booking took a credit: cancel it through the interface, which settles the credit' end
    from change_bookings c join bookings b on b.studio_id = $1 and b.id = c.id
    where (b.status, c.status) in ({_FORBIDDEN})
        or (c.status = 'cancelled' and b.status <> 'cancelled' and b.credits_taken > 0)"""

CREDIT_MOVED = """
    select c.n, c.place || '.membership_id', 'cannot change: a credit of the membership was taken'
    from change_bookings c join bookings b on b.studio_id = $1 and b.id = c.id
    where b.credits_taken > 0 and c.membership_id is distinct from b.membership_id"""

FOREIGN_MEMBERSHIP = """
    select c.n, c.place || '.membership_id', 'is a membership of another member'
    from change_bookings c
    left join stage_memberships s on s.id = c.membership_id
    left join memberships m on m.studio_id = $1 and m.id = c.membership_id
    where coalesce(s.member_id, m.member_id) <> c.member_id"""

MEMBERSHIP_MOVED = """
    select c.n, c.place || '.member_id', 'cannot change: a membership stays with its member'
    from change_memberships c join memberships m on m.studio_id = $1 and m.id = c.id
    where m.member_id <> c.member_id"""

SEATS = (
    OVERBOOKED,
    _held_twice("member_id", "the member has another live booking in the class"),
    _held_twice("class_spot_id", "the spot is held already"),
    SPOT_ELSEWHERE,
    SPOT_MOVED,
    LIVE_IN_CANCELLED,
    CLASS_CANCELLED,
    BOOKING_MOVED,
    BOOKING_STATUS,
    CREDIT_MOVED,
    FOREIGN_MEMBERSHIP,
    MEMBERSHIP_MOVED,
)


async def foresee(connection: Connection, access: Access) -> None:
    """Fill the ``final_`` tables, again if rows were left out. Needs the changes, and the locks on the classes."""
    statement = """
        create temp table if not exists final_classes (n integer, place text, id uuid, capacity integer, status text,
            room_id uuid, may_be_freed boolean) on commit drop;
        create temp table if not exists final_bookings (n integer, place text, id uuid, class_id uuid, member_id uuid,
            status text, class_spot_id uuid) on commit drop;
        truncate final_classes, final_bookings"""
    await connection.execute(statement)
    await connection.execute(FINAL_CLASSES, access.studio_id)
    await connection.execute(FINAL_BOOKINGS, access.studio_id)
    await connection.execute("analyze final_classes; analyze final_bookings")


VERSION_UNKNOWN = """
    select c.n, c.place || '.form_version', 'is no version of the form in this file or this studio'
    from change_form_submissions c
    where not c.existing
        and not exists (select from form_versions v where v.studio_id = $1 and v.form_id = c.form_id
                        and v.version = c.form_version)
        and not exists (select from stage_form_versions v where v.form_id = c.form_id and v.version = c.form_version)
        and not exists (select from change_forms f where f.id = c.form_id and not f.existing
                        and f.version = c.form_version)
        and (exists (select from forms f where f.studio_id = $1 and f.id = c.form_id)
             or exists (select from stage_forms f where f.id = c.form_id))"""

# The form's next version would otherwise meet one that came from a file.
VERSION_AHEAD = """
    select c.n, c.place || '.version', 'is ahead of the form, which has version ' || f.version
    from change_form_versions c join (
        select id, version from change_forms where not existing
        union all select id, version from forms where studio_id = $1) f on f.id = c.form_id
    where c.version > f.version"""

ENTRY_OF_BOOKING = f"""
    select c.n, c.place || '.status', 'does not fit its booking, which is ' || b.status
    from change_waitlist_entries c join change_bookings b on b.id = c.booking_id
    where (c.status in ({OPEN_ENTRY})) <> (b.status = 'waitlisted')
       or (c.status = 'converted') <> (c.promoted_at is not null)"""

PROMOTED_WITHOUT_ENTRY = """
    select b.n, b.place || '.promoted_at', 'is not null, but the booking has no converted entry in the waitlist'
    from change_bookings b where not b.existing and b.promoted_at is not null
        and not exists (select from change_waitlist_entries c where c.booking_id = b.id and c.status = 'converted')"""

CREDIT_WITHOUT_LINE = """
    select b.n, b.place || '.credits_taken',
           format('is %s, but the ledger has %s lines for it', b.credits_taken, coalesce(l.lines, 0))
    from change_bookings b left join (
        select booking_id, count(*) as lines from change_credit_ledger where delta = -1 group by booking_id
    ) l on l.booking_id = b.id
    where not b.existing and coalesce(l.lines, 0) <> b.credits_taken"""

RECEIPT_OF_LIVE = """
    select c.n, c.place || '.booking_id', 'is a booking that is not cancelled'
    from change_booking_cancellations c join change_bookings b on b.id = c.booking_id where b.status <> 'cancelled'"""

FEE_WITHOUT_RECEIPT = """
    select u.n, u.place || '.booking_id', 'is set, but no cancellation names this purchase'
    from change_purchases u where not u.existing and u.booking_id is not null
        and not exists (select from change_booking_cancellations c where c.purchase_id = u.id)"""


def _twice(table: str, column: str) -> str:
    return f"""
        select n, place || '.{column}', 'is the {column} of ' || first || ' too'
        from (select n, place, first_value(place) over w as first, row_number() over w as number
              from change_{table} window w as (partition by {column} order by n)) d where number > 1"""


# History is checked where it is loaded: in an existing studio the tables of its changes are emptied first.
HISTORY_CHECKS = (
    VERSION_UNKNOWN,
    VERSION_AHEAD,
    ENTRY_OF_BOOKING,
    PROMOTED_WITHOUT_ENTRY,
    CREDIT_WITHOUT_LINE,
    RECEIPT_OF_LIVE,
    FEE_WITHOUT_RECEIPT,
    _twice("waitlist_entries", "booking_id"),
    _twice("booking_cancellations", "booking_id"),
)
