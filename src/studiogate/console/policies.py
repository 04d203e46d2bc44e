"""The members of a booking policy in a form: their inputs, and a sentence for each that says what its value does.

Times before a class are typed with their unit, such as 12 hours. The words are in ``policies.toml``; a member without
any is shown by its name, so that a form never lacks one.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from studiogate.console.framework.formats import counted, money
from studiogate.console.framework.inputs import required_amount, whole_number
from studiogate.domain.bookings.policy import MAX_MINUTES, POLICY_MEMBERS, LateAction, Policy, WaitlistMode
from studiogate.domain.refusals import Fault
from studiogate.domain.staff_input import fault

UNITS: Sequence[tuple[str, str]] = (("1", "minutes"), ("60", "hours"), ("1440", "days"))
UNIT = "_unit"  # appended to the name of a time, the name of its unit


class Facts(NamedTuple):
    """What sentences are read with: the studio's currency, and the titles of its forms by id."""

    currency: str
    forms: Mapping[str, str]


Says = Callable[[Policy, Facts], str]


class Rule(NamedTuple):
    """A member of the policy: its label, how it is typed, and what its value does."""

    label: str
    kind: str
    says: Says
    options: Sequence[tuple[str, str]] = ()
    empty: str = ""
    unit: str = ""


class Typed(NamedTuple):
    """A member as the form shows it: what is typed, and the unit of a time."""

    value: str
    unit: str = ""


def _unit_of(minutes: int) -> int:
    """Return the minutes of the largest unit of which a time is a whole number."""
    return next(each for each in (1440, 60, 1) if minutes % each == 0)


def duration(minutes: int) -> str:
    """Return a time in its largest whole unit, such as 12 hours."""
    unit = _unit_of(minutes)
    return counted(minutes // unit, {1440: "day", 60: "hour", 1: "minute"}[unit])


def cost(policy: Policy, facts: Facts) -> str:
    """Return what a late cancellation costs, such as: the credit and $15.00."""
    fee = policy.late_fee(facts.currency)
    shown = money(fee.amount, fee.currency) if fee else ""
    parts = {
        LateAction.NONE: [],
        LateAction.FEE: [shown],
        LateAction.FORFEIT_CREDIT: ["the credit"],
        LateAction.FEE_AND_FORFEIT: ["the credit", shown],
    }[policy.late_action]
    return " and ".join(each for each in parts if each) or "nothing"


def _amount(policy: Policy, facts: Facts) -> str:
    fee = policy.late_fee(facts.currency)
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


def _waiver(policy: Policy, facts: Facts) -> str:
    form = policy.waiver_form_id
    if form is None:
        return "No form is needed to book."
    return f"Members book only after they have sent “{facts.forms.get(str(form), 'a form')}”."


# What more than the member's own value decides; other sentences are in the data file.
SAYS: Mapping[str, Says] = {
    "waiver_form_id": _waiver,
    "late_fee_amount": _amount,
    "free_late_cancels": _free,
    "free_late_cancels_days": _free,
    "promotion_cutoff_minutes": _promotion,
}
ON_OFF = (("true", "Yes"), ("false", "No"))


def _written(name: str, sentences: Mapping[str, str]) -> Says:
    """Return what says the sentence of a member's value, else the one of any other value."""

    def says(policy: Policy, facts: Facts) -> str:
        value = getattr(policy, name)
        number = value if isinstance(value, int) else 0
        return (sentences.get(str(value).lower()) or sentences["other"]).format(
            time=duration(number),
            classes=counted(number, "class", "classes"),
            members=counted(number, "member"),
            cost=cost(policy, facts),
            currency=policy.late_fee_currency or facts.currency,
        )

    return says


def _rule(name: str, label: str, kind: str, **words: Any) -> Rule:
    says = SAYS.get(name) or _written(name, words.pop("sentences"))
    options = tuple(words.pop("options", dict(ON_OFF)).items()) if kind == "choice" else ()
    return Rule(label, kind, says, options, **words)


_WORDS = tomllib.loads((Path(__file__).parent / "policies.toml").read_text(encoding="utf-8"))
RULES = {name: _rule(name, **words) for group in _WORDS.values() for name, words in group.items()}
GROUPS: Sequence[tuple[str, Sequence[str]]] = (
    *((title, tuple(group)) for title, group in _WORDS.items()),
    ("More", tuple(name for name in POLICY_MEMBERS if name not in RULES)),
)


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
        unit = _unit_of(value) if value else 60
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
        return required_amount(name, text, {"currency": currency})
    return text == "true" if rule.options == ON_OFF else text
