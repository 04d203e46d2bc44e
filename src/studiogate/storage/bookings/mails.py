"""Mails to members: the worker's place in a studio's events, the facts that decide about a mail, and the mails.

The queue is the table of all mails (``storage.mails``). A mail about a booking names the event, the booking and the
member, but no address: it is read when the mail is sent, so nothing of an erased member is left in the queue.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.cancellation import CancellationType
from studiogate.domain.bookings.states import LIVE, BookingStatus, ClassStatus
from studiogate.domain.events import EventType
from studiogate.domain.mails import MAILED_TYPES, TOO_LATE, MailKind, News
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import new_id
from studiogate.storage.mails import claimed

# Of an event ``v``, its class ``c`` and a booking ``b``: what the rules about mails need (``_news``).
FACTS = """
    v.id as event_id, v.type, v.object ->> 'status' as status, v.previous_attributes::text as previous,
    v.created_at as event_at, c.id as class_id, c.status as class_status, c.start_time, b.status as booking_status,
    b.promoted_at is not null as was_promoted"""

# $1 studio, $2 and $3 the range of numbers (exclusive, inclusive), $4 types. Each row is looked up by its id
# (``offset 0`` keeps the planner from joining), as in ``storage.events``.
NEWS = f"""
    select {FACTS}, b.cancellation_type, b.id as booking_id, b.member_id, b.email is not null as has_email
    from events v
    left join lateral (
        select b.id, b.member_id, b.class_id, b.status, b.promoted_at, m.email, k.cancellation_type
        from bookings b
        left join lateral (
            select email from members where studio_id = $1 and id = b.member_id offset 0) m on true
        left join lateral (
            select cancellation_type from booking_cancellations
            where studio_id = $1 and booking_id = b.id offset 0) k on true
        where b.studio_id = $1 and b.id = v.subject offset 0) b on true
    cross join lateral (
        select id, status, start_time from classes
        where studio_id = $1 and id = coalesce(b.class_id, v.subject) offset 0) c
    where v.studio_id = $1 and v.sequence > $2 and v.sequence <= $3 and v.type = any($4::text[]) and not v.silent
    order by v.sequence"""

# $1 studio, $2 how many.
DROPPED = f"""
    select q.kind, v.created_at as happened_at, b.class_id, c.title as class, c.start_time, q.member_id
    from mails q
    join events v on v.studio_id = $1 and v.id = q.event_id
    join bookings b on b.studio_id = $1 and b.id = q.booking_id
    join classes c on c.studio_id = $1 and c.id = b.class_id
    where q.studio_id = $1 and q.status = 'failed' and q.problem = '{TOO_LATE}'
    order by v.created_at desc, q.id limit $2"""

# Fetched when the mail is sent: for its text, and to decide whether it still is to be sent.
CLAIM = f"""{claimed("booking_id")}
    select {FACTS}, k.cancellation_type, clock_timestamp() as now, q.id, q.kind, q.attempts, p.email, p.first_name,
           s.name as studio, coalesce(l.timezone, s.timezone) as timezone,
           s.hour_cycle, s.date_order, s.country, c.title, c.end_time, l.name as location,
           r.name as room, i.name as instructor, spot.label as spot, entry.position as waitlist_position,
           k.receipt::text as receipt,
           (select o.name from locations o
            where o.studio_id = $1 and o.id::text = v.previous_attributes ->> 'location_id') as old_location,
           (select o.name from rooms o
            where o.studio_id = $1 and o.id::text = v.previous_attributes ->> 'room_id') as old_room,
           (select o.name from instructors o
            where o.studio_id = $1 and o.id::text = v.previous_attributes ->> 'instructor_id') as old_instructor
    from claimed q
    join bookings b on b.studio_id = $1 and b.id = q.booking_id
    join members p on p.studio_id = $1 and p.id = b.member_id
    join classes c on c.studio_id = $1 and c.id = b.class_id
    join studios s on s.studio_id = $1
    join events v on v.studio_id = $1 and v.id = q.event_id
    left join locations l on l.studio_id = $1 and l.id = c.location_id
    left join rooms r on r.studio_id = $1 and r.id = c.room_id
    left join instructors i on i.studio_id = $1 and i.id = c.instructor_id
    left join room_spots spot on spot.studio_id = $1 and spot.id = b.class_spot_id
    left join waitlist_entries entry on entry.studio_id = $1 and entry.booking_id = b.id
    left join booking_cancellations k on k.studio_id = $1 and k.booking_id = b.id"""


class Place(NamedTuple):
    """How far a studio's log is, what its members get, and the time."""

    head: int
    switches: Mapping[str, bool]
    test: bool
    now: datetime


class Recipient(NamedTuple):
    booking_id: UUID
    member_id: UUID


class MailedEvent(NamedTuple):
    """An event, and the member of its booking if they have an email address."""

    news: News
    recipient: Recipient | None


class MemberMail(NamedTuple):
    kind: MailKind
    event_id: UUID
    recipient: Recipient


class DueMail(NamedTuple):
    """A claimed mail with the present state of what it is about, and the columns that its text needs."""

    kind: MailKind
    news: News
    now: datetime
    columns: Mapping[str, Any]


async def lock_cursor(connection: Connection, access: Access) -> int:
    """Lock the worker's place in the studio's log until the transaction ends; return the last number it has seen."""
    # The head is read by a later statement: a statement that waits for a lock sees stale other rows.
    statement = """
        insert into mail_cursors as k (studio_id) values ($1)
        on conflict (studio_id) do update set sequence = k.sequence
        returning sequence"""
    return int(await connection.fetchval(statement, access.studio_id))


