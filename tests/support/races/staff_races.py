"""Races between staff and partners: staff act by their flows, each on a connection of their own, while partners book,
cancel and wait. Each function returns all violations of the promises, [] if there are none.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from studiogate.domain.purchases import Order
from studiogate.domain.refusals import Refusal
from studiogate.flows import retry
from studiogate.flows.bookings import desk, staff, staff_bookings
from studiogate.flows.members.erase import erase
from studiogate.flows.memberships import adjust_credits
from studiogate.flows.purchases import sell
from studiogate.storage.db import pool
from tests.support.races.client import Call, Crowd, Request, booking, cancellation
from tests.support.races.studio import RaceStudio
from tests.support.seed import insert

Job = Callable[[pool.Connection], Awaitable[Any]]
STAFF = 4
SOLD = 2  # credits


@dataclass
class Desk:
    """Staff with a connection each, and partners."""

    race_studio: RaceStudio
    crowd: Crowd
    connections: list[pool.Connection]

    def job(self, flow: Callable[..., Any], *arguments: Any) -> Job:
        return lambda connection: flow(connection, self.race_studio.staff, *arguments)

    async def at_once(self, requests: list[Request], *jobs: Job) -> tuple[list[Call], list[Any]]:
        """Send the requests and do the jobs, all at the same time. As commands do, staff repeat after a conflict."""
        pairs = zip(self.connections, jobs, strict=False)
        doing = [retry.repeated_on(connection, partial(job, connection)) for connection, job in pairs]
        sending = asyncio.create_task(self.crowd.at_once(requests))
        done = await asyncio.gather(sending, *doing, return_exceptions=True)
        for each in done:  # only once all have ended: their connections are used again
            if isinstance(each, BaseException):
                raise each
        return sending.result(), done[1:]

    async def settle(self, request: Request) -> Call:
        return await self.crowd.clients[0].settle(request)

    async def made(self, class_id: UUID, member_id: UUID, **more: Any) -> UUID:
        call = await self.settle(booking(class_id, member_id, **more))
        assert call.status == 201, call
        return UUID(call.json["id"])

    async def live(self, class_id: UUID) -> dict[UUID, str]:
        """The members who have a place in the class, with its status."""
        rows = await self.race_studio.fetch(
            "select member_id, status from bookings where studio_id = $1 and class_id = $2 and status <> 'cancelled'",
            class_id,
        )
        return {row["member_id"]: row["status"] for row in rows}

    async def membership_of(self, member_id: UUID) -> UUID:
        query = "select id from memberships where studio_id = $1 and member_id = $2 order by id limit 1"
        (row,) = await self.race_studio.fetch(query, member_id)
        membership_id: UUID = row["id"]
        return membership_id


@asynccontextmanager
async def open_desk(race_studio: RaceStudio, dsn: str) -> AsyncIterator[Desk]:
    async with AsyncExitStack() as stack:
        connections = []
        for _ in range(STAFF):
            connections.append(await pool.connect(dsn))
            stack.push_async_callback(connections[-1].close)
        yield Desk(race_studio, await stack.enter_async_context(race_studio.crowd(12)), connections)


async def adjusting(race_studio: RaceStudio, dsn: str, rounds: int) -> list[str]:
    """Staff give and take credits while the member books and cancels: no credit is lost, none appears."""
    wrong, classes = [], await race_studio.add_classes(8, 100)
    async with open_desk(race_studio, dsn) as studio:
        for member in await race_studio.add_members(rounds, paid=4):
            membership = await studio.membership_of(member)
            changes = (1, -1, 2, -2)
            jobs = [studio.job(adjust_credits, membership, change, "A correction.") for change in changes]
            calls, first = await studio.at_once([booking(each, member) for each in classes], *jobs)
            made = [call.json["id"] for call in calls if call.status == 201]
            _, second = await studio.at_once([cancellation(each) for each in made], *jobs)
            done = zip((*first, *second), (*changes, *changes), strict=True)
            expected = 4 + sum(change for outcome, change in done if not isinstance(outcome, Refusal))
            query = "select credits_remaining from memberships where studio_id = $1 and id = $2"
            (row,) = await race_studio.fetch(query, membership)
            if row["credits_remaining"] != expected:
                wrong.append(f"membership {membership}: {row['credits_remaining']} credits instead of {expected}")
    return wrong + await race_studio.violations()


async def erasing(race_studio: RaceStudio, dsn: str, rounds: int) -> list[str]:
    """A person is erased while they book, cancel, buy and get credits: nothing of it is left ahead, and whoever waited
    for their seat has it."""
    wrong = []
    await put_on_sale(race_studio)
    # Each class that the person books meanwhile may make the erasure begin again, which it does three times at most.
    opened = await race_studio.add_classes(3, 100)
    async with open_desk(race_studio, dsn) as studio:
        for _ in range(rounds):
            held, (person, waiting) = await race_studio.add_class(1), await race_studio.add_members(2)
            seat = await studio.made(held, person)
            await studio.made(held, waiting, join_waitlist=True)
            _, (erased, *_) = await studio.at_once(
                [cancellation(seat), *(booking(each, person) for each in opened)],
                studio.job(erase, person),
                studio.job(sell, Order(person, race_studio.product_id)),
                studio.job(adjust_credits, await studio.membership_of(person), 1, "A gift."),
            )
            if isinstance(erased, Refusal):
                wrong.append(f"member {person}: not erased, {erased.code}")
            rows = await race_studio.fetch(
                "select id from bookings where studio_id = $1 and member_id = $2 and status <> 'cancelled'", person
            )
            wrong += [f"member {person}: erased, with booking {row['id']}" for row in rows]
            wrong += _expect(held, await studio.live(held), {waiting: "confirmed"})
    return wrong + await race_studio.violations()


async def moving(race_studio: RaceStudio, dsn: str, rounds: int) -> list[str]:
    """Staff move two bookings into a class with one free seat, for which partners compete: one of all gets it. A moved
    member's old seat goes to the waiting one; one who could not be moved keeps it."""
    wrong = []
    async with open_desk(race_studio, dsn) as studio:
        for _ in range(rounds):
            old, new = await race_studio.add_classes(2, 2)
            one, two, guest, waiting, *others = await race_studio.add_members(7)
            seats = [await studio.made(old, each) for each in (one, two)]
            await studio.made(new, guest)
            await studio.made(old, waiting, join_waitlist=True)
            _, moved = await studio.at_once(
                [booking(new, each) for each in others],
                *(studio.job(desk.move_booking, desk.Move(seat, new)) for seat in seats),
            )
            gone = [member for member, done in zip((one, two), moved, strict=True) if not isinstance(done, Refusal)]
            kept = [member for member in (one, two) if member not in gone]
            inside = await studio.live(new)
            if len(inside) != 2 or guest not in inside or [each for each in (one, two) if each in inside] != gone:
                wrong.append(f"class {new}: {inside} after moving {gone}")
            seated = dict.fromkeys([*kept, waiting] if gone else kept, "confirmed")
            expected = seated if gone else {**seated, waiting: "waitlisted"}
            wrong += _expect(old, await studio.live(old), expected)
    return wrong + await race_studio.violations()


