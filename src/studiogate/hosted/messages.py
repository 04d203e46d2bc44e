"""Texts for visitors: pages that explain why there is no form, with the matching HTTP status, and messages about faults
in answers."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from studiogate.domain.forms.definition import FieldType
from studiogate.domain.forms.states import NotAccepting
from studiogate.domain.forms.upload_limits import MAX_FILES_PER_SUBMISSION
from studiogate.domain.refusals import Fault
from studiogate.domain.time_format import time_format_of
from studiogate.hosted.posted_form import input_name
from studiogate.hosted.steps import EMAIL, Field, Plan
from studiogate.storage.forms.hosted import PageForm, PageStudio


class NoticeReason(StrEnum):
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
    PREVIEWED = "previewed"
    EXPIRED_PREVIEW = "expired_preview"
    TOO_MANY = "too_many"
    TOO_MANY_FILES = "too_many_files"
    BROKEN = "broken"
    TIMED_OUT = "timed_out"
    TOO_LARGE = "too_large"
    METHOD = "method"
    BUSY = "busy"
    UNSURE = "unsure"
    FAILED = "failed"


class Notice(NamedTuple):
    """``in_form``: what an open form says instead if sending it again can help. It stays as it was filled in."""

    status: int
    symbol: str
    title: str
    text: str
    in_form: str = ""
    studio: PageStudio | None = None


class NoticeError(Exception):
    """Ends the request with a notice."""

    def __init__(self, reason: NoticeReason, studio: PageStudio | None = None, form: PageForm | None = None) -> None:
        super().__init__(reason.value)
        self.notice = notice(reason, studio, form)


_ASK = "If you need help, contact {studio}."
NOTICES = {
    NoticeReason.UNKNOWN: Notice(
        404, "search", "Form not found", "The address may be mistyped or out of date. " + _ASK
    ),
    NoticeReason.ARCHIVED: Notice(
        410, "archive", "This form is no longer available", "{studio} no longer uses {form}. " + _ASK
    ),
    NoticeReason.NOT_YET: Notice(
        403, "clock", "This form is not open yet", "{form} opens on {opens}. Come back then and use the same address."
    ),
    NoticeReason.CLOSED: Notice(410, "clock", "This form is closed", "{form} closed on {closes}. " + _ASK),
    NoticeReason.CLOSED_NOW: Notice(
        409, "clock", "This form is closed", "{form} no longer accepts answers. Your answers were not saved. " + _ASK
    ),
    NoticeReason.FULL: Notice(
        403, "full", "This form is full", "{form} has reached its limit and accepts no more answers. " + _ASK
    ),
    NoticeReason.ALREADY: Notice(
        409, "check", "You have already answered", "{form} can be sent once per person, and we have your answers."
    ),
    NoticeReason.NEEDS_LINK: Notice(
        403, "key", "A personal link is needed", "{form} opens only with the personal link that {studio} sent you."
    ),
    NoticeReason.BAD_LINK: Notice(
        403, "key", "This link does not work", "Copy the whole link again, or ask {studio} for a new one."
    ),
    NoticeReason.EXPIRED_LINK: Notice(
        410, "clock", "This link has expired", "Ask {studio} for a new one."
    ),
    NoticeReason.BAD_VERIFICATION: Notice(
        403, "key", "This link does not work", "Part of it may be missing. Copy the whole link from the email."
    ),
    NoticeReason.EXPIRED_VERIFICATION: Notice(
        410, "clock", "This link has expired", "Links in emails work for seven days. " + _ASK
    ),
    NoticeReason.VERIFIED: Notice(
        200, "check", "Your email address is confirmed", "Thank you. You can close this page."
    ),
    NoticeReason.PREVIEWED: Notice(
        200, "check", "This was a preview", "Nothing was sent. A visitor would be thanked now."
    ),
    NoticeReason.EXPIRED_PREVIEW: Notice(
        410, "clock", "This preview has expired", "Open the form in the console again."
    ),
    NoticeReason.TOO_MANY: Notice(
        429, "clock", "Too many requests", "A lot was sent from your network. Wait a minute, go back and try again.",
        "A lot was sent from your network. Wait a minute and try again.",
    ),
    NoticeReason.TOO_MANY_FILES: Notice(
        422, "full", "Too many files", f"Go back and choose at most {MAX_FILES_PER_SUBMISSION} files.",
        f"Too many files. Choose at most {MAX_FILES_PER_SUBMISSION}.",
    ),
    NoticeReason.BROKEN: Notice(
        400, "alert", "The form did not arrive completely", "Go back and send it again.",
        "The form did not arrive completely. Send it again.",
    ),
    NoticeReason.TIMED_OUT: Notice(
        408, "clock", "The upload took too long", "Nothing was saved. Check your connection, go back and try again.",
        "Sending took too long, and nothing was saved. Check your connection and try again.",
    ),
    NoticeReason.TOO_LARGE: Notice(
        413, "full", "The form is too large", "Go back, shorten your answers or choose smaller files.",
        "The form is too large. Shorten your answers and try again.",
    ),
    NoticeReason.METHOD: Notice(405, "search", "Page not available", "This address only shows a form."),
    NoticeReason.BUSY: Notice(
        503, "clock", "The service is busy", "Wait a few seconds, go back and try again.",
        "The service is busy. Wait a few seconds and try again.",
    ),
    NoticeReason.UNSURE: Notice(
        503, "clock", "We cannot tell whether that arrived",
        "The connection to our database broke while it was stored. Please go back and send it again.",
        "We cannot tell whether that arrived. Please send it again.",
    ),
    NoticeReason.FAILED: Notice(
        500, "alert", "Something went wrong", "The error was recorded. Please try again later.",
        "Something went wrong. The error was recorded. Please try again later.",
    ),
}  # fmt: skip
_NOT_ACCEPTING = {
    NotAccepting.NOT_PUBLISHED: NoticeReason.ARCHIVED,
    NotAccepting.NOT_OPEN_YET: NoticeReason.NOT_YET,
    NotAccepting.CLOSED: NoticeReason.CLOSED,
    NotAccepting.FULL: NoticeReason.FULL,
    NotAccepting.ALREADY_SUBMITTED: NoticeReason.ALREADY,
}


def notice(reason: NoticeReason, studio: PageStudio | None = None, form: PageForm | None = None) -> Notice:
    found = NOTICES[reason]
    name = studio.name if studio else "the studio"
    words = {"studio": name, "form": f"“{form.title}”" if form else "The form", "opens": "", "closes": ""}
    if form and studio:
        words["opens"] = _moment(form.settings.opens_at, studio)
        words["closes"] = _moment(form.settings.closes_at, studio)
    text = found.text.format(**words)
    return found._replace(text=text[:1].upper() + text[1:], studio=studio)


def _moment(moment: datetime | None, studio: PageStudio) -> str:
    """Format a time in the studio's time zone and in its own format."""
    if moment is None:
        return ""
    try:
        local = moment.astimezone(ZoneInfo(studio.timezone))
    except (ZoneInfoNotFoundError, ValueError, OverflowError):
        local = moment
    written = time_format_of(studio.hour_cycle, studio.date_order, studio.country)
    return f"{written.long_date(local)} at {written.time_of_day(local)}\u00a0({local.tzname()})"