async def read_place(connection: Connection, access: Access) -> Place:
    statement = """
        select coalesce((select h.sequence from event_heads h where h.studio_id = $1), 0) as head,
               s.mail_switches::text as switches, s.test, clock_timestamp() as now
        from studios s where s.studio_id = $1"""
    (row,) = await connection.fetch(statement, access.studio_id)
    return Place(row["head"], json.loads(row["switches"]), row["test"], row["now"])


async def read_news(connection: Connection, access: Access, after: int, until: int) -> list[MailedEvent]:
    """Return the events in a range of numbers that could be worth a mail, with the present state of their bookings."""
    types = [each.value for each in MAILED_TYPES]
    return [
        MailedEvent(_news(row), Recipient(row["booking_id"], row["member_id"]) if row["has_email"] else None)
        for row in await connection.fetch(NEWS, access.studio_id, after, until, types)
    ]


def _news(row: Record) -> News:
    return News(
        row["event_id"],
        EventType(row["type"]),
        row["status"],
        json.loads(row["previous"]),
        row["event_at"],
        row["class_id"],
        ClassStatus(row["class_status"]),
        row["start_time"],
        BookingStatus(row["booking_status"]) if row["booking_status"] else None,
        row["was_promoted"],
        CancellationType(row["cancellation_type"]) if row["cancellation_type"] else None,
    )


async def members_of_class(
    connection: Connection, access: Access, class_id: UUID, changed_at: datetime
) -> list[Recipient]:
    """Return the members with an email address who had booked the class, or waited for it, when it changed."""
    live = sorted(each.value for each in LIVE)
    # $1 studio, $2 class, $3 the live states, $4 the time of the change.
    statement = """
        select b.id, b.member_id from bookings b
        cross join lateral (
            select from members where studio_id = $1 and id = b.member_id and email is not null offset 0) m
        where b.studio_id = $1 and b.class_id = $2 and b.status = any($3::text[]) and b.created_at <= $4
        order by b.created_at, b.id"""
    rows = await connection.fetch(statement, access.studio_id, class_id, live, changed_at)
    return [Recipient(row["id"], row["member_id"]) for row in rows]


async def mails_within_the_hour(connection: Connection, access: Access, member_ids: Sequence[UUID]) -> dict[UUID, int]:
    statement = """
        select w.member_id, (
            select count(*) from mails m where m.studio_id = $1 and m.member_id = w.member_id
            and m.created_at > clock_timestamp() - interval '1 hour') as mails
        from unnest($2::uuid[]) w(member_id)"""
    rows = await connection.fetch(statement, access.studio_id, member_ids)
    return {row["member_id"]: row["mails"] for row in rows}


async def queue(
    connection: Connection, access: Access, wanted: Sequence[MemberMail], problem: str | None = None
) -> None:
    """Queue mails; with a problem, keep them as failed ones that are not sent."""
    statement = """
        insert into mails (studio_id, id, kind, event_id, booking_id, member_id, status, problem)
        select $1, w.*, case when $7::text is null then 'queued' else 'failed' end, $7
        from unnest($2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::uuid[]) w"""
    await connection.execute(
        statement,
        access.studio_id,
        [new_id() for _ in wanted],
        [each.kind.value for each in wanted],
        [each.event_id for each in wanted],
        [each.recipient.booking_id for each in wanted],
        [each.recipient.member_id for each in wanted],
        problem,
    )


async def last_old_event(
    connection: Connection, access: Access, after: int, at_most: int, age: timedelta
) -> int | None:
    """Return the number of the last of the next events that is older than ``age``."""
    # $1 studio, $2 the last number seen, $3 how many events to look at, $4 how long they are news.
    statement = """
        select max(e.sequence) from (
            select v.sequence, v.created_at from events v
            where v.studio_id = $1 and v.sequence > $2 order by v.sequence limit $3) e
        where e.created_at < clock_timestamp() - $4::interval"""
    sequence: int | None = await connection.fetchval(statement, access.studio_id, after, at_most, age)
    return sequence


async def dropped(connection: Connection, access: Access, at_most: int) -> list[Record]:
    """Return the mails of the last days that came too late, the newest first."""
    return await connection.fetch(DROPPED, access.studio_id, at_most)


async def advance(connection: Connection, access: Access, sequence: int) -> None:
    await connection.execute("update mail_cursors set sequence = $2 where studio_id = $1", access.studio_id, sequence)


async def claim(connection: Connection, access: Access, at_most: int, lease_seconds: int) -> list[DueMail]:
    rows = await connection.fetch(CLAIM, access.studio_id, at_most, lease_seconds)
    return [DueMail(MailKind(row["kind"]), _news(row), row["now"], dict(row)) for row in rows]


async def lock_switches(connection: Connection, access: Access) -> dict[str, bool]:
    """Lock the studio's row; return its switches. Must run inside a transaction."""
    statement = "select mail_switches::text from studios where studio_id = $1 for no key update"
    text = await connection.fetchval(statement, access.studio_id)
    return dict(json.loads(text))


async def set_switches(connection: Connection, access: Access, switches: Mapping[str, bool]) -> None:
    statement = "update studios set mail_switches = $2 where studio_id = $1"
    await connection.execute(statement, access.studio_id, json.dumps(switches))
