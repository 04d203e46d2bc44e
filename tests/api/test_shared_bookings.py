"""Requests for different classes that share a transaction: each has its own outcome, and none waits for another."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.access import Access
from studiogate.domain.bookings import eligibility
from studiogate.flows.bookings import book, cancel, shared
from studiogate.storage.bookings import lock
from studiogate.storage.db.shared_transactions import NotShared
from tests.support import booking_studio
from tests.support.batches import is_replay, outcomes
from tests.support.booking_studio import BookingStudio, StudioFactory, wire_body
from tests.support.deadlines import LONG
from tests.support.held_locks import somebody_waits
from tests.support.seed import issue_key
from tests.support.shared_transactions import in_one_transaction

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
Sizes = list[tuple[int, int]]


@pytest.fixture(autouse=True)
def sizes(monkeypatch: pytest.MonkeyPatch) -> Sizes:
    """The shared transactions: how many requests began in each, and how many of them it executed."""
    found = Sizes()

    def counted(share: Any) -> Any:
        async def count(connection: Any, asked: Sequence[Any]) -> Any:
            outcomes = await share(connection, asked)
            found.append((len(asked), sum(not isinstance(each, NotShared) for each in outcomes)))
            return outcomes

        return count

    monkeypatch.setattr(book, "book_shared", counted(book.book_shared))
    monkeypatch.setattr(cancel, "cancel_shared", counted(cancel.cancel_shared))
    return found


async def some_requests(studio: BookingStudio, number: int = 2) -> list[Any]:
    """Bookings of members and classes that have nothing in common."""
    bodies = [wire_body(await studio.new_class(), await studio.new_member()) for _ in range(number)]
    return [studio.post(body) for body in bodies]


async def test_bookings_of_different_classes(studio: BookingStudio, sizes: Sizes) -> None:
    classes = [await studio.new_class(), (await studio.full_class())[0], (await studio.full_class())[0]]
    classes.append(await studio.new_class(location_id=studio.other_location, room_id=None))
    members = [await studio.new_member() for _ in classes]
    bodies = [wire_body(*each, join_waitlist=each[0] != classes[2]) for each in zip(classes, members, strict=True)]
    answers = await in_one_transaction(studio, [studio.post(body) for body in bodies])
    assert sizes == [(4, 4)]
    assert outcomes(answers) == ["confirmed", "waitlisted", "class_full", "confirmed"]
    made = [answer.json() for answer in answers if answer.status == 201]
    assert made == [await studio.get(f"/bookings/{each['id']}") for each in made]
    places = [(await studio.row("bookings", each["id"]))["location_id"] for each in made]
    assert places == [studio.location, studio.location, studio.other_location]
    assert await studio.positions(made[1]) == [1]
    assert [await studio.counts(each) for each in classes] == [(1, 0), (1, 1), (1, 0), (1, 0)]
    assert [await studio.credits(member) for member in members] == [9, 10, 10, 9]
    created = [str(row["subject"]) for row in await studio.rows("events", "type = 'booking.created'")]
    assert {each["id"] for each in made} <= set(created)
    assert await studio.findings() == []


async def test_cancellations_of_different_classes(studio: BookingStudio, sizes: Sizes) -> None:
    policy = {"late_action": "fee", "late_fee_amount": "3.00"}
    places: list[dict[str, Any]] = [{}, {"location_id": studio.other_location, "room_id": None}, {}]
    classes = [await studio.new_class(60, policy=policy, **place) for place in places]
    booked = [await studio.booked(each, await studio.new_member()) for each in classes]
    await studio.cancelled(booked[2]["id"])
    answers = await in_one_transaction(studio, [studio.cancel(each["id"]) for each in booked])
    assert sizes == [(3, 3)]
    assert outcomes(answers) == ["cancelled", "cancelled", "booking_already_cancelled"]
    for answer, place in zip(answers[:2], (studio.location, studio.other_location), strict=True):
        receipt = answer.json()
        kept = await studio.ask("GET", f"/bookings/{receipt['booking_id']}/cancellation")
        assert kept.body == answer.body
        purchase = await studio.row("purchases", receipt["late_fee"]["purchase_id"])
        assert (str(purchase["booking_id"]), purchase["location_id"]) == (receipt["booking_id"], place)
    types = Counter(row["type"] for row in await studio.rows("events"))
    assert (types["booking.cancelled"], types["purchase.created"]) == (3, 3)
    assert [await studio.counts(each) for each in classes] == [(0, 0)] * 3
    assert await studio.findings() == []


async def test_credits_are_returned_to_each_member(studio: BookingStudio, sizes: Sizes) -> None:
    members = [await studio.new_member() for _ in range(2)]
    booked = [await studio.booked(await studio.new_class(), each) for each in members]
    answers = await in_one_transaction(studio, [studio.cancel(each["id"]) for each in booked])
    assert sizes == [(2, 2)]
    assert [answer.json()["credits_remaining"] for answer in answers] == [10, 10]
    assert [await studio.credits(each) for each in members] == [10, 10]


async def test_bookings_and_cancellations_do_not_share(studio: BookingStudio, sizes: Sizes) -> None:
    booked = [await studio.booked(await studio.new_class(), await studio.new_member()) for _ in range(2)]
    requests = await some_requests(studio)
    mixed = [requests[0], studio.cancel(booked[0]["id"]), requests[1], studio.cancel(booked[1]["id"])]
    answers = await in_one_transaction(studio, mixed)
    assert outcomes(answers) == ["confirmed", "cancelled", "confirmed", "cancelled"]
    assert sizes == [(2, 2), (2, 2)]


async def test_a_member_who_books_two_classes(studio: BookingStudio, sizes: Sizes) -> None:
    """The second decision depends on the first, so it is made in the next transaction."""
    member = await studio.new_member(remaining=1)
    classes = [await studio.new_class(minutes) for minutes in (booking_studio.SOON, booking_studio.SOON + 120)]
    answers = await in_one_transaction(studio, [studio.post(wire_body(each, member)) for each in classes])
    assert sizes == [(2, 1)]
    assert outcomes(answers) == ["confirmed", "insufficient_credits"]
    assert await studio.credits(member) == 0
    assert await studio.findings() == []


async def test_a_member_who_cancels_two_bookings(studio: BookingStudio, sizes: Sizes) -> None:
    member = await studio.new_member()
    classes = [await studio.new_class(minutes) for minutes in (booking_studio.SOON, booking_studio.SOON + 120)]
    booked = [await studio.booked(each, member) for each in classes]
    answers = await in_one_transaction(studio, [studio.cancel(each["id"]) for each in booked])
    assert sizes == [(2, 1)]
    assert [answer.json()["credits_remaining"] for answer in answers] == [9, 10]
    assert await studio.credits(member) == 10
    assert await studio.findings() == []


async def test_one_key_for_two_classes(studio: BookingStudio, sizes: Sizes) -> None:
    requests = [wire_body(await studio.new_class(), await studio.new_member()) for _ in range(2)]
    answers = await in_one_transaction(studio, [studio.post(body, "key-0001") for body in requests])
    assert outcomes(answers) == ["confirmed", "idempotency_key_reused"]
    assert sizes == [(1, 1)]
    assert len(await studio.rows("bookings")) == 1


async def test_replays_and_refusals_among_new_requests(studio: BookingStudio, sizes: Sizes) -> None:
    body = wire_body(await studio.new_class(), await studio.new_member())
    first = await studio.post(body, "key-0001")
    full, _ = await studio.full_class()
    refused = wire_body(full, await studio.new_member())
    requests = [studio.post(body, "key-0001"), studio.post(refused, "key-0002"), *await some_requests(studio, 1)]
    answers = await in_one_transaction(studio, requests)
    assert sizes == [(3, 2)]
    assert outcomes(answers) == ["confirmed", "class_full", "confirmed"]
    assert (answers[0].body, [is_replay(each) for each in answers]) == (first.body, [True, False, False])
    again = await studio.post(refused, "key-0002")
    assert (again.body, is_replay(again)) == (answers[1].body, True)


async def test_what_does_not_exist(studio: BookingStudio) -> None:
    bodies = [wire_body(uuid4(), await studio.new_member()), wire_body(await studio.new_class(), uuid4())]
    requests = [*[studio.post(body) for body in bodies], *await some_requests(studio)]
    answers = await in_one_transaction(studio, requests)
    assert outcomes(answers) == ["not_found", "not_found", "confirmed", "confirmed"]
    assert [answer.json()["error"]["param"] for answer in answers[:2]] == ["class_id", "member_id"]


async def test_a_booking_that_does_not_exist(studio: BookingStudio) -> None:
    booked = await studio.booked(await studio.new_class(), await studio.new_member())
    answers = await in_one_transaction(studio, [studio.cancel(uuid4()), studio.cancel(booked["id"])])
    assert outcomes(answers) == ["not_found", "cancelled"]


async def test_keys_of_other_locations(studio: BookingStudio, sizes: Sizes) -> None:
    """Whether a class may be seen is judged for each request."""
    elsewhere = await issue_key(studio.api.connection, studio.studio, locations=[studio.other_location])
    here = await issue_key(studio.api.connection, studio.studio, locations=[studio.location])
    bodies = [wire_body(await studio.new_class(), await studio.new_member()) for _ in range(3)]
    keys = [elsewhere, here, studio.key]
    answers = await in_one_transaction(
        studio, [studio.post(body, key=key) for body, key in zip(bodies, keys, strict=True)]
    )
    assert outcomes(answers) == ["not_found", "confirmed", "confirmed"]
    assert sizes == [(3, 3)]


async def test_what_concerns_others_is_executed_alone(studio: BookingStudio, sizes: Sizes) -> None:
    """A class with spots, and one with a free seat that somebody waits for; the latter gets it first."""
    await studio.new_spots("A1")
    spots = await studio.new_class(spot_selection_mode="optional")
    class_id, _ = await studio.full_class()
    waiting = await studio.waits(class_id, await studio.new_member())
    await studio.change("classes", class_id, capacity=2)
    bodies = [wire_body(each, await studio.new_member()) for each in (spots, class_id)]
    answers = await in_one_transaction(studio, [*[studio.post(body) for body in bodies], *await some_requests(studio)])
    assert outcomes(answers) == ["confirmed", "class_full", "confirmed", "confirmed"]
    assert sizes == [(4, 2)]
    assert await studio.status(waiting) == "confirmed"
    assert await studio.findings() == []


async def test_cancellations_that_concern_others_are_executed_alone(studio: BookingStudio, sizes: Sizes) -> None:
    class_id, (held,) = await studio.full_class()
    waiting = await studio.waits(class_id, await studio.new_member())
    booked = [await studio.booked(await studio.new_class(), await studio.new_member()) for _ in range(2)]
    answers = await in_one_transaction(studio, [studio.cancel(each["id"]) for each in (held, *booked)])
    assert outcomes(answers) == ["cancelled"] * 3
    assert [answer.json()["promoted"] for answer in answers] == [True, False, False]
    assert sizes == [(3, 2)]
    assert await studio.status(waiting) == "confirmed"
    assert await studio.findings() == []


async def offered_place(studio: BookingStudio) -> tuple[UUID, Any]:
    """A class with a booking whose place on the waitlist has been offered: it does not count as waiting."""
    class_id, _ = await studio.full_class()
    booking = await studio.waits(class_id, await studio.new_member())
    await studio.change("waitlist_entries", UUID((await studio.entry(booking))["id"]), status="offered", position=None)
    await studio.change("classes", class_id, waitlist_count=0)
    return class_id, booking


async def test_a_member_with_an_offered_place_is_executed_alone(studio: BookingStudio, sizes: Sizes) -> None:
    class_id, booking = await offered_place(studio)
    again = studio.post(wire_body(class_id, UUID(booking["member_id"])))
    answers = await in_one_transaction(studio, [again, *await some_requests(studio)])
    assert outcomes(answers) == ["already_waitlisted", "confirmed", "confirmed"]
    assert sizes == [(3, 2)]
    assert (await studio.cancel(booking["id"])).status == 200  # the doctor knows no such place


async def test_cancelling_an_offered_place_is_executed_alone(studio: BookingStudio, sizes: Sizes) -> None:
    _, booking = await offered_place(studio)
    other = await studio.booked(await studio.new_class(), await studio.new_member())
    answers = await in_one_transaction(studio, [studio.cancel(each["id"]) for each in (booking, other)])
    assert [answer.json()["cancellation_type"] for answer in answers] == ["waitlist_left", "standard"]
    assert sizes == [(2, 1)]
    (entry,) = await studio.rows("waitlist_entries")
    assert entry["status"] == "cancelled"


async def test_a_member_whose_pause_is_over_is_executed_alone(studio: BookingStudio, sizes: Sizes) -> None:
    """The membership becomes active before it is decided on."""
    member, now = await studio.new_member(), await studio.now()
    (row,) = await studio.rows("memberships", "member_id = $2", member)
    begin = now - timedelta(days=1)
    pause = {"status": "paused", "paused_at": begin, "pause_starts_at": begin, "pause_ends_at": now}
    await studio.change("memberships", row["id"], **pause)
    request = studio.post(wire_body(await studio.new_class(), member))
    answers = await in_one_transaction(studio, [request, *await some_requests(studio)])
    assert outcomes(answers) == ["confirmed"] * 3
    assert sizes == [(3, 2)]


async def test_a_booking_that_went_to_another_member_is_executed_alone(
    studio_factory: StudioFactory, sizes: Sizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a merge of duplicates, while the locks were taken: the member who is locked is no longer the booking's."""
    studio = await studio_factory.new_studio()  # not one that must be in order afterwards
    booked = [await studio.booked(await studio.new_class(), await studio.new_member()) for _ in range(2)]
    heir, lock_free_to_cancel = await studio.new_member(), lock.lock_free_to_cancel

    async def merge_meanwhile(*arguments: Any) -> Any:
        locked = await lock_free_to_cancel(*arguments)
        await studio.change("bookings", UUID(booked[0]["id"]), member_id=heir)
        return locked

    monkeypatch.setattr(lock, "lock_free_to_cancel", merge_meanwhile)
    answers = await in_one_transaction(studio, [studio.cancel(each["id"]) for each in booked])
    assert outcomes(answers) == ["cancelled"] * 2
    assert sizes == [(2, 1)]


