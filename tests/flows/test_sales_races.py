"""Staff and partners change one member's credits at the same moment, on two real connections.

One side runs in a transaction that is still open; the other one must be seen to wait for it, and then decides by what
the first one left behind. ``test_without_the_lock`` shows that the race is real.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from studiogate.domain.membership_changes import Pause
from studiogate.domain.purchases import Order
from studiogate.domain.refusals import Refusal
from studiogate.flows import catalog, retry
from studiogate.flows import memberships as flow
from studiogate.flows.bookings.book import BookClass
from studiogate.flows.bookings.cancel import CancelBooking
from studiogate.flows.bookings.executor import PendingRequest, execute_together
from studiogate.flows.idempotency import WriteContext
from studiogate.flows.purchases import Sold, sell
from studiogate.storage import memberships
from studiogate.storage.db.pool import Connection
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio, wire_body
from tests.support.deadlines import LONG
from tests.support.staff import code, faults, person

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
BLOCKED = "select count(*) from pg_locks where not granted and $1 = any(pg_blocking_pids(pid))"
Step = Callable[[Connection], Awaitable[Any]]


async def first_then(studio: BookingStudio, first: Step, second: Callable[[], Awaitable[Any]]) -> tuple[Any, Any]:
    """Run ``first`` in a transaction, ``second`` meanwhile: it must wait until the first one has committed."""
    async with studio.database.connection() as connection:
        async with connection.transaction():
            done = await first(connection)
            waiting = asyncio.ensure_future(second())
            async with asyncio.timeout(LONG):
                while not await studio.api.connection.fetchval(BLOCKED, connection.get_server_pid()):
                    assert not waiting.done(), "it did not wait"
                    await asyncio.sleep(0.01)
        return done, await waiting


def staff(studio: BookingStudio, flow_: Any, *arguments: Any) -> Callable[[], Awaitable[Any]]:
    async def run() -> Any:
        async with studio.database.connection() as connection:
            return await flow_(connection, person(studio), *arguments)

    return run


def asked_to_cancel(studio: BookingStudio, booking: Any) -> PendingRequest:
    wanted = CancelBooking(UUID(str(booking["class_id"])), UUID(str(booking["id"])))
    return PendingRequest(WriteContext(studio.partner), wanted)


async def member_with(studio: BookingStudio, remaining: int) -> tuple[UUID, UUID]:
    member = await studio.new_member(membership=False)
    return member, await studio.new_membership(member, remaining)


async def test_a_booking_takes_the_credit_that_staff_want_to_take(studio: BookingStudio) -> None:
    member, membership = await member_with(studio, 1)
    wanted = BookClass(await studio.new_class(), member, join_waitlist=False)
    _, refusal = await first_then(
        studio,
        lambda connection: execute_together(connection, [PendingRequest(WriteContext(studio.partner), wanted)]),
        staff(studio, flow.adjust_credits, membership, -1, "Taken."),
    )
    assert faults(refusal) == ["credits"]
    assert await studio.credits(member) == 0


async def test_staff_take_the_credit_that_a_booking_needs(studio: BookingStudio) -> None:
    member, membership = await member_with(studio, 1)
    body = wire_body(await studio.new_class(), member)
    _, answer = await first_then(
        studio,
        lambda connection: flow.adjust_credits(connection, person(studio), membership, -1, "Taken."),
        lambda: studio.post(body),
    )
    assert answer.code == "insufficient_credits"


async def test_a_cancellation_returns_a_credit_that_is_adjusted(studio: BookingStudio) -> None:
    member, membership = await member_with(studio, 3)
    booking = await studio.booked(await studio.new_class(), member)
    _, state = await first_then(
        studio,
        lambda connection: execute_together(connection, [asked_to_cancel(studio, booking)]),
        staff(studio, flow.adjust_credits, membership, 4, "A gift."),
    )
    assert state.credits_remaining == await studio.credits(member) == 7


async def test_a_promotion_takes_the_credit_that_staff_want_to_take(studio: BookingStudio) -> None:
    class_id, (held,) = await studio.full_class()
    member, membership = await member_with(studio, 1)
    waiting = await studio.waits(class_id, member)
    _, refusal = await first_then(
        studio,
        lambda connection: execute_together(connection, [asked_to_cancel(studio, held)]),
        staff(studio, flow.adjust_credits, membership, -1, "Taken."),
    )
    assert faults(refusal) == ["credits"]
    assert (await studio.status(waiting), await studio.credits(member)) == ("confirmed", 0)


async def test_staff_take_the_credit_that_a_promotion_needs(studio: BookingStudio) -> None:
    class_id, (held,) = await studio.full_class()
    member, membership = await member_with(studio, 1)
    waiting = await studio.waits(class_id, member)
    _, answer = await first_then(
        studio,
        lambda connection: flow.adjust_credits(connection, person(studio), membership, -1, "Taken."),
        lambda: studio.cancel(held["id"]),
    )
    assert answer.status == 200
    assert (await studio.entry(waiting))["skip_reason"] == "insufficient_credits"


async def test_a_pause_and_a_booking(studio: BookingStudio) -> None:
    member, membership = await member_with(studio, 5)
    body = wire_body(await studio.new_class(), member)
    _, answer = await first_then(
        studio,
        lambda connection: flow.pause(connection, person(studio), membership, Pause()),
        lambda: studio.post(body),
    )
    assert answer.code == "membership_paused"


async def test_a_booking_and_a_pause(studio: BookingStudio) -> None:
    member, membership = await member_with(studio, 5)
    wanted = BookClass(await studio.new_class(), member, join_waitlist=False)
    _, state = await first_then(
        studio,
        lambda connection: execute_together(connection, [PendingRequest(WriteContext(studio.partner), wanted)]),
        staff(studio, flow.pause, membership, Pause()),
    )
    assert (state.status, state.credits_remaining, state.state_version) == ("paused", 4, 3)


async def sellable(studio: BookingStudio) -> UUID:
    await studio.change("products", studio.product, credits_granted=5)
    price = {"amount": Decimal("49.00"), "currency": "USD", "price_type": "one_time"}
    return await studio.add("prices", product_id=studio.product, **price)


async def test_a_sale_and_a_booking_of_the_new_member(studio: BookingStudio) -> None:
    await sellable(studio)
    member = await studio.new_member(membership=False)
    body = wire_body(await studio.new_class(), member)
    _, answer = await first_then(
        studio,
        lambda connection: sell(connection, person(studio), Order(member, studio.product)),
        lambda: studio.post(body),
    )
    assert answer.status == 201
    assert await studio.credits(member) == 4


async def test_a_price_that_is_retired_during_a_sale(studio: BookingStudio) -> None:
    price, member = await sellable(studio), await studio.new_member(membership=False)
    done, kept = await first_then(
        studio,
        lambda connection: sell(connection, person(studio), Order(member, studio.product)),
        staff(studio, catalog.retire_price, price),
    )
    assert isinstance(done, Sold)
    assert kept == 0


async def test_a_sale_at_a_price_that_is_being_retired(studio: BookingStudio) -> None:
    price, member = await sellable(studio), await studio.new_member(membership=False)
    _, refusal = await first_then(
        studio,
        lambda connection: catalog.retire_price(connection, person(studio), price),
        staff(studio, sell, Order(member, studio.product)),
    )
    assert faults(refusal) == ["price_id"]


async def test_without_the_lock(studio: BookingStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the member's lock an adjustment overwrites what a booking did meanwhile."""
    monkeypatch.setattr(memberships, "LOCK_MEMBER", memberships.LOCK_MEMBER.replace("for no key update", ""))
    member, membership = await member_with(studio, 5)
    wanted = BookClass(await studio.new_class(), member, join_waitlist=False)
    _, state = await first_then(
        studio,
        lambda connection: execute_together(connection, [PendingRequest(WriteContext(studio.partner), wanted)]),
        staff(studio, flow.adjust_credits, membership, 1, "A gift."),
    )
    assert state.credits_remaining == 6, "the booking's credit is lost"
    assert [finding.subject for finding in await studio.findings()] == ["balances"]
    await studio.settle_ledger()


