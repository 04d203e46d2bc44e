"""What readers see when a waitlist moves: positions, timestamps, events; and the waiting member's own request."""

import json
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from studiogate.flows.bookings import staff
from tests.support import booking_studio
from tests.support.booking_studio import HOUR, BookingStudio

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


async def waiters(studio: BookingStudio, class_id: UUID, number: int) -> list[Any]:
    return [await studio.waits(class_id, await studio.new_member()) for _ in range(number)]


async def news(studio: BookingStudio, seen: set[UUID]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the events since the last call, as (type, subject, previous attributes)."""
    found = await studio.rows("events", "true order by created_at, id")
    new = [row for row in found if row["id"] not in seen]
    seen |= {row["id"] for row in new}
    return [(row["type"], str(row["subject"]), json.loads(row["previous_attributes"])) for row in new]


async def test_a_moved_position_raises_updated_at_of_the_booking(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class()
    one, two, three = await waiters(studio, class_id, 3)
    etag = dict((await studio.ask("GET", f"/bookings/{three['id']}")).headers)[b"etag"].decode()
    since = await studio.now()
    seen: set[UUID] = set()
    await news(studio, seen)
    await studio.cancelled(two["id"])
    changed = {each["id"] for each in (await studio.get("/bookings", updated_after=since.isoformat()))["data"]}
    assert changed == {two["id"], three["id"]}
    moved = await studio.get(f"/bookings/{three['id']}")
    assert (moved["waitlist_position"], datetime.fromisoformat(moved["updated_at"]) >= since) == (2, True)
    answer = await studio.ask("GET", f"/bookings/{three['id']}", headers={"If-None-Match": etag})
    assert answer.status == 200
    emitted = await news(studio, seen)
    assert [each[0] for each in emitted] == ["booking.cancelled", "waitlist.updated", "waitlist.updated"]
    assert emitted[-1][2] == {"position": 3}
    since = await studio.now()
    await studio.cancelled(first["id"])
    changed = {each["id"] for each in (await studio.get("/bookings", updated_after=since.isoformat()))["data"]}
    assert changed == {first["id"], one["id"], three["id"]}


@pytest.mark.parametrize("mode", ["auto", "manual", "off"])
async def test_the_own_request_of_a_waiting_member_takes_an_open_seat(studio: BookingStudio, mode: str) -> None:
    class_id, (first,) = await studio.full_class()
    one, two, three = await waiters(studio, class_id, 3)
    await studio.policy("classes", class_id, waitlist_mode=mode)
    await studio.move(class_id, HOUR / 2)
    await studio.cancelled(first["id"])
    member, seen = UUID(two["member_id"]), set[UUID]()
    await news(studio, seen)
    booking = await studio.booked(class_id, member, join_waitlist=True)
    assert (booking["id"], booking["status"], booking["waitlist_position"]) == (two["id"], "confirmed", None)
    assert booking == await studio.get(f"/bookings/{two['id']}")
    entry = await studio.entry(two)
    assert (entry["status"], entry["converted_to_booking"], entry["position"]) == ("converted", True, None)
    assert await studio.positions(one, three) == [1, 2]
    assert await studio.credits(member) == 9
    moved = await studio.entry(three)
    assert await news(studio, seen) == [
        ("booking.updated", two["id"], {"status": "waitlisted", "waitlist_position": 2}),
        (
            "waitlist.updated",
            entry["id"],
            {"status": "waiting", "converted_to_booking": False, "promoted_at": None, "position": 2},
        ),
        ("waitlist.updated", moved["id"], {"position": 3}),
    ]
    error = await studio.refused(class_id, UUID(one["member_id"]))
    assert error["details"]["reasons"] == ["already_waitlisted", "class_full"]


async def test_a_converted_entry_has_no_promotion_grace(studio: BookingStudio) -> None:
    """The member was not promoted, but took the seat knowing that it is late."""
    class_id, (first,) = await studio.full_class()
    (one,) = await waiters(studio, class_id, 1)
    await studio.move(class_id, HOUR / 2)
    await studio.cancelled(first["id"])
    await studio.booked(class_id, UUID(one["member_id"]))
    receipt = await studio.cancelled(one["id"])
    assert (receipt["cancellation_type"], receipt["credits_forfeited"]) == ("late", 1)


async def test_a_place_that_was_offered_is_converted_without_being_counted_twice(studio: BookingStudio) -> None:
    """Nothing creates offers yet; an existing one does not count as waiting."""
    class_id, (first,) = await studio.full_class()
    offered, waiting = await waiters(studio, class_id, 2)
    await studio.move(class_id, HOUR / 2)
    entry = UUID((await studio.entry(offered))["id"])
    await studio.change("waitlist_entries", entry, status="offered", position=None)
    await studio.change("waitlist_entries", UUID((await studio.entry(waiting))["id"]), position=1)
    await studio.change("classes", class_id, waitlist_count=1)
    await studio.cancelled(first["id"])
    assert (await studio.booked(class_id, UUID(offered["member_id"])))["id"] == offered["id"]
    assert await studio.counts(class_id) == (1, 1)
    assert (await studio.row("waitlist_entries", entry))["status"] == "converted"
    assert await studio.positions(waiting) == [1]
    assert await studio.findings() == []


async def test_the_own_request_passes_the_rules_of_any_request(studio: BookingStudio) -> None:
    (spot,) = await studio.new_spots("A1")
    class_id = await studio.new_class(capacity=1, spot_selection_mode="required")
    first = await studio.booked(class_id, await studio.new_member(), class_spot_id=spot)
    (one,) = await waiters(studio, class_id, 1)
    await studio.move(class_id, HOUR / 2)
    await studio.cancelled(first["id"])
    member = UUID(one["member_id"])
    await studio.change("members", member, suspended=True)
    error = await studio.refused(class_id, member)
    assert error["details"]["reasons"] == ["member_suspended", "spot_required"]
    await studio.change("members", member, suspended=False)
    key, body = "the-same-key", booking_studio.wire_body(class_id, member, class_spot_id=spot)
    booking = await studio.post(body, key)
    assert (booking.status, booking.json()["id"], booking.json()["class_spot_id"]) == (201, one["id"], str(spot))
    again = await studio.post(body, key)
    assert (again.status, again.body) == (201, booking.body)
    assert dict(again.headers)[b"idempotent-replayed"] == b"true"


async def test_before_the_cutoff_the_own_request_is_already_waitlisted(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class(policy={"waitlist_mode": "manual"})
    (one,) = await waiters(studio, class_id, 1)
    await studio.cancelled(first["id"])
    error = await studio.refused(class_id, UUID(one["member_id"]))
    assert error["details"]["reasons"] == ["already_waitlisted", "class_full"]


async def test_a_closed_booking_window_does_not_stop_a_promotion(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class(policy={"booking_closes_minutes_before": 3 * HOUR})
    (one,) = await waiters(studio, class_id, 1)
    await studio.move(class_id, 2 * HOUR)
    assert (await studio.refused(class_id, await studio.new_member()))["code"] == "booking_window_closed"
    assert (await studio.cancelled(first["id"]))["promoted"] is True
    assert await studio.status(one) == "confirmed"


async def test_an_entry_that_is_skipped_and_moves_is_announced_with_both(studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class()
    one, two, three = await waiters(studio, class_id, 3)
    await studio.change("members", UUID(two["member_id"]), suspended=True)
    seen: set[UUID] = set()
    await news(studio, seen)
    await studio.staff(staff.change_capacity, class_id, 3)
    entries = {each["id"]: (await studio.entry(each))["id"] for each in (one, two, three)}
    emitted = await news(studio, seen)
    assert ("waitlist.updated", entries[two["id"]], {"position": 2, "skip_reason": None}) in emitted
    assert emitted[-1] == ("class.updated", str(class_id), {"capacity": 1, "booked_count": 1, "waitlist_count": 3})
    assert len(emitted) == 6


async def test_the_same_when_somebody_leaves_the_waitlist(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class()
    one, two = await waiters(studio, class_id, 2)
    await studio.change("members", UUID(one["member_id"]), suspended=True)
    await studio.set_credits(UUID(two["member_id"]), 0)
    await studio.cancelled(first["id"])
    await studio.change("members", UUID(two["member_id"]), suspended=True)
    seen: set[UUID] = set()
    await news(studio, seen)
    await studio.cancelled(one["id"])
    moved = (await studio.entry(two))["id"], {"position": 2, "skip_reason": "insufficient_credits"}
    assert ("waitlist.updated", *moved) in await news(studio, seen)


async def test_the_clock_raises_updated_at_of_a_class(studio: BookingStudio) -> None:
    """The status depends on the clock, so readers see a change that no request wrote."""
    now = await studio.now()
    old: dict[str, Any] = {"updated_at": now - timedelta(days=2)}
    started = await studio.new_class(-HOUR / 2, **old)
    ended = await studio.new_class(-2 * HOUR, **old)
    coming = await studio.new_class(HOUR, **old)
    cancelled = await studio.new_class(-3 * HOUR, status="cancelled", **old)
    shown = {class_id: await studio.get(f"/classes/{class_id}") for class_id in (started, ended, coming, cancelled)}
    changed_at = {class_id: class_["updated_at"] for class_id, class_ in shown.items()}
    assert changed_at[started] == shown[started]["start_time"]
    assert changed_at[ended] == shown[ended]["end_time"]
    assert datetime.fromisoformat(changed_at[coming]) == datetime.fromisoformat(changed_at[cancelled])
    listed = await studio.get("/classes", updated_after=(now - timedelta(days=1)).isoformat())
    assert [each["id"] for each in listed["data"]] == [str(ended), str(started)]
    exactly = await studio.get("/classes", updated_after=changed_at[started])
    assert [each["id"] for each in exactly["data"]] == [str(started)]


async def test_a_class_shows_its_promotion_cutoff(studio: BookingStudio) -> None:
    class_id = await studio.new_class()
    for policy, minutes in (({}, 60), ({"promotion_cutoff_minutes": 90}, 90)):
        await studio.policy("classes", class_id, **policy)
        class_ = await studio.get(f"/classes/{class_id}")
        instants = [datetime.fromisoformat(class_[name]) for name in ("start_time", "promotion_cutoff_at")]
        assert instants[0] - instants[1] == timedelta(minutes=minutes)


async def test_spots_are_listed_row_by_row(studio: BookingStudio) -> None:
    places = {"D": (0, 1), "B": (1, 0), "C": (2, 0), "A": (1, 0), "E": (0, 2), "F": (None, None)}
    for label, (x, y) in places.items():
        await studio.add("room_spots", room_id=studio.room, label=label, x=x, y=y)
    class_id = await studio.new_class(spot_selection_mode="optional")
    listed = (await studio.get(f"/classes/{class_id}/spots"))["data"]
    assert [each["label"] for each in listed] == ["A", "B", "C", "D", "E", "F"]
    walked: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        page = await studio.get(f"/classes/{class_id}/spots", limit=1, **cursor)
        walked += [each["label"] for each in page["data"]]
        if not page["has_more"]:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert walked == ["A", "B", "C", "D", "E", "F"]
