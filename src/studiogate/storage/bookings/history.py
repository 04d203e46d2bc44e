"""What happened to the bookings of one class, from the rows themselves and from the audit log of the studio's side.

Rows are kept for good, events for 30 days: the history of an old class is complete but for the people behind staff
actions whose audit entries have ended.
"""

from datetime import datetime
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.audit import ACTOR
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import Statement

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


class Action(NamedTuple):
    """An entry of the audit log about the class, one of its bookings or one of its waitlist entries."""

    subject_id: UUID
    occurred_at: datetime
    channel: str
    actor_name: str
    action: str
    reason: str | None
    changes: str  # JSON: the previous and the new value of each changed field


async def placed_bookings(connection: Connection, access: Access, class_id: UUID) -> list[PlacedBooking]:
    """Return the newest bookings of a class, live or not."""
    rows = await BOOKED.rows(connection, studio=access.studio_id, class_id=class_id)
    return [PlacedBooking(*row) for row in rows]


async def actions_on(connection: Connection, access: Access, subject_ids: list[UUID]) -> list[Action]:
    """Return the newest audit entries about any of the subjects, newest first, without those of partners: the bookings
    themselves say what partners did."""
    rows = await ACTIONS.rows(connection, studio=access.studio_id, subjects=subject_ids)
    return [Action(*row) for row in rows]
