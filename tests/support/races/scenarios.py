"""The races: each function runs concurrent clients and returns all violations of the promises, [] if there are none.

The caller sets the size: small in `make test`, full in `make battery`, smallest against a mutant.
"""

import asyncio
import json
from collections import Counter
from datetime import timedelta
from functools import partial
from uuid import UUID

from studiogate.flows import retry
from studiogate.flows.bookings import staff
from studiogate.storage.db import pool
from tests.support.background import beside
from tests.support.races.client import Call, Crowd, Request, booking, cancellation
from tests.support.races.studio import START, RaceStudio

DUELLISTS = 8


async def last_seats(race_studio: RaceStudio, duels: int) -> list[str]:
    """Eight members book the only seat of a class: one gets it, seven are refused because the class is full."""
    members = await race_studio.add_members(DUELLISTS, paid=duels)
    wrong = []
    async with race_studio.crowd(DUELLISTS) as crowd:
        for class_id in await race_studio.add_classes(duels, 1):
            calls = await crowd.at_once([booking(class_id, member_id) for member_id in members])
            wrong += _expect(f"class {class_id}", calls, {"confirmed": 1, "class_full": DUELLISTS - 1})
    return wrong + await race_studio.violations()


async def full_classes(race_studio: RaceStudio, classes: int, seats: int, tries: int, clients: int = 24) -> list[str]:
    """More members than seats try in every class, all classes at the same time: exactly ``seats`` are confirmed."""
    members = await race_studio.add_members(tries)
    opened = await race_studio.add_classes(classes, seats)
    requests = [booking(class_id, member_id) for class_id in opened for member_id in members]
    race_studio.random.shuffle(requests)
    async with race_studio.crowd(clients) as crowd:
        await crowd.work_off(requests)
    by_class: dict[str, list[Call]] = {}
    for call in _settled(race_studio):
        by_class.setdefault(json.loads(call.request.body)["class_id"], []).append(call)
    wrong = [
        fault
        for class_id, calls in by_class.items()
        for fault in _expect(f"class {class_id}", calls, {"confirmed": seats, "class_full": tries - seats})
    ]
    return wrong + await race_studio.violations()


async def last_credit(race_studio: RaceStudio, rounds: int, classes: int = 16) -> list[str]:
    """A member with one credit books many classes at once: one is confirmed."""
    wrong = []
    opened = await race_studio.add_classes(classes, rounds)
    async with race_studio.crowd(classes) as crowd:
        for member_id in await race_studio.add_members(rounds, paid=1):
            calls = await crowd.at_once([booking(class_id, member_id) for class_id in opened])
            wrong += _expect(f"member {member_id}", calls, {"confirmed": 1, "insufficient_credits": classes - 1})
    return wrong + await race_studio.violations()


async def overlapping_bookings(race_studio: RaceStudio, rounds: int, classes: int = 8) -> list[str]:
    """A member books overlapping classes, all at once: one is confirmed. No database constraint enforces this."""
    wrong = []
    opened = [
        await race_studio.add_class(rounds, start_time=START + timedelta(minutes=each)) for each in range(classes)
    ]
    async with race_studio.crowd(classes) as crowd:
        for member_id in await race_studio.add_members(rounds, paid=None):
            calls = await crowd.at_once([booking(class_id, member_id) for class_id in opened])
            wrong += _expect(f"member {member_id}", calls, {"confirmed": 1, "overlapping_booking": classes - 1})
    return wrong + await race_studio.violations()


async def one_key(race_studio: RaceStudio, keys: int, copies: int = 20) -> list[str]:
    """Copies of one request, serialized differently, and two other requests under the same key, all at once: the first
    one takes effect once and its copies get the same bytes; the others are refused."""
    members = await race_studio.add_members(3, paid=keys * 2)
    wrong = []
    async with race_studio.crowd(copies + 2) as crowd:
        for class_id in await race_studio.add_classes(keys, 5):
            requests = _spellings(race_studio, class_id, members[0], copies) + _others(class_id, members)
            requests = [request._replace(key=requests[0].key) for request in requests]
            race_studio.random.shuffle(requests)
            calls = await crowd.at_once(requests)
            wrong += _one_winner(class_id, calls, copies)
    made = await race_studio.fetch(
        "select class_id, count(*) as n from bookings where studio_id = $1 group by class_id"
    )
    wrong += [f"class {row['class_id']}: {row['n']} bookings by one key" for row in made if row["n"] != 1]
    wrong += [] if len(made) == keys else [f"{keys} keys made bookings in {len(made)} classes"]
    return wrong + await race_studio.violations()