def reason_of(not_accepting: NotAccepting | str) -> NoticeReason:
    return _NOT_ACCEPTING[NotAccepting(not_accepting)]


_MISSING: Mapping[str, str] = {
    FieldType.SELECT: "Please choose one.",
    FieldType.CHECKBOX_GROUP: "Please choose at least one.",
    FieldType.CHECKBOX: "Please tick this box.",
    FieldType.CONSENT: "Please tick the box to agree.",
    FieldType.SIGNATURE: "Please sign here.",
    FieldType.FILE_UPLOAD: "Please add a file.",
    FieldType.RATING: "Please choose a rating.",
    FieldType.DATE: "Please give a date.",
}
_INVALID: Mapping[str, str] = {
    FieldType.EMAIL: "Please give an email address such as name@example.com.",
    FieldType.PHONE: "Please give a phone number, with the country code for numbers from abroad.",
    FieldType.DATE: "Please give a date as YYYY-MM-DD.",
    FieldType.SELECT: "Please choose one of the options.",
    FieldType.CHECKBOX_GROUP: "Please choose from the options.",
    FieldType.SIGNATURE: "Please sign again: the drawing could not be read.",
    FieldType.FILE_UPLOAD: "Please add the file again.",
}
GENERIC = "Please check your answers and send the form again."


def messages(plan: Plan, faults: Sequence[Fault], email_key: str | None) -> dict[str, str]:
    """Return a message for the first fault of each input, by input name, in the order of the form."""
    by_key = {str(field.get("key")): field for field in plan.fields}
    found: dict[str, str] = {}
    for fault in faults:
        key = str(fault.loc[-1])
        if key in by_key and fault.loc[-2:-1] == ("data",):
            found.setdefault(input_name(key), message(by_key[key], fault))
        elif key == EMAIL:
            found.setdefault(input_name(email_key) if email_key else EMAIL, _INVALID[FieldType.EMAIL])
    order = [EMAIL, *(input_name(key) for key in by_key)]
    return {name: found[name] for name in order if name in found}


def message(field: Field, fault: Fault) -> str:
    kind = str(field.get("type"))
    if fault.type == "too_many_files":
        return f"At most {MAX_FILES_PER_SUBMISSION} files can be sent with one form."
    if fault.type == "missing":
        return _MISSING.get(kind, "Please fill this in.")
    return _INVALID.get(kind) or "This " + fault.msg.removeprefix("Answer ") + "."


def size_in_words(size: int) -> str:
    for unit, bytes_ in (("MB", 1024 * 1024), ("kB", 1024)):
        if size >= bytes_:
            return f"{size / bytes_:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} bytes"


def file_limits(field: Field, most: int) -> str:
    """Describe the files that a field accepts: "PDF, JPEG or PNG, up to 5 MB"."""
    accept = field.get("accept") if isinstance(field.get("accept"), str) else ""
    kinds = list(dict.fromkeys(_kind(each) for each in str(accept).split(",") if each.strip()))
    listed = " or ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)
    limit = f"up to {size_in_words(most)}"
    return f"{listed}, {limit}" if listed else limit[:1].upper() + limit[1:]


def _kind(accepted: str) -> str:
    kind = accepted.strip().lower()
    family, _, name = kind.partition("/")
    if name in ("*", ""):
        return {"image": "images", "video": "videos", "audio": "sound"}.get(family, family.lstrip(".").upper())
    return name.split(".")[-1].split("+")[0].upper()
