"""The booking rules of a class in sentences, for the help beside them."""

from studiogate.console.framework.formats import counted, money
from studiogate.domain.bookings.policy import LateAction, Policy, WaitlistMode

MINUTES_PER_HOUR = 60


def duration(minutes: int) -> str:
    """Return a number of minutes in words, such as "12 h" or "90 min"."""
    hours, rest = divmod(minutes, MINUTES_PER_HOUR)
    return f"{hours} h" if hours and not rest else f"{minutes} min"


def late_cancellation(policy: Policy, currency: str) -> str:
    """Say what a late cancellation costs."""
    if not policy.cancellation_window_minutes:
        return "Cancelling is free until the class starts."
    when = f"Cancelling later than {duration(policy.cancellation_window_minutes)} before the start"
    cost = _cost(policy, currency)
    if cost is None:
        return f"{when} is free as well."
    text = f"{when} costs {cost}."
    if policy.free_late_cancels:
        number, days = policy.free_late_cancels, policy.free_late_cancels_days
        text += (
            f" {counted(number, 'late cancellation')} in {counted(days, 'day')} {'is' if number == 1 else 'are'} free."
        )
    return text


def _cost(policy: Policy, currency: str) -> str | None:
    fee = policy.late_fee(currency)
    amount = None if fee is None else f"a fee of {money(fee.amount, fee.currency)}"
    return {
        LateAction.NONE: None,
        LateAction.FEE: amount,
        LateAction.FORFEIT_CREDIT: "the credit",
        LateAction.FEE_AND_FORFEIT: f"the credit and {amount}" if amount else "the credit",
    }[policy.late_action]


def waitlist(policy: Policy) -> str:
    """Say how waiting members get a free seat."""
    if policy.waitlist_mode is WaitlistMode.OFF:
        return "Nobody can wait for a seat in this class."
    if policy.waitlist_mode is WaitlistMode.MANUAL:
        return "A free seat is kept for waiting members until the desk promotes one."
    cutoff = duration(policy.promotion_cutoff_minutes)
    text = f"A free seat goes to the first waiting member who may book, until {cutoff} before the start."
    return f"{text} Then anybody can book it."
