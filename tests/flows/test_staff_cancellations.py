"""Staff cancel by the policy, waive the fee, and undo; what stops a check-in, and checking in all the same."""

import json
from typing import Any
from uuid import UUID

import pytest

from studiogate.domain.access import Access
from studiogate.domain.bookings.cancellation import CancellationCause
from studiogate.domain.bookings.overrides import Override
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows import purchases
from studiogate.flows.bookings import desk, previews, staff_bookings
from studiogate.flows.bookings.staff_bookings import Charge
from tests.support import booking_studio
from tests.support.booking_studio import HOUR, BookingStudio

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
FEE = {"late_action": "fee_and_forfeit", "late_fee_amount": "15.00"}
LATE, EARLY = 2 * HOUR, 24 * HOUR


async def booked(studio: BookingStudio, minutes: float = LATE, **columns: Any) -> tuple[UUID, UUID, UUID]:
    """Return a class with that policy, a member with 10 credits who has booked it, and the booking."""
    class_id, member = await studio.new_class(**{"policy": FEE, **columns}), await studio.new_member()
    booking = await studio.booked(class_id, member)
    await studio.move(class_id, minutes)
    return class_id, member, UUID(booking["id"])


async def cancel(
    studio: BookingStudio, booking: UUID, charge: Charge = Charge.POLICY, reason: str | None = None
) -> Any:
    """Preview and cancel; both must say the same."""
    cause = CancellationCause.STUDIO if charge is Charge.STUDIO else CancellationCause.POLICY
    before = await studio.snapshot()
    planned = await previews.plan_cancellation(studio.api.connection, studio.access, booking, cause)
    assert not isinstance(planned, Refusal)
    assert await studio.snapshot() == before, "a preview has an effect"
    receipt = await studio.staff(staff_bookings.cancel_booking, booking, reason, charge)
    assert receipt == await studio.get(f"/bookings/{booking}/cancellation")
    for name in ("cancellation_type", "late", "credits_returned", "credits_forfeited", "credits_remaining", "promoted"):
        assert planned.receipt[name] == receipt[name], name
    assert bool(planned.receipt["late_fee"]) == bool(receipt["late_fee"])
    return receipt


async def undo(studio: BookingStudio, booking: UUID, spot: UUID | None = None) -> Any:
    return await desk.undo_cancellation(studio.api.connection, studio.access, booking, spot)


async def the_fee(studio: BookingStudio) -> str:
    (row,) = await studio.rows("purchases", "product_key = 'late_cancel_fee'")
    return str(row["status"])


async def test_by_the_policy_as_the_member_would(studio: BookingStudio) -> None:
    _, member, booking = await booked(studio)
    receipt = await cancel(studio, booking)
    assert (receipt["cancellation_type"], receipt["cancelled_by"], receipt["late"]) == ("late", "studio", True)
    assert (receipt["late_fee"]["amount"], receipt["credits_forfeited"]) == ("15.00", 1)
    assert (await the_fee(studio), await studio.credits(member)) == ("pending", 9)
    _, member, booking = await booked(studio, EARLY)
    receipt = await cancel(studio, booking)
    assert (receipt["cancellation_type"], receipt["late_fee"]) == ("standard", None)
    assert await studio.credits(member) == 10


async def test_after_the_start_the_policy_calls_it_late(studio: BookingStudio) -> None:
    _, _, booking = await booked(studio, -1)
    assert (await cancel(studio, booking))["cancellation_type"] == "late"


async def test_a_grace_is_counted_for_staff_as_for_members(studio: BookingStudio) -> None:
    grace = {**FEE, "free_late_cancels": 1}
    _, member, booking = await booked(studio, policy=grace)
    assert (await cancel(studio, booking))["cancellation_type"] == "graced"
    other = await studio.new_class(policy=grace)
    second = await studio.booked(other, member)
    await studio.move(other, LATE)
    assert (await cancel(studio, UUID(second["id"])))["cancellation_type"] == "late"


async def test_the_fee_is_waived_with_a_reason_and_the_credit_stays_forfeited(studio: BookingStudio) -> None:
    _, member, booking = await booked(studio)
    for reason in (None, "", " "):
        done = await staff_bookings.cancel_booking(
            studio.api.connection, studio.access, booking, reason, charge=Charge.WAIVED
        )
        assert isinstance(done, Refusal)
        assert [each.loc for each in done.faults] == [("reason",)]
    receipt = await cancel(studio, booking, Charge.WAIVED, "Snow")
    assert (receipt["cancellation_type"], receipt["reason"]) == ("late", "Snow")
    assert (await the_fee(studio), await studio.credits(member)) == ("cancelled", 9)
    reasons = {row["action"]: row["reason"] for row in await studio.rows("audit_log", "channel <> 'partner'")}
    assert reasons == {"booking.cancel": "Snow", "fee.waive": "Snow"}