def _spellings(race_studio: RaceStudio, class_id: UUID, member_id: UUID, copies: int) -> list[Request]:
    """Return the same parameters in another order, with spaces, explicit defaults, and uppercase ids."""
    plain = {"class_id": str(class_id), "member_id": str(member_id)}
    bodies = [
        json.dumps(plain),
        json.dumps(dict(reversed(plain.items())), indent=2),
        json.dumps({**plain, "join_waitlist": False, "class_spot_id": None}),
        json.dumps({name: value.upper() for name, value in plain.items()}),
    ]
    return [
        booking(class_id, member_id)._replace(body=race_studio.random.choice(bodies).encode()) for _ in range(copies)
    ]


def _others(class_id: UUID, members: list[UUID]) -> list[Request]:
    return [booking(class_id, members[1]), booking(class_id, members[0], join_waitlist=True)]


def _one_winner(class_id: UUID, calls: list[Call], copies: int) -> list[str]:
    outcomes = Counter(call.outcome for call in calls)
    if outcomes in (
        _counts(confirmed=copies, idempotency_key_reused=2),
        _counts(confirmed=1, idempotency_key_reused=copies + 1),
    ):
        return []
    return [f"class {class_id}: one key came to {dict(outcomes)}"]


async def cancellations_and_promotions(race_studio: RaceStudio, rounds: int) -> list[str]:
    """A seat is cancelled twice at once while others join or leave the waitlist or book the seat: there is one receipt,
    the first member still waiting is promoted, and nobody overtakes."""
    wrong = []
    async with race_studio.crowd(6) as crowd:
        for _ in range(rounds):
            wrong += await _cancel_and_promote(race_studio, crowd)
    return wrong + await race_studio.violations()


async def _cancel_and_promote(race_studio: RaceStudio, crowd: Crowd) -> list[str]:
    class_id = await race_studio.add_class(1)
    holder, first, second, third, newcomer, joiner = await race_studio.add_members(6, paid=1)
    client = crowd.clients[0]
    seat = await client.settle(booking(class_id, holder))
    waiting = [await client.settle(booking(class_id, each, join_waitlist=True)) for each in (first, second, third)]
    leaves, leaves_again, steps_back, pushes, _ = await crowd.at_once(
        [
            cancellation(seat.json["id"]),
            cancellation(seat.json["id"]),
            cancellation(waiting[1].json["id"]),
            booking(class_id, newcomer),
            booking(class_id, joiner, join_waitlist=True),
        ]
    )
    wrong = _expect(f"class {class_id}", [leaves, leaves_again], {"cancelled": 1, "booking_already_cancelled": 1})
    receipt = next((call.json for call in (leaves, leaves_again) if call.status == 200), {})
    if receipt.get("promoted") is not True or receipt.get("credits_returned") != 1:
        wrong.append(f"class {class_id}: receipt {receipt}")
    if (steps_back.outcome, pushes.outcome) != ("cancelled", "class_full"):
        wrong.append(f"class {class_id}: waitlist left {steps_back.outcome}, newcomer {pushes.outcome}")
    expected = {first: "confirmed", third: "waitlisted", joiner: "waitlisted"}
    return wrong + await _expect_inside(race_studio, class_id, expected)


async def _expect_inside(race_studio: RaceStudio, class_id: UUID, expected: dict[UUID, str]) -> list[str]:
    rows = await race_studio.fetch(
        "select member_id, status from bookings where studio_id = $1 and class_id = $2 and status <> 'cancelled'",
        class_id,
    )
    inside = {row["member_id"]: row["status"] for row in rows}
    return [] if inside == expected else [f"class {class_id}: {inside} instead of {expected}"]


async def changing_capacities(race_studio: RaceStudio, dsn: str, rounds: int, members: int = 30) -> list[str]:
    """Members book and join the waitlist while staff raise and lower the capacity. In the end every seat is taken, by
    the members who came first."""
    wrong = []
    operator = await pool.connect(dsn)
    try:
        async with race_studio.crowd(16) as crowd:
            for _ in range(rounds):
                wrong += await _book_while_capacity_changes(race_studio, crowd, operator, members)
    finally:
        await operator.close()
    return wrong + await race_studio.violations()


