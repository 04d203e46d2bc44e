"""The members of a booking policy in a form: their inputs, and a sentence for each that says what its value does.

Times before a class are typed with their unit, such as 12 hours. A member that is declared without words here is shown
by its name, so that a form never lacks one.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from studiogate.console.framework.formats import counted, money
from studiogate.console.framework.inputs import whole_number
from studiogate.console.framework.parse import example_amount, read_amount
from studiogate.domain.bookings.policy import (
    MAX_MINUTES,
    POLICY_MEMBERS,
    CheckInStop,
    LateAction,
    LateFee,
    Policy,
    WaitlistMode,
)
from studiogate.domain.refusals import Fault
from studiogate.domain.staff_input import fault

UNITS: Sequence[tuple[str, str]] = (("1", "minutes"), ("60", "hours"), ("1440", "days"))
UNIT = "_unit"  # appended to the name of a time, the name of its unit


class Facts(NamedTuple):
    """What sentences are read with: the studio's currency, and the titles of its forms by id."""

    currency: str
    forms: Mapping[str, str]


class Rule(NamedTuple):
    """A member of the policy: its label, how it is typed, and what its value does.

    kind: minutes, number, amount, currency, form, or choice. ``empty``: what no value means, if there may be none."""

    label: str
    kind: str
    says: Callable[[Policy, Facts], str]
    options: Sequence[tuple[str, str]] = ()
    empty: str = ""
    unit: str = ""


class Typed(NamedTuple):
    """A member as the form shows it: what is typed, and the unit of a time."""

    value: str
    unit: str = ""


