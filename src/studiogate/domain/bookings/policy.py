"""The booking policy: its settings, how levels override each other, and the instants derived from it; and what a policy
would have made of the bookings of the last weeks."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.ids import parse_id
from studiogate.domain.instants import minutes_before
from studiogate.domain.money import currency_decimals, is_currency, money_text
from studiogate.domain.value_checks import Check, boolean, one_of, whole_number


class LateAction(StrEnum):
    NONE = "none"
    FEE = "fee"
    FORFEIT_CREDIT = "forfeit_credit"
    FEE_AND_FORFEIT = "fee_and_forfeit"


class WaitlistMode(StrEnum):
    AUTO = "auto"
    MANUAL = "manual"
    OFF = "off"


class CheckInStop(StrEnum):
    """What has to be settled, or overridden with a reason, before a check-in."""

    NONE = "none"
    WAIVER = "waiver"
    FEE = "fee"
    WAIVER_AND_FEE = "waiver_and_fee"


@dataclass(frozen=True, slots=True)
class LateFee:
    amount: str
    currency: str


@dataclass(frozen=True, slots=True)
class Policy:
    """The members of the contract's policy table. Resolved once, then frozen on the booking and in its receipt.
    ``late_fee_currency`` None means the studio's currency; ``in_currency`` fills it in before a policy is frozen.
    ``check_in_stop`` is about the front desk only: it is never frozen, and partners do not see it."""

    require_entitlement: bool = True
    booking_opens_minutes_before: int | None = None
    booking_closes_minutes_before: int = 0
    cancellation_window_minutes: int = 720
    late_action: LateAction = LateAction.FORFEIT_CREDIT
    late_fee_amount: str = "0.00"
    late_fee_currency: str | None = None
    free_late_cancels: int = 0
    free_late_cancels_days: int = 30
    waitlist_mode: WaitlistMode = WaitlistMode.AUTO
    waitlist_capacity: int | None = None
    promotion_cutoff_minutes: int = 60
    promotion_grace_minutes: int = 15
    max_bookings_per_day: int | None = None
    allow_overlapping: bool = False
    waiver_form_id: UUID | None = None
    check_in_stop: CheckInStop = CheckInStop.WAIVER_AND_FEE

    @classmethod
    def from_json(cls, members: Mapping[str, object]) -> "Policy":
        """Read validated members. Other releases have others: absent ones get defaults, unknown ones are ignored."""
        return cls(**{name: _read(name, members[name]) for name in POLICY_MEMBERS if name in members})

    def as_json(self) -> Mapping[str, object]:
        return _serialized_once(self)

    def booking_opens_at(self, start: datetime) -> datetime | None:
        """Return the first instant at which booking is possible, or None if it always is."""
        if self.booking_opens_minutes_before is None:
            return None
        return minutes_before(start, self.booking_opens_minutes_before)

    def booking_closes_at(self, start: datetime) -> datetime:
        return minutes_before(start, self.booking_closes_minutes_before)

    def cancellation_cutoff_at(self, start: datetime) -> datetime:
        """Return the last instant at which a cancellation is on time."""
        return minutes_before(start, self.cancellation_window_minutes)

    def promotion_cutoff_at(self, start: datetime) -> datetime:
        """Return the last instant at which a waiting entry is promoted; after it anybody can book a free seat."""
        return minutes_before(start, self.promotion_cutoff_minutes)

    def promises_seats(self, start: datetime, now: datetime) -> bool:
        """Return whether free seats are reserved for the waitlist: up to the promotion cutoff, unless it is off."""
        return self.waitlist_mode != WaitlistMode.OFF and now <= self.promotion_cutoff_at(start)

    def late_cancels_since(self, now: datetime) -> datetime:
        """Return the instant from which (inclusive) late cancellations count against ``free_late_cancels``."""
        return now - timedelta(days=self.free_late_cancels_days)

    def in_currency(self, studio_currency: str) -> "Policy":
        """Return this policy with its currency set and the fee in that currency's number of decimals."""
        currency = self.late_fee_currency or studio_currency
        amount = money_text(Decimal(self.late_fee_amount), currency)
        return replace(self, late_fee_amount=amount, late_fee_currency=currency)

    def late_fee(self, studio_currency: str) -> LateFee | None:
        """Return the fee for a late cancellation, if the late action charges one; None if the amount is zero."""
        currency = self.late_fee_currency or studio_currency
        amount = money_text(Decimal(self.late_fee_amount), currency)
        return LateFee(amount, currency) if Decimal(amount) > 0 else None


POLICY_MEMBERS = tuple(field.name for field in fields(Policy))
FROZEN_MEMBERS = tuple(name for name in POLICY_MEMBERS if name != "check_in_stop")

_READERS = {"late_action": LateAction, "waitlist_mode": WaitlistMode, "check_in_stop": CheckInStop}


