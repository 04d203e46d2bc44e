"""The booking policy: its settings, how levels override each other, and the instants derived from it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Any
from uuid import UUID

from studiogate.domain.instants import minutes_before
from studiogate.domain.money import money_text


class LateAction(StrEnum):
    NONE = "none"
    FEE = "fee"
    FORFEIT_CREDIT = "forfeit_credit"
    FEE_AND_FORFEIT = "fee_and_forfeit"


class WaitlistMode(StrEnum):
    AUTO = "auto"
    MANUAL = "manual"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class LateFee:
    amount: str
    currency: str


@dataclass(frozen=True, slots=True)
class Policy:
    """The members of the contract's policy table. Resolved once, then frozen on the booking and in its receipt.

    ``late_fee_currency`` None means the studio's currency; ``in_currency`` fills it in before a policy is frozen.
    """

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

    @classmethod
    def from_json(cls, members: Mapping[str, object]) -> "Policy":
        """Read validated members. Absent ones get their default and unknown ones are ignored, so that a policy frozen
        by an older or a newer release can be read."""
        return cls(**{name: _read(name, members[name]) for name in POLICY_MEMBERS if name in members})

    def as_json(self) -> Mapping[str, object]:
        return _serialized_once(self)

    def booking_opens_at(self, start: datetime) -> datetime | None:
        """Return the first instant at which booking is possible, or None if it always is."""
        if self.booking_opens_minutes_before is None:
            return None
        return minutes_before(start, self.booking_opens_minutes_before)

    def booking_closes_at(self, start: datetime) -> datetime:
        """Return the first instant at which booking is no longer possible."""
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

_READERS = {"late_action": LateAction, "waitlist_mode": WaitlistMode}


def _read(name: str, value: Any) -> Any:
    if name == "waiver_form_id" and value is not None:
        return UUID(str(value))
    return _READERS[name](value) if name in _READERS else value


@lru_cache(maxsize=1000)
def _serialized_once(policy: Policy) -> Mapping[str, object]:
    """Return a policy as JSON members. Cached: many bookings share a policy, and each of their receipts contains it."""
    return {name: _written(getattr(policy, name)) for name in POLICY_MEMBERS}


def _written(value: object) -> object:
    return str(value) if isinstance(value, UUID | StrEnum) else value


def resolve_policy(
    studio: Mapping[str, object] | None = None,
    location: Mapping[str, object] | None = None,
    class_type: Mapping[str, object] | None = None,
    class_: Mapping[str, object] | None = None,
) -> Policy:
    """Resolve the policy member by member: the class overrides the class type, then the location, then the studio.

    A member that is present overrides the outer level even if it is null: null is a setting ("no limit").
    """
    return Policy.from_json({**(studio or {}), **(location or {}), **(class_type or {}), **(class_ or {})})