async def _book_while_capacity_changes(
    race_studio: RaceStudio, crowd: Crowd, operator: pool.Connection, members: int
) -> list[str]:
    class_id = await race_studio.add_class(3)
    requests = [booking(class_id, each, join_waitlist=True) for each in await race_studio.add_members(members, paid=1)]
    enough = asyncio.Event()
    async with beside(change_capacities(race_studio, operator, [class_id], enough), enough.set):
        await crowd.work_off(requests)
    capacity: int = await race_studio.connection.fetchval("select capacity from classes where id = $1", class_id)
    rows = await race_studio.fetch(
        "select status from bookings where studio_id = $1 and class_id = $2 order by created_at, id", class_id
    )
    came = [row["status"] for row in rows]
    seated = ["confirmed"] * min(capacity, members)
    expected = seated + ["waitlisted"] * (members - len(seated))
    return [] if came == expected else [f"class {class_id}: capacity {capacity}, in the order they came: {came}"]


async def change_capacities(
    race_studio: RaceStudio, operator: pool.Connection, classes: list[UUID], enough: asyncio.Event, most: int = 12
) -> None:
    """Change capacities at random; lowering one below the taken seats is refused, so they grow in the long run."""
    while not enough.is_set():
        class_id, seats = race_studio.random.choice(classes), race_studio.random.randint(0, most)
        change = partial(staff.change_capacity, operator, race_studio.staff, class_id, seats)
        await retry.repeated_on(operator, change)  # as the command does; needed only against a mutant


async def flash_crowd(
    race_studio: RaceStudio, requests: int, seats: int = 20, clients: int = 20, forgiven: tuple[str, ...] = ()
) -> list[str]:
    """All members book one class, every second one would join the waitlist: the seats are taken, the waitlist is in
    order of arrival, the others are refused because the class is full. With more clients than connections to
    PostgreSQL, some may be refused (503 ``overloaded``): only then is that not a violation."""
    class_id = await race_studio.add_class(seats)
    members = await race_studio.add_members(requests, paid=1)
    wanted = [booking(class_id, each, join_waitlist=number % 2 == 0) for number, each in enumerate(members)]
    race_studio.random.shuffle(wanted)
    async with race_studio.crowd(clients) as crowd:
        await crowd.work_off(wanted)
    settled = _settled(race_studio)
    confirmed = [call for call in settled if call.outcome == "confirmed"]
    joined = sum(json.loads(call.request.body)["join_waitlist"] for call in confirmed)
    waiting = (requests + 1) // 2 - joined
    expected = {"confirmed": seats, "waitlisted": waiting, "class_full": requests - seats - waiting}
    positions = sorted(call.json["waitlist_position"] for call in settled if call.outcome == "waitlisted")
    wrong = _expect(f"class {class_id}", settled, expected)
    wrong += [] if positions == list(range(1, waiting + 1)) else [f"positions returned: {positions}"]
    return wrong + await race_studio.violations(forgiven=forgiven)


async def rush(race_studio: RaceStudio, requests: int, *, join_waitlist: bool, seats: int = 20) -> list[str]:
    """Everybody books one class in the same moment, each over an own connection: the seats are taken, all others are on
    the waitlist, each in a place of its own, or refused because the class is full. Nobody is turned away."""
    class_id = await race_studio.add_class(seats)
    members = await race_studio.add_members(requests, paid=1)
    async with race_studio.crowd(requests) as crowd:
        calls = await crowd.at_once([booking(class_id, each, join_waitlist=join_waitlist) for each in members])
    others = "waitlisted" if join_waitlist else "class_full"
    wrong = _expect(f"class {class_id}", calls, {"confirmed": seats, others: requests - seats})
    positions = sorted(call.json["waitlist_position"] for call in calls if call.outcome == "waitlisted")
    wrong += [] if positions == list(range(1, len(positions) + 1)) else [f"positions returned: {positions}"]
    wrong += await _came_in_order(race_studio, class_id)
    return wrong + await race_studio.violations()


async def _came_in_order(race_studio: RaceStudio, class_id: UUID) -> list[str]:
    """Seats and positions are in the order of the bookings' creation."""
    rows = await race_studio.fetch(
        "select w.position from bookings b left join waitlist_entries w on w.booking_id = b.id"
        " where b.studio_id = $1 and b.class_id = $2 order by b.created_at, w.position nulls first",
        class_id,
    )
    came = [row["position"] for row in rows]
    expected = sorted(came, key=lambda position: position or 0)
    return [] if came == expected else [f"class {class_id}: positions in order of creation: {came}"]


def _settled(race_studio: RaceStudio) -> list[Call]:
    """The last attempt of every key."""
    return [calls[-1] for calls in race_studio.history.by_key().values()]


def _counts(**outcomes: int) -> Counter[str]:
    return Counter(outcomes)


def _expect(where: str, calls: list[Call], expected: dict[str, int]) -> list[str]:
    outcomes = Counter(call.outcome for call in calls)
    return [] if outcomes == Counter(expected) else [f"{where}: {dict(outcomes)} instead of {expected}"]