async def test_for_the_studio_nothing_is_charged(studio: BookingStudio) -> None:
    _, member, booking = await booked(studio)
    receipt = await cancel(studio, booking, Charge.STUDIO)
    assert (receipt["cancellation_type"], receipt["late_fee"]) == ("studio", None)
    assert await studio.credits(member) == 10


@pytest.mark.parametrize("charge", list(Charge))
async def test_an_undo_restores_seat_credit_fee_and_grace(studio: BookingStudio, charge: Charge) -> None:
    (spot,) = await studio.new_spots("A1")
    class_id, member, booking = await booked(studio, LATE, spot_selection_mode="optional")
    before, counts = await studio.row("bookings", booking), await studio.counts(class_id)
    assert (before["class_spot_id"], await studio.credits(member)) == (spot, 9)
    receipt = await cancel(studio, booking, charge, "By mistake")
    other = await studio.new_membership(member, 5)
    await studio.sql("delete from events where studio_id = $1")
    done = await undo(studio, booking, spot)
    assert not isinstance(done, Refusal), done
    again = await studio.row("bookings", done.booking["id"])
    for name in ("class_id", "member_id", "membership_id", "credits_taken", "class_spot_id"):
        assert again[name] == before[name], name
    assert (again["status"], again["moved_from_booking_id"]) == ("confirmed", booking)
    assert (await studio.row("bookings", booking))["moved_to_booking_id"] == again["id"]
    assert await studio.counts(class_id) == counts
    remaining = {
        each["id"]: each["credits_remaining"] for each in await studio.rows("memberships", "member_id = $2", member)
    }
    assert remaining == {before["membership_id"]: 9, other: 5}
    assert done.fee_withdrawn == (charge is Charge.POLICY)
    if receipt["late_fee"]:
        assert await the_fee(studio) == "cancelled"
    types = [each["type"] for each in await studio.rows("events", "true order by created_at, id")]
    assert types.count("booking.created") == types.count("booking.updated") == 1
    assert ("purchase.updated" in types) == done.fee_withdrawn


async def test_an_undone_late_cancellation_uses_no_grace(studio: BookingStudio) -> None:
    """The second late cancellation is the first that counts."""
    _, _, booking = await booked(studio, policy={**FEE, "free_late_cancels": 1})
    assert (await cancel(studio, booking))["cancellation_type"] == "graced"
    done = await undo(studio, booking)
    assert (await cancel(studio, UUID(done.booking["id"])))["cancellation_type"] == "graced"


async def test_what_cannot_be_undone(studio: BookingStudio) -> None:
    class_id, _, booking = await booked(studio, EARLY, capacity=1)
    live = await undo(studio, booking)
    assert (live.code, live.details["from"]) == ("invalid_transition", "confirmed")
    await cancel(studio, booking)
    await studio.booked(class_id, await studio.new_member())
    before = await studio.snapshot()
    full = await undo(studio, booking)
    assert (full.code, await studio.snapshot()) == ("class_full", before)
    _, _, by_member = await booked(studio)
    await studio.move((await studio.row("bookings", by_member))["class_id"], EARLY)
    await studio.cancelled(by_member)
    assert (await undo(studio, by_member)).code == "invalid_transition"
    _, _, late = await booked(studio)
    await cancel(studio, late)
    await studio.sql(
        """update booking_cancellations set receipt = jsonb_set(receipt::jsonb, '{cancelled_at}',
               to_jsonb(to_char(now() at time zone 'utc' - interval '16 minutes', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))::json
           where studio_id = $1 and booking_id = $2""",
        late,
    )
    assert (await undo(studio, late)).code == "invalid_transition"


async def test_one_cancellation_is_undone_once(studio: BookingStudio) -> None:
    _, _, booking = await booked(studio)
    await cancel(studio, booking)
    done = await undo(studio, booking)
    assert (await undo(studio, booking)).code == "invalid_transition"
    await cancel(studio, UUID(done.booking["id"]), Charge.STUDIO)
    assert (await undo(studio, booking)).code == "invalid_transition", "it is the second one that can be undone"


async def test_a_fee_that_was_paid_meanwhile_keeps_the_cancellation(studio: BookingStudio) -> None:
    _, _, booking = await booked(studio)
    receipt = await cancel(studio, booking)
    await studio.sql(
        "update purchases set status = 'completed' where studio_id = $1 and id = $2",
        UUID(receipt["late_fee"]["purchase_id"]),
    )
    before = await studio.snapshot()
    assert isinstance(await undo(studio, booking), Refusal)
    assert await studio.snapshot() == before