@pytest.mark.parametrize("table", ["classes", "members"])
async def test_nobody_waits_for_what_is_locked_elsewhere(studio: BookingStudio, sizes: Sizes, table: str) -> None:
    """What is locked is tried once more, and then waits alone; the others have their answers."""
    class_id, member = await studio.new_class(), await studio.new_member()
    async with studio.database.connection() as elsewhere:
        async with elsewhere.transaction():
            locked = class_id if table == "classes" else member
            await elsewhere.execute(f"select from {table} where id = $1 for no key update", locked)
            requests = [*await some_requests(studio), studio.post(wire_body(class_id, member))]
            answering = asyncio.create_task(in_one_transaction(studio, requests))
            await somebody_waits(elsewhere)
            assert (sizes, len(await studio.rows("bookings"))) == ([(3, 2)], 2)
        answers = await asyncio.wait_for(answering, LONG)
    assert outcomes(answers) == ["confirmed"] * 3


@pytest.mark.parametrize("table", ["classes", "members"])
async def test_no_cancellation_waits_for_what_is_locked_elsewhere(
    studio: BookingStudio, sizes: Sizes, table: str
) -> None:
    class_id, member = await studio.new_class(), await studio.new_member()
    held = await studio.booked(class_id, member)
    others = [await studio.booked(await studio.new_class(), await studio.new_member()) for _ in range(2)]
    async with studio.database.connection() as elsewhere:
        async with elsewhere.transaction():
            locked = class_id if table == "classes" else member
            await elsewhere.execute(f"select from {table} where id = $1 for no key update", locked)
            requests = [studio.cancel(each["id"]) for each in (*others, held)]
            answering = asyncio.create_task(in_one_transaction(studio, requests))
            await somebody_waits(elsewhere)
            assert sizes == [(3, 2)]
            assert [await studio.status(each) for each in (*others, held)] == ["cancelled", "cancelled", "confirmed"]
        answers = await asyncio.wait_for(answering, LONG)
    assert outcomes(answers) == ["cancelled"] * 3