async def cancelling_classes(race_studio: RaceStudio, dsn: str, rounds: int) -> list[str]:
    """Staff cancel a class while partners book and leave it and other staff enlarge it: nobody has a place in it, and
    every credit is back."""
    wrong = []
    async with open_desk(race_studio, dsn) as studio:
        for _ in range(rounds):
            class_id, members = await race_studio.add_class(2), await race_studio.add_members(8, paid=1)
            seats = [await studio.made(class_id, each) for each in members[:2]]
            waits = await studio.made(class_id, members[2], join_waitlist=True)
            joining = [booking(class_id, each, join_waitlist=True) for each in members[3:7]]
            _, (cancelled, *_) = await studio.at_once(
                [cancellation(seats[0]), cancellation(waits), *joining],
                studio.job(staff.cancel_class, class_id),
                studio.job(staff.change_capacity, class_id, 4),
                studio.job(desk.book_for_member, desk.StaffBooking(class_id, members[7], True)),
            )
            if isinstance(cancelled, Refusal):
                wrong.append(f"class {class_id}: not cancelled, {cancelled.code}")
            wrong += _expect(class_id, await studio.live(class_id), {})
            query = """select member_id, credits_remaining from memberships
                       where studio_id = $1 and member_id = any($2::uuid[]) and credits_remaining <> 1"""
            wrong += [f"member {row[0]}: {row[1]} credits" for row in await race_studio.fetch(query, members)]
    return wrong + await race_studio.violations()