def duration(minutes: int) -> str:
    """Return a time in its largest whole unit, such as 12 hours."""
    unit = next(each for each in (1440, 60, 1) if minutes % each == 0)
    return counted(minutes // unit, {1440: "day", 60: "hour", 1: "minute"}[unit])


def _fee(policy: Policy, facts: Facts) -> LateFee | None:
    return policy.late_fee(facts.currency)


def cost(policy: Policy, facts: Facts) -> str:
    """Return what a late cancellation costs, such as: the credit and $15.00."""
    fee = _fee(policy, facts)
    shown = money(fee.amount, fee.currency) if fee else ""
    parts = {
        LateAction.NONE: [],
        LateAction.FEE: [shown],
        LateAction.FORFEIT_CREDIT: ["the credit"],
        LateAction.FEE_AND_FORFEIT: ["the credit", shown],
    }[policy.late_action]
    return " and ".join(each for each in parts if each) or "nothing"


def _opens(policy: Policy, _facts: Facts) -> str:
    minutes = policy.booking_opens_minutes_before
    when = "as soon as a class is in the schedule" if minutes is None else f"{duration(minutes)} before the start"
    return f"Booking opens {when}."


def _closes(policy: Policy, _facts: Facts) -> str:
    minutes = policy.booking_closes_minutes_before
    return f"Booking closes {duration(minutes)} before the start." if minutes else "Booking is open until the start."


def _window(policy: Policy, facts: Facts) -> str:
    minutes = policy.cancellation_window_minutes
    if not minutes:
        return "Cancelling is on time until the start."
    return f"Cancelling later than {duration(minutes)} before the start costs {cost(policy, facts)}."


def _amount(policy: Policy, facts: Facts) -> str:
    fee = _fee(policy, facts)
    if policy.late_action in (LateAction.NONE, LateAction.FORFEIT_CREDIT):
        return "No fee is recorded: that is what a late cancellation costs, above."
    return f"A fee of {money(fee.amount, fee.currency)} is recorded as open." if fee else "There is no fee."


def _free(policy: Policy, _facts: Facts) -> str:
    count = policy.free_late_cancels
    if not count:
        return "Every late cancellation counts."
    which = "The first late cancellation" if count == 1 else f"The first {count} late cancellations"
    days = counted(policy.free_late_cancels_days, "day")
    return f"{which} of a member within {days} {'costs' if count == 1 else 'cost'} nothing."


def _promotion(policy: Policy, _facts: Facts) -> str:
    minutes = policy.promotion_cutoff_minutes
    if policy.waitlist_mode is WaitlistMode.OFF:
        return "There is no waitlist."
    if not minutes:
        return "A free seat is kept for waiting members until the start."
    until = f"Until {duration(minutes)} before the start"
    return f"{until}, a free seat is kept for waiting members; then anybody can book it."


def _grace(policy: Policy, _facts: Facts) -> str:
    minutes = policy.promotion_grace_minutes
    if not minutes:
        return "A member who got a seat from the waitlist cancels like everybody else."
    return f"A member who got a seat from the waitlist may cancel for {duration(minutes)} without cost."


def _per_day(policy: Policy, _facts: Facts) -> str:
    most = policy.max_bookings_per_day
    return f"A member books {'any number of' if most is None else 'at most'} {_classes(most)} a day."


def _classes(most: int | None) -> str:
    return "classes" if most is None else counted(most, "class", "classes")


def _waits(policy: Policy, _facts: Facts) -> str:
    most = policy.waitlist_capacity
    return "Any number of members can wait." if most is None else f"At most {counted(most, 'member')} can wait."


def _waiver(policy: Policy, facts: Facts) -> str:
    form = policy.waiver_form_id
    if form is None:
        return "No form is needed to book."
    return f"Members book only after they have sent “{facts.forms.get(str(form), 'a form')}”."


ENTITLEMENT = {True: "A membership or pass that covers the class is needed.", False: "Anybody books, without a pass."}
LATE = {
    LateAction.NONE: "Nothing",
    LateAction.FEE: "A fee",
    LateAction.FORFEIT_CREDIT: "The credit",
    LateAction.FEE_AND_FORFEIT: "The credit and a fee",
}
WAITLIST = {
    WaitlistMode.AUTO: "The first waiting member gets a free seat",
    WaitlistMode.MANUAL: "Staff decide who gets a free seat",
    WaitlistMode.OFF: "No waitlist",
}
STOP = {
    CheckInStop.NONE: "nothing",
    CheckInStop.WAIVER: "a missing waiver",
    CheckInStop.FEE: "an open fee",
    CheckInStop.WAIVER_AND_FEE: "a missing waiver or an open fee",
}
OVERLAP = {False: "A member has one class at a time.", True: "A member may book classes at the same time."}
ON_OFF = (("true", "Yes"), ("false", "No"))
RULES: Mapping[str, Rule] = {
    "require_entitlement": Rule(
        "Booking needs a membership or pass", "choice", lambda p, _: ENTITLEMENT[p.require_entitlement], ON_OFF
    ),
    "booking_opens_minutes_before": Rule("Booking opens before the start", "minutes", _opens, empty="at once"),
    "booking_closes_minutes_before": Rule("Booking closes before the start", "minutes", _closes),
    "max_bookings_per_day": Rule("Classes per member and day", "number", _per_day, empty="any number"),
    "allow_overlapping": Rule("Classes at the same time", "choice", lambda p, _: OVERLAP[p.allow_overlapping], ON_OFF),
    "waiver_form_id": Rule("Form that a booking needs", "form", _waiver, empty="none"),
    "cancellation_window_minutes": Rule("Free cancellation until before the start", "minutes", _window),
    "late_action": Rule(
        "A late cancellation costs", "choice", lambda p, facts: f"A late cancellation costs {cost(p, facts)}.",
        tuple((each.value, text) for each, text in LATE.items()),
    ),
    "late_fee_amount": Rule("Fee for a late cancellation", "amount", _amount),
    "late_fee_currency": Rule(
        "Currency of the fee", "currency", lambda p, facts: f"In {p.late_fee_currency or facts.currency}.",
        empty="the studio's",
    ),
    "free_late_cancels": Rule("Late cancellations without cost", "number", _free, unit="per member"),
    "free_late_cancels_days": Rule("… within", "number", _free, unit="days"),
    "waitlist_mode": Rule(
        "Waitlist", "choice", lambda p, _: WAITLIST[p.waitlist_mode] + ".",
        tuple((each.value, text) for each, text in WAITLIST.items()),
    ),
    "waitlist_capacity": Rule("Places on a waitlist", "number", _waits, empty="any number"),
    "promotion_cutoff_minutes": Rule("Seats are kept for waiting members until", "minutes", _promotion),
    "check_in_stop": Rule(
        "What stops a check-in", "choice",
        lambda p, _: f"At the desk, {STOP[p.check_in_stop]} stops a check-in" + (
            "." if p.check_in_stop is CheckInStop.NONE else " until it is settled, or overridden with a reason."),
        tuple((each.value, text.capitalize()) for each, text in STOP.items()),
    ),
    "promotion_grace_minutes": Rule("Free cancellation after moving up", "minutes", _grace),
}  # fmt: skip
GROUPS: Sequence[tuple[str, Sequence[str]]] = (
    ("Booking", ("require_entitlement", "booking_opens_minutes_before", "booking_closes_minutes_before",
                 "max_bookings_per_day", "allow_overlapping", "waiver_form_id")),
    ("Cancelling", ("cancellation_window_minutes", "late_action", "late_fee_amount", "late_fee_currency",
                    "free_late_cancels", "free_late_cancels_days")),
    ("Waitlist", ("waitlist_mode", "waitlist_capacity", "promotion_cutoff_minutes", "promotion_grace_minutes")),
    ("Check-in", ("check_in_stop",)),
    ("More", tuple(name for name in POLICY_MEMBERS if name not in RULES)),
)  # fmt: skip


def rule_of(name: str) -> Rule:
    if name in RULES:
        return RULES[name]
    label = name.replace("_", " ").capitalize()
    default = getattr(Policy(), name)
    if isinstance(default, bool):
        return Rule(label, "choice", lambda p, _: f"{label}: {'yes' if getattr(p, name) else 'no'}.", ON_OFF)
    kind = "minutes" if "minutes" in name else "number" if default is None or isinstance(default, int) else "text"
    return Rule(label, kind, lambda p, _: f"{label}: {getattr(p, name)}.", empty="none" if default is None else "")


def typed_of(policy: Policy, name: str) -> Typed:
    """Return what the form shows for a member."""
    value = getattr(policy, name)
    if value is None:
        return Typed("", "60")
    if rule_of(name).kind == "minutes":
        unit = next(each for each in (1440, 60, 1) if value % each == 0) if value else 60
        return Typed(str(value // unit), str(unit))
    return Typed(str(value).lower() if isinstance(value, bool) else str(value))


def read(form: Mapping[str, str], names: Sequence[str], stored: Policy, currency: str) -> dict[str, object | Fault]:
    """Return the value of each named member as the policy has it, or the fault beside its input."""
    given = form.get("late_fee_currency", stored.late_fee_currency or "")
    return {name: _read(name, form, given or currency) for name in names}


def _read(name: str, form: Mapping[str, str], currency: str) -> object | Fault:
    rule, text = rule_of(name), form.get(name, "").strip()
    if not text:
        return None if rule.empty else fault(name, "is required")
    if rule.kind in ("minutes", "number"):
        number = whole_number(name, text)
        unit = form.get(name + UNIT, "1") if rule.kind == "minutes" else "1"
        if isinstance(number, Fault):
            return number
        number *= int(unit if unit in dict(UNITS) else "1")
        too_long = rule.kind == "minutes" and number > MAX_MINUTES
        return fault(name, f"must be at most {duration(MAX_MINUTES)}") if too_long else number
    if rule.kind == "amount":
        amount = read_amount(text, currency)
        return fault(name, f"must be an amount such as {example_amount(currency)}") if amount is None else amount
    return text == "true" if rule.options == ON_OFF else text
