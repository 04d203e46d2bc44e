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
from studiogate.flows.bookings import class_state, executor, scheduler
from studiogate.flows.bookings.executor import NotExecuted
from studiogate.storage.bookings import lock
from tests.support import booking_studio
from tests.support.batches import in_one_batch, is_replay, outcomes
from tests.support.booking_studio import BookingStudio, StudioFactory, wire_body
from tests.support.deadlines import LONG
from tests.support.held_locks import somebody_waits
from tests.support.seed import issue_key

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
Sizes = list[tuple[int, int]]


@pytest.fixture(autouse=True)
def sizes(monkeypatch: pytest.MonkeyPatch) -> Sizes:
    """The transactions: how many requests began in each, and how many of them it executed."""
    found, in_one_transaction = Sizes(), executor._in_one_transaction

    async def counted(database: Any, batch: Sequence[Any]) -> Any:
        outcomes = await in_one_transaction(database, batch)
        found.append((len(batch), sum(not isinstance(each, NotExecuted) for each in outcomes)))
        return outcomes

    monkeypatch.setattr(executor, "_in_one_transaction", counted)
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
    sizes.clear()
    answers = await in_one_batch(studio, [studio.post(body) for body in bodies])
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
    sizes.clear()
    answers = await in_one_batch(studio, [studio.cancel(each["id"]) for each in booked])
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
    sizes.clear()
    answers = await in_one_batch(studio, [studio.cancel(each["id"]) for each in booked])
    assert sizes == [(2, 2)]
    assert [answer.json()["credits_remaining"] for answer in answers] == [10, 10]
    assert [await studio.credits(each) for each in members] == [10, 10]


async def test_bookings_and_cancellations_share_a_transaction(studio: BookingStudio, sizes: Sizes) -> None:
    booked = [await studio.booked(await studio.new_class(), await studio.new_member()) for _ in range(2)]
    requests = await some_requests(studio)
    mixed = [requests[0], studio.cancel(booked[0]["id"]), requests[1], studio.cancel(booked[1]["id"])]
    sizes.clear()
    answers = await in_one_batch(studio, mixed)
    assert outcomes(answers) == ["confirmed", "cancelled", "confirmed", "cancelled"]
    assert sizes == [(4, 4)]


async def test_a_member_who_books_two_classes(studio: BookingStudio, sizes: Sizes) -> None:
    """The second decision depends on the first, so it is made in the next batch."""
    member = await studio.new_member(remaining=1)
    classes = [await studio.new_class(minutes) for minutes in (booking_studio.SOON, booking_studio.SOON + 120)]
    sizes.clear()
    answers = await in_one_batch(studio, [studio.post(wire_body(each, member)) for each in classes])
    assert sizes == [(1, 1)] * 2
    assert outcomes(answers) == ["confirmed", "insufficient_credits"]
    assert await studio.credits(member) == 0
    assert await studio.findings() == []


async def test_a_member_who_cancels_two_bookings(studio: BookingStudio, sizes: Sizes) -> None:
    member = await studio.new_member()
    classes = [await studio.new_class(minutes) for minutes in (booking_studio.SOON, booking_studio.SOON + 120)]
    booked = [await studio.booked(each, member) for each in classes]
    sizes.clear()
    answers = await in_one_batch(studio, [studio.cancel(each["id"]) for each in booked])
    assert sizes == [(1, 1)] * 2
    assert [answer.json()["credits_remaining"] for answer in answers] == [9, 10]
    assert await studio.credits(member) == 10
    assert await studio.findings() == []


async def test_one_key_for_two_classes(studio: BookingStudio, sizes: Sizes) -> None:
    requests = [wire_body(await studio.new_class(), await studio.new_member()) for _ in range(2)]
    sizes.clear()
    answers = await in_one_batch(studio, [studio.post(body, "key-0001") for body in requests])
    assert outcomes(answers) == ["confirmed", "idempotency_key_reused"]
    assert sizes == [(2, 2)]
    assert len(await studio.rows("bookings")) == 1


async def test_replays_and_refusals_among_new_requests(studio: BookingStudio, sizes: Sizes) -> None:
    body = wire_body(await studio.new_class(), await studio.new_member())
    first = await studio.post(body, "key-0001")
    full, _ = await studio.full_class()
    refused = wire_body(full, await studio.new_member())
    requests = [studio.post(body, "key-0001"), studio.post(refused, "key-0002"), *await some_requests(studio, 1)]
    sizes.clear()
    answers = await in_one_batch(studio, requests)
    assert sizes == [(3, 3)]
    assert outcomes(answers) == ["confirmed", "class_full", "confirmed"]
    assert (answers[0].body, [is_replay(each) for each in answers]) == (first.body, [True, False, False])
    again = await studio.post(refused, "key-0002")
    assert (again.body, is_replay(again)) == (answers[1].body, True)


