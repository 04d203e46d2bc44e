"""The cost of cancelling a booking, and the receipt that states it.

- Exactly at the cutoff is on time. From the start on a partner cannot cancel (``class_started``); staff still can.
- A late cancellation is graced while the member has free late cancels left, or was promoted at most
  ``promotion_grace_minutes`` ago (0 disables this grace). ``late`` remains true: it describes the time, ``graced`` the
  consequence. Promotion is checked first and uses no free late cancel, so the count must exclude cancellations that
  were graced for a promotion.
- Staff cancel by the policy, as the member would, or for the studio.
- Cancellations by the studio, a cancelled class and leaving the waitlist are never late and never cost anything.
- Neither a partner nor staff can cancel a checked-in or no-show booking (``invalid_transition``); the check-in has to
  be undone first. Cancelling a class before its start does this implicitly, so it cancels every live booking. Once the
  class has begun, who attended or was absent is a fact: these bookings stay as they are, with what they cost.
- A class that is over cannot be cancelled.
- A credit is returned or forfeited only if one was taken and the membership (still) counts credits.
- A late cancellation that costs neither a fee nor a credit is still ``late``."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from studiogate.domain.bookings import states
from studiogate.domain.bookings.eligibility import first_refusal
from studiogate.domain.bookings.facts import BookingFacts, ClassFacts, MembershipFacts
from studiogate.domain.bookings.policy import LateAction, LateFee
from studiogate.domain.bookings.states import BookingStatus, ClassStatus
from studiogate.domain.instants import instant_text
from studiogate.domain.refusals import Code, Refusal


class CancellationType(StrEnum):
    STANDARD = "standard"
    LATE = "late"
    GRACED = "graced"
    STUDIO = "studio"
    MOVED = "moved"
    CLASS_CANCELLED = "class_cancelled"
    WAITLIST_LEFT = "waitlist_left"


CANCELLED_BY_MEMBER = (CancellationType.STANDARD, CancellationType.LATE, CancellationType.GRACED)


class CancellationCause(StrEnum):
    """What cancels a booking: a partner, staff by the policy, the studio, a move to another class, its class being
    cancelled, or the waitlist's expiry at the start. ``by`` is the value of ``cancelled_by`` on the receipt. Without a
    ``type``, that depends on the time."""

    _value_: str
    by: str
    type: CancellationType | None

    def __new__(cls, value: str, by: str = "", type_: CancellationType | None = None) -> "CancellationCause":
        cause = str.__new__(cls, value)
        cause._value_, cause.by, cause.type = value, by, type_
        return cause

    PARTNER = "partner", "partner_api", None
    POLICY = "policy", "studio", None
    STUDIO = "studio", "studio", CancellationType.STUDIO
    MOVED = "moved", "studio", CancellationType.MOVED
    CLASS_CANCELLED = "class_cancelled", "studio", CancellationType.CLASS_CANCELLED
    WAITLIST_EXPIRED = "waitlist_expired", "system", CancellationType.WAITLIST_LEFT


_UNDOABLE = frozenset(
    {CancellationType.STANDARD, CancellationType.LATE, CancellationType.GRACED, CancellationType.STUDIO}
)
_FEE_ACTIONS = frozenset({LateAction.FEE, LateAction.FEE_AND_FORFEIT})
_FORFEIT_ACTIONS = frozenset({LateAction.FORFEIT_CREDIT, LateAction.FEE_AND_FORFEIT})


class CancellationAttempt(NamedTuple):
    """``membership`` is the one the booking was made with; ``late_cancels`` is the number of the member's earlier late
    cancellations since ``policy.late_cancels_since(now)``, excluding those graced for a promotion."""

    booking: BookingFacts
    class_: ClassFacts
    membership: MembershipFacts | None
    late_cancels: int
    studio_currency: str
    cause: CancellationCause
    now: datetime


class Cancellation(NamedTuple):
    """``credits_remaining`` is the membership's count afterwards; ``seat_freed`` means the waitlist may advance."""

    cancellation_type: CancellationType
    cancelled_at: datetime
    cancelled_by: str
    late: bool
    cutoff_at: datetime
    fee: LateFee | None
    credits_forfeited: int
    credits_returned: int
    membership_id: UUID | None
    credits_remaining: int | None
    spot_released: bool
    seat_freed: bool
    graced_for_promotion: bool


def decide_cancellation(attempt: CancellationAttempt) -> Cancellation | Refusal:
    if refusal := cancellation_refusal(attempt):
        return refusal
    booking, policy, kind = attempt.booking, attempt.booking.policy, _type(attempt)
    is_charged = kind == CancellationType.LATE and policy.late_action in _FEE_ACTIONS
    forfeited, returned = _credits(attempt, kind)
    credits_before = None if attempt.membership is None else attempt.membership.credits_remaining
    return Cancellation(
        cancellation_type=kind,
        cancelled_at=attempt.now,
        cancelled_by=attempt.cause.by,
        late=kind in (CancellationType.LATE, CancellationType.GRACED),
        cutoff_at=_cutoff_at(attempt),
        fee=policy.late_fee(attempt.studio_currency) if is_charged else None,
        credits_forfeited=forfeited,
        credits_returned=returned,
        membership_id=booking.membership_id,
        credits_remaining=None if credits_before is None else credits_before + returned,
        spot_released=booking.class_spot_id is not None,
        seat_freed=booking.status in states.SEAT_HOLDING,
        graced_for_promotion=kind == CancellationType.GRACED and _just_promoted(attempt),
    )