async def test_everything_at_once(studio: BookingStudio) -> None:
    """Whatever the order, credits are never negative and the ledger explains them (the fixture asks the doctor)."""
    await sellable(studio)
    member, membership = await member_with(studio, 3)
    classes = [await studio.new_class(minutes=(2 + n) * 24 * 60) for n in range(6)]
    bookings = [await studio.booked(class_id, member) for class_id in classes[:2]]
    dice = random.Random(7)

    async def repeated(flow_: Any, *arguments: Any) -> Any:
        async with studio.database.connection() as connection:
            return await retry.repeated_on(connection, lambda: flow_(connection, person(studio), *arguments))

    actions: list[Callable[[], Awaitable[Any]]] = [
        *[lambda each=each: studio.post(wire_body(each, member)) for each in classes[2:]],
        *[lambda each=each: studio.cancel(each["id"]) for each in bookings],
        *[lambda: repeated(flow.adjust_credits, membership, -1, "Taken.")] * 3,
        *[lambda: repeated(flow.adjust_credits, membership, 2, "A gift.")] * 2,
        lambda: repeated(flow.pause, membership, Pause()),
        lambda: repeated(flow.resume, membership),
        lambda: repeated(sell, Order(member, studio.product)),
    ]
    dice.shuffle(actions)
    outcomes = await asyncio.gather(*(action() for action in actions))
    assert {code(each) for each in outcomes if isinstance(each, Refusal)} <= {"validation_error", "invalid_transition"}
    assert all(row["credits_remaining"] >= 0 for row in await studio.rows("memberships"))