async def test_what_does_not_exist(studio: BookingStudio) -> None:
    bodies = [wire_body(uuid4(), await studio.new_member()), wire_body(await studio.new_class(), uuid4())]
    requests = [*[studio.post(body) for body in bodies], *await some_requests(studio)]
    answers = await in_one_batch(studio, requests)
    assert outcomes(answers) == ["not_found", "not_found", "confirmed", "confirmed"]
    assert [answer.json()["error"]["param"] for answer in answers[:2]] == ["class_id", "member_id"]


async def test_a_booking_that_does_not_exist(studio: BookingStudio) -> None:
    booked = await studio.booked(await studio.new_class(), await studio.new_member())
    answers = await in_one_batch(studio, [studio.cancel(uuid4()), studio.cancel(booked["id"])])
    assert outcomes(answers) == ["not_found", "cancelled"]


async def test_keys_of_other_locations(studio: BookingStudio, sizes: Sizes) -> None:
    """Whether a class may be seen is judged for each request."""
    elsewhere = await issue_key(studio.api.connection, studio.studio, locations=[studio.other_location])
    here = await issue_key(studio.api.connection, studio.studio, locations=[studio.location])
    bodies = [wire_body(await studio.new_class(), await studio.new_member()) for _ in range(3)]
    keys = [elsewhere, here, studio.key]
    sizes.clear()
    answers = await in_one_batch(studio, [studio.post(body, key=key) for body, key in zip(bodies, keys, strict=True)])
    assert outcomes(answers) == ["not_found", "confirmed", "confirmed"]
    assert sizes == [(3, 3)]


async def test_what_concerns_others(studio: BookingStudio, sizes: Sizes) -> None:
    """A class with spots, and one with a free seat that somebody waits for; the latter gets it first."""
    await studio.new_spots("A1")
    spots = await studio.new_class(spot_selection_mode="optional")
    class_id, _ = await studio.full_class()
    waiting = await studio.waits(class_id, await studio.new_member())
    await studio.change("classes", class_id, capacity=2)
    bodies = [wire_body(each, await studio.new_member()) for each in (spots, class_id)]
    sizes.clear()
    answers = await in_one_batch(studio, [*[studio.post(body) for body in bodies], *await some_requests(studio)])
    assert outcomes(answers) == ["confirmed", "class_full", "confirmed", "confirmed"]
    assert sizes == [(4, 4)]
    assert await studio.status(waiting) == "confirmed"
    assert await studio.findings() == []


async def test_cancellations_that_concern_others(studio: BookingStudio, sizes: Sizes) -> None:
    class_id, (held,) = await studio.full_class()
    waiting = await studio.waits(class_id, await studio.new_member())
    booked = [await studio.booked(await studio.new_class(), await studio.new_member()) for _ in range(2)]
    sizes.clear()
    answers = await in_one_batch(studio, [studio.cancel(each["id"]) for each in (held, *booked)])
    assert outcomes(answers) == ["cancelled"] * 3
    assert [answer.json()["promoted"] for answer in answers] == [True, False, False]
    assert sizes == [(3, 3)]
    assert await studio.status(waiting) == "confirmed"
    assert await studio.findings() == []


async def offered_place(studio: BookingStudio) -> tuple[UUID, Any]:
    """A class with a booking whose place on the waitlist has been offered: it does not count as waiting."""
    class_id, _ = await studio.full_class()
    booking = await studio.waits(class_id, await studio.new_member())
    await studio.change("waitlist_entries", UUID((await studio.entry(booking))["id"]), status="offered", position=None)
    await studio.change("classes", class_id, waitlist_count=0)
    return class_id, booking


async def test_a_member_with_an_offered_place(studio: BookingStudio, sizes: Sizes) -> None:
    class_id, booking = await offered_place(studio)
    again = studio.post(wire_body(class_id, UUID(booking["member_id"])))
    sizes.clear()
    answers = await in_one_batch(studio, [again, *await some_requests(studio)])
    assert outcomes(answers) == ["already_waitlisted", "confirmed", "confirmed"]
    assert sizes == [(3, 3)]
    assert (await studio.cancel(booking["id"])).status == 200  # the doctor knows no such place


async def test_cancelling_an_offered_place(studio: BookingStudio, sizes: Sizes) -> None:
    _, booking = await offered_place(studio)
    other = await studio.booked(await studio.new_class(), await studio.new_member())
    sizes.clear()
    answers = await in_one_batch(studio, [studio.cancel(each["id"]) for each in (booking, other)])
    assert [answer.json()["cancellation_type"] for answer in answers] == ["waitlist_left", "standard"]
    assert sizes == [(2, 2)]
    (entry,) = await studio.rows("waitlist_entries")
    assert entry["status"] == "cancelled"