async def test_a_spot_is_chosen_by_the_rules_of_spots(studio: BookingStudio) -> None:
    first, second, third = await studio.new_spots("A1", "A2", "A3")
    (elsewhere,) = await studio.new_spots(
        "B1", room=await studio.add("rooms", location_id=studio.location, name="B", capacity=5)
    )
    class_id = await studio.new_class(spot_selection_mode="required")
    mine, other = [
        UUID((await studio.booked(class_id, await studio.new_member(), class_spot_id=spot))["id"])
        for spot in (first, second)
    ]
    for spot, code in ((second, "spot_taken"), (elsewhere, "spot_not_found"), (None, "spot_required")):
        refused = await staff_bookings.choose_spot(studio.api.connection, studio.access, mine, spot)
        assert isinstance(refused, Refusal)
        assert refused.code == code
    await studio.staff(staff_bookings.choose_spot, mine, first)
    await studio.staff(staff_bookings.choose_spot, mine, third)
    await studio.staff(staff_bookings.choose_spot, other, first)
    held = [(await studio.row("bookings", each))["class_spot_id"] for each in (mine, other)]
    assert held == [third, first]
    await studio.staff(staff_bookings.cancel_booking, mine)
    gone = await staff_bookings.choose_spot(studio.api.connection, studio.access, mine, second)
    assert isinstance(gone, Refusal)
    assert gone.code == "invalid_transition"


async def to_check_in(studio: BookingStudio, stop: str | None = None) -> tuple[UUID, UUID, UUID]:
    """Return a booking of a member without the waiver and with an open fee, in a class that is about to start."""
    form = await studio.new_form()
    rule = {} if stop is None else {"check_in_stop": stop}
    class_id, member, booking = await booked(studio, 10, policy={})
    await studio.policy("classes", class_id, waiver_form_id=str(form), **rule)
    fee = {"product_key": "late_cancel_fee", "product_type": "fee", "status": "pending", "quantity": 1}
    await studio.add("purchases", member_id=member, amount_total=15, currency="USD", location_id=studio.location, **fee)
    return member, booking, form


async def check_in(studio: BookingStudio, booking: UUID, access: Access | None = None) -> Any:
    return await staff_bookings.mark(studio.api.connection, access or studio.access, booking, "checked_in")


@pytest.mark.parametrize(
    ("stop", "reasons"),
    [
        (None, ["waiver_missing", "fee_open"]),
        ("waiver_and_fee", ["waiver_missing", "fee_open"]),
        ("waiver", ["waiver_missing"]),
        ("fee", ["fee_open"]),
    ],
)
async def test_a_check_in_stops_by_the_policy(studio: BookingStudio, stop: str | None, reasons: list[str]) -> None:
    _, booking, _ = await to_check_in(studio, stop)
    before = await studio.snapshot()
    done = await check_in(studio, booking)
    assert isinstance(done, Refusal)
    assert (done.code, done.details, await studio.snapshot()) == (Code.CHECK_IN_STOPPED, {"reasons": reasons}, before)


async def test_a_policy_may_stop_nothing(studio: BookingStudio) -> None:
    _, booking, _ = await to_check_in(studio, "none")
    assert await check_in(studio, booking) == "checked_in"


async def test_what_is_settled_stops_nothing(studio: BookingStudio) -> None:
    member, booking, form = await to_check_in(studio)
    await studio.submit(form, member)
    (fee,) = await studio.rows("purchases")
    await studio.staff(purchases.waive_fee, fee["id"], "A regular")
    assert await check_in(studio, booking) == "checked_in"


async def test_a_check_in_anyway_needs_a_reason_which_is_kept(studio: BookingStudio) -> None:
    _, booking, _ = await to_check_in(studio)
    for reason in (None, "", " ", "x" * 501):
        done = await staff_bookings.check_in_anyway(
            studio.api.connection, studio.access, booking, Override(True, reason)
        )
        assert isinstance(done, Refusal)
        assert [each.loc for each in done.faults] == [("reason",)]
    done = await staff_bookings.check_in_anyway(
        studio.api.connection, studio.access, booking, Override(True, "Signs later")
    )
    assert done == "checked_in"
    (entry,) = await studio.rows("audit_log", "channel <> 'partner'")
    assert (entry["action"], entry["reason"]) == ("booking.check_in", "Signs later")
    assert json.loads(entry["changes"])["status"] == ["confirmed", "checked_in"]


async def test_corrections_are_not_stopped(studio: BookingStudio) -> None:
    """Who was marked as absent by mistake was here."""
    _, booking, _ = await to_check_in(studio)
    await studio.move((await studio.row("bookings", booking))["class_id"], -1)
    assert await studio.staff(staff_bookings.mark, booking, "no_show") == "no_show"
    assert await check_in(studio, booking) == "checked_in"
    assert await studio.staff(staff_bookings.mark, booking, "confirmed") == "confirmed"
