"""The doctor reports every violation of a promise. Each is planted here, bypassing the constraints that forbid it."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.storage import invariants
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio, StudioFactory
from tests.support.seed import insert

pytestmark = pytest.mark.anyio
studio_factory = booking_studio.studio_factory

Plant = Callable[[BookingStudio], Awaitable[Any]]
PLANTS: dict[str, list[Plant]] = {}

# Drops the constraints that prevent violations, as they are missing with a damaged index or in a restored dump.
WITHOUT = """
    alter table classes drop constraint classes_never_oversold;
    alter table memberships drop constraint memberships_credits_never_negative;
    alter table leads drop constraint leads_email_key;
    drop index bookings_one_live;
    drop index bookings_spot_held_once;
    drop index purchases_one_fee_a_booking;
    drop index credit_ledger_taken_once;
    drop index credit_ledger_settled_once"""


@pytest.fixture(scope="module", autouse=True)
async def unguarded(studio_factory: StudioFactory) -> None:
    await studio_factory.api.connection.execute(WITHOUT)


@pytest.fixture
async def studio(studio_factory: StudioFactory) -> BookingStudio:
    """Return a studio with rows of every kind, in which the doctor finds nothing."""
    made = await studio_factory.new_studio()
    await made.new_spots("A1", "A2")
    class_id, (first, _) = await made.full_class(capacity=2, spot_selection_mode="optional")
    for _ in range(3):
        await made.waits(class_id, await made.new_member())
    await made.cancelled(first["id"])
    late = await made.new_class(60, policy={"late_action": "fee_and_forfeit", "late_fee_amount": "5.00"})
    await made.cancelled((await made.booked(late, await made.new_member()))["id"])
    await made.booked(await made.new_class(), await made.new_member())
    await made.add("leads", email="lead@example.com")
    assert await made.findings() == []
    return made


def plants(promise: str) -> Callable[[Plant], Plant]:
    def note(plant: Plant) -> Plant:
        PLANTS.setdefault(promise, []).append(plant)
        return plant

    return note


async def one(studio: BookingStudio, table: str, where: str = "true") -> Any:
    return (await studio.rows(table, where))[0]


async def twin(studio: BookingStudio, table: str, row: Any, **columns: Any) -> None:
    """Insert a copy of the row with another id."""
    values = {name: value for name, value in row.items() if name != "name"} | {"id": uuid4(), **columns}
    await insert(studio.api.connection, table, **values)


CONFIRMED, WAITLISTED, CANCELLED = ("status = 'confirmed'", "status = 'waitlisted'", "status = 'cancelled'")


@plants("seats")
async def a_wrong_booked_count(s: BookingStudio) -> None:
    await s.sql("update classes set booked_count = booked_count + 1 where studio_id = $1")


@plants("seats")
async def a_class_that_is_oversold(s: BookingStudio) -> None:
    await s.sql("update classes set capacity = booked_count - 1 where studio_id = $1 and booked_count > 0")


@plants("live bookings")
async def two_live_bookings(s: BookingStudio) -> None:
    await twin(s, "bookings", await one(s, "bookings", CONFIRMED), class_spot_id=None)


@plants("live bookings")
async def a_live_booking_in_a_cancelled_class(s: BookingStudio) -> None:
    booking = await one(s, "bookings", CONFIRMED)
    await s.change("classes", booking["class_id"], status="cancelled")


@plants("spots")
async def a_spot_held_twice(s: BookingStudio) -> None:
    held = await one(s, "bookings", "class_spot_id is not null")
    await s.sql(
        "update bookings set class_spot_id = $2 where studio_id = $1 and class_id = $3 and status = 'confirmed'",
        held["class_spot_id"],
        held["class_id"],
    )


@plants("spots")
async def a_spot_of_another_room(s: BookingStudio) -> None:
    room = await s.add("rooms", location_id=s.location, name="Other", capacity=1)
    held = await one(s, "bookings", "class_spot_id is not null")
    await s.change("room_spots", held["class_spot_id"], room_id=room)


@plants("spots")
async def a_spot_held_while_waiting(s: BookingStudio) -> None:
    waiting = await one(s, "bookings", WAITLISTED)
    (spot,) = await s.new_spots("Z9")
    await s.change("bookings", waiting["id"], class_spot_id=spot)


@plants("waitlists")
async def a_gap_in_the_positions(s: BookingStudio) -> None:
    await s.sql("update waitlist_entries set position = 5 where studio_id = $1 and position = 2")


@plants("waitlists")
async def positions_out_of_join_order(s: BookingStudio) -> None:
    await s.sql("update waitlist_entries set position = 3 - position where studio_id = $1 and position is not null")


@plants("waitlists")
async def a_wrong_waitlist_count(s: BookingStudio) -> None:
    await s.sql("update classes set waitlist_count = waitlist_count + 1 where studio_id = $1")


@plants("waitlist entries")
async def an_entry_that_waits_for_a_confirmed_booking(s: BookingStudio) -> None:
    waiting = await one(s, "bookings", WAITLISTED)
    await s.change("bookings", waiting["id"], status="confirmed")


@plants("waitlist entries")
async def a_waitlisted_booking_without_an_entry(s: BookingStudio) -> None:
    await s.sql("delete from waitlist_entries where studio_id = $1 and status = 'waiting' and position = 1")


@plants("waitlist entries")
async def a_conversion_without_promotion(s: BookingStudio) -> None:
    await s.sql("update waitlist_entries set promoted_at = null where studio_id = $1")


@plants("waitlist entries")
async def a_promotion_without_conversion(s: BookingStudio) -> None:
    booking = await one(s, "bookings", "status = 'confirmed' and promoted_at is null")
    await s.change("bookings", booking["id"], promoted_at=await s.now())


@plants("credits")
async def a_membership_that_owes(s: BookingStudio) -> None:
    await s.change("memberships", (await one(s, "memberships"))["id"], credits_remaining=-1)


@plants("ledger")
async def a_credit_that_was_never_taken(s: BookingStudio) -> None:
    await s.sql("delete from credit_ledger where studio_id = $1 and reason = 'booked'")


@plants("ledger")
async def a_credit_taken_twice(s: BookingStudio) -> None:
    await twin(s, "credit_ledger", await one(s, "credit_ledger", "reason = 'promoted'"))


@plants("ledger")
async def a_credit_returned_twice(s: BookingStudio) -> None:
    await twin(s, "credit_ledger", await one(s, "credit_ledger", "reason = 'returned'"))


@plants("ledger")
async def a_credit_returned_though_the_booking_stands(s: BookingStudio) -> None:
    line = await one(s, "credit_ledger", "reason = 'promoted'")
    await twin(s, "credit_ledger", line, delta=1, reason="returned")


@plants("ledger")
async def a_credit_never_settled(s: BookingStudio) -> None:
    await s.sql("delete from credit_ledger where studio_id = $1 and delta <> -1")


@plants("ledger")
async def a_credit_of_another_membership(s: BookingStudio) -> None:
    line = await one(s, "credit_ledger", "reason = 'promoted'")
    other = await s.new_membership(await s.new_member(membership=False))
    await s.change("credit_ledger", line["id"], membership_id=other)


async def _renewed(s: BookingStudio, member: UUID) -> tuple[UUID, UUID]:
    """Insert a renewed membership and its purchase, which belongs to this member; return both ids."""
    membership = await s.new_membership(await s.new_member(membership=False))
    purchase = await s.add(
        "purchases", member_id=member, product_id=s.product, product_key="p", product_type="package", status="pending"
    )
    await s.sql(
        """insert into renewals (studio_id, membership_id, period_start, period_end, purchase_id)
           values ($1, $2, now(), now() + interval '1 day', $3)""",
        membership,
        purchase,
    )
    return membership, purchase


@plants("renewals")
async def a_renewal_bought_for_somebody_else(s: BookingStudio) -> None:
    await _renewed(s, await s.new_member())


@plants("renewals")
async def credits_reset_twice_for_one_renewal(s: BookingStudio) -> None:
    membership, purchase = await _renewed(s, await s.new_member())
    owner = (await s.row("memberships", membership))["member_id"]
    await s.change("purchases", purchase, member_id=owner)
    for _ in range(2):
        await s.add("credit_ledger", membership_id=membership, delta=1, reason="renewed")


@plants("balances")
async def credits_without_a_line_in_the_ledger(s: BookingStudio) -> None:
    await s.change("memberships", (await one(s, "memberships"))["id"], credits_remaining=1)


@plants("balances")
async def a_line_in_the_ledger_without_credits(s: BookingStudio) -> None:
    membership = (await one(s, "memberships"))["id"]
    await s.add("credit_ledger", membership_id=membership, delta=-1, reason="adjusted")


@plants("sales")
async def a_sale_that_another_member_paid_for(s: BookingStudio) -> None:
    membership, purchase = await _renewed(s, await s.new_member())
    price = await s.add("prices", product_id=s.product, amount=1, currency="USD", price_type="one_time")
    statement = "insert into sales (studio_id, membership_id, purchase_id, price_id) values ($1, $2, $3, $4)"
    await s.sql(statement, membership, purchase, price)


@plants("receipts")
async def a_receipt_of_a_live_booking(s: BookingStudio) -> None:
    receipt = await one(s, "booking_cancellations")
    await s.change("bookings", receipt["booking_id"], status="no_show")


@plants("receipts")
async def a_receipt_that_says_forfeited_of_what_was_returned(s: BookingStudio) -> None:
    receipt = await one(s, "booking_cancellations", "credits_returned = 1")
    await s.change("booking_cancellations", receipt["id"], credits_returned=0, credits_forfeited=1)


@plants("receipts")
async def a_receipt_that_says_nothing_of_the_credit(s: BookingStudio) -> None:
    receipt = await one(s, "booking_cancellations", "credits_forfeited = 1")
    await s.change("booking_cancellations", receipt["id"], credits_forfeited=0)


@plants("receipts")
async def a_receipt_without_its_fee(s: BookingStudio) -> None:
    await s.sql("update booking_cancellations set purchase_id = null where studio_id = $1")


@plants("fees")
async def two_fees(s: BookingStudio) -> None:
    await twin(s, "purchases", await one(s, "purchases"))


@plants("fees")
async def a_fee_without_a_receipt(s: BookingStudio) -> None:
    await s.sql("delete from booking_cancellations where studio_id = $1 and purchase_id is not null")


@plants("owners")
async def a_membership_of_somebody_else(s: BookingStudio) -> None:
    booking = await one(s, "bookings", "membership_id is not null")
    await s.change("memberships", booking["membership_id"], member_id=await s.new_member())


@plants("owners")
async def an_entry_of_somebody_else(s: BookingStudio) -> None:
    await s.change("waitlist_entries", (await one(s, "waitlist_entries"))["id"], member_id=await s.new_member())


@plants("owners")
async def an_entry_of_another_class(s: BookingStudio) -> None:
    entry = await one(s, "waitlist_entries", "status = 'converted'")
    await s.change("waitlist_entries", entry["id"], class_id=await s.new_class())


@plants("owners")
async def a_receipt_of_somebody_else(s: BookingStudio) -> None:
    receipt = await one(s, "booking_cancellations")
    await s.change("booking_cancellations", receipt["id"], member_id=await s.new_member())


@plants("owners")
async def a_fee_of_somebody_else(s: BookingStudio) -> None:
    await s.change("purchases", (await one(s, "purchases"))["id"], member_id=await s.new_member())


@plants("places and times of bookings")
async def a_booking_filed_elsewhere(s: BookingStudio) -> None:
    await s.change("bookings", (await one(s, "bookings"))["id"], location_id=s.other_location)


@plants("places and times of bookings")
async def a_booking_at_another_time(s: BookingStudio) -> None:
    booking = await one(s, "bookings")
    await s.change("bookings", booking["id"], start_time=booking["start_time"] - timedelta(minutes=1))


@plants("places and times of bookings")
async def an_entry_filed_elsewhere(s: BookingStudio) -> None:
    await s.change("waitlist_entries", (await one(s, "waitlist_entries"))["id"], location_id=None)


@plants("places of keys")
async def a_key_for_another_studios_location(s: BookingStudio) -> None:
    other = await StudioFactory(s.api).new_studio()
    await s.sql("update credentials set location_ids = $2 where studio_id = $1", [s.location, other.location])


@plants("waivers")
async def a_waiver_of_another_studio(s: BookingStudio) -> None:
    other = await StudioFactory(s.api).new_studio()
    await s.policy("class_types", s.class_type, waiver_form_id=str(await other.new_form()))


@plants("leads")
async def two_leads_with_one_email(s: BookingStudio) -> None:
    await s.add("leads", email="Lead@Example.com ")


@plants("mail cursors")
async def a_cursor_ahead_of_its_log(s: BookingStudio) -> None:
    await s.sql("insert into mail_cursors (studio_id, sequence) values ($1, 1000)")


@plants("first results")
async def a_key_without_an_answer(s: BookingStudio) -> None:
    await s.sql("update idempotency_keys set completed_at = null, body = null where studio_id = $1")


@plants("ended waitlists")
async def a_waitlist_of_a_class_that_has_begun(s: BookingStudio) -> None:
    await s.move((await one(s, "bookings", WAITLISTED))["class_id"], -1)


@plants("promised seats")
async def a_seat_that_nobody_was_asked_about(s: BookingStudio) -> None:
    class_id = (await one(s, "bookings", WAITLISTED))["class_id"]
    await s.sql("update classes set capacity = capacity + 1 where studio_id = $1 and id = $2", class_id)


@plants("event log")
async def a_log_that_ends_before_its_head(s: BookingStudio) -> None:
    """At least one event has a number, whether or not the sequencer has already run."""
    await s.sql(
        """
        update events set sequence = 999 where studio_id = $1 and id = (
            select id from events where studio_id = $1 and sequence is null limit 1)"""
    )
    await s.sql(
        """
        insert into event_heads (studio_id, sequence) values ($1, 1000)
        on conflict (studio_id) do update set sequence = 1000"""
    )


@plants("payments")
async def a_payment_that_nobody_made(s: BookingStudio) -> None:
    member = await s.new_member(membership=False)
    line = {"product_key": "towel", "product_type": "retail", "amount_total": 5, "currency": "USD"}
    purchase = await s.add("purchases", member_id=member, status="completed", **line)
    await s.sql("update purchase_payments set amount = 6 where studio_id = $1 and purchase_id = $2", purchase)


CASES = [(promise, plant) for promise, planted in PLANTS.items() for plant in planted]


@pytest.mark.parametrize(("promise", "plant"), CASES, ids=[plant.__name__ for _, plant in CASES])
async def test_the_doctor_finds_it(studio: BookingStudio, promise: str, plant: Plant) -> None:
    await plant(studio)
    found = [finding for finding in await studio.findings() if finding.subject == promise]
    assert found
    level = next(each.level for each in invariants.INVARIANTS if each.name == promise)
    assert {finding.level for finding in found} == {level}


def test_every_promise_has_its_violation() -> None:
    assert [promise.name for promise in invariants.INVARIANTS if promise.name not in PLANTS] == []


# States that look like violations but are not.


async def test_a_promised_seat_is_one_only_in_auto_before_the_cutoff(studio: BookingStudio) -> None:
    await a_seat_that_nobody_was_asked_about(studio)
    class_id = (await one(studio, "bookings", WAITLISTED))["class_id"]
    for policy in ({"waitlist_mode": "manual"}, {"waitlist_mode": "off"}, {"promotion_cutoff_minutes": 10_000}):
        await studio.policy("classes", class_id, **policy)
        assert await studio.findings() == []
    await studio.policy("classes", class_id)
    assert await studio.findings() != []


async def test_an_import_may_name_any_join_time(studio: BookingStudio) -> None:
    entry = await one(studio, "waitlist_entries", "position = 2")
    await studio.change("waitlist_entries", entry["id"], created_at=await studio.now() - timedelta(days=1))
    assert [finding.subject for finding in await studio.findings()] == ["waitlists"]
    await studio.change("bookings", entry["booking_id"], policy=None)
    assert await studio.findings() == []


async def test_a_violation_is_named_by_its_rows(studio: BookingStudio) -> None:
    class_id: UUID = (await one(studio, "bookings", CONFIRMED))["class_id"]
    await studio.change("classes", class_id, booked_count=7, capacity=9)
    (finding,) = [each for each in await studio.findings() if each.subject == "seats"]
    assert finding.text.startswith(f"class {class_id} of studio {studio.id}: booked_count 7, live bookings ")


async def test_what_a_test_leaves_behind_is_found_and_the_test_named(studio_factory: StudioFactory) -> None:
    factory = StudioFactory(studio_factory.api)
    await factory.new_checked_studio()
    await factory.close()
    broken = await factory.new_checked_studio()
    await broken.new_class(booked_count=1)
    with pytest.raises(AssertionError, match=r"test_what_a_test_leaves_behind_is_found.*booked_count"):
        await factory.close()