async def test_a_member_whose_pause_is_over(studio: BookingStudio, sizes: Sizes) -> None:
    """The membership becomes active before it is decided on."""
    member, now = await studio.new_member(), await studio.now()
    (row,) = await studio.rows("memberships", "member_id = $2", member)
    begin = now - timedelta(days=1)
    pause = {"status": "paused", "paused_at": begin, "pause_starts_at": begin, "pause_ends_at": now}
    await studio.change("memberships", row["id"], **pause)
    request = studio.post(wire_body(await studio.new_class(), member))
    sizes.clear()
    answers = await in_one_batch(studio, [request, *await some_requests(studio)])
    assert outcomes(answers) == ["confirmed"] * 3
    assert sizes == [(3, 3)]


async def test_a_booking_that_went_to_another_member(
    studio_factory: StudioFactory, sizes: Sizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a merge of duplicates, after its class was read: the heir may be in the batch for another class, too."""
    studio = await studio_factory.new_studio()  # not one that must be in order afterwards
    booked = [await studio.booked(await studio.new_class(), await studio.new_member()) for _ in range(2)]
    heir, lock_batch = await studio.new_member(), lock.lock_batch

    async def merge_before(*arguments: Any) -> Any:
        await studio.change("bookings", UUID(booked[0]["id"]), member_id=heir)
        return await lock_batch(*arguments)

    monkeypatch.setattr(lock, "lock_batch", merge_before)
    sizes.clear()
    answers = await in_one_batch(studio, [studio.cancel(each["id"]) for each in booked])
    assert outcomes(answers) == ["cancelled"] * 2
    assert sizes == [(1, 1)] * 2, "the batch was divided"


@pytest.mark.parametrize("kind", ["bookings", "cancellations"])
@pytest.mark.parametrize("table", ["classes", "members"])
async def test_nobody_waits_for_what_is_locked_elsewhere(studio: BookingStudio, table: str, kind: str) -> None:
    """The others have their answers, also if the request that has to wait is the oldest."""
    places = [(await studio.new_class(), await studio.new_member()) for _ in range(3)]
    if kind == "cancellations":
        booked = [await studio.booked(*place) for place in places]
        requests = [studio.cancel(each["id"]) for each in booked]
    else:
        requests = [studio.post(wire_body(*place)) for place in places]
    async with studio.database.connection() as elsewhere:
        async with elsewhere.transaction():
            locked = places[0][table == "members"]
            await elsewhere.execute(f"select from {table} where id = $1 for no key update", locked)
            answering = asyncio.create_task(in_one_batch(studio, requests))
            async with asyncio.timeout(LONG):
                while len(await studio.rows("bookings", "status = $2", DONE[kind])) < 2:
                    await asyncio.sleep(0.01)
            await somebody_waits(elsewhere)
        answers = await asyncio.wait_for(answering, LONG)
    assert outcomes(answers) == [DONE[kind]] * 3


DONE = {"bookings": "confirmed", "cancellations": "cancelled"}


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_what_else_is_locked_is_waited_for_only_briefly(studio: BookingStudio, place: int) -> None:
    """A price that is replaced locks memberships without their members."""
    class_id, member = await studio.new_class(), await studio.new_member()
    async with studio.database.connection() as elsewhere:
        async with elsewhere.transaction():
            await elsewhere.execute("select from memberships where member_id = $1 for no key update", member)
            requests = await some_requests(studio)
            requests.insert(place, studio.post(wire_body(class_id, member)))
            answering = asyncio.create_task(in_one_batch(studio, requests))
            async with asyncio.timeout(LONG):
                while len(await studio.rows("bookings")) < 2:
                    await asyncio.sleep(0.01)
            await somebody_waits(elsewhere)
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

    monkeypatch.setattr(class_state, "decide_booking", fail)
    sizes.clear()
    answers = await in_one_batch(studio, [studio.post(body) for body in bodies])
    assert outcomes(answers) == ["confirmed", "internal_error", "confirmed"]
    assert sum(executed for _, executed in sizes) == 2
    assert len(await studio.rows("bookings")) == 2
    assert await studio.findings() == []


take_from = scheduler.Scheduler._take_from


def take_from_anywhere(queue: Any, class_: Any, room: int, _classes: Any) -> Any:
    return take_from(queue, class_, room, {})


MISTAKES: dict[str, tuple[Any, str, Any]] = {
    "a member's requests are decided on the same state": (scheduler.Scheduler, "_take_from", take_from_anywhere),
    "one key is executed twice": (executor, "identity", lambda context: ("", str(id(context)))),
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
