"""Requests that share a transaction: each has its own outcome, in order of arrival, and none waits for another."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.access import Access
from studiogate.flows.bookings import executor, promote, scheduler
from studiogate.flows.bookings.executor import NotExecuted, _Batch
from studiogate.storage.bookings import lock
from tests.support import booking_studio
from tests.support.batches import in_one_batch, is_replay, outcomes
from tests.support.booking_studio import BookingStudio, wire_body
from tests.support.races import mutants
from tests.support.seed import issue_key

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


@pytest.fixture(autouse=True)
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many requests each transaction executed."""
    sizes: list[int] = []

    in_one_transaction = executor._in_one_transaction

    async def counted(database: Any, batch: Sequence[Any]) -> Any:
        outcomes = await in_one_transaction(database, batch)
        sizes.append(sum(not isinstance(each, NotExecuted) for each in outcomes))
        return outcomes

    monkeypatch.setattr(executor, "_in_one_transaction", counted)
    return sizes


async def test_seats_and_positions_go_in_order_of_arrival(studio: BookingStudio, batches: list[int]) -> None:
    class_id, members = await studio.new_class(capacity=2), [await studio.new_member() for _ in range(6)]
    requests = [
        studio.post(wire_body(class_id, each, join_waitlist=number != 3)) for number, each in enumerate(members)
    ]
    answers = await in_one_batch(studio, requests)
    assert batches == [6]
    assert outcomes(answers) == ["confirmed"] * 2 + ["waitlisted", "class_full", "waitlisted", "waitlisted"]
    waiting = [answer.json() for answer in answers if answer.status == 201][2:]
    assert [each["waitlist_position"] for each in waiting] == [1, 2, 3]
    assert await studio.positions(*waiting) == [1, 2, 3]
    assert await studio.counts(class_id) == (2, 3)
    assert [await studio.credits(member) for member in members] == [9, 9, 10, 10, 10, 10]
    assert await studio.findings() == []


async def test_answers_are_what_reads_return_and_events_are_in_order(studio: BookingStudio) -> None:
    class_id, members = await studio.new_class(capacity=3), [await studio.new_member() for _ in range(4)]
    requests = [studio.post(wire_body(class_id, each, join_waitlist=True)) for each in members]
    answers = [answer.json() for answer in await in_one_batch(studio, requests)]
    assert answers == [await studio.get(f"/bookings/{answer['id']}") for answer in answers]
    assert [answer["id"] for answer in answers] == sorted(answer["id"] for answer in answers)
    events = await studio.api.connection.fetch(
        "select subject, object::text from events where studio_id = $1 and type = 'booking.created'"
        " order by created_at, id",
        studio.id,
    )
    assert [str(event["subject"]) for event in events] == [answer["id"] for answer in answers]


async def test_a_member_who_asks_twice(studio: BookingStudio, batches: list[int]) -> None:
    """The second request finds the first one's booking; credits are taken once."""
    class_id, member = await studio.new_class(), await studio.new_member(remaining=1)
    first, second = await in_one_batch(studio, [studio.post(wire_body(class_id, member)) for _ in range(2)])
    assert batches == [2]
    assert outcomes([first, second]) == ["confirmed", "already_booked"]
    assert second.json()["error"]["details"]["booking_id"] == first.json()["id"]
    assert await studio.credits(member) == 0


