"""What the front desk should know about a person before they check in."""

from collections.abc import Collection
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.bookings.eligibility import waiver_is_missing
from studiogate.domain.bookings.policy import CheckInStop, Policy


class RosterWarning(StrEnum):
    """In the order of urgency: what has to be settled before the class comes first."""

    SUSPENDED = "suspended"
    WAIVER_MISSING = "waiver_missing"
    FEE_OPEN = "fee_open"
    FIRST_VISIT = "first_visit"
    BIRTHDAY = "birthday"


class OpenFees(NamedTuple):
    """What a member owes in one currency: the sum of the fees that nobody has paid."""

    amount: Decimal
    currency: str


class Attendee(NamedTuple):
    """The facts of a booked or waiting member. ``birth_date`` is what they answered in a form, if any asked for it."""

    suspended: bool
    submitted_forms: Collection[UUID]
    open_fees: Collection[OpenFees]
    has_visited: bool
    birth_date: date | None


def roster_warnings(attendee: Attendee, policy: Policy, day: date) -> tuple[RosterWarning, ...]:
    """Return the warnings about a member of a class with this policy on its local day."""
    submitted = policy.waiver_form_id in attendee.submitted_forms
    found = {
        RosterWarning.SUSPENDED: attendee.suspended,
        RosterWarning.WAIVER_MISSING: waiver_is_missing(policy, submitted=submitted),
        RosterWarning.FEE_OPEN: bool(attendee.open_fees),
        RosterWarning.FIRST_VISIT: not attendee.has_visited,
        RosterWarning.BIRTHDAY: attendee.birth_date is not None and is_birthday(attendee.birth_date, day),
    }
    return tuple(warning for warning in RosterWarning if found[warning])


def check_in_stops(attendee: Attendee, policy: Policy, *, sees_fees: bool) -> tuple[RosterWarning, ...]:
    """Return what has to be settled before a check-in by the policy. Who may not see fees is not stopped by one."""
    stops = {
        RosterWarning.WAIVER_MISSING: policy.check_in_stop in (CheckInStop.WAIVER, CheckInStop.WAIVER_AND_FEE),
        RosterWarning.FEE_OPEN: sees_fees and policy.check_in_stop in (CheckInStop.FEE, CheckInStop.WAIVER_AND_FEE),
    }
    found = roster_warnings(attendee, policy, date.min)
    return tuple(warning for warning in found if stops.get(warning, False))


def is_birthday(birth_date: date, day: date) -> bool:
    """Return whether somebody born on this date has their birthday. Born on 29 February: on the 28th in other years."""
    try:
        this_year = birth_date.replace(year=day.year)
    except ValueError:
        this_year = date(day.year, 2, 28)
    return this_year == day