def cancellation_refusal(attempt: CancellationAttempt) -> Refusal | None:
    """Return why the booking cannot be cancelled, or None. For a cancelled booking, that is the only reason given."""
    booking = attempt.booking
    if booking.status == BookingStatus.CANCELLED:
        details = {"cancellation_id": _text(booking.cancellation_id)}
        return first_refusal([Refusal(Code.BOOKING_ALREADY_CANCELLED, details)])
    if attempt.cause == CancellationCause.CLASS_CANCELLED:
        return None
    if attempt.cause == CancellationCause.PARTNER and attempt.now >= attempt.class_.start_time:
        return first_refusal([Refusal(Code.CLASS_STARTED)])
    if attempt.cause == CancellationCause.WAITLIST_EXPIRED and booking.status != BookingStatus.WAITLISTED:
        return Refusal(Code.INVALID_TRANSITION, {"from": str(booking.status), "to": str(BookingStatus.CANCELLED)})
    return states.booking_transition_refusal(booking.status, BookingStatus.CANCELLED)


def class_cancellation_refusal(class_: ClassFacts, now: datetime) -> Refusal | None:
    if class_.status == ClassStatus.CANCELLED:
        return Refusal(Code.INVALID_TRANSITION, {"from": "cancelled", "to": "cancelled"})
    return Refusal(Code.CLASS_STARTED, {"ended_at": instant_text(class_.end_time)}) if now >= class_.end_time else None


def is_cancelled_with_class(status: BookingStatus, class_: ClassFacts, now: datetime) -> bool:
    """Return whether a live booking is cancelled if its class is cancelled now; attendance is kept."""
    return status in states.ATTENDABLE or now < class_.start_time


class Receipt(NamedTuple):
    """The fields that are set only once a cancellation is stored."""

    id: UUID | None = None
    reason: str | None = None
    purchase_id: UUID | None = None


PREVIEW = Receipt()
ReceiptJson: TypeAlias = Mapping[str, Any]  # as partners read it

# What staff cancelled by mistake can be undone for this long, in minutes. What was kept with the booking, such as its
# seat, may be gone sooner.
UNDO_MINUTES = 15


def undo_refusal(receipt: ReceiptJson, now: datetime) -> Refusal | None:
    """Return why staff cannot undo a cancellation, or None: it must be their own, of one seat, and a recent one."""
    is_own = receipt["cancelled_by"] == "studio" and receipt["cancellation_type"] in _UNDOABLE
    if is_own and now - datetime.fromisoformat(receipt["cancelled_at"]) <= timedelta(minutes=UNDO_MINUTES):
        return None
    return Refusal(Code.INVALID_TRANSITION, {"from": str(BookingStatus.CANCELLED), "to": str(BookingStatus.CONFIRMED)})


def receipt_json(
    booking: BookingFacts, cancellation: Cancellation, receipt: Receipt = PREVIEW, *, promoted: bool = False
) -> ReceiptJson:
    """Return the receipt of a cancellation, or its preview, which has no id, ``cancelled_at`` or purchase."""
    done, fee = receipt.id is not None, cancellation.fee
    return {
        "id": _text(receipt.id),
        "object": "booking_cancellation",
        "booking_id": str(booking.id),
        "class_id": str(booking.class_id),
        "member_id": str(booking.member_id),
        "status": "cancelled" if done else "preview",
        "cancelled_at": instant_text(cancellation.cancelled_at) if done else None,
        "cancelled_by": cancellation.cancelled_by,
        "reason": receipt.reason,
        "cancellation_type": str(cancellation.cancellation_type),
        "late": cancellation.late,
        "cutoff_at": instant_text(cancellation.cutoff_at),
        "late_fee": fee
        and {
            "amount": fee.amount,
            "currency": fee.currency,
            "status": "pending",
            "purchase_id": _text(receipt.purchase_id),
        },
        "credit_forfeited": cancellation.credits_forfeited > 0,
        "credits_forfeited": cancellation.credits_forfeited,
        "credits_returned": cancellation.credits_returned,
        "membership_id": _text(cancellation.membership_id),
        "credits_remaining": cancellation.credits_remaining,
        "spot_released": cancellation.spot_released,
        "promoted": promoted,
        "policy": booking.policy.as_json(),
    }


def _type(attempt: CancellationAttempt) -> CancellationType:
    if attempt.cause.type is not None:
        return attempt.cause.type
    if attempt.booking.status == BookingStatus.WAITLISTED:
        return CancellationType.WAITLIST_LEFT
    if attempt.now <= _cutoff_at(attempt):
        return CancellationType.STANDARD
    is_graced = _just_promoted(attempt) or attempt.late_cancels < attempt.booking.policy.free_late_cancels
    return CancellationType.GRACED if is_graced else CancellationType.LATE


def _cutoff_at(attempt: CancellationAttempt) -> datetime:
    """Return the cutoff by the frozen policy and the class's current start: moving a class moves the cutoff."""
    return attempt.booking.policy.cancellation_cutoff_at(attempt.class_.start_time)


def _just_promoted(attempt: CancellationAttempt) -> bool:
    promoted_at, grace = attempt.booking.promoted_at, attempt.booking.policy.promotion_grace_minutes
    return promoted_at is not None and grace > 0 and attempt.now - promoted_at <= timedelta(minutes=grace)


def _credits(attempt: CancellationAttempt, kind: CancellationType) -> tuple[int, int]:
    """Return the numbers of credits forfeited and returned."""
    counted = attempt.membership is not None and attempt.membership.credits_remaining is not None
    taken = attempt.booking.credits_taken if counted else 0
    forfeits = kind == CancellationType.LATE and attempt.booking.policy.late_action in _FORFEIT_ACTIONS
    return (taken, 0) if forfeits else (0, taken)


def _text(value: UUID | None) -> str | None:
    return None if value is None else str(value)
