"""The people of one class: its bookings and its waitlist, and the history of its bookings.

The caller has found the class, so it may be seen; purchases are further limited to the permitted locations.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.roster import Attendee, OpenFees
from studiogate.domain.bookings.states import BookingStatus
from studiogate.storage.audit import ACTOR
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import Statement
from studiogate.storage.sales_list import OPEN_FEE
from studiogate.storage.status_lists import COUNTED_SUBMISSION, OCCUPYING, OPEN_ENTRY, SEAT_HOLDING

MAX_PEOPLE = 500
# The keys of form fields that ask for the date of birth; the newest answer counts.
BIRTH_DATE_KEYS = ("date_of_birth", "birth_date", "birthday")
_ANSWER = f"coalesce({', '.join(f'''f.data ->> '{key}' ''' for key in BIRTH_DATE_KEYS)})"

# Everything about a member is looked up by indexes, per person: a class has few, a studio many.
PERSON = f"""
    m.id as member_id, m.name, m.suspended,
    array(select distinct f.form_id from form_submissions f
          where f.studio_id = :studio and f.member_id = m.id and f.status in ({COUNTED_SUBMISSION})
         ) as submitted_forms,
    (select {_ANSWER} from form_submissions f
     where f.studio_id = :studio and f.member_id = m.id and f.status in ({COUNTED_SUBMISSION})
       and {_ANSWER} ~ '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}$'
     order by f.created_at desc limit 1) as birth_date,
    array(select coalesce(u.currency, studio.currency) || ' ' || sum(u.amount_total)
          from purchases u join studios studio on studio.studio_id = :studio
          where u.studio_id = :studio and u.member_id = m.id and {OPEN_FEE} and u.amount_total > 0
            and (:locations::uuid[] is null or u.location_id = any(:locations))
          group by coalesce(u.currency, studio.currency) order by 1) as open_fees,
    exists (select from bookings v
            where v.studio_id = :studio and v.member_id = m.id and v.start_time < :begins
              and v.status in ({OCCUPYING})) as has_visited"""

# ``offset 0`` keeps the planner from joining all members.
MEMBER = "cross join lateral (select * from members p where p.studio_id = :studio and p.id = b.member_id offset 0) m"

SEATS = Statement(f"""
    select b.id as booking_id, b.status, b.booking_source, b.created_at, b.updated_at, b.class_spot_id,
           (select p.label from room_spots p where p.studio_id = :studio and p.id = b.class_spot_id) as spot,
           (select k.name from credentials k where k.studio_id = :studio and k.id = b.made_by) as partner,
           product.name as membership, s.credits_remaining, {PERSON}
    from bookings b {MEMBER}
    left join lateral (select * from memberships o where o.studio_id = :studio and o.id = b.membership_id offset 0) s
        on true
    left join lateral (select * from products d where d.studio_id = :studio and d.id = s.product_id offset 0) product
        on true
    where b.studio_id = :studio and b.class_id = :class_id and b.status in ({SEAT_HOLDING})
      and (:booking_id::uuid is null or b.id = :booking_id)
    order by lower(m.name), b.id limit {MAX_PEOPLE}""")

WAITING = Statement(f"""
    select b.id as entry_id, b.booking_id, b.position, b.status, b.skip_reason, b.created_at as joined_at, {PERSON}
    from waitlist_entries b {MEMBER}
    where b.studio_id = :studio and b.class_id = :class_id and b.status in ({OPEN_ENTRY})
    order by b.position nulls first, b.id limit {MAX_PEOPLE}""")


class Person(NamedTuple):
    member_id: UUID
    name: str
    attendee: Attendee


class Seat(NamedTuple):
    """A booking that holds a seat. ``marked_at`` is when a check-in or no-show was noted."""

    booking_id: UUID
    status: BookingStatus
    source: str | None
    partner: str | None
    booked_at: datetime
    marked_at: datetime | None
    spot_id: UUID | None
    spot: str | None
    membership: str | None
    credits_remaining: int | None
    person: Person


class Waiting(NamedTuple):
    entry_id: UUID
    booking_id: UUID
    position: int | None
    skip_reason: str | None
    joined_at: datetime
    person: Person


async def seats_of_class(
    connection: Connection, access: Access, class_id: UUID, begins: datetime, booking_id: UUID | None = None
) -> list[Seat]:
    """Return who has a seat in a class that starts at ``begins``, by name; or only the seat of one booking."""
    rows = await SEATS.rows(connection, **_of_class(access, class_id, begins), booking_id=booking_id)
    return [_seat(row) for row in rows]


async def waiting_for_class(connection: Connection, access: Access, class_id: UUID, begins: datetime) -> list[Waiting]:
    rows = await WAITING.rows(connection, **_of_class(access, class_id, begins))
    return [
        Waiting(row["entry_id"], row["booking_id"], row["position"], row["skip_reason"], row["joined_at"], _person(row))
        for row in rows
    ]


def _of_class(access: Access, class_id: UUID, begins: datetime) -> dict[str, object]:
    return {"studio": access.studio_id, "class_id": class_id, "begins": begins, "locations": access.location_ids}


def _seat(row: Record) -> Seat:
    status = BookingStatus(row["status"])
    return Seat(
        booking_id=row["booking_id"],
        status=status,
        source=row["booking_source"],
        partner=row["partner"],
        booked_at=row["created_at"],
        marked_at=None if status == BookingStatus.CONFIRMED else row["updated_at"],
        spot_id=row["class_spot_id"],
        spot=row["spot"],
        membership=row["membership"],
        credits_remaining=row["credits_remaining"],
        person=_person(row),
    )


def _person(row: Record) -> Person:
    fees = tuple(_fees(each) for each in row["open_fees"])
    attendee = Attendee(
        row["suspended"], frozenset(row["submitted_forms"]), fees, row["has_visited"], _date(row["birth_date"])
    )
    return Person(row["member_id"], row["name"], attendee)


def _fees(text: str) -> OpenFees:
    currency, _, amount = text.partition(" ")
    return OpenFees(Decimal(amount), currency)


def _date(text: str | None) -> date | None:
    """Return an answer as a date; a form checks its dates, but an import may have stored another text."""
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        return None


# The history is read from the rows and from the audit log of the studio's side. Rows are kept for good, events for 30
# days: it is complete but for the people behind staff actions whose audit entries have ended.
# The newest bookings of a class whose history is read; a class that was rebooked more often shows these.
MAX_BOOKINGS = 300
MAX_ACTIONS = 600

BOOKED = Statement(f"""
    select b.id, m.id as member_id, m.name, b.status, b.booking_source, b.created_at,
           (select k.name from credentials k where k.studio_id = :studio and k.id = b.made_by) as partner,
           w.created_at as joined_at, w.promoted_at, b.promoted_at is not null as was_promoted, w.id as entry_id,
           k.cancelled_at, k.cancellation_type, k.credits_returned, k.credits_forfeited,
           (select c.name from credentials c where c.studio_id = :studio and c.id = k.made_by) as cancelled_by,
           u.amount_total as fee, coalesce(u.currency, studio.currency) as fee_currency
    from (select * from bookings o where o.studio_id = :studio and o.class_id = :class_id
          order by o.created_at desc, o.id desc limit {MAX_BOOKINGS}) b
    cross join lateral (select * from members p where p.studio_id = :studio and p.id = b.member_id offset 0) m
    left join lateral (select * from waitlist_entries e
                       where e.studio_id = :studio and e.booking_id = b.id offset 0) w on true
    left join lateral (select * from booking_cancellations r
                       where r.studio_id = :studio and r.booking_id = b.id offset 0) k on true
    join studios studio on studio.studio_id = :studio
    left join lateral (select * from purchases f
                       where f.studio_id = :studio and f.id = k.purchase_id offset 0) u on true""")

ACTIONS = Statement(f"""
    select a.subject_id, a.occurred_at, a.channel, {ACTOR} as actor_name, a.action, a.reason,
           a.changes::text as changes
    from unnest(:subjects::uuid[]) given(id)
    cross join lateral (select * from audit_log l
                        where l.studio_id = :studio and l.subject_id = given.id
                          and l.channel <> 'partner' offset 0) a
    left join staff_accounts p on p.id = a.account_id
    order by a.occurred_at desc, a.id desc limit {MAX_ACTIONS}""")


class PlacedBooking(NamedTuple):
    """A booking of the class with everything that is stored about its course."""

    id: UUID
    member_id: UUID
    name: str
    status: str
    source: str | None
    created_at: datetime
    partner: str | None
    joined_at: datetime | None
    taken_at: datetime | None  # when the waitlist entry became a seat
    was_promoted: bool
    entry_id: UUID | None
    cancelled_at: datetime | None
    cancellation_type: str | None
    credits_returned: int | None
    credits_forfeited: int | None
    cancelled_by: str | None
    fee: Decimal | None
    fee_currency: str  # the currency in which it was charged


class ClassAction(NamedTuple):
    """An entry of the audit log about the class, one of its bookings or one of its waitlist entries."""

    subject_id: UUID
    occurred_at: datetime
    channel: str
    actor_name: str
    action: str
    reason: str | None
    changes: str  # JSON: the previous and the new value of each changed field


async def placed_bookings(connection: Connection, access: Access, class_id: UUID) -> list[PlacedBooking]:
    rows = await BOOKED.rows(connection, studio=access.studio_id, class_id=class_id)
    return [PlacedBooking(*row) for row in rows]


async def actions_on(connection: Connection, access: Access, subject_ids: list[UUID]) -> list[ClassAction]:
    """Return the newest audit entries about the subjects, newest first, without those of partners."""
    rows = await ACTIONS.rows(connection, studio=access.studio_id, subjects=subject_ids)
    return [ClassAction(*row) for row in rows]
