"""Validate overrides of the policy before they are loaded. Each mapping is checked on its own."""

import re
from collections.abc import Mapping

from studiogate.domain.bookings.policy import LateAction, WaitlistMode
from studiogate.domain.ids import parse_id
from studiogate.domain.money import currency_decimals, is_currency
from studiogate.domain.value_checks import Check, boolean, one_of, whole_number

# Far beyond what any studio needs; without bounds, start_time minus minutes would overflow the datetime range.
MAX_MINUTES = 10 * 366 * 24 * 60
MAX_COUNT = 1_000_000
MAX_DAYS = 3660

_AMOUNT = re.compile(r"[0-9]{1,9}(?:\.([0-9]{1,4}))?")


def policy_faults(override: Mapping[str, object], studio_currency: str = "USD") -> list[tuple[str, str]]:
    """Return every invalid member with a message, in the mapping's order.

    ``studio_currency`` determines the decimals of ``late_fee_amount`` if the mapping has no ``late_fee_currency``.
    """
    checks = {**_CHECKS, "late_fee_amount": _amount_in(_currency_of(override, studio_currency))}
    found = ((member, checks.get(member, _unknown)(value)) for member, value in override.items())
    return [(member, message) for member, message in found if message is not None]


def _unknown(_value: object) -> str:
    return "is not a member of the policy"


def _or_null(inner: Check) -> Check:
    def check(value: object) -> str | None:
        message = None if value is None else inner(value)
        return message and f"{message}, or null"

    return check


def _currency(value: object) -> str | None:
    return None if is_currency(value) else "must be a currency code of three capital letters"


def _uuid(value: object) -> str | None:
    return None if parse_id(value) else "must be a uuid"


def _currency_of(override: Mapping[str, object], studio_currency: str) -> str | None:
    """Return the currency of the amount, or None if the mapping's own is invalid, which is reported separately."""
    own = override.get("late_fee_currency")
    if own is None:
        return studio_currency
    return str(own) if is_currency(own) else None


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
    "waiver_form_id": _or_null(_uuid),
}
