"""Texts for visitors: pages that explain why there is no form, with the matching HTTP status, and messages about faults
in answers."""

import tomllib
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
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


TEXTS = tomllib.loads((Path(__file__).parent / "messages.toml").read_text(encoding="utf-8"))
NOTICES = {NoticeReason(name): Notice(**texts) for name, texts in TEXTS["notices"].items()}
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
    words["files"] = str(MAX_FILES_PER_SUBMISSION)
    if form and studio:
        words["opens"] = _moment(form.settings.opens_at, studio)
        words["closes"] = _moment(form.settings.closes_at, studio)
    text, in_form = found.text.format(**words), found.in_form.format(**words)
    return found._replace(text=text[:1].upper() + text[1:], in_form=in_form, studio=studio)


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
            found.setdefault(input_name(email_key) if email_key else EMAIL, TEXTS["invalid"][FieldType.EMAIL])
    order = [EMAIL, *(input_name(key) for key in by_key)]
    return {name: found[name] for name in order if name in found}


def message(field: Field, fault: Fault) -> str:
    kind = str(field.get("type"))
    if fault.type == "too_many_files":
        return f"At most {MAX_FILES_PER_SUBMISSION} files can be sent with one form."
    if fault.type == "missing":
        return str(TEXTS["missing"].get(kind, "Please fill this in."))
    return TEXTS["invalid"].get(kind) or "This " + fault.msg.removeprefix("Answer ") + "."


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
