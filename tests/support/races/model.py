"""A second implementation of the booking rules, in plain Python, written from the contract alone.

It shares no code with the product: where the two disagree, one of them has misread the contract.
"""

import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

KEPT = timedelta(hours=24)
DEFAULTS: dict[str, Any] = {
    "require_entitlement": True,
    "booking_opens_minutes_before": None,
    "booking_closes_minutes_before": 0,
    "cancellation_window_minutes": 720,
    "late_action": "forfeit_credit",
    "late_fee_amount": "0.00",
    "late_fee_currency": None,
    "free_late_cancels": 0,
    "free_late_cancels_days": 30,
    "waitlist_mode": "auto",
    "waitlist_capacity": None,
    "promotion_cutoff_minutes": 60,
    "promotion_grace_minutes": 15,
    "max_bookings_per_day": None,
    "allow_overlapping": False,
    "waiver_form_id": None,
}
SEATED = ("confirmed", "checked_in", "no_show")
ENDED = ("cancelled", "expired")
ENTITLEMENT = {
    "no_active_membership",
    "membership_paused",
    "membership_not_valid_for_class",
    "insufficient_credits",
}
OVERRIDABLE = ENTITLEMENT | {
    "class_not_bookable",
    "class_started",
    "booking_window_not_open",
    "booking_window_closed",
    "member_suspended",
    "booking_limit_reached",
    "overlapping_booking",
}
MARKS = {"confirmed": ("checked_in", "no_show"), "checked_in": ("confirmed",), "no_show": ("checked_in",)}


@dataclass
class Class:
    id: UUID
    class_type: UUID
    start: datetime
    end: datetime
    capacity: int
    allow_waitlist: bool
    visible: bool
    policy: dict[str, Any]
    cancelled: bool = False


@dataclass
class Membership:
    id: UUID
    member: UUID
    status: str
    credits: int | None
    started: datetime | None
    ends: datetime | None
    only: UUID | None  # the class type it is limited to
    version: int = 1


@dataclass
class Booking:
    class_id: UUID
    member: UUID
    status: str
    policy: dict[str, Any]
    id: str = ""
    membership: UUID | None = None
    paid: bool = False
    promoted_at: datetime | None = None
    entry: str | None = None  # the waitlist entry's status
    skip_reason: str | None = None
    receipt: dict[str, Any] | None = None
    late_counts_at: datetime | None = None


@dataclass
class Answer:
    """The response that the contract requires. ``kept``: it is stored with the key."""

    status: int
    code: str | None = None
    reasons: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    booking: Booking | None = None
    receipt: dict[str, Any] | None = None
    kept: bool = True


def minutes(count: int) -> timedelta:
    return timedelta(minutes=count)


