"""What bookings leave behind: credits taken and returned, cancellation receipts with their fees, waitlist entries.

The rules are the service's own (``domain.bookings``): a receipt says what cancelling at that moment cost.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from studiogate.demo.memberships import membership_id
from studiogate.demo.rosters import Seat, booking_row
from studiogate.demo.seed import Seed, written
from studiogate.demo.studio import LOCATIONS, POLICY, STUDIO, class_type_policy
from studiogate.domain.bookings import cancellation as rules
from studiogate.domain.bookings.cancellation import CancellationCause, CancellationType
from studiogate.domain.bookings.facts import BookingFacts, ClassFacts, MembershipFacts
from studiogate.domain.bookings.policy import resolve_policy
from studiogate.domain.bookings.states import BookingStatus, ClassStatus, MembershipStatus
from studiogate.domain.refusals import Refusal

Row = dict[str, Any]
LATE_CANCEL_FEE = "late_cancel_fee"


@dataclass
class History:
    """The rows of everything that happened to the bookings up to a moment."""

    bookings: list[Row] = field(default_factory=list)
    waitlist: list[Row] = field(default_factory=list)
    ledger: list[Row] = field(default_factory=list)
    cancellations: list[Row] = field(default_factory=list)
    fees: list[Row] = field(default_factory=list)
    credits: dict[str, int | None] = field(default_factory=dict)
    late_cancels: dict[str, list[datetime]] = field(default_factory=lambda: defaultdict(list))
    waiting: Counter[str] = field(default_factory=Counter)


def history_of(seed: Seed, seats: list[Seat], memberships: list[Row], now: datetime) -> History:
    """Let everything that was booked up to now happen, in the order of time."""
    history = History()
    for row in memberships:
        _open(seed, history, row)
    booked = [(seat.booked_at, 0, seat) for seat in seats if seat.booked_at <= now]
    left = [(at, 1, seat) for _, _, seat in booked if (at := seat.cancelled_at(now)) is not None]
    for at, leaves, seat in sorted([*booked, *left], key=lambda step: (*step[:2], step[2].person.number)):
        if leaves:
            _cancel(seed, history, seat, at)
        else:
            _book(seed, history, seat, now)
    return history


def _open(seed: Seed, history: History, membership: Row) -> None:
    """What was granted at first; where visits before our time used some of it, what was left is the opening line."""
    id_, granted, left = membership["id"], membership["credits_granted"], membership["credits_remaining"]
    history.credits[id_] = left
    if left:
        line = {"membership_id": id_, "booking_id": None, "delta": left}
        reason = "granted" if left == granted else "opening"
        began = membership["started_at"]
        history.ledger.append({"id": seed.uuid("ledger", id_), **line, "reason": reason, "created_at": began})


def _book(seed: Seed, history: History, seat: Seat, now: datetime) -> None:
    id_ = membership_id(seed, seat.person)
    counts = not seat.waits and history.credits[id_] is not None
    if counts:
        _move_credit(seed, history, seat, -1, ("booked", seat.booked_at))
    row = booking_row(seed, seat, int(counts), now)
    history.bookings.append(row)
    if seat.waits:
        _wait(seed, history, seat, is_waiting=row["status"] == "waitlisted")


def _move_credit(seed: Seed, history: History, seat: Seat, delta: int, why: tuple[str, datetime]) -> None:
    reason, at = why
    id_, booking_id = membership_id(seed, seat.person), seat.booking_id(seed)
    history.credits[id_] = (history.credits[id_] or 0) + delta
    line = {"membership_id": id_, "booking_id": booking_id, "delta": delta, "reason": reason}
    history.ledger.append({"id": seed.uuid("ledger", booking_id, reason), **line, "created_at": written(at)})


def _wait(seed: Seed, history: History, seat: Seat, *, is_waiting: bool) -> None:
    if is_waiting:
        history.waiting[seat.session.id] += 1
    history.waitlist.append(
        {
            "id": seed.uuid("waitlist", seat.booking_id(seed)),
            "booking_id": seat.booking_id(seed),
            "position": history.waiting[seat.session.id] if is_waiting else None,
            "status": "waiting" if is_waiting else "expired",
            "promoted_at": None,
            "skip_reason": seat.skipped if is_waiting else None,
            "created_at": written(seat.booked_at),
        }
    )


def _cancel(seed: Seed, history: History, seat: Seat, at: datetime) -> None:
    booking, membership = _facts(seed, history, seat)
    since = booking.policy.late_cancels_since(at)
    earlier = sum(late >= since for late in history.late_cancels[seat.person.id])
    cause = CancellationCause.WAITLIST_EXPIRED if seat.waits else CancellationCause.PARTNER
    if seat.session.cancelled:
        cause = CancellationCause.CLASS_CANCELLED
    decided = rules.decide_cancellation(
        rules.CancellationAttempt(booking, _class_facts(seat), membership, earlier, str(STUDIO["currency"]), cause, at)
    )
    if isinstance(decided, Refusal):
        raise ValueError(f"The demo studio has a booking that cannot be cancelled: {decided.code}")
    if decided.cancellation_type in (CancellationType.LATE, CancellationType.GRACED):
        history.late_cancels[seat.person.id].append(at)
    if decided.credits_returned:
        _move_credit(seed, history, seat, 1, ("returned", at))
    elif decided.credits_forfeited:
        _move_credit(seed, history, seat, 0, ("forfeited", at))
    history.cancellations.append(_receipt_row(seed, history, booking, decided, seat))


def _facts(seed: Seed, history: History, seat: Seat) -> tuple[BookingFacts, MembershipFacts]:
    id_, slot = UUID(membership_id(seed, seat.person)), seat.session.slot
    of_location, of_type = LOCATIONS[slot.location]["policy"], class_type_policy(seed, slot.class_type)
    credits_ = history.credits[str(id_)]
    booking = BookingFacts(
        UUID(seat.booking_id(seed)),
        UUID(seat.session.id),
        UUID(seat.person.id),
        BookingStatus.WAITLISTED if seat.waits else BookingStatus.CONFIRMED,
        resolve_policy(POLICY, of_location, of_type, slot.policy).in_currency(str(STUDIO["currency"])),
        id_,
        int(credits_ is not None and not seat.waits),
        UUID(seat.spot) if seat.spot else None,
        promoted_at=None,
        cancellation_id=None,
    )
    return booking, MembershipFacts(id_, MembershipStatus.ACTIVE, credits_, None, None)


def _class_facts(seat: Seat) -> ClassFacts:
    session, slot = seat.session, seat.session.slot
    return ClassFacts(
        UUID(session.id),
        ClassStatus.SCHEDULED,
        slot.visible,
        session.starts,
        session.ends,
        slot.capacity,
        booked_count=0,
        waitlist_count=0,
        allow_waitlist=slot.allow_waitlist,
        spot_selection_mode=None,
        class_type_id=None,
        location_id=None,
    )


def _receipt_row(seed: Seed, history: History, booking: BookingFacts, decided: rules.Cancellation, seat: Seat) -> Row:
    id_ = seed.uuid("cancellation", booking.id)
    fee_id = None if decided.fee is None else seed.uuid("purchase", LATE_CANCEL_FEE, booking.id)
    if decided.fee is not None and fee_id is not None:
        history.fees.append(
            {
                "id": fee_id,
                "member_id": seat.person.id,
                "product_id": None,
                "product_key": LATE_CANCEL_FEE,
                "product_type": "fee",
                "quantity": 1,
                "amount_total": decided.fee.amount,
                "currency": decided.fee.currency,
                "refunded_amount": "0.00",
                "status": "pending",
                "location_id": seed.uuid("location", seat.session.slot.location),
                "booking_id": seat.booking_id(seed),
                "created_at": written(decided.cancelled_at),
            }
        )
    receipt = rules.Receipt(UUID(id_), purchase_id=None if fee_id is None else UUID(fee_id))
    return {
        "id": id_,
        "booking_id": str(booking.id),
        "cancelled_at": written(decided.cancelled_at),
        "cancellation_type": str(decided.cancellation_type),
        "late": decided.late,
        "graced_for_promotion": decided.graced_for_promotion,
        "credits_forfeited": decided.credits_forfeited,
        "credits_returned": decided.credits_returned,
        "purchase_id": fee_id,
        "receipt": rules.receipt_json(booking, decided, receipt),
    }


def with_history(memberships: list[Row], history: History) -> list[Row]:
    """Each line of the ledger that a booking caused changed its membership, as the booking itself would have."""
    changes = Counter(
        line["membership_id"] for line in history.ledger if line["booking_id"] is not None and line["delta"]
    )
    return [
        row
        | {"credits_remaining": history.credits[row["id"]], "state_version": row["state_version"] + changes[row["id"]]}
        for row in memberships
    ]