async def promoting(race_studio: RaceStudio, dsn: str, rounds: int) -> list[str]:
    """Staff enlarge a full class and promote its last waiting member by hand, and book somebody, while the seat's
    holder leaves and others join: the seats are taken, each by one member."""
    wrong = []
    async with open_desk(race_studio, dsn) as studio:
        for _ in range(rounds):
            class_id, members = await race_studio.add_class(1), await race_studio.add_members(9, paid=1)
            seat = await studio.made(class_id, members[0])
            waits = [await studio.made(class_id, each, join_waitlist=True) for each in members[1:5]]
            query = "select id from waitlist_entries where studio_id = $1 and booking_id = $2"
            (entry,) = await race_studio.fetch(query, waits[-1])
            joining = [booking(class_id, each, join_waitlist=True) for each in members[5:8]]
            await studio.at_once(
                [cancellation(seat), *joining],
                studio.job(staff.change_capacity, class_id, 2),
                studio.job(staff_bookings.promote_entry, entry["id"]),
                studio.job(staff_bookings.cancel_booking, waits[1]),
                studio.job(desk.book_for_member, desk.StaffBooking(class_id, members[8], True)),
            )
            inside = await studio.live(class_id)
            seated = [member for member, status in inside.items() if status == "confirmed"]
            if len(seated) != 2 or len(inside) != 7 or members[0] in inside or members[2] in inside:
                wrong.append(f"class {class_id}: {inside}")
    return wrong + await race_studio.violations()


async def selling(race_studio: RaceStudio, dsn: str, rounds: int) -> list[str]:
    """A membership is sold while its buyer books more classes than it has credits: those who came too early or too
    late are refused, and all credits are spent once."""
    wrong = []
    await put_on_sale(race_studio)
    async with open_desk(race_studio, dsn) as studio:
        for _ in range(rounds):
            classes, (member,) = await race_studio.add_classes(8, 10), await race_studio.add_members(1, paid=0)
            sale = studio.job(sell, Order(member, race_studio.product_id))
            calls, _ = await studio.at_once([booking(each, member) for each in classes], sale)
            refused = [each for each, call in zip(classes, calls, strict=True) if call.status != 201]
            again, _ = await studio.at_once([booking(each, member) for each in refused])
            last = [call.outcome for call in calls if call.status == 201] + [call.outcome for call in again]
            expected = ["confirmed"] * SOLD + ["insufficient_credits"] * (len(classes) - SOLD)
            wrong += [] if sorted(last) == expected else [f"member {member}: {last}"]
    return wrong + await race_studio.violations()


async def put_on_sale(race_studio: RaceStudio) -> None:
    """Give the studio's product a price and credits, once."""
    if await race_studio.fetch("select from prices where studio_id = $1"):
        return
    price = {"amount": 20, "currency": "USD", "price_type": "one_time"}
    await insert(
        race_studio.connection, "prices", studio_id=race_studio.studio_id, product_id=race_studio.product_id, **price
    )
    await race_studio.connection.execute(
        "update products set credits_granted = $2 where id = $1", race_studio.product_id, SOLD
    )


def _expect(class_id: UUID, inside: dict[UUID, str], expected: dict[UUID, str]) -> list[str]:
    return [] if inside == expected else [f"class {class_id}: {inside} instead of {expected}"]
