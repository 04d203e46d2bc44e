"""The pages that say why there is no form, in words that help, with the status that machines want."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from studiogate.domain.access import Access
from studiogate.domain.forms.acceptance import NotAccepting, closed_reason, count_reason, counts_matter
from studiogate.storage.database import Connection
from studiogate.storage.forms import submitting
from studiogate.storage.forms.hosted import PageForm, PageStudio

TWELVE_HOURS = ("US", "CA", "AU", "NZ", "IN", "PH")


class Reason(StrEnum):
    UNKNOWN = "unknown"
    ARCHIVED = "archived"
    NOT_YET = "not_yet"
    CLOSED = "closed"
    CLOSED_NOW = "closed_now"
    FULL = "full"
    ALREADY = "already"
    NEEDS_LINK = "needs_link"
    BAD_LINK = "bad_link"
    EXPIRED_LINK = "expired_link"
    TOO_MANY = "too_many"
    BROKEN = "broken"
    TOO_SLOW = "too_slow"
    TOO_LARGE = "too_large"
    METHOD = "method"
    BUSY = "busy"
    FAILED = "failed"


class Wording(NamedTuple):
    status: int
    symbol: str
    title: str
    text: str


class Notice(NamedTuple):
    reason: Reason
    status: int
    symbol: str
    title: str
    text: str
    studio: PageStudio | None = None


_ASK = "If you expected a form here, {studio} can help you."
WORDINGS = {
    Reason.UNKNOWN: Wording(
        404, "search", "We could not find this form", "The address may be mistyped or out of date. " + _ASK
    ),
    Reason.ARCHIVED: Wording(
        410, "archive", "This form has been put away", "{studio} no longer uses {form}. " + _ASK
    ),
    Reason.NOT_YET: Wording(
        403, "clock", "Almost there", "{form} opens on {opens}. Come back then: this address stays the same."
    ),
    Reason.CLOSED: Wording(410, "clock", "This form has closed", "{form} closed on {closes}. Thank you for looking."),
    Reason.CLOSED_NOW: Wording(409, "clock", "This form has just closed", "{form} takes no more answers. " + _ASK),
    Reason.FULL: Wording(
        403, "full", "All places are taken", "{form} has as many answers as it can take. {studio} may open more later."
    ),
    Reason.ALREADY: Wording(
        409, "check", "We have your answers already", "{form} takes one answer a person, and yours has arrived."
    ),
    Reason.NEEDS_LINK: Wording(
        403, "key", "This form opens from your own link", "{studio} sends each member a personal link: use yours."
    ),
    Reason.BAD_LINK: Wording(
        403, "key", "This link does not work", "It may have been cut short on its way. Ask {studio} for a new one."
    ),
    Reason.EXPIRED_LINK: Wording(
        410, "clock", "This link has expired", "Personal links work for a while only. Ask {studio} for a new one."
    ),
    Reason.TOO_MANY: Wording(
        429, "clock", "One moment, please", "A lot has been sent from your network just now. Try again in a minute."
    ),
    Reason.BROKEN: Wording(
        400, "search", "That did not arrive whole", "Please go back and send it again."
    ),
    Reason.TOO_SLOW: Wording(
        408, "clock", "That took too long", "Your connection was too slow or broke off. Go back and send it again."
    ),
    Reason.TOO_LARGE: Wording(
        413, "full", "That is too much at once", "Please go back, shorten your answers and send them again."
    ),
    Reason.METHOD: Wording(405, "search", "Nothing to see here", "This address is for forms only."),
    Reason.BUSY: Wording(
        503, "clock", "We are very busy", "Please go back and try again in a few seconds."
    ),
    Reason.FAILED: Wording(
        500, "search", "Something went wrong on our side", "It has been noted. Please try again in a while."
    ),
}  # fmt: skip


def notice(reason: Reason, studio: PageStudio | None = None, form: PageForm | None = None) -> Notice:
    status, symbol, title, text = WORDINGS[reason]
    name = studio.name if studio else "the studio that sent you here"
    words = {"studio": name, "form": f"“{form.title}”" if form else "The form", "opens": "", "closes": ""}
    if form and studio:
        words["opens"] = _moment(form.settings.opens_at, studio)
        words["closes"] = _moment(form.settings.closes_at, studio)
    return Notice(reason, status, symbol, title, _sentence(text.format(**words)), studio)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _moment(moment: datetime | None, studio: PageStudio) -> str:
    """In the studio's own time and manner."""
    if moment is None:
        return ""
    try:
        local = moment.astimezone(ZoneInfo(studio.timezone))
    except (ZoneInfoNotFoundError, ValueError, OverflowError):
        local = moment
    twelve = studio.country in TWELVE_HOURS
    day = f"{local:%A}, {local:%B} {local.day}, {local.year}" if twelve else f"{local:%A}, {local.day} {local:%B %Y}"
    hour = f"{local.hour % 12 or 12}:{local:%M}\u00a0{local:%p}" if twelve else f"{local:%H:%M}"
    return f"{day} at {hour}\u00a0({local.tzname()})"


async def reason_against(connection: Connection, access: Access, form: PageForm, email: str | None) -> Reason | None:
    """Why the form takes nothing now (from this email, where it is known); None where it does."""
    reason = closed_reason(form.status, form.settings, form.now)
    if reason is None and counts_matter(form.settings):
        by_email, in_all = await submitting.count_submissions(connection, access, form.id, email or "")
        reason = count_reason(form.settings, by_email, in_all)
    return None if reason is None else _REASONS[reason]


_REASONS = {
    NotAccepting.NOT_PUBLISHED: Reason.ARCHIVED,
    NotAccepting.NOT_OPEN_YET: Reason.NOT_YET,
    NotAccepting.CLOSED: Reason.CLOSED,
    NotAccepting.FULL: Reason.FULL,
    NotAccepting.ALREADY_SUBMITTED: Reason.ALREADY,
}