async def test_a_waiting_member_who_asks_twice(studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class()
    body = wire_body(class_id, await studio.new_member(), join_waitlist=True)
    first, second = await in_one_batch(studio, [studio.post(body), studio.post(body)])
    assert outcomes([first, second]) == ["waitlisted", "already_waitlisted"]
    assert second.json()["error"]["details"]["booking_id"] == first.json()["id"]


async def test_refusals_are_stored_each_under_its_key(studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class()
    suspended = await studio.new_member(suspended=True)
    bodies = [wire_body(class_id, await studio.new_member()), wire_body(class_id, suspended)]
    bodies.append(wire_body(class_id, uuid4()))
    requests = [
        studio.post(body, f"key-000{number}", headers={"X-Request-Id": f"request-{number}"})
        for number, body in enumerate(bodies)
    ]
    answers = await in_one_batch(studio, requests)
    assert outcomes(answers) == ["class_full", "member_suspended", "not_found"]
    assert answers[2].json()["error"]["param"] == "member_id"
    ids = [answer.json()["error"]["request_id"] for answer in answers]
    assert ids == ["request-0", "request-1", "request-2"]
    again = [await studio.post(body, f"key-000{number}") for number, body in enumerate(bodies)]
    assert [each.body for each in again[:2]] == [each.body for each in answers[:2]]
    assert [is_replay(each) for each in again] == [True, True, False]


async def test_one_key_twice_in_a_batch(studio: BookingStudio, batches: list[int]) -> None:
    class_id, member = await studio.new_class(), await studio.new_member()
    body, other = wire_body(class_id, member), wire_body(class_id, await studio.new_member())
    bodies = [body, body, other, body]
    answers = await in_one_batch(studio, [studio.post(each, "key-0001") for each in bodies])
    assert batches == [4]
    assert outcomes(answers) == ["confirmed", "confirmed", "idempotency_key_reused", "confirmed"]
    assert len({answers[number].body for number in (0, 1, 3)}) == 1
    assert [is_replay(each) for each in answers] == [False, True, False, True]
    assert len(await studio.rows("bookings")) == 1


async def test_one_key_twice_whose_first_left_no_trace(studio: BookingStudio) -> None:
    """A 404 is not stored: the next request with its key is executed."""
    class_id, member = await studio.new_class(), await studio.new_member()
    bodies = [wire_body(class_id, uuid4()), wire_body(class_id, member)]
    answers = await in_one_batch(studio, [studio.post(each, "key-0001") for each in bodies])
    assert outcomes(answers) == ["not_found", "confirmed"]


async def test_replays_among_new_requests(studio: BookingStudio) -> None:
    class_id, member = await studio.new_class(), await studio.new_member()
    body = wire_body(class_id, member)
    first = await studio.post(body, "key-0001")
    new = wire_body(class_id, await studio.new_member())
    requests = [studio.post(body, "key-0001"), studio.post(new, "key-0002"), studio.post(new, "key-0001")]
    again, made, reused = await in_one_batch(studio, requests)
    assert (again.body, is_replay(again)) == (first.body, True)
    assert outcomes([made, reused]) == ["confirmed", "idempotency_key_reused"]


async def test_spots_of_one_batch(studio: BookingStudio) -> None:
    first, second, _ = await studio.new_spots("A1", "A2", "A3")
    class_id = await studio.new_class(spot_selection_mode="optional")
    wanted: list[dict[str, Any]] = [{"class_spot_id": first}, {"class_spot_id": first}, {}, {"class_spot_id": second}]
    requests = [studio.post(wire_body(class_id, await studio.new_member(), **each)) for each in wanted]
    answers = await in_one_batch(studio, requests)
    assert outcomes(answers) == ["confirmed", "spot_taken", "confirmed", "spot_taken"]
    assert [answers[number].json()["class_spot_id"] for number in (0, 2)] == [str(first), str(second)]


async def test_keys_of_other_locations_and_studios(studio: BookingStudio) -> None:
    """Whether a class may be seen is judged for each request of a batch."""
    class_id, members = await studio.new_class(), [await studio.new_member() for _ in range(3)]
    elsewhere = await issue_key(studio.api.connection, studio.studio, locations=[studio.other_location])
    here = await issue_key(studio.api.connection, studio.studio, locations=[studio.location])
    keys = [elsewhere, studio.key, here]
    requests = [studio.post(wire_body(class_id, each), key=key) for each, key in zip(members, keys, strict=True)]
    answers = await in_one_batch(studio, requests)
    assert outcomes(answers) == ["not_found", "confirmed", "confirmed"]
    assert answers[0].json()["error"]["param"] == "class_id"


async def test_waiting_members_come_before_a_batch(studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class()
    waiting = await studio.waits(class_id, await studio.new_member())
    await studio.change("classes", class_id, capacity=3)
    requests = [studio.post(wire_body(class_id, await studio.new_member())) for _ in range(2)]
    answers = await in_one_batch(studio, requests)
    assert await studio.status(waiting) == "confirmed"
    assert outcomes(answers) == ["confirmed", "class_full"]
    assert await studio.counts(class_id) == (3, 0)


async def test_a_conversion_in_a_batch(studio: BookingStudio) -> None:
    """After the promotion cutoff, a waiting member takes an open seat; those behind move up, newcomers join behind."""
    class_id, _ = await studio.full_class(30, policy={"promotion_cutoff_minutes": 60})
    first, second = [await studio.waits(class_id, await studio.new_member()) for _ in range(2)]
    await studio.change("classes", class_id, capacity=3)
    newcomers = [await studio.new_member() for _ in range(2)]
    bodies = [
        wire_body(class_id, newcomers[0]),
        wire_body(class_id, UUID(first["member_id"])),
        wire_body(class_id, newcomers[1], join_waitlist=True),
    ]
    answers = await in_one_batch(studio, [studio.post(body) for body in bodies])
    assert outcomes(answers) == ["confirmed", "confirmed", "waitlisted"]
    assert answers[1].json()["id"] == first["id"]
    assert await studio.positions(second, answers[2].json()) == [1, 2]
    assert await studio.counts(class_id) == (3, 2)
    assert await studio.findings() == []


async def test_cancellations_of_one_batch(studio: BookingStudio, batches: list[int]) -> None:
    policy = {"late_action": "fee", "late_fee_amount": "3.00"}
    class_id, members = await studio.new_class(60, policy=policy), [await studio.new_member() for _ in range(4)]
    booked = [await studio.booked(class_id, member) for member in members]
    batches.clear()
    ids = [booked[0]["id"], booked[1]["id"], booked[0]["id"], str(uuid4()), booked[2]["id"]]
    answers = await in_one_batch(studio, [studio.cancel(each) for each in ids[:3] + ids[4:]])
    assert batches == [4]
    assert outcomes(answers) == ["cancelled", "cancelled", "booking_already_cancelled", "cancelled"]
    assert answers[2].json()["error"]["details"]["cancellation_id"] == answers[0].json()["id"]
    for answer in (answers[0], answers[1], answers[3]):
        receipt = answer.json()
        kept = await studio.ask("GET", f"/bookings/{receipt['booking_id']}/cancellation")
        assert kept.body == answer.body
        purchase = await studio.row("purchases", receipt["late_fee"]["purchase_id"])
        assert str(purchase["booking_id"]) == receipt["booking_id"]
    types = Counter(row["type"] for row in await studio.rows("events"))
    assert (types["booking.cancelled"], types["purchase.created"]) == (3, 3)
    assert await studio.counts(class_id) == (1, 0)
    assert await studio.findings() == []


async def test_one_key_twice_in_a_batch_of_cancellations(studio: BookingStudio) -> None:
    class_id = await studio.new_class()
    booked = [await studio.booked(class_id, await studio.new_member()) for _ in range(2)]
    ids = [booked[0]["id"], booked[0]["id"], booked[1]["id"]]
    answers = await in_one_batch(studio, [studio.cancel(each, "key-0001") for each in ids])
    assert outcomes(answers) == ["cancelled", "cancelled", "idempotency_key_reused"]
    assert answers[0].body == answers[1].body
    assert await studio.status(booked[1]) == "confirmed"


async def test_cancellations_with_a_waitlist(studio: BookingStudio) -> None:
    """Each seat goes to the first who still waits; one who was promoted by this batch can leave in it."""
    class_id, booked = await studio.full_class(capacity=2)
    waiting = [await studio.waits(class_id, await studio.new_member()) for _ in range(4)]
    leave = [booked[0], waiting[1], waiting[0], booked[1]]
    answers = await in_one_batch(studio, [studio.cancel(each["id"]) for each in leave])
    receipts = [answer.json() for answer in answers]
    assert [each["promoted"] for each in receipts] == [True, False, True, True]
    assert [each["cancellation_type"] for each in receipts] == ["standard", "waitlist_left", "standard", "standard"]
    assert [await studio.status(each) for each in waiting] == ["cancelled", "cancelled", "confirmed", "confirmed"]
    assert await studio.counts(class_id) == (2, 0)
    assert await studio.findings() == []


async def test_bookings_and_cancellations_keep_their_order(studio: BookingStudio, batches: list[int]) -> None:
    class_id, (held,) = await studio.full_class()
    batches.clear()
    newcomers = [await studio.new_member() for _ in range(3)]
    requests = [
        studio.post(wire_body(class_id, newcomers[0])),
        studio.cancel(held["id"]),
        studio.post(wire_body(class_id, newcomers[1])),
        studio.post(wire_body(class_id, newcomers[2])),
    ]
    answers = await in_one_batch(studio, requests)
    assert outcomes(answers) == ["class_full", "cancelled", "confirmed", "class_full"]
    assert batches == [4]


refuse, take_from, after_booking = _Batch._refuse, scheduler.Scheduler._take_from, promote.after_booking


async def refuse_as_the_first(batch: Any, number: int, refusal: Any) -> None:
    answers = batch.requests[0].context.answers
    batch.requests = [each._replace(context=each.context._replace(answers=answers)) for each in batch.requests]
    await refuse(batch, number, refusal)


def forget_the_member(situation: Any, people: Any, new: Any) -> Any:
    member = people.members[new.member_id]
    situation, people = after_booking(situation, people, new)
    people.members[new.member_id] = member
    return situation, people


MISTAKES: dict[str, tuple[Any, str, Any]] = {
    "one outcome for all": (executor, "execute", mutants._share_one_fate),
    "one request id for all": (_Batch, "_refuse", refuse_as_the_first),
    "the locations of all for each": (Access, "permits", lambda *_: True),
    "the last one first": (scheduler.Scheduler, "_take_from", lambda *given: take_from(*given)[::-1]),
    "what is stored is executed again": (lock, "not_to_execute", lambda _row: {}),
    "parameters of one batch not compared": (executor, "_repeated", mutants._repeat_to_anybody),
    "one key executed twice": (executor, "identity", lambda context: ("", str(id(context)))),
    "the earlier booking of a member forgotten": (promote, "after_booking", forget_the_member),
}


@pytest.mark.parametrize(
    ("mistake", "check"),
    [
        ("one outcome for all", test_seats_and_positions_go_in_order_of_arrival),
        ("one request id for all", test_refusals_are_stored_each_under_its_key),
        ("the locations of all for each", test_keys_of_other_locations_and_studios),
        ("the last one first", test_seats_and_positions_go_in_order_of_arrival),
        ("what is stored is executed again", test_replays_among_new_requests),
        ("parameters of one batch not compared", test_one_key_twice_in_a_batch),
        ("one key executed twice", test_one_key_twice_in_a_batch),
        ("the earlier booking of a member forgotten", test_a_member_who_asks_twice),
    ],
)
async def test_a_mistake_is_noticed(
    studio: BookingStudio,
    batches: list[int],
    monkeypatch: pytest.MonkeyPatch,
    mistake: str,
    check: Callable[..., Awaitable[None]],
) -> None:
    monkeypatch.setattr(*MISTAKES[mistake])
    with pytest.raises(AssertionError):
        await (check(studio, batches) if "batches" in check.__code__.co_varnames else check(studio))
