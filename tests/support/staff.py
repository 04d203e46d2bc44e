"""Staff of a studio for tests of staff flows, and what their changes left behind."""

import json
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access, staff_access
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import PERMISSIONS, Channel, Role, Staff
from tests.support.booking_studio import BookingStudio

ACCOUNT = UUID(int=7)


def person(studio: BookingStudio, role: Role = Role.OWNER, *locations: UUID) -> Access:
    """Return the access of a staff account: at the given locations, or at all of them."""
    staff = Staff("desk@example.com", PERMISSIONS[role], Channel.CONSOLE, account_id=ACCOUNT, address="192.0.2.1")
    return staff_access(studio.id, staff, locations or None)


async def told(studio: BookingStudio) -> list[tuple[str, str, dict[str, Any]]]:
    """Return type, subject and previous attributes of the events since the last call; all are the staff's."""
    rows = await studio.rows("events", "true order by created_at, id")
    assert {row["actor"] for row in rows} <= {"staff"}
    await studio.sql("delete from events where studio_id = $1")
    return [(row["type"], str(row["subject"]), json.loads(row["previous_attributes"])) for row in rows]


async def audited(studio: BookingStudio) -> list[tuple[str, str, dict[str, Any], str | None]]:
    """Return action, kind of subject, changes and reason of the audit entries since the last call."""
    rows = await studio.rows("audit_log", "true order by occurred_at, id")
    await studio.sql("delete from audit_log where studio_id = $1")
    return [(row["action"], row["subject_type"], json.loads(row["changes"]), row["reason"]) for row in rows]


def faults(refusal: object) -> list[str]:
    """Return where the faults of a refused flow are."""
    assert isinstance(refusal, Refusal), refusal
    assert refusal.code == "validation_error", refusal
    return [str(each.loc[0]) for each in refusal.faults]


def code(refusal: object) -> str:
    assert isinstance(refusal, Refusal), refusal
    return refusal.code.value
