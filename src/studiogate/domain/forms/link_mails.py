"""Signed links to a form: how long they open it, when one may be mailed to a member, and when it no longer is."""

from datetime import datetime, timedelta
from typing import NamedTuple

from studiogate.domain.forms.acceptance import NotAccepting, closed_reason, not_accepting
from studiogate.domain.forms.settings import FormSettings
from studiogate.domain.refusals import Code, Fault, Refusal

LINK_LIFE = timedelta(days=7)
MAX_LINK_LIFE = timedelta(days=366)
# Per member: a mail that was asked for again and again must not flood a mailbox.
LINKS_PER_HOUR = 3
LIMIT = "form_links_per_hour"
NO_ADDRESS = Fault(("email",), "value_error", "is missing: enter one for the member, or hand the link over yourself")


def refused_life(life: timedelta) -> Refusal | None:
    """Refuse a link that opens the form for too long, or not at all."""
    if timedelta(0) < life <= MAX_LINK_LIFE:
        return None
    wrong = f"must be in the future, at most {MAX_LINK_LIFE.days} days from now"
    return Refusal(Code.VALIDATION_ERROR, faults=(Fault(("expires_at",), "value_error", wrong),))


class Delivery(NamedTuple):
    """What decides whether a queued mail is still sent."""

    email: str | None
    form_status: str
    settings: FormSettings
    expires_at: datetime
    now: datetime


def queue_refusal(email: str | None, against: NotAccepting | None, within_the_hour: int) -> Refusal | None:
    """Return why a link is not mailed. ``against``: why the form would take no submission from this address;
    ``within_the_hour``: how many links were mailed to the member lately."""
    if email is None:
        return Refusal(Code.VALIDATION_ERROR, faults=(NO_ADDRESS,))
    if against is not None:
        return not_accepting(against)
    if within_the_hour >= LINKS_PER_HOUR:
        return Refusal(Code.LIMIT_REACHED, {"limit": LIMIT, "maximum": LINKS_PER_HOUR})
    return None


def problem_of(delivery: Delivery) -> str | None:
    """Return why a queued mail is not sent any more, or None: its link would not open the form."""
    if delivery.email is None:
        return "no address"
    if delivery.expires_at <= delivery.now:
        return "the link has expired"
    closed = closed_reason(delivery.form_status, delivery.settings, delivery.now)
    return None if closed is None else f"the form is {closed.value.replace('_', ' ')}"
