"""Pages that explain to a visitor why there is no form, with the matching HTTP status."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from studiogate.domain.forms.states import NotAccepting
from studiogate.domain.forms.upload_limits import MAX_FILES_PER_SUBMISSION
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
    BAD_VERIFICATION = "bad_verification"
    EXPIRED_VERIFICATION = "expired_verification"
    VERIFIED = "verified"
    TOO_MANY = "too_many"
    TOO_MANY_FILES = "too_many_files"
    BROKEN = "broken"
    TIMED_OUT = "timed_out"
    TOO_LARGE = "too_large"
    METHOD = "method"
    BUSY = "busy"
    UNSURE = "unsure"
    FAILED = "failed"


class NoticeError(Exception):
    """Ends the request with the notice page for a reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Wording(NamedTuple):
    """``in_form``: what an open form says instead if sending it again can help. It stays as it was filled in."""

    status: int
    symbol: str
    title: str
    text: str
    in_form: str = ""


class Notice(NamedTuple):
    reason: Reason
    status: int
    symbol: str
    title: str
    text: str
    studio: PageStudio | None = None
    in_form: str = ""


_ASK = "If you need help, contact {studio}."
WORDINGS = {
    Reason.UNKNOWN: Wording(
        404, "search", "Form not found", "The address may be mistyped or out of date. " + _ASK
    ),
    Reason.ARCHIVED: Wording(
        410, "archive", "This form is no longer available", "{studio} no longer uses {form}. " + _ASK
    ),
    Reason.NOT_YET: Wording(
        403, "clock", "This form is not open yet", "{form} opens on {opens}. Come back then and use the same address."
    ),
    Reason.CLOSED: Wording(410, "clock", "This form is closed", "{form} closed on {closes}. " + _ASK),
    Reason.CLOSED_NOW: Wording(
        409, "clock", "This form is closed", "{form} no longer accepts answers. Your answers were not saved. " + _ASK
    ),
    Reason.FULL: Wording(
        403, "full", "This form is full", "{form} has reached its limit and accepts no more answers. " + _ASK
    ),
    Reason.ALREADY: Wording(
        409, "check", "You have already answered", "{form} can be sent once per person, and we have your answers."
    ),
    Reason.NEEDS_LINK: Wording(
        403, "key", "A personal link is needed", "{form} opens only with the personal link that {studio} sent you."
    ),
    Reason.BAD_LINK: Wording(
        403, "key", "This link does not work", "Copy the whole link again, or ask {studio} for a new one."
    ),
    Reason.EXPIRED_LINK: Wording(
        410, "clock", "This link has expired", "Ask {studio} for a new one."
    ),
    Reason.BAD_VERIFICATION: Wording(
        403, "key", "This link does not work", "Part of it may be missing. Copy the whole link from the email."
    ),
    Reason.EXPIRED_VERIFICATION: Wording(
        410, "clock", "This link has expired", "Links in emails work for seven days. " + _ASK
    ),
    Reason.VERIFIED: Wording(
        200, "check", "Your email address is confirmed", "Thank you. You can close this page."
    ),
    Reason.TOO_MANY: Wording(
        429, "clock", "Too many requests", "A lot was sent from your network. Wait a minute, go back and try again.",
        "A lot was sent from your network. Wait a minute and try again.",
    ),
    Reason.TOO_MANY_FILES: Wording(
        422, "full", "Too many files", f"Go back and choose at most {MAX_FILES_PER_SUBMISSION} files.",
        f"Too many files. Choose at most {MAX_FILES_PER_SUBMISSION}.",
    ),
    Reason.BROKEN: Wording(
        400, "alert", "The form did not arrive completely", "Go back and send it again.",
        "The form did not arrive completely. Send it again.",
    ),
    Reason.TIMED_OUT: Wording(
        408, "clock", "The upload took too long", "Nothing was saved. Check your connection, go back and try again.",
        "Sending took too long, and nothing was saved. Check your connection and try again.",
    ),
    Reason.TOO_LARGE: Wording(
        413, "full", "The form is too large", "Go back, shorten your answers or choose smaller files.",
        "The form is too large. Shorten your answers and try again.",
    ),
    Reason.METHOD: Wording(405, "search", "Page not available", "This address only shows a form."),
    Reason.BUSY: Wording(
        503, "clock", "The service is busy", "Wait a few seconds, go back and try again.",
        "The service is busy. Wait a few seconds and try again.",
    ),
    Reason.UNSURE: Wording(
        503, "clock", "We cannot tell whether that arrived",
        "The connection to our database broke while it was stored. Please go back and send it again.",
        "We cannot tell whether that arrived. Please send it again.",
    ),
    Reason.FAILED: Wording(
        500, "alert", "Something went wrong", "The error was recorded. Please try again later.",
        "Something went wrong. The error was recorded. Please try again later.",
    ),
}  # fmt: skip
_NOT_ACCEPTING = {
    NotAccepting.NOT_PUBLISHED: Reason.ARCHIVED,
    NotAccepting.NOT_OPEN_YET: Reason.NOT_YET,
    NotAccepting.CLOSED: Reason.CLOSED,
    NotAccepting.FULL: Reason.FULL,
    NotAccepting.ALREADY_SUBMITTED: Reason.ALREADY,
}


def notice(reason: Reason, studio: PageStudio | None = None, form: PageForm | None = None) -> Notice:
    status, symbol, title, text, in_form = WORDINGS[reason]
    name = studio.name if studio else "the studio"
    words = {"studio": name, "form": f"“{form.title}”" if form else "The form", "opens": "", "closes": ""}
    if form and studio:
        words["opens"] = _moment(form.settings.opens_at, studio)
        words["closes"] = _moment(form.settings.closes_at, studio)
    return Notice(reason, status, symbol, title, _sentence(text.format(**words)), studio, in_form)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _moment(moment: datetime | None, studio: PageStudio) -> str:
    """Format a time in the studio's time zone and in the date format of its country."""
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


def reason_of(not_accepting: NotAccepting | str) -> Reason:
    """Return the notice reason for a form that does not accept submissions."""
    return _NOT_ACCEPTING[NotAccepting(not_accepting)]
