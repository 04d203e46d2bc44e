"""Shared by the tests of staff flows: accesses of every role, the events and the audit entries that a flow writes."""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access, staff_access
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import PERMISSIONS, Channel, Role, Staff
from studiogate.flows.bookings.batch import Asked
from studiogate.flows.bookings.book import WantedBooking, book_together
from studiogate.flows.idempotency import Stored, WriteContext
from tests.support.booking_studio import BookingStudio

News = tuple[str, str, dict[str, Any]]


def person(studio: BookingStudio, role: Role = Role.OWNER, locations: tuple[UUID, ...] | None = None) -> Access:
    """Return the access of somebody with this role, at these locations or at all."""
    staff = Staff("desk@example.com", PERMISSIONS[role], Channel.CONSOLE, account_id=UUID(int=7), address="192.0.2.1")
    return staff_access(studio.id, staff, locations)


async def did(studio: BookingStudio, flow: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Run a staff flow as an owner on a connection of the pool; it must succeed."""
    async with studio.database.connection() as connection:
        done = await flow(connection, person(studio), *arguments, **options)
    assert not isinstance(done, Refusal), done
    return done


async def refused(studio: BookingStudio, flow: Callable[..., Any], *arguments: Any, **options: Any) -> Refusal:
    """Run a staff flow as an owner; it must be refused, and change nothing."""
    before = await everything(studio)
    access = options.pop("access", None) or person(studio)
    async with studio.database.connection() as connection:
        done = await flow(connection, access, *arguments, **options)
    assert isinstance(done, Refusal), done
    assert await everything(studio) == before
    return done


async def faults_of(studio: BookingStudio, flow: Callable[..., Any], *arguments: Any) -> dict[str, str]:
    """Run a staff flow that must find faults; return their messages by field."""
    refusal = await refused(studio, flow, *arguments)
    assert refusal.code is Code.VALIDATION_ERROR
    faults: list[Fault] = list(refusal.faults)
    return {str(fault.loc[0]): fault.msg for fault in faults}


async def everything(studio: BookingStudio) -> list[str | None]:
    """A hash of every row of the studio, its events and its audit log. Events are numbered after the commit, at any
    time, so their numbers do not count."""
    more = ("events", "audit_log", "leads", "form_submissions")
    line = "(to_jsonb(t) - 'sequence')::text"
    hashes = [
        f"(select md5(string_agg({line}, '' order by {line})) from {table} t where studio_id = $1)" for table in more
    ]
    row = await studio.door.connection.fetchrow(f"select {', '.join(hashes)}", studio.id)
    return [*await studio.snapshot(), *(row or ())]


async def news(studio: BookingStudio, *, keep: bool = False) -> list[News]:
    """Return (type, subject, previous attributes) of the studio's events and, unless they are kept, forget them.

    Every event must come from staff, and the last one about a resource must carry it as it is now.
    """
    rows = await studio.door.connection.fetch(
        "select type, actor, subject, previous_attributes from events where studio_id = $1 order by created_at, id",
        studio.id,
    )
    if not keep:
        await studio.sql("delete from events where studio_id = $1")
    assert {row["actor"] for row in rows} <= {"staff"}
    return [(row["type"], str(row["subject"]), json.loads(row["previous_attributes"])) for row in rows]


async def entries(studio: BookingStudio) -> list[dict[str, Any]]:
    """Return the audit entries, oldest first."""
    rows = await studio.door.connection.fetch(
        "select action, subject_type, subject_id, changes, reason, channel, actor_name from audit_log"
        " where studio_id = $1 order by occurred_at, id",
        studio.id,
    )
    return [{**dict(row), "changes": json.loads(row["changes"])} for row in rows]


async def book_on(connection: Any, studio: BookingStudio, class_id: UUID, member_id: UUID) -> None:
    """Book inside the transaction of a connection, which then holds the locks of the booking."""
    asked = Asked(WriteContext(studio.access), WantedBooking(class_id, member_id))
    (made,) = await book_together(connection, [asked])
    assert isinstance(made, Stored), made


async def forget(studio: BookingStudio) -> None:
    """Delete the events that preparing a test caused."""
    await studio.sql("delete from events where studio_id = $1")
