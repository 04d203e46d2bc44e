"""A form's settings: validation when saved, and interpretation when read. Unknown keys are kept and not checked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from studiogate.domain.forms.answer_checks import is_email
from studiogate.domain.forms.definition import DefinitionFault, short_text, text
from studiogate.domain.forms.redirect_urls import MAX_URL, encoded_url
from studiogate.domain.forms.values import as_instant
from studiogate.domain.people import normalize_email
from studiogate.domain.value_checks import Check, boolean

MAX_NOTIFICATION_EMAILS = 20
MAX_SUBMISSIONS = 2**31 - 1
# Internal to the studio: shown only to keys that manage forms, and never part of an event.
STUDIO_ONLY = ("notification_emails",)


@dataclass(frozen=True, slots=True)
class FormSettings:
    """The settings that this service uses, with their defaults."""

    require_auth: bool = False
    notify_on_submit: bool = False
    notification_emails: Sequence[str] = field(default=())
    send_confirmation_email: bool = False
    confirmation_message: str | None = None
    redirect_url: str | None = None
    submit_label: str | None = None
    allow_multiple: bool = True
    opens_at: datetime | None = None
    closes_at: datetime | None = None
    max_submissions: int | None = None
    create_lead: bool = False

    def open_at(self, now: datetime) -> bool:
        """Return whether the form is open: from ``opens_at`` (inclusive) until ``closes_at`` (exclusive)."""
        return (self.opens_at is None or self.opens_at <= now) and (self.closes_at is None or now < self.closes_at)

    def has_room_after(self, submissions: int) -> bool:
        return self.max_submissions is None or submissions < self.max_submissions


def setting_faults(settings: object) -> list[DefinitionFault]:
    """Return every fault with its place inside ``settings``."""
    if not isinstance(settings, Mapping):
        return [((), "must be an object")]
    faults: list[DefinitionFault] = []
    for name, check in _CHECKS.items():
        message = check(settings[name]) if settings.get(name) is not None else None
        if message:
            faults.append(((name,), message))
    return faults + _window_faults(settings)


def read_settings(settings: Mapping[str, object]) -> FormSettings:
    """Return stored settings as values. A member that fails its check (from an old import) counts as absent."""
    given = {
        name: _READERS.get(name, _as_it_is)(settings[name])
        for name, check in _CHECKS.items()
        if settings.get(name) is not None and check(settings[name]) is None
    }
    return FormSettings(**given)


def _emails(value: object) -> str | None:
    if not isinstance(value, list) or len(value) > MAX_NOTIFICATION_EMAILS:
        return f"must be an array of at most {MAX_NOTIFICATION_EMAILS} email addresses"
    good = all(isinstance(each, str) and is_email(each) for each in value)
    return None if good else "must hold valid email addresses only"


def _https_url(value: object) -> str | None:
    if isinstance(value, str) and encoded_url(value) is not None:
        return None
    return f"must be an https URL of at most {MAX_URL} characters with a valid host and without a user name"


def _instant(value: object) -> str | None:
    fits = isinstance(value, str) and as_instant(value) is not None
    return None if fits else "must be an ISO 8601 date-time with an offset or Z"


def _count(value: object) -> str | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_SUBMISSIONS
    return None if fits else f"must be a whole number from 1 to {MAX_SUBMISSIONS}"


_CHECKS: Mapping[str, Check] = {
    "require_auth": boolean,
    "notify_on_submit": boolean,
    "notification_emails": _emails,
    "send_confirmation_email": boolean,
    "confirmation_message": text,
    "redirect_url": _https_url,
    "submit_label": short_text,
    "allow_multiple": boolean,
    "opens_at": _instant,
    "closes_at": _instant,
    "max_submissions": _count,
    "create_lead": boolean,
}

Reader: TypeAlias = Callable[[Any], Any]


def _as_it_is(value: object) -> object:
    return value


def _addresses(value: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(email for email in map(normalize_email, value) if email))


_READERS: Mapping[str, Reader] = {
    "notification_emails": _addresses,
    "redirect_url": encoded_url,
    "opens_at": as_instant,
    "closes_at": as_instant,
}


def _window_faults(settings: Mapping[str, object]) -> list[DefinitionFault]:
    known = read_settings(settings)
    if (known.closes_at or datetime.max.replace(tzinfo=UTC)) > (known.opens_at or datetime.min.replace(tzinfo=UTC)):
        return []
    return [(("closes_at",), "must be after opens_at")]
