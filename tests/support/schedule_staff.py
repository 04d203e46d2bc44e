"""Staff of a studio in tests: their access, the audit log and the events since the last look."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.domain.access import Access, staff_access
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import PERMISSIONS, Channel, Role, Staff
from studiogate.storage.db.pool import Connection
from tests.support.booking_studio import BookingStudio


def noon_zone() -> ZoneInfo:
    """Return a time zone in which it is about noon now."""
    return ZoneInfo(f"Etc/GMT{datetime.now(UTC).hour - 12:+d}")


def staff_of(studio: BookingStudio, role: Role = Role.MANAGER, locations: tuple[UUID, ...] = ()) -> Access:
    """Return the access of a member of staff; with locations, limited to these."""
    staff = Staff("staff@example.com", PERMISSIONS[role], Channel.CONSOLE, account_id=UUID(int=9))
    return staff_access(studio.id, staff, locations or None)


async def refused(studio: BookingStudio, flow: Any, *arguments: Any, access: Access | None = None) -> Refusal:
    """Run a flow that must be refused; it must leave no event and no audit entry."""
    before = await _log(studio)
    outcome = await flow(studio.door.connection, access or studio.access, *arguments)
    assert isinstance(outcome, Refusal), outcome
    assert await _log(studio) == before
    return outcome


async def _log(studio: BookingStudio) -> list[int]:
    return [len(await studio.rows(table)) for table in ("events", "audit_log")]


async def somebody_waits(connection: Connection) -> None:
    """Wait until another connection waits for a lock of this one."""
    waiting = "select count(*) from pg_locks where not granted and $1 = any(pg_blocking_pids(pid))"
    while not await connection.fetchval(waiting, connection.get_server_pid()):
        await asyncio.sleep(0.02)


async def audit_of(studio: BookingStudio, subject: UUID) -> list[tuple[str, dict[str, Any]]]:
    """Return the actions on a subject with what they changed, oldest first."""
    rows = await studio.rows("audit_log", "subject_id = $2 order by occurred_at, id", subject)
    return [(row["action"], json.loads(row["changes"])) for row in rows]


async def events_of(studio: BookingStudio, subject: UUID) -> list[tuple[str, dict[str, Any]]]:
    """Return the types and previous attributes of the events about a subject, oldest first."""
    rows = await studio.rows("events", "subject = $2 order by created_at, id", subject)
    return [(row["type"], json.loads(row["previous_attributes"])) for row in rows]