def _read(name: str, value: Any) -> Any:
    if name == "waiver_form_id" and value is not None:
        return UUID(str(value))
    return _READERS[name](value) if name in _READERS else value


@lru_cache(maxsize=1000)
def _serialized_once(policy: Policy) -> Mapping[str, object]:
    """Return what is frozen of a policy as JSON members. Cached: many bookings share a policy, and repeat it."""
    members = ((name, getattr(policy, name)) for name in FROZEN_MEMBERS)
    return {name: str(value) if isinstance(value, UUID | StrEnum) else value for name, value in members}


def resolve_policy(
    studio: Mapping[str, object] | None = None,
    location: Mapping[str, object] | None = None,
    class_type: Mapping[str, object] | None = None,
    class_: Mapping[str, object] | None = None,
) -> Policy:
    """Resolve the policy member by member: the class overrides the class type, then the location, then the studio. A
    member that is present overrides the outer level even if it is null: null is a setting ("no limit")."""
    return Policy.from_json({**(studio or {}), **(location or {}), **(class_type or {}), **(class_ or {})})


# Far beyond what any studio needs; without bounds, start_time minus minutes would overflow the datetime range.
MAX_MINUTES = 10 * 366 * 24 * 60
MAX_COUNT = 1_000_000
MAX_DAYS = 3660

_AMOUNT = re.compile(r"[0-9]{1,9}(?:\.([0-9]{1,4}))?")


def policy_faults(override: Mapping[str, object], studio_currency: str = "USD") -> list[tuple[str, str]]:
    """Return every invalid member with a message, in the mapping's order. ``studio_currency`` determines the decimals
    of ``late_fee_amount`` if the mapping has no ``late_fee_currency``."""
    own = override.get("late_fee_currency")
    # Of a currency that is wrong itself, the decimals are not known.
    currency = studio_currency if own is None else str(own) if is_currency(own) else None
    checks = {**_CHECKS, "late_fee_amount": _amount_in(currency)}
    found = ((member, checks[member](value) if member in checks else _UNKNOWN) for member, value in override.items())
    return [(member, message) for member, message in found if message is not None]


_UNKNOWN = "is not a member of the policy"


def _or_null(inner: Check) -> Check:
    def check(value: object) -> str | None:
        message = None if value is None else inner(value)
        return message and f"{message}, or null"

    return check


def _currency(value: object) -> str | None:
    return None if is_currency(value) else "must be a currency code of three capital letters"


def _amount_in(currency: str | None) -> Check:
    def check(value: object) -> str | None:
        match = _AMOUNT.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            return 'must be a decimal string such as "15.00"'
        if currency is None or len(match[1] or "") == currency_decimals(currency):
            return None
        return f"must have {currency_decimals(currency)} decimals, as {currency} has"

    return check


_minutes, _count = whole_number(0, MAX_MINUTES), whole_number(0, MAX_COUNT)

_CHECKS: Mapping[str, Check] = {
    "require_entitlement": boolean,
    "booking_opens_minutes_before": _or_null(_minutes),
    "booking_closes_minutes_before": _minutes,
    "cancellation_window_minutes": _minutes,
    "late_action": one_of(LateAction),
    "late_fee_currency": _or_null(_currency),
    "free_late_cancels": _count,
    # With zero days no late cancel would ever count, so all of them would be graced.
    "free_late_cancels_days": whole_number(1, MAX_DAYS),
    "waitlist_mode": one_of(WaitlistMode),
    "waitlist_capacity": _or_null(_count),
    "promotion_cutoff_minutes": _minutes,
    "promotion_grace_minutes": _minutes,
    "max_bookings_per_day": _or_null(_count),
    "allow_overlapping": boolean,
    "waiver_form_id": _or_null(lambda value: None if parse_id(value) else "must be a uuid"),
    "check_in_stop": one_of(CheckInStop),
}


LOOKS_BACK = timedelta(days=90)
# Any start will do: only the times before it count.
_START = datetime(2026, 1, 1, tzinfo=UTC)


class LeadTimes(NamedTuple):
    """How long before the start each cancellation and each booking was made, in seconds, of classes that have these
    rules from the studio. ``is_cut``: there were more than were read, the newest."""

    cancelled: Sequence[int]
    booked: Sequence[int]
    is_cut: bool


class Effects(NamedTuple):
    late: int
    too_early: int
    too_late: int


def effects_of(policy: Policy, leads: LeadTimes) -> Effects:
    cutoff, opens, closes = (
        policy.cancellation_cutoff_at(_START),
        policy.booking_opens_at(_START),
        policy.booking_closes_at(_START),
    )
    booked = [_START - timedelta(seconds=each) for each in leads.booked]
    return Effects(
        late=sum(_START - timedelta(seconds=each) > cutoff for each in leads.cancelled),
        too_early=0 if opens is None else sum(each < opens for each in booked),
        too_late=sum(each >= closes for each in booked),
    )