async def test_what_else_is_locked_is_waited_for_only_briefly(studio: BookingStudio, sizes: Sizes) -> None:
    """A price that is replaced locks memberships without their members."""
    class_id, member = await studio.new_class(), await studio.new_member()
    async with studio.database.connection() as elsewhere:
        async with elsewhere.transaction():
            await elsewhere.execute("select from memberships where member_id = $1 for no key update", member)
            requests = [*await some_requests(studio), studio.post(wire_body(class_id, member))]
            answering = asyncio.create_task(in_one_transaction(studio, requests))
            async with asyncio.timeout(LONG):
                while len(await studio.rows("bookings")) < 2:
                    await asyncio.sleep(0.01)
            await somebody_waits(elsewhere)
            assert sizes == [], "the shared transaction failed, and each is executed alone"
        answers = await asyncio.wait_for(answering, LONG)
    assert outcomes(answers) == ["confirmed"] * 3


async def test_a_fault_of_one_request(studio: BookingStudio, monkeypatch: pytest.MonkeyPatch, sizes: Sizes) -> None:
    """Each is executed alone, so only the one at fault fails."""
    bodies = [wire_body(await studio.new_class(), await studio.new_member()) for _ in range(3)]
    guilty, decide = UUID(bodies[1]["member_id"]), eligibility.decide_booking

    def fail(attempt: Any) -> Any:
        if attempt.member.id == guilty:
            raise ValueError("a fault")
        return decide(attempt)

    monkeypatch.setattr(book, "decide_booking", fail)
    answers = await in_one_transaction(studio, [studio.post(body) for body in bodies])
    assert outcomes(answers) == ["confirmed", "internal_error", "confirmed"]
    assert sizes == []
    assert len(await studio.rows("bookings")) == 2
    assert await studio.findings() == []


def everyone(locked: Sequence[Any]) -> list[Any]:
    return list(locked)


MISTAKES: dict[str, tuple[Any, str, Any]] = {
    "a member's requests are decided on the same state": (shared, "each_member_once", everyone),
    "one key is executed twice": (shared, "identity", lambda context: ("", str(id(context)))),
    "everybody may see every class": (Access, "permits", lambda *_: True),
}


@pytest.mark.parametrize(
    ("mistake", "check"),
    [
        ("a member's requests are decided on the same state", test_a_member_who_books_two_classes),
        ("a member's requests are decided on the same state", test_a_member_who_cancels_two_bookings),
        ("one key is executed twice", test_one_key_for_two_classes),
        ("everybody may see every class", test_keys_of_other_locations),
    ],
)
async def test_a_mistake_is_noticed(
    studio_factory: StudioFactory,
    sizes: Sizes,
    monkeypatch: pytest.MonkeyPatch,
    mistake: str,
    check: Callable[[BookingStudio, Sizes], Awaitable[None]],
) -> None:
    monkeypatch.setattr(*MISTAKES[mistake])
    studio = await studio_factory.new_studio()  # not one that must be in order afterwards
    with pytest.raises(AssertionError):
        await check(studio, sizes)
