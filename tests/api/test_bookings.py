"""Booking and cancelling over HTTP."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.api.conftest import PREFIX, Door
from tests.seed import Studio, issue_key, seed_studio

pytestmark = pytest.mark.anyio


@pytest.fixture
async def studio(door: Door) -> Studio:
    return await seed_studio(door.connection)


@pytest.fixture
async def booking_key(door: Door, studio: Studio) -> str:
    return await issue_key(door.connection, studio)


async def book(door: Door, key: str, idempotency_key: str | None = None, **body: Any) -> httpx2.Response:
    headers = {"X-Service-Key": key, "Idempotency-Key": idempotency_key or uuid4().hex}
    return await door.client.post(
        f"{PREFIX}/bookings", json={k: str(v) if k.endswith("_id") else v for k, v in body.items()}, headers=headers
    )


async def cancel(
    door: Door, key: str, booking_id: str, idempotency_key: str | None = None, **query: str
) -> httpx2.Response:
    headers = {"X-Service-Key": key, "Idempotency-Key": idempotency_key or uuid4().hex}
    return await door.client.delete(f"{PREFIX}/bookings/{booking_id}", params=query, headers=headers)


async def test_book_and_cancel(door: Door, studio: Studio, booking_key: str) -> None:
    class_id, member_id = studio.ids["class"][2], studio.ids["member"][2]
    await door.connection.execute(
        "update waitlist_entries set status = 'cancelled', position = null where class_id = $1", class_id
    )
    await door.connection.execute(
        "update bookings set status = 'cancelled' where class_id = $1 and status = 'waitlisted'", class_id
    )
    await door.connection.execute("update classes set waitlist_count = 0 where id = $1", class_id)
    made = await book(door, booking_key, class_id=class_id, member_id=member_id)
    assert made.status_code == 201, made.text
    booking = made.json()
    assert booking["status"] == "confirmed"
    preview = await door.get(f"/bookings/{booking['id']}/cancellation-preview", booking_key)
    assert preview.json()["status"] == "preview", preview.text
    receipt = await cancel(door, booking_key, booking["id"], reason="ill")
    assert receipt.status_code == 200, receipt.text
    assert receipt.json()["credits_returned"] == 1
    assert (await door.get(f"/bookings/{booking['id']}/cancellation", booking_key)).content == receipt.content
    again = await cancel(door, booking_key, booking["id"])
    assert again.status_code == 409
    assert again.json()["error"]["code"] == "booking_already_cancelled"


async def test_full_class_and_promotion(door: Door, studio: Studio, booking_key: str) -> None:
    class_id = studio.ids["class"][2]
    members = studio.ids["member"]
    await door.connection.execute("update classes set capacity = 1 where id = $1", class_id)
    full = await book(door, booking_key, class_id=class_id, member_id=members[2])
    assert full.json()["error"]["code"] == "class_full", full.text
    waits = await book(door, booking_key, class_id=class_id, member_id=members[2], join_waitlist=True)
    assert waits.json()["waitlist_position"] == 2, waits.text
    receipt = await cancel(door, booking_key, studio.ids["booking"][2].hex and str(studio.ids["booking"][2]))
    assert receipt.json()["promoted"] is True, receipt.text
    promoted = await door.get(f"/bookings/{studio.ids['waitlisted_booking'][2]}", booking_key)
    assert promoted.json()["status"] == "confirmed"
    assert (await door.get(f"/bookings/{waits.json()['id']}", booking_key)).json()["waitlist_position"] == 1


async def test_replay(door: Door, studio: Studio, booking_key: str) -> None:
    class_id, member_id = studio.ids["class"][2], studio.ids["member"][2]
    one = await book(door, booking_key, "key-0001", class_id=class_id, member_id=member_id, join_waitlist=True)
    two = await book(door, booking_key, "key-0001", class_id=class_id, member_id=member_id, join_waitlist=True)
    assert one.content == two.content
    assert two.headers["idempotent-replayed"] == "true"
    other = await book(door, booking_key, "key-0001", class_id=class_id, member_id=member_id)
    assert other.json()["error"]["code"] == "idempotency_key_reused"
