"""Cancelling over HTTP: on time, late, graced; fees, credits, receipts and previews."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.instants import instant_text
from studiogate.flows import housekeeping
from tests.support import attendance, booking_studio
from tests.support.booking_studio import DAY, HOUR, SOON, BookingStudio, StudioFactory
from tests.support.seed import issue_key

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio

SECOND = 1 / 60
WINDOW = 720
FEE: dict[str, Any] = {"late_action": "fee", "late_fee_amount": "15.00"}


async def late_booking(studio: BookingStudio, remaining: int | None = 8, **policy: Any) -> Any:
    """Return a booking whose cancellation would be late."""
    class_id = await studio.new_class(HOUR, policy=policy)
    return await studio.booked(class_id, await studio.new_member(remaining))


async def test_the_receipt_of_a_standard_cancellation(studio: BookingStudio) -> None:
    class_id, member = await studio.new_class(), await studio.new_member(5)
    booking = await studio.booked(class_id, member)
    (membership,) = await studio.rows("memberships")
    receipt = await studio.cancelled(booking["id"], reason="Feeling unwell")
    start = (await studio.row("classes", class_id))["start_time"]
    assert receipt == {
        "id": receipt["id"],
        "object": "booking_cancellation",
        "booking_id": booking["id"],
        "class_id": str(class_id),
        "member_id": str(member),
        "status": "cancelled",
        "cancelled_at": receipt["cancelled_at"],
        "cancelled_by": "partner_api",
        "reason": "Feeling unwell",
        "cancellation_type": "standard",
        "late": False,
        "cutoff_at": instant_text(start - timedelta(minutes=WINDOW)),
        "late_fee": None,
        "credit_forfeited": False,
        "credits_forfeited": 0,
        "credits_returned": 1,
        "membership_id": str(membership["id"]),
        "credits_remaining": 5,
        "spot_released": False,
        "promoted": False,
        "policy": receipt["policy"],
    }
    cancelled = await studio.get(f"/bookings/{booking['id']}")
    assert (cancelled["status"], cancelled["waitlist_position"]) == ("cancelled", None)
    assert datetime.fromisoformat(cancelled["updated_at"]) >= datetime.fromisoformat(receipt["cancelled_at"])
    assert await studio.counts(class_id) == (0, 0)
    (after,) = await studio.rows("memberships")
    assert (after["credits_remaining"], after["state_version"]) == (5, 3)
    assert [
        line["reason"] for line in await studio.rows("credit_ledger", "booking_id is not null order by created_at")
    ] == [
        "booked",
        "returned",
    ]


@pytest.mark.parametrize(("minutes", "kind"), [(WINDOW + 30 * SECOND, "standard"), (WINDOW - SECOND / 1000, "late")])
async def test_the_cutoff(studio: BookingStudio, minutes: float, kind: str) -> None:
    class_id = await studio.new_class()
    booking = await studio.booked(class_id, await studio.new_member())
    await studio.move(class_id, minutes)
    receipt = await studio.cancelled(booking["id"])
    assert (receipt["cancellation_type"], receipt["late"]) == (kind, kind == "late")


ACTIONS: dict[str, tuple[bool, bool]] = {
    "none": (False, False),
    "fee": (True, False),
    "forfeit_credit": (False, True),
    "fee_and_forfeit": (True, True),
}


@pytest.mark.parametrize("action", ACTIONS)
async def test_late_actions(studio: BookingStudio, action: str) -> None:
    charged, forfeited = ACTIONS[action]
    booking = await late_booking(studio, 8, late_action=action, late_fee_amount="15.00")
    receipt = await studio.cancelled(booking["id"])
    assert (receipt["cancellation_type"], receipt["late"]) == ("late", True)
    assert receipt["credit_forfeited"] is forfeited
    assert (receipt["credits_forfeited"], receipt["credits_returned"]) == ((1, 0) if forfeited else (0, 1))
    assert receipt["credits_remaining"] == (7 if forfeited else 8)
    assert await studio.credits(UUID(booking["member_id"])) == receipt["credits_remaining"]
    (membership,) = await studio.rows("memberships")
    assert membership["state_version"] == (2 if forfeited else 3)
    purchases = (await studio.get("/purchases", member_id=booking["member_id"]))["data"]
    if not charged:
        assert (receipt["late_fee"], purchases) == (None, [])
        return
    (purchase,) = purchases
    assert receipt["late_fee"] == {
        "amount": "15.00",
        "currency": "USD",
        "status": "pending",
        "purchase_id": purchase["id"],
    }
    assert await studio.get(f"/purchases/{purchase['id']}") == purchase
    assert (purchase["product_key"], purchase["product_type"], purchase["quantity"]) == ("late_cancel_fee", "fee", 1)
    assert (purchase["amount_total"], purchase["currency"], purchase["status"]) == ("15.00", "USD", "pending")
    assert purchase["product_id"] is None


async def test_the_fee_has_the_classs_location(studio: BookingStudio) -> None:
    booking = await late_booking(studio, **FEE)
    receipt = await studio.cancelled(booking["id"])
    path = f"/purchases/{receipt['late_fee']['purchase_id']}"
    for location, status in ((studio.location, 200), (studio.other_location, 404)):
        key = await issue_key(studio.api.connection, studio.studio, locations=[location])
        assert (await studio.ask("GET", path, key=key)).status == status


@pytest.mark.parametrize(
    ("policy", "amount", "currency"),
    [
        ({"late_fee_amount": "5.00", "late_fee_currency": "EUR"}, "5.00", "EUR"),
        ({"late_fee_amount": "500", "late_fee_currency": "JPY"}, "500", "JPY"),
        ({"late_fee_amount": "1.250", "late_fee_currency": "KWD"}, "1.250", "KWD"),
    ],
)
async def test_the_fees_currency(studio: BookingStudio, policy: dict[str, Any], amount: str, currency: str) -> None:
    booking = await late_booking(studio, late_action="fee", **policy)
    fee = (await studio.cancelled(booking["id"]))["late_fee"]
    assert (fee["amount"], fee["currency"]) == (amount, currency)
    purchase = await studio.get(f"/purchases/{fee['purchase_id']}")
    assert (purchase["amount_total"], purchase["currency"]) == (amount, currency)


async def test_a_fee_in_the_studios_currency(studio_factory: StudioFactory) -> None:
    studio = await studio_factory.new_studio(currency="CHF", country="CH")
    booking = await late_booking(studio, **FEE)
    assert (await studio.cancelled(booking["id"]))["late_fee"]["currency"] == "CHF"
    assert await studio.findings() == []


async def test_a_fee_of_zero_is_none(studio: BookingStudio) -> None:
    booking = await late_booking(studio, late_action="fee")
    receipt = await studio.cancelled(booking["id"])
    assert (receipt["cancellation_type"], receipt["late_fee"]) == ("late", None)
    assert await studio.rows("purchases") == []


async def test_an_unlimited_membership_has_no_credit_to_lose(studio: BookingStudio) -> None:
    booking = await late_booking(studio, None, late_action="fee_and_forfeit", late_fee_amount="4.00")
    receipt = await studio.cancelled(booking["id"])
    assert (receipt["credit_forfeited"], receipt["credits_returned"], receipt["credits_remaining"]) == (False, 0, None)
    assert receipt["late_fee"]["amount"] == "4.00"


async def test_a_membership_that_became_unlimited_gives_nothing_back(studio: BookingStudio) -> None:
    booking = await studio.booked(await studio.new_class(), await studio.new_member(5))
    await studio.sql("update memberships set credits_remaining = null where studio_id = $1")
    receipt = await studio.cancelled(booking["id"])
    assert (receipt["credits_returned"], receipt["credits_forfeited"], receipt["credits_remaining"]) == (0, 0, None)


async def test_a_credit_returns_to_an_ended_membership(studio: BookingStudio) -> None:
    booking = await studio.booked(await studio.new_class(), await studio.new_member(5))
    await studio.sql("update memberships set status = 'expired' where studio_id = $1")
    receipt = await studio.cancelled(booking["id"])
    assert (receipt["credits_returned"], receipt["credits_remaining"]) == (1, 5)


# Grace.


async def test_free_late_cancels(studio: BookingStudio) -> None:
    policy = {**FEE, "free_late_cancels": 2, "free_late_cancels_days": 30}
    member, receipts = await studio.new_member(), []
    for number in range(3):
        booking = await studio.booked(await studio.new_class(HOUR + 61 * number, policy=policy), member)
        receipts.append(await studio.cancelled(booking["id"]))
    assert [receipt["cancellation_type"] for receipt in receipts] == ["graced", "graced", "late"]
    assert [receipt["late"] for receipt in receipts] == [True, True, True]
    assert [receipt["late_fee"] is None for receipt in receipts] == [True, True, False]
    assert [receipt["credits_returned"] for receipt in receipts] == [1, 1, 1]
    # One is free again once fewer than two are left in the window.
    await studio.change(
        "booking_cancellations", UUID(receipts[0]["id"]), cancelled_at=await studio.now() - timedelta(days=31)
    )
    booking = await studio.booked(await studio.new_class(HOUR, policy=policy), member)
    assert (await studio.cancelled(booking["id"]))["cancellation_type"] == "late", "two others are in the window"
    old = await studio.now() - timedelta(days=30, seconds=1)
    await studio.change("booking_cancellations", UUID(receipts[1]["id"]), cancelled_at=old)
    await studio.change("booking_cancellations", UUID(receipts[2]["id"]), cancelled_at=old)
    booking = await studio.booked(await studio.new_class(HOUR, policy=policy), member)
    assert (await studio.cancelled(booking["id"]))["cancellation_type"] == "graced"


async def test_others_late_cancels_and_those_on_time_do_not_count(studio: BookingStudio) -> None:
    policy = {**FEE, "free_late_cancels": 1}
    member = await studio.new_member()
    for who, minutes in ((await studio.new_member(), HOUR), (member, SOON)):
        booking = await studio.booked(await studio.new_class(minutes, policy=policy), who)
        await studio.cancelled(booking["id"])
    booking = await studio.booked(await studio.new_class(HOUR, policy=policy), member)
    assert (await studio.cancelled(booking["id"]))["cancellation_type"] == "graced"


@pytest.mark.parametrize(("minutes", "kind"), [(14.5, "graced"), (15.5, "late")])
async def test_the_grace_after_a_promotion(studio: BookingStudio, minutes: float, kind: str) -> None:
    policy = {**FEE, "free_late_cancels": 1}
    class_id, (first,) = await studio.full_class(3 * HOUR, policy=policy)
    waiting = await studio.waits(class_id, await studio.new_member())
    await studio.cancelled(first["id"])
    used = await studio.booked(await studio.new_class(HOUR, policy=policy), UUID(waiting["member_id"]))
    await studio.cancelled(used["id"])
    promoted_at = await studio.now() - timedelta(minutes=minutes)
    await studio.change("bookings", UUID(waiting["id"]), promoted_at=promoted_at)
    receipt = await studio.cancelled(waiting["id"])
    assert (receipt["cancellation_type"], receipt["late"]) == (kind, True)
    assert (receipt["late_fee"] is None) is (kind == "graced")


async def test_the_grace_after_a_promotion_uses_up_no_free_late_cancel(studio: BookingStudio) -> None:
    policy = {**FEE, "free_late_cancels": 1}
    class_id, (first,) = await studio.full_class(3 * HOUR, policy=policy)
    waiting = await studio.waits(class_id, await studio.new_member())
    await studio.cancelled(first["id"])
    assert (await studio.cancelled(waiting["id"]))["cancellation_type"] == "graced"
    booking = await studio.booked(await studio.new_class(HOUR, policy=policy), UUID(waiting["member_id"]))
    assert (await studio.cancelled(booking["id"]))["cancellation_type"] == "graced"


# The frozen policy.


async def test_the_policy_of_the_booking_counts_not_the_classs_of_today(studio: BookingStudio) -> None:
    booking = await late_booking(studio, late_action="none")
    await studio.policy("classes", UUID(booking["class_id"]), late_action="fee_and_forfeit", late_fee_amount="99.00")
    receipt = await studio.cancelled(booking["id"])
    assert (receipt["late_fee"], receipt["credit_forfeited"]) == (None, False)
    assert receipt["policy"]["late_action"] == "none"


async def test_the_policy_is_frozen_when_joining_the_waitlist(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class(3 * HOUR, policy={"promotion_grace_minutes": 0, **FEE})
    waiting = await studio.waits(class_id, await studio.new_member())
    await studio.policy("classes", class_id, late_action="none")
    await studio.cancelled(first["id"])
    assert (await studio.cancelled(waiting["id"]))["late_fee"]["amount"] == "15.00"


@pytest.mark.parametrize("frozen", [None, "null", "{}"])
async def test_an_imported_booking_has_the_classs_policy_of_today(studio: BookingStudio, frozen: str | None) -> None:
    class_id = await studio.new_class(HOUR, policy=FEE)
    booking = await studio.imported_booking(class_id, await studio.new_member(), policy=frozen)
    receipt = await studio.cancelled(booking)
    assert (receipt["cancellation_type"], receipt["late_fee"]["amount"]) == ("late", "15.00")
    assert (receipt["membership_id"], receipt["credits_returned"], receipt["credits_forfeited"]) == (None, 0, 0)


async def test_a_class_that_moved_moves_the_cutoff(studio: BookingStudio) -> None:
    booking = await late_booking(studio, **FEE)
    await studio.move(UUID(booking["class_id"]), SOON)
    assert (await studio.cancelled(booking["id"]))["cancellation_type"] == "standard"


# Refusals.


async def test_cancelling_again(studio: BookingStudio) -> None:
    booking = await late_booking(studio, **FEE)
    receipt = await studio.cancelled(booking["id"])
    before = await studio.snapshot()
    for answer in (
        await studio.cancel(booking["id"]),
        await studio.ask("GET", f"/bookings/{booking['id']}/cancellation-preview"),
    ):
        error = answer.json()["error"]
        assert (answer.status, error["type"], error["code"]) == (409, "booking_error", "booking_already_cancelled")
        assert error["details"] == {"cancellation_id": receipt["id"], "reasons": ["booking_already_cancelled"]}
    assert (await studio.snapshot())[:-1] == before[:-1], "no second fee, no second credit"


async def test_an_imported_cancelled_booking_has_no_receipt(studio: BookingStudio) -> None:
    booking = await studio.imported_booking(await studio.new_class(), await studio.new_member(), "cancelled")
    answer = await studio.cancel(booking)
    details = {"cancellation_id": None, "reasons": ["booking_already_cancelled"]}
    assert (answer.code, answer.json()["error"]["details"]) == ("booking_already_cancelled", details)
    assert (await studio.ask("GET", f"/bookings/{booking}/cancellation")).status == 404


async def test_after_the_start(studio: BookingStudio) -> None:
    booking = await late_booking(studio)
    await studio.move(UUID(booking["class_id"]), 0)
    answer = await studio.cancel(booking["id"])
    assert (answer.code, answer.json()["error"]["details"]) == ("class_started", {"reasons": ["class_started"]})
    assert (await studio.ask("GET", f"/bookings/{booking['id']}/cancellation-preview")).code == "class_started"
    assert await studio.status(booking) == "confirmed"


@pytest.mark.parametrize("mark", ["checked_in", "no_show"])
async def test_a_member_who_is_there_or_missed_it(studio: BookingStudio, mark: str) -> None:
    booking = await late_booking(studio)
    await studio.staff(attendance.mark, UUID(booking["id"]), mark)
    answer = await studio.cancel(booking["id"])
    error = answer.json()["error"]
    assert (answer.status, error["type"], error["code"]) == (409, "conflict_error", "invalid_transition")
    assert error["details"] == {"from": mark, "to": "cancelled"}
    assert await studio.status(booking) == mark


async def test_unknown_and_foreign_bookings(studio: BookingStudio, studio_factory: StudioFactory) -> None:
    other = await studio_factory.new_studio()
    foreign = await other.booked(await other.new_class(), await other.new_member())
    live = await studio.booked(await studio.new_class(), await studio.new_member())
    for booking_id in (uuid4(), foreign["id"]):
        for path in ("", "/cancellation", "/cancellation-preview"):
            assert (await studio.ask("GET", f"/bookings/{booking_id}{path}")).status == 404
        assert (await studio.cancel(booking_id)).status == 404
    assert (await studio.ask("GET", f"/bookings/{live['id']}/cancellation")).status == 404, "not cancelled, no receipt"
    assert (await studio.cancel("nonsense")).status == 422
    assert await other.status(foreign) == "confirmed"


# The reason.


@pytest.mark.parametrize("reason", ["x", "y" * 500, "ü" * 500, "🧘" * 500, "  spaced  ", 'with "quotes" & <tags>\n'])
async def test_a_reason_is_kept_as_given(studio: BookingStudio, reason: str) -> None:
    booking = await studio.booked(await studio.new_class(), await studio.new_member())
    assert (await studio.cancelled(booking["id"], reason=reason))["reason"] == reason


@pytest.mark.parametrize("reason", ["y" * 501, "", "a\x00b"])
async def test_a_reason_that_is_none(studio: BookingStudio, reason: str) -> None:
    booking = await studio.booked(await studio.new_class(), await studio.new_member())
    answer = await studio.cancel(booking["id"], reason=reason)
    assert (answer.status, answer.json()["detail"][0]["loc"]) == (422, ["query", "reason"])
    assert await studio.status(booking) == "confirmed"


async def test_no_reason(studio: BookingStudio) -> None:
    booking = await studio.booked(await studio.new_class(), await studio.new_member())
    assert (await studio.cancelled(booking["id"]))["reason"] is None


# Scopes: cancelling has its own.


@pytest.mark.parametrize(
    ("scope", "method", "path"),
    [
        ("bookings:write", "POST", "/bookings"),
        ("bookings:read", "POST", "/bookings/validate"),
        ("bookings:cancel", "DELETE", "/bookings/{id}"),
        ("bookings:read", "GET", "/bookings/{id}/cancellation-preview"),
        ("bookings:read", "GET", "/bookings/{id}/cancellation"),
    ],
)
async def test_scopes(studio: BookingStudio, scope: str, method: str, path: str) -> None:
    for other in {"bookings:read", "bookings:write", "bookings:cancel"} - {scope}:
        key = await issue_key(studio.api.connection, studio.studio, other)
        answer = await studio.ask(method, path.replace("{id}", str(uuid4())), key=key, body={})
        assert (answer.status, answer.json()["error"]["details"]) == (403, {"required_scope": scope})


async def test_the_receipt_has_an_etag(studio: BookingStudio) -> None:
    booking = await studio.booked(await studio.new_class(), await studio.new_member())
    await studio.cancelled(booking["id"])
    path = f"/bookings/{booking['id']}/cancellation"
    etag = dict((await studio.ask("GET", path)).headers)[b"etag"].decode()
    assert (await studio.ask("GET", path, headers={"If-None-Match": etag})).status == 304


async def test_a_receipt_does_not_change_with_the_times(studio: BookingStudio) -> None:
    """Neither an edit of the class, nor the sweep, nor a new status of the purchase changes it."""
    booking = await late_booking(studio, **FEE)
    receipt = await studio.cancelled(booking["id"])
    await studio.policy("classes", UUID(booking["class_id"]), late_action="none")
    await studio.sql("update purchases set status = 'completed' where studio_id = $1")
    await studio.move(UUID(booking["class_id"]), -DAY)
    await housekeeping.expire_waitlists(studio.database)
    assert await studio.get(f"/bookings/{booking['id']}/cancellation") == receipt


@pytest.mark.parametrize(
    ("currency", "amount", "shown"),
    [
        ("JPY", None, "0"),
        ("BHD", None, "0.000"),
        ("USD", None, "0.00"),
        ("JPY", "500.00", "500"),
        ("BHD", "1.5", "1.500"),
    ],
)
async def test_a_frozen_policy_has_the_decimals_of_its_currency(
    studio_factory: StudioFactory, currency: str, amount: str | None, shown: str
) -> None:
    """Also where the amount is set at one level and the currency comes from another."""
    studio = await studio_factory.new_studio(currency=currency)
    level: dict[str, Any] = {} if amount is None else {"late_fee_amount": amount}
    await studio.policy("studios", late_action="fee", **level)
    class_id = await studio.new_class(HOUR)
    receipt = await studio.cancelled((await studio.booked(class_id, await studio.new_member()))["id"])
    policy = receipt["policy"]
    assert (policy["late_fee_amount"], policy["late_fee_currency"]) == (shown, currency)
    if amount is None:
        assert receipt["late_fee"] is None
        return
    assert (receipt["late_fee"]["amount"], receipt["late_fee"]["currency"]) == (shown, currency)
    purchase = await studio.row("purchases", receipt["late_fee"]["purchase_id"])
    assert (str(purchase["amount_total"]), purchase["location_id"]) == (shown, studio.location)
