"""Every row of the guide to the demo studio, sent to the demo studio."""

import json
import re
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from studiogate.api.framework.errors import STATUS
from studiogate.domain.bookings.cancellation import CancellationType
from studiogate.domain.refusals import RefusalType
from tests.support import demo_service as loaded_demo
from tests.support.demo_service import DemoService

pytestmark = pytest.mark.anyio
demo_service = loaded_demo.demo_service

GUIDE = (Path(__file__).parents[2] / "docs/guides/demo-studio.md").read_text(encoding="utf-8")
ID = re.compile(r"`([0-9a-f]{8}-[0-9a-f-]{27})`")
# What the contract lists as refusals of the two booking writes (CONTRACT 4).
OF_BOOKING = (
    "class_cancelled", "class_not_bookable", "class_started", "booking_window_not_open", "booking_window_closed",
    "already_booked", "already_waitlisted", "member_suspended", "waiver_required", "no_active_membership",
    "membership_paused", "membership_not_valid_for_class", "insufficient_credits", "booking_limit_reached",
    "overlapping_booking", "spot_required", "spot_not_found", "spot_taken", "class_full", "waitlist_not_allowed",
    "waitlist_full",
)  # fmt: skip
OF_CANCELLING = ("booking_already_cancelled", "class_started")
# Nobody of the demo studio was erased.
NOT_SHOWN = {"member_erased"}
_numbers = count(1)


class Row(NamedTuple):
    """One row of a table: its cells without the first, and that one."""

    first: str
    cells: list[str]

    def id(self, cell: int) -> str:
        found = ID.search(self.cells[cell])
        assert found, self
        return found[1]

    def members(self, cell: int) -> dict[str, Any]:
        """The members of a JSON object in a cell."""
        members: dict[str, Any] = json.loads("{" + self.cells[cell].strip("`") + "}")
        return members


def rows_of(heading: str) -> list[Row]:
    section = GUIDE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [Row(first.strip().strip("`"), rest) for first, *rest in cells]


def once() -> str:
    return f"demo-guide-{next(_numbers)}"


def picked(body: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """The wanted members of an answer; a dot leads into an object."""

    def value(path: str) -> Any:
        found: Any = body
        for name in path.split("."):
            found = found[name]
        return found

    return {path: value(path) for path in wanted}


async def book(demo: DemoService, row: Row) -> tuple[int, Any]:
    body = {"member_id": row.id(0), "class_id": row.id(1), **row.members(2)}
    return await demo.request("POST", "/bookings", body, once())


async def refusals_of_booking(demo_service: DemoService) -> None:
    rows = rows_of("Refusals of POST /bookings")
    assert tuple(row.first for row in rows) == OF_BOOKING
    answers = {row.first: await book(demo_service, row) for row in rows}
    assert {code: (status, body["error"]["code"]) for code, (status, body) in answers.items()} == {
        code: (409, code) for code in OF_BOOKING
    }


async def effects_of_booking(demo_service: DemoService) -> None:
    for row in rows_of("Effects of POST /bookings"):
        status, body = await book(demo_service, row)
        wanted = row.members(3)
        assert (status, picked(body, wanted)) == (201, wanted), row


async def refusals_of_cancelling(demo_service: DemoService) -> None:
    rows = rows_of("Refusals of DELETE /bookings/{id}")
    assert tuple(row.first for row in rows) == OF_CANCELLING
    for row in rows:
        status, body = await demo_service.request("DELETE", f"/bookings/{row.id(0)}", once=once())
        assert (status, body["error"]["code"]) == (409, row.first)


async def effects_of_cancelling(demo_service: DemoService) -> None:
    kinds = set()
    for row in rows_of("Effects of DELETE /bookings/{id}"):
        wanted = row.members(1)
        preview = await demo_service.request("GET", f"/bookings/{row.id(0)}/cancellation-preview")
        status, receipt = await demo_service.request("DELETE", f"/bookings/{row.id(0)}", once=once())
        assert (status, picked(receipt, wanted)) == (200, wanted), row
        assert (preview[0], preview[1]["cancellation_type"]) == (200, receipt["cancellation_type"])
        kinds.add(receipt["cancellation_type"])
    by_staff = {CancellationType.STUDIO, CancellationType.MOVED, CancellationType.CLASS_CANCELLED}
    assert kinds == {str(kind) for kind in CancellationType if kind not in by_staff}


async def the_waitlist_afterwards(demo_service: DemoService) -> None:
    """Who has no credits is skipped, the next one gets the seat."""
    path = re.search(r"`GET (/waitlist\?class_id=[0-9a-f-]+)`", GUIDE)
    assert path
    status, body = await demo_service.request("GET", path[1])
    assert status == 200
    entries = [(entry["status"], entry["position"], entry["skip_reason"]) for entry in body["data"]]
    assert sorted(entries, key=str) == [
        ("converted", None, None),
        ("waiting", 1, "insufficient_credits"),
        ("waiting", 2, None),
    ]


async def test_every_row_of_the_guide(demo_service: DemoService) -> None:
    """In the order of the page: one studio, and what is sent last finds what was sent before."""
    for part in (
        refusals_of_booking,
        effects_of_booking,
        refusals_of_cancelling,
        effects_of_cancelling,
        the_waitlist_afterwards,
    ):
        await part(demo_service)


def test_no_refusal_is_missing() -> None:
    booking_errors = {str(code) for code, (kind, _) in STATUS.items() if kind is RefusalType.BOOKING}
    assert set(OF_BOOKING) | set(OF_CANCELLING) | NOT_SHOWN == booking_errors