class Studio:
    """Everything that a studio's bookings depend on. Bookings are in the order in which they were made."""

    def __init__(self, timezone: str, currency: str) -> None:
        self.zone, self.currency = ZoneInfo(timezone), currency
        self.classes: dict[UUID, Class] = {}
        self.suspended: dict[UUID, bool] = {}
        self.memberships: dict[UUID, Membership] = {}
        self.bookings: list[Booking] = []
        self.erased: set[UUID] = set()

    # State

    def in_class(self, class_: Class) -> list[Booking]:
        return [each for each in self.bookings if each.class_id == class_.id]

    def booked(self, class_: Class) -> int:
        return sum(each.status in SEATED for each in self.in_class(class_))

    def waiting(self, class_: Class) -> list[Booking]:
        return [each for each in self.in_class(class_) if each.status == "waitlisted"]

    def position(self, booking: Booking) -> int | None:
        waiting = self.waiting(self.classes[booking.class_id])
        return next((place for place, each in enumerate(waiting, 1) if each is booking), None)

    def late_fees(self) -> int:
        return sum(bool(each.receipt and each.receipt["late_fee"]) for each in self.bookings)

    # Eligibility

    def entitlement(self, class_: Class, member: UUID, now: datetime) -> Membership | str:
        own = [each for each in self.memberships.values() if each.member == member]
        usable = [
            each
            for each in own
            if each.status == "active"
            and (each.started is None or each.started <= now)
            and (each.ends is None or now < each.ends)
        ]
        if not usable:
            paused = any(each.status == "paused" and each.only in (None, class_.class_type) for each in own)
            return "membership_paused" if paused else "no_active_membership"
        covering = [
            each
            for each in usable
            if each.only in (None, class_.class_type) and (each.ends is None or class_.start < each.ends)
        ]
        if not covering:
            return "membership_not_valid_for_class"
        unspent = [each for each in covering if each.credits is None or each.credits > 0]
        if not unspent:
            return "insufficient_credits"
        never = datetime.max.replace(tzinfo=UTC)
        return min(unspent, key=lambda each: (each.credits is not None, each.ends or never, each.id))

    def payer(self, class_: Class, member: UUID, policy: dict[str, Any], now: datetime) -> Membership | None:
        found = self.entitlement(class_, member, now) if policy["require_entitlement"] else None
        return found if isinstance(found, Membership) else None

    def faults(
        self, class_: Class, member: UUID, policy: dict[str, Any], now: datetime, own: Booking | None = None
    ) -> list[str]:
        """Return the violated rules, except for the seat, in the contract's order. ``own`` is the booking considered
        for a promotion, to which the booking window does not apply."""
        opens = policy["booking_opens_minutes_before"]
        others = [each for each in self.bookings if each.member == member and each.class_id != class_.id]
        day = sum(each.status in SEATED and self._day(each.class_id) == self._day(class_.id) for each in others)
        overlaps = any(
            each.status in ("confirmed", "checked_in") and self._overlap(self.classes[each.class_id], class_)
            for each in others
        )
        live = next(
            (each for each in self.in_class(class_) if each.member == member and each.status != "cancelled"), None
        )
        here = None if live is own or live is None else live.status
        entitled = self.entitlement(class_, member, now) if policy["require_entitlement"] else None
        limit = policy["max_bookings_per_day"]
        found = [
            ("class_cancelled", class_.cancelled),
            ("class_not_bookable", not class_.visible),
            ("class_started", now >= class_.start),
            ("booking_window_not_open", own is None and opens is not None and now < class_.start - minutes(opens)),
            (
                "booking_window_closed",
                own is None and now >= class_.start - minutes(policy["booking_closes_minutes_before"]),
            ),
            ("already_booked", here in SEATED),
            ("already_waitlisted", here == "waitlisted"),
            ("member_erased", member in self.erased),
            ("member_suspended", self.suspended[member] and member not in self.erased),
            (entitled, isinstance(entitled, str)),
            ("booking_limit_reached", limit is not None and day >= limit),
            ("overlapping_booking", overlaps and not policy["allow_overlapping"]),
        ]
        return [str(code) for code, failing in found if failing]

    def _day(self, class_id: UUID) -> Any:
        return self.classes[class_id].start.astimezone(self.zone).date()

    def _overlap(self, one: Class, other: Class) -> bool:
        return one.start < other.end and other.start < one.end

    # Waitlist

    def _promotes(self, class_: Class, now: datetime) -> bool:
        return now <= class_.start - minutes(class_.policy["promotion_cutoff_minutes"])

    def _promotion_order(self, class_: Class, now: datetime) -> list[tuple[Booking, list[str]]]:
        """Return the waiting bookings in order, each with its violated rules, until the free seats are assigned."""
        free, order = class_.capacity - self.booked(class_), []
        for entry in self.waiting(class_):
            if free <= 0:
                break
            faults = self.faults(class_, entry.member, entry.policy, now, own=entry)
            order.append((entry, faults))
            free -= not faults
        return order

    def promote(self, class_: Class, now: datetime) -> int:
        if class_.policy["waitlist_mode"] != "auto" or not self._promotes(class_, now):
            return 0
        promoted = 0
        for entry, faults in self._promotion_order(class_, now):
            if faults:
                entry.skip_reason = faults[0]
                continue
            promoted += 1
            self._pay(entry, self.payer(class_, entry.member, entry.policy, now))
            entry.status, entry.entry, entry.skip_reason, entry.promoted_at = "confirmed", "converted", None, now
        return promoted

    def _pay(self, booking: Booking, payer: Membership | None) -> None:
        booking.membership = payer.id if payer else None
        if payer is not None and payer.credits is not None:
            booking.paid = True
            payer.credits -= 1
            payer.version += 1

    # Actions

    def book(self, class_: Class, member: UUID, join: bool, now: datetime) -> Answer:
        self.promote(class_, now)
        free = self._open_seats(class_, now)
        faults = self.faults(class_, member, class_.policy, now)
        own = self._own_seat(class_, member, free, now)
        if own is not None:
            faults.remove("already_waitlisted")
        details: dict[str, Any] = {}
        if free <= 0:
            closed = self._waitlist_fault(class_)
            if not join:
                faults.append("class_full")
                details = {"waitlist_available": closed is None}
            elif closed:
                faults.append(closed)
        if faults:
            return Answer(409, faults[0], faults, details if faults[0] == "class_full" else {})
        if own is not None:
            self._pay(own, self.payer(class_, member, class_.policy, now))
            own.status, own.entry, own.skip_reason = "confirmed", "converted", None
            return Answer(201, booking=own)
        made = Booking(class_.id, member, "confirmed" if free > 0 else "waitlisted", class_.policy)
        if free > 0:
            self._pay(made, self.payer(class_, member, class_.policy, now))
        else:
            made.entry = "waiting"
        self.bookings.append(made)
        return Answer(201, booking=made)

    def _own_seat(self, class_: Class, member: UUID, free: int, now: datetime) -> Booking | None:
        """The waitlisted booking of a member who may take an open seat that is promised to nobody."""
        promised = class_.policy["waitlist_mode"] != "off" and self._promotes(class_, now)
        if free <= 0 or promised:
            return None
        return next((each for each in self.waiting(class_) if each.member == member), None)

    def _waitlist_fault(self, class_: Class) -> str | None:
        if not class_.allow_waitlist or class_.policy["waitlist_mode"] == "off":
            return "waitlist_not_allowed"
        most = class_.policy["waitlist_capacity"]
        return "waitlist_full" if most is not None and len(self.waiting(class_)) >= most else None

    def cancel(self, booking: Booking, now: datetime) -> Answer:
        class_ = self.classes[booking.class_id]
        if booking.status == "cancelled":
            return Answer(409, "booking_already_cancelled", ["booking_already_cancelled"])
        if now >= class_.start:
            return Answer(409, "class_started", ["class_started"])
        if booking.status not in ("confirmed", "waitlisted"):
            return Answer(409, "invalid_transition", kept=False)
        kind = self._kind(booking, class_, now)
        if kind in ("late", "graced") and not self._just_promoted(booking, now):
            booking.late_counts_at = now
        receipt = self._end(booking, kind, "partner_api", "cancelled")
        receipt["promoted"] = self.promote(class_, now) > 0
        return Answer(200, receipt=receipt, booking=booking)

    def _kind(self, booking: Booking, class_: Class, now: datetime) -> str:
        if booking.status == "waitlisted":
            return "waitlist_left"
        if now <= class_.start - minutes(booking.policy["cancellation_window_minutes"]):
            return "standard"
        since = now - timedelta(days=booking.policy["free_late_cancels_days"])
        earlier = sum(
            each.member == booking.member and each.late_counts_at is not None and each.late_counts_at >= since
            for each in self.bookings
        )
        graced = self._just_promoted(booking, now) or earlier < booking.policy["free_late_cancels"]
        return "graced" if graced else "late"

    def _just_promoted(self, booking: Booking, now: datetime) -> bool:
        grace = booking.policy["promotion_grace_minutes"]
        return booking.promoted_at is not None and grace > 0 and now - booking.promoted_at <= minutes(grace)

    def _end(self, booking: Booking, kind: str, by: str, entry: str) -> dict[str, Any]:
        action, amount = booking.policy["late_action"], booking.policy["late_fee_amount"]
        forfeits = kind == "late" and action in ("forfeit_credit", "fee_and_forfeit")
        fee = kind == "late" and action in ("fee", "fee_and_forfeit") and amount != "0.00"
        payer = self.memberships.get(booking.membership) if booking.membership else None
        if booking.paid and not forfeits and payer is not None and payer.credits is not None:
            payer.credits += 1
            payer.version += 1
        booking.receipt = {
            "cancellation_type": kind,
            "cancelled_by": by,
            "late": kind in ("late", "graced"),
            "late_fee": {"amount": amount, "currency": self.currency} if fee else None,
            "credits_forfeited": int(booking.paid and forfeits),
            "credits_returned": int(booking.paid and not forfeits),
            "membership_id": str(booking.membership) if booking.membership else None,
            "credits_remaining": payer.credits if payer else None,
            "promoted": False,
        }
        booking.status = "cancelled"
        if booking.entry == "waiting":
            booking.entry = entry
        return booking.receipt

    def change_capacity(self, class_: Class, capacity: int, now: datetime) -> bool:
        """False: refused, since those seats are taken, or the class is cancelled."""
        if class_.cancelled or capacity < self.booked(class_):
            return False
        class_.capacity = capacity
        self.promote(class_, now)
        return True

    def promote_by_hand(self, booking: Booking, now: datetime) -> bool:
        """Staff choose who gets a free seat. False: refused."""
        class_ = self.classes[booking.class_id]
        if booking.status != "waitlisted" or self.booked(class_) >= class_.capacity:
            return False
        if self.faults(class_, booking.member, booking.policy, now, own=booking):
            return False
        self._pay(booking, self.payer(class_, booking.member, booking.policy, now))
        booking.status, booking.entry, booking.skip_reason, booking.promoted_at = "confirmed", "converted", None, now
        return True

    def cancel_by_hand(self, booking: Booking, now: datetime) -> bool:
        """Staff cancel free of charge, at any time. False: refused."""
        if booking.status not in ("confirmed", "waitlisted"):
            return False
        receipt = self._end(booking, "studio", "studio", "cancelled")
        receipt["promoted"] = self.promote(self.classes[booking.class_id], now) > 0
        return True

    def cancel_class(self, class_: Class, now: datetime) -> bool:
        if class_.cancelled or now >= class_.end:
            return False
        for booking in self.in_class(class_):
            attended = booking.status in ("checked_in", "no_show") and now >= class_.start
            if booking.status != "cancelled" and not attended:
                self._end(booking, "class_cancelled", "studio", "expired")
        class_.cancelled = True
        return True

    def mark(self, booking: Booking, status: str, now: datetime) -> bool:
        if status not in MARKS.get(booking.status, ()):
            return False
        if status == "confirmed" and self.classes[booking.class_id].cancelled:
            return False
        possible_from = self.classes[booking.class_id].start - (minutes(720) if status == "checked_in" else minutes(0))
        if booking.status == "confirmed" and now < possible_from:
            return False
        booking.status = status
        return True

    # Actions of staff, done whole or not at all. False or None: refused.

    def book_by_hand(self, class_: Class, member: UUID, join: bool, override: bool, now: datetime) -> Booking | None:
        """Staff book for a member, by the rules or by overriding those that may be overridden."""
        trial = copy.deepcopy(self)
        if trial._take_place(trial.classes[class_.id], member, join, override, now) is None:
            return None
        return self._take_place(class_, member, join, override, now)

    def move_by_hand(self, booking: Booking, class_: Class, override: bool, now: datetime) -> Booking | None:
        trial = copy.deepcopy(self)
        own = next(each for each in trial.bookings if each.id == booking.id)
        if trial._move(own, trial.classes[class_.id], override, now) is None:
            return None
        return self._move(booking, class_, override, now)

    def _move(self, booking: Booking, class_: Class, override: bool, now: datetime) -> Booking | None:
        if booking.class_id == class_.id or not self.cancel_by_hand(booking, now):
            return None
        returned = booking.membership if booking.receipt and booking.receipt["credits_returned"] else None
        return self._take_place(class_, booking.member, False, override, now, returned)

    def _take_place(
        self, class_: Class, member: UUID, join: bool, override: bool, now: datetime, returned: UUID | None = None
    ) -> Booking | None:
        if member in self.erased:
            return None
        self.promote(class_, now)
        free = self._open_seats(class_, now)
        own = self._own_seat(class_, member, free, now)
        faults = self.faults(class_, member, class_.policy, now)
        if own is not None:
            faults.remove("already_waitlisted")
        if free <= 0:
            full = self._waitlist_fault(class_) if join else "class_full"
            faults += [full] if full else []
        waits = free <= 0 and join
        allowed = (OVERRIDABLE - {"class_started"} if waits else OVERRIDABLE) if override else set()
        if set(faults) - allowed:
            return None
        made = own or Booking(class_.id, member, "waitlisted" if waits else "confirmed", class_.policy)
        if not waits:
            self._pay(made, self._charged(class_, member, faults, now, returned))
        made.entry = "converted" if own else "waiting" if waits else None
        made.status, made.skip_reason = "waitlisted" if waits else "confirmed", None
        if own is None:
            self.bookings.append(made)
        return made

    def _open_seats(self, class_: Class, now: datetime) -> int:
        free = class_.capacity - self.booked(class_)
        if class_.policy["waitlist_mode"] != "off" and self._promotes(class_, now):
            free -= sum(not faults for _, faults in self._promotion_order(class_, now))
        return free

    def _charged(
        self, class_: Class, member: UUID, faults: list[str], now: datetime, returned: UUID | None
    ) -> Membership | None:
        """The membership that pays. Where staff override that there is none, the credit of a moved booking follows."""
        if not ENTITLEMENT & set(faults):
            return self.payer(class_, member, class_.policy, now)
        held = self.memberships.get(returned) if returned else None
        return held if held is not None and held.credits != 0 else None

    def change_class(self, class_: Class, now: datetime, visible: bool, later: timedelta) -> bool:
        """Staff hide or show a class, or move it to another time; new seats go to waiting members."""
        if class_.cancelled or now >= class_.start or class_.start + later <= now:
            return False
        class_.visible, class_.start, class_.end = visible, class_.start + later, class_.end + later
        self.promote(class_, now)
        return True

    def suspend(self, member: UUID, suspended: bool) -> bool:
        if member in self.erased or self.suspended[member] == suspended:
            return False
        self.suspended[member] = suspended
        return True

    def _catch_up(self, member: UUID, now: datetime) -> None:
        """What the clock made due happens before staff change one of the member's memberships."""
        for each in self.memberships.values():
            if each.member == member:
                self._expire(each, now)

    def _expire(self, membership: Membership, now: datetime) -> None:
        if membership.status == "active" and membership.ends is not None and membership.ends <= now:
            membership.status = "expired"
            membership.version += 1

    def _status_now(self, membership: Membership, now: datetime) -> str:
        over = membership.status == "active" and membership.ends is not None and membership.ends <= now
        return "expired" if over else membership.status

    def pause(self, membership: Membership, now: datetime) -> bool:
        if self._status_now(membership, now) != "active":
            return False
        self._catch_up(membership.member, now)
        membership.status, membership.version = "paused", membership.version + 1
        return True

    def resume(self, membership: Membership, now: datetime) -> bool:
        if membership.status != "paused":
            return False
        self._catch_up(membership.member, now)
        membership.status, membership.version = "active", membership.version + 1
        self._expire(membership, now)
        return True

    def end_membership(self, membership: Membership, now: datetime) -> bool:
        if self._status_now(membership, now) in ENDED:
            return False
        self._catch_up(membership.member, now)
        membership.status, membership.version = "cancelled", membership.version + 1
        return True

    def adjust_credits(self, membership: Membership, change: int, now: datetime) -> bool:
        left = membership.credits
        if self._status_now(membership, now) in ENDED or left is None or change == 0 or left + change < 0:
            return False
        self._catch_up(membership.member, now)
        membership.credits, membership.version = left + change, membership.version + 1
        return True

    def erase(self, member: UUID, now: datetime) -> bool:
        """What lies ahead is cancelled free of charge, memberships end, and nobody can book for the member again."""
        if member in self.erased:
            return False
        ahead = [each for each in self.bookings if each.member == member and now < self.classes[each.class_id].start]
        for booking in sorted(ahead, key=lambda each: (each.class_id, UUID(each.id))):
            self.cancel_by_hand(booking, now)
        for each in self.memberships.values():
            if each.member == member and each.status not in ENDED:
                each.status, each.version = "cancelled", each.version + 1
        self.suspended[member] = True
        self.erased.add(member)
        return True

    def merge(self, kept: UUID, merged: UUID) -> bool:
        """Everything of a duplicate becomes the kept member's, unless both have a place in one class."""
        live = [each for each in self.bookings if each.status != "cancelled"]
        both = {each.class_id for each in live if each.member == kept} & {
            each.class_id for each in live if each.member == merged
        }
        if kept == merged or both or {kept, merged} & self.erased:
            return False
        for booking in self.bookings:
            booking.member = kept if booking.member == merged else booking.member
        for each in self.memberships.values():
            if each.member == merged:
                each.member, each.version = kept, each.version + 1
        self.suspended[kept] = self.suspended.pop(merged) or self.suspended[kept]
        return True

    def sweep(self, now: datetime) -> None:
        for class_ in self.classes.values():
            if now >= class_.start:
                for entry in self.waiting(class_):
                    self._end(entry, "waitlist_left", "system", "expired")
        for membership in self.memberships.values():
            self._expire(membership, now)
        for class_ in self.classes.values():
            if not class_.cancelled and now < class_.start:
                self.promote(class_, now)

    def advance(self, passed: timedelta) -> None:
        """Let time pass by shifting every instant into the past."""
        for class_ in self.classes.values():
            class_.start, class_.end = class_.start - passed, class_.end - passed
        for membership in self.memberships.values():
            membership.started = membership.started and membership.started - passed
            membership.ends = membership.ends and membership.ends - passed
        for booking in self.bookings:
            booking.promoted_at = booking.promoted_at and booking.promoted_at - passed
            booking.late_counts_at = booking.late_counts_at and booking.late_counts_at - passed
