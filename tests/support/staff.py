"""Staff of a studio for tests of staff flows: their accesses, running a flow, and what its changes left behind."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.domain.access import Access, staff_access
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import PERMISSIONS, Channel, Role, Staff
from studiogate.flows.bookings.book import BookClass
from studiogate.flows.bookings.executor import PendingRequest, execute_together
from studiogate.flows.idempotency import Stored, WriteContext
from tests.support.booking_studio import BookingStudio

ACCOUNT = UUID(int=7)
OF_STAFF = "channel <> 'partner'"
News = tuple[str, str, dict[str, Any]]


def person(studio: BookingStudio, role: Role = Role.OWNER, *locations: UUID) -> Access:
    """Return the access of a staff account: at the given locations, or at all of them."""
    staff = Staff("desk@example.com", PERMISSIONS[role], Channel.CONSOLE, account_id=ACCOUNT, address="192.0.2.1")
    return staff_access(studio.id, staff, locations or None)


def noon_zone() -> ZoneInfo:
    """Return a time zone in which it is about noon now."""
    return ZoneInfo(f"Etc/GMT{datetime.now(UTC).hour - 12:+d}")


# Running flows


async def did(studio: BookingStudio, flow: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Run a staff flow as an owner on a connection of the pool; it must succeed."""
    async with studio.database.connection() as connection:
        done = await flow(connection, person(studio), *arguments, **options)
    assert not isinstance(done, Refusal), done
    return done


async def refused(
    studio: BookingStudio, flow: Callable[..., Any], *arguments: Any, access: Access | None = None, **options: Any
) -> Refusal:
    """Run a staff flow, as an owner unless an access is given; it must be refused, and change nothing."""
    before = await everything(studio)
    async with studio.database.connection() as connection:
        done = await flow(connection, access or person(studio), *arguments, **options)
    assert isinstance(done, Refusal), done
    assert await everything(studio) == before
    return done


async def everything(studio: BookingStudio) -> list[str | None]:
    """A hash of every row of the studio, its events and its audit log. Events are numbered after the commit, at any
    time, so their numbers do not count."""
    more = ("events", "audit_log", "leads", "form_submissions")
    line = "(to_jsonb(t) - 'sequence')::text"
    hashes = [
        f"(select md5(string_agg({line}, '' order by {line})) from {table} t where studio_id = $1)" for table in more
    ]
    row = await studio.api.connection.fetchrow(f"select {', '.join(hashes)}", studio.id)
    return [*await studio.snapshot(), *(row or ())]


async def book_on(connection: Any, studio: BookingStudio, class_id: UUID, member_id: UUID) -> None:
    """Book inside the transaction of a connection, which then holds the locks of the booking."""
    asked = PendingRequest(WriteContext(studio.partner), BookClass(class_id, member_id))
    (made,) = await execute_together(connection, [asked])
    assert isinstance(made, Stored), made


# Refusals


def code(refusal: object) -> str:
    assert isinstance(refusal, Refusal), refusal
    return refusal.code.value


def faults(refusal: object) -> list[str]:
    """Return where the faults of a refused flow are."""
    assert isinstance(refusal, Refusal), refusal
    assert refusal.code == "validation_error", refusal
    return [str(each.loc[0]) for each in refusal.faults]


async def faults_of(studio: BookingStudio, flow: Callable[..., Any], *arguments: Any) -> dict[str, str]:
    """Run a staff flow that must find faults; return their messages by field."""
    refusal = await refused(studio, flow, *arguments)
    assert refusal.code is Code.VALIDATION_ERROR
    found: list[Fault] = list(refusal.faults)
    return {str(fault.loc[0]): fault.msg for fault in found}


# What a flow left behind


async def news(studio: BookingStudio, *, keep: bool = False) -> list[News]:
    """Return type, subject and previous attributes of the studio's events, all of which must come from staff, and,
    unless they are kept, forget them."""
    rows = await studio.rows("events", "true order by created_at, id")
    if not keep:
        await forget(studio)
    assert {row["actor"] for row in rows} <= {"staff"}
    return [(row["type"], str(row["subject"]), json.loads(row["previous_attributes"])) for row in rows]


async def events_of(studio: BookingStudio, subject: UUID) -> list[tuple[str, dict[str, Any]]]:
    """Return the types and previous attributes of the events about a subject, oldest first."""
    rows = await studio.rows("events", "subject = $2 order by created_at, id", subject)
    return [(row["type"], json.loads(row["previous_attributes"])) for row in rows]


async def forget(studio: BookingStudio) -> None:
    """Delete the events that preparing a test caused."""
    await studio.sql("delete from events where studio_id = $1")


async def entries(studio: BookingStudio) -> list[dict[str, Any]]:
    """Return the audit entries of staff, oldest first."""
    rows = await studio.rows("audit_log", f"{OF_STAFF} order by occurred_at, id")
    return [{**dict(row), "changes": json.loads(row["changes"])} for row in rows]


async def audited(studio: BookingStudio) -> list[tuple[str, str, dict[str, Any], str | None]]:
    """Return action, kind of subject, changes and reason of the audit entries since the last call."""
    found = [entry for entry in await entries(studio) if entry["id"] not in studio.seen_entries]
    studio.seen_entries.update(entry["id"] for entry in found)
    return [(entry["action"], entry["subject_type"], entry["changes"], entry["reason"]) for entry in found]


async def audit_of(studio: BookingStudio, subject: UUID) -> list[tuple[str, dict[str, Any]]]:
    """Return the actions on a subject with what they changed, oldest first."""
    return [(entry["action"], entry["changes"]) for entry in await entries(studio) if entry["subject_id"] == subject]
