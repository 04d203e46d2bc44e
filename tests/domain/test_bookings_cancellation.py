"""The cost of a cancellation, and its receipt."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain.bookings.cancellation import (
    Cancellation,
    CancellationCause,
    Receipt,
    decide_cancellation,
    receipt_json,
)
from studiogate.domain.bookings.policy import LateAction, LateFee, Policy
from studiogate.domain.bookings.states import BookingStatus
from studiogate.domain.refusals import Refusal
from tests.support.booking_facts import (
    MINUTE,
    NOW,
    SECOND,
    START,
    a_booking,
    a_cancellation,
    a_class,
    a_membership,
    thorough,
    uid,
)

CUTOFF = START - timedelta(hours=12)
LATE = CUTOFF + SECOND
FEE: dict[str, Any] = {"late_fee_amount": "15.00"}


def cancelled(policy: Policy | None = None, booking: dict[str, Any] | None = None, **changes: Any) -> Cancellation:
    result = decide_cancellation(a_cancellation(policy, booking, **changes))
    assert not isinstance(result, Refusal), result
    return result


def refused(policy: Policy | None = None, booking: dict[str, Any] | None = None, **changes: Any) -> Refusal:
    result = decide_cancellation(a_cancellation(policy, booking, **changes))
    assert isinstance(result, Refusal)
    return result


def test_exactly_at_the_cutoff_is_on_time() -> None:
    on_time = cancelled(now=CUTOFF)
    assert (on_time.cancellation_type, on_time.late, on_time.cutoff_at) == ("standard", False, CUTOFF)
    assert (on_time.credits_forfeited, on_time.credits_returned, on_time.credits_remaining) == (0, 1, 5)
    late = cancelled(now=LATE)
    assert (late.cancellation_type, late.late, late.cutoff_at) == ("late", True, CUTOFF)
    assert (late.credits_forfeited, late.credits_returned, late.credits_remaining) == (1, 0, 4)


@pytest.mark.parametrize(
    ("action", "fee", "forfeited"),
    [("none", False, 0), ("fee", True, 0), ("forfeit_credit", False, 1), ("fee_and_forfeit", True, 1)],
)
def test_the_late_actions(action: str, fee: bool, forfeited: int) -> None:
    result = cancelled(Policy(late_action=LateAction(action), **FEE), now=LATE)
    assert result.cancellation_type == "late"
    assert result.fee == (LateFee("15.00", "USD") if fee else None)
    assert (result.credits_forfeited, result.credits_returned) == (forfeited, 1 - forfeited)


def test_a_fee_of_zero_is_no_fee_and_the_currency_is_the_policys_or_the_studios() -> None:
    assert cancelled(Policy(late_action=LateAction.FEE), now=LATE).fee is None
    own = Policy(late_action=LateAction.FEE, late_fee_currency="EUR", **FEE)
    assert cancelled(own, now=LATE).fee == LateFee("15.00", "EUR")
    fee = cancelled(Policy(late_action=LateAction.FEE, **FEE), now=LATE, studio_currency="CHF").fee
    assert fee is not None
    assert fee.currency == "CHF"


@pytest.mark.parametrize(
    ("free", "earlier", "kind"), [(0, 0, "late"), (1, 0, "graced"), (1, 1, "late"), (3, 2, "graced")]
)
def test_free_late_cancels(free: int, earlier: int, kind: str) -> None:
    policy = Policy(free_late_cancels=free, late_action=LateAction.FEE_AND_FORFEIT, **FEE)
    result = cancelled(policy, now=LATE, late_cancels=earlier)
    assert (result.cancellation_type, result.late, result.graced_for_promotion) == (kind, True, False)
    assert (result.fee is None, result.credits_returned) == ((True, 1) if kind == "graced" else (False, 0))


def test_free_late_cancels_are_not_spent_on_time() -> None:
    assert cancelled(Policy(free_late_cancels=1)).cancellation_type == "standard"


@pytest.mark.parametrize(
    ("grace", "ago", "graced"),
    [(15, 15 * MINUTE, True), (15, 15 * MINUTE + SECOND, False), (0, timedelta(0), False), (15, timedelta(0), True)],
)
def test_a_just_promoted_member_leaves_free_of_charge(grace: int, ago: timedelta, graced: bool) -> None:
    result = cancelled(Policy(promotion_grace_minutes=grace), {"promoted_at": LATE - ago}, now=LATE)
    assert (result.cancellation_type, result.late) == ("graced" if graced else "late", True)
    assert result.graced_for_promotion == graced
    assert result.credits_returned == int(graced)


def test_a_promoted_member_on_time_needs_no_grace() -> None:
    result = cancelled(booking={"promoted_at": NOW})
    assert (result.cancellation_type, result.graced_for_promotion) == ("standard", False)


def test_a_booking_without_a_counted_credit_returns_and_forfeits_none() -> None:
    unlimited = a_membership(credits_remaining=None)
    for now in (NOW, LATE):
        result = cancelled(booking={"credits_taken": 0}, membership=unlimited, now=now)
        assert (result.credits_forfeited, result.credits_returned, result.credits_remaining) == (0, 0, None)
        changed_since = cancelled(booking={"credits_taken": 1}, membership=unlimited, now=now)
        assert (changed_since.credits_forfeited, changed_since.credits_returned) == (0, 0)
        imported = cancelled(booking={"credits_taken": 0}, now=now)
        assert (imported.credits_forfeited, imported.credits_returned, imported.credits_remaining) == (0, 0, 4)
        nobodys = cancelled(booking={"credits_taken": 0, "membership_id": None}, membership=None, now=now)
        assert (nobodys.membership_id, nobodys.credits_remaining, nobodys.credits_returned) == (None, None, 0)


def test_cancelling_a_waitlisted_booking_costs_nothing_however_late() -> None:
    waiting = {"status": BookingStatus.WAITLISTED, "credits_taken": 0, "membership_id": None}
    policy = Policy(late_action=LateAction.FEE_AND_FORFEIT, **FEE)
    result = cancelled(policy, waiting, membership=None, now=START - SECOND)
    assert (result.cancellation_type, result.late, result.fee) == ("waitlist_left", False, None)
    assert (result.seat_freed, result.spot_released) == (False, False)
    assert refused(policy, waiting, now=START).code == "class_started"


def test_from_the_start_on_a_partner_cannot_cancel() -> None:
    assert cancelled(now=START - SECOND).cancellation_type == "late"
    for status in ("confirmed", "checked_in", "no_show"):
        assert refused(booking={"status": BookingStatus(status)}, now=START).code == "class_started"


@pytest.mark.parametrize("status", ["checked_in", "no_show"])
def test_a_check_in_is_taken_back_before_a_cancellation(status: str) -> None:
    booking = {"status": BookingStatus(status)}
    assert refused(booking=booking).code == "invalid_transition"
    assert refused(booking=booking).details == {"from": status, "to": "cancelled"}
    assert refused(booking=booking, cause=CancellationCause.STUDIO, now=START).code == "invalid_transition"
    by_class = cancelled(booking=booking, cause=CancellationCause.CLASS_CANCELLED, now=START)
    assert (by_class.credits_returned, by_class.seat_freed) == (1, True)


@pytest.mark.parametrize("cause", list(CancellationCause))
@pytest.mark.parametrize("now", [NOW, START])
def test_a_second_cancellation_points_to_the_first_receipt(cause: CancellationCause, now: datetime) -> None:
    booking = {"status": BookingStatus.CANCELLED, "cancellation_id": uid(8)}
    refusal = refused(booking=booking, cause=cause, now=now)
    details = {"cancellation_id": str(uid(8)), "reasons": ["booking_already_cancelled"]}
    assert (refusal.code, refusal.details) == ("booking_already_cancelled", details)


def test_a_partner_cannot_cancel_after_the_start() -> None:
    refusal = refused(now=START)
    assert (refusal.code, refusal.details) == ("class_started", {"reasons": ["class_started"]})


@pytest.mark.parametrize(("cause", "kind"), [("studio", "studio"), ("class_cancelled", "class_cancelled")])
@pytest.mark.parametrize("now", [NOW, LATE, START + MINUTE])
def test_the_studios_own_cancellations_are_free_of_charge_at_any_time(cause: str, kind: str, now: datetime) -> None:
    policy = Policy(late_action=LateAction.FEE_AND_FORFEIT, **FEE)
    result = cancelled(policy, cause=CancellationCause(cause), now=now)
    assert (result.cancellation_type, result.late, result.fee, result.cancelled_by) == (kind, False, None, "studio")
    assert (result.credits_forfeited, result.credits_returned) == (0, 1)


def test_a_waitlist_that_ends_at_the_start() -> None:
    waiting = {"status": BookingStatus.WAITLISTED, "credits_taken": 0, "membership_id": None}
    result = cancelled(booking=waiting, membership=None, cause=CancellationCause.WAITLIST_EXPIRED, now=START)
    assert (result.cancellation_type, result.cancelled_by, result.late) == ("waitlist_left", "system", False)
    assert refused(cause=CancellationCause.WAITLIST_EXPIRED, now=START).code == "invalid_transition"


def test_a_moved_class_moves_the_cutoff() -> None:
    later = a_class(start_time=START + timedelta(days=1), end_time=START + timedelta(days=1, hours=1))
    assert cancelled(class_=later, now=LATE).cutoff_at == CUTOFF + timedelta(days=1)
    assert cancelled(class_=later, now=LATE).cancellation_type == "standard"


CONTRACT_RECEIPT = [
    "id",
    "object",
    "booking_id",
    "class_id",
    "member_id",
    "status",
    "cancelled_at",
    "cancelled_by",
    "reason",
    "cancellation_type",
    "late",
    "cutoff_at",
    "late_fee",
    "credit_forfeited",
    "credits_forfeited",
    "credits_returned",
    "membership_id",
    "credits_remaining",
    "spot_released",
    "promoted",
    "policy",
]


def test_the_receipt_is_the_contracts() -> None:
    policy = Policy(late_action=LateAction.FEE_AND_FORFEIT, **FEE)
    booking = a_booking(policy, class_spot_id=uid(4))
    cancellation = cancelled(policy, {"class_spot_id": uid(4)}, now=LATE)
    receipt = receipt_json(booking, cancellation, Receipt(uid(8), "ill", uid(9)), promoted=True)
    assert list(receipt) == CONTRACT_RECEIPT
    assert receipt == {
        "id": str(uid(8)),
        "object": "booking_cancellation",
        "booking_id": str(uid(31)),
        "class_id": str(uid(1)),
        "member_id": str(uid(21)),
        "status": "cancelled",
        "cancelled_at": "2026-08-10T04:00:01+00:00",
        "cancelled_by": "partner_api",
        "reason": "ill",
        "cancellation_type": "late",
        "late": True,
        "cutoff_at": "2026-08-10T04:00:00+00:00",
        "late_fee": {"amount": "15.00", "currency": "USD", "status": "pending", "purchase_id": str(uid(9))},
        "credit_forfeited": True,
        "credits_forfeited": 1,
        "credits_returned": 0,
        "membership_id": str(uid(11)),
        "credits_remaining": 4,
        "spot_released": True,
        "promoted": True,
        "policy": policy.as_json(),
    }
    assert list(receipt["late_fee"]) == ["amount", "currency", "status", "purchase_id"]


def test_a_preview_has_the_same_members_and_no_effect_to_point_to() -> None:
    policy = Policy(late_action=LateAction.FEE, **FEE)
    preview = receipt_json(a_booking(policy), cancelled(policy, now=LATE))
    assert list(preview) == CONTRACT_RECEIPT
    assert (preview["status"], preview["id"], preview["cancelled_at"]) == ("preview", None, None)
    assert preview["late_fee"] == {"amount": "15.00", "currency": "USD", "status": "pending", "purchase_id": None}
    on_time = receipt_json(a_booking(), cancelled())
    assert (on_time["late_fee"], on_time["credit_forfeited"], on_time["credits_returned"]) == (None, False, 1)


@thorough
@given(
    left=st.integers(-5, 30),
    window=st.integers(0, 25),
    action=st.sampled_from(list(LateAction)),
    amount=st.sampled_from(["0.00", "0.01", "15.00"]),
    free=st.integers(0, 2),
    earlier=st.integers(0, 2),
    grace=st.integers(0, 10),
    promoted_ago=st.none() | st.integers(0, 12),
    status=st.sampled_from([BookingStatus.CONFIRMED] * 3 + [BookingStatus.WAITLISTED, BookingStatus.CHECKED_IN]),
    credits_left=st.none() | st.integers(0, 3),
)
def test_cancelling_restated(
    left: int,
    window: int,
    action: LateAction,
    amount: str,
    free: int,
    earlier: int,
    grace: int,
    promoted_ago: int | None,
    status: BookingStatus,
    credits_left: int | None,
) -> None:
    """Restate the rules in minutes before the start: first what the member loses, then the cancellation type."""
    now = START - left * MINUTE
    policy = Policy(
        cancellation_window_minutes=window,
        late_action=action,
        late_fee_amount=amount,
        free_late_cancels=free,
        promotion_grace_minutes=grace,
    )
    taken = int(status != "waitlisted" and credits_left is not None)
    booking = {
        "status": status,
        "credits_taken": taken,
        "promoted_at": None if promoted_ago is None else now - promoted_ago * MINUTE,
    }
    membership = a_membership(credits_remaining=credits_left)
    result = decide_cancellation(a_cancellation(policy, booking, membership=membership, late_cancels=earlier, now=now))
    if left <= 0 or status == "checked_in":
        assert isinstance(result, Refusal)
        assert result.code == ("class_started" if left <= 0 else "invalid_transition")
        return
    assert isinstance(result, Cancellation)
    seated = status == "confirmed"
    late = seated and left < window
    excused = earlier + 1 <= free or (grace != 0 and promoted_ago is not None and promoted_ago <= grace)
    pays = late and not excused
    owes = pays and "fee" in action and Decimal(amount) != 0
    loses = pays and "forfeit" in action
    assert (result.fee is not None) == owes
    assert result.credits_forfeited == (taken if loses else 0)
    assert result.credits_forfeited + result.credits_returned == taken
    assert result.late == late
    assert result.seat_freed == seated
    if credits_left is not None:
        assert result.credits_remaining == credits_left + result.credits_returned
    name = {(False, False): "standard", (True, False): "graced", (True, True): "late"}[late, pays]
    assert result.cancellation_type == (name if seated else "waitlist_left")
