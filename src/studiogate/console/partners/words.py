"""How the pages about partners word scopes, states and durations."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from studiogate.console.framework.inputs import Row
from studiogate.console.framework.words import WORDS, badges
from studiogate.domain.access import Scope

RESOURCES: Mapping[str, str] = WORDS["scopes"]
COLUMNS: Sequence[tuple[str, str, tuple[str, ...]]] = (
    ("Read", "reads", ("read",)),
    ("Create and change", "changes", ("write", "manage")),
    ("Cancel", "cancels", ("cancel",)),
)


def _scope(resource: str, names: Collection[str]) -> Scope | None:
    found = (scope for scope in Scope if scope.partition(":")[0] == resource and scope.partition(":")[2] in names)
    return next(found, None)


# The scopes as a grid: a line for each resource, with its scope in each column or nothing.
GRID = [(label, [_scope(name, names) for _, _, names in COLUMNS]) for name, label in RESOURCES.items()]
_PUBLIC = (Scope.STUDIO_READ, Scope.SCHEDULE_READ, Scope.CATALOG_READ)
_BOOKINGS = (Scope.BOOKINGS_READ, Scope.BOOKINGS_WRITE, Scope.BOOKINGS_CANCEL)
_MEMBERS = (Scope.MEMBERS_READ, Scope.MEMBERS_WRITE)
_WEBSITE = (*_PUBLIC, Scope.FORMS_READ, Scope.FORM_SUBMISSIONS_WRITE, Scope.LEADS_WRITE)
# What keys are mostly made for; each is a starting point that can be changed.
PRESETS: Mapping[str, tuple[str, Sequence[Scope]]] = {
    "booking": ("Bookings", (*_PUBLIC, *_MEMBERS, *_BOOKINGS, Scope.EVENTS_READ, Scope.WEBHOOKS_MANAGE)),
    "website": ("Website", _WEBSITE),
    "read": ("Read only", [each for each in Scope if each.endswith(":read")]),
    "all": ("Everything", list(Scope)),
}


def may(scopes: Collection[str]) -> str:
    """Return what a key may do as a sentence, such as "Reads schedule and leads; changes leads"."""
    if len(set(scopes)) == len(Scope):
        return "Everything"
    parts = []
    for number, (_, verb, _) in enumerate(COLUMNS):
        named = [label for label, row in GRID if row[number] in scopes]
        if named:
            parts.append(f"{verb} {', '.join(named)}")
    text = "; ".join(parts)
    return text[:1].upper() + text[1:]


def lasting(span: timedelta) -> str:
    """Return a duration in its two largest units, such as 23 h 12 min."""
    minutes, seconds = divmod(max(0, round(span.total_seconds())), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next((number for number, (count, _) in enumerate(units) if count), len(units) - 1)
    # Seconds say nothing beside minutes.
    shown = units[first : first + 2] if first < 2 else units[first : first + 1]
    return " ".join(f"{count} {unit}" for count, unit in shown if count) or "0 s"


def key_state(key: Row, now: datetime) -> tuple[str, str]:
    """Return the state of a key, and how it looks."""
    if key["revoked_at"]:
        return "revoked", "danger"
    if key["expires_at"] and key["expires_at"] <= now:
        return "expired", "warn"
    return ("rotating", "info") if key["old_secret_ends"] else ("active", "good")


def status_look(status: int | None) -> str:
    """Return how an HTTP status looks; None: there was no answer."""
    if status is None or status >= 500:
        return "danger"
    return "warn" if status >= 400 else "good"


DELIVERY = badges("delivery")
ACTORS: Mapping[str, str] = WORDS["event_actors"]
ERRORS: Mapping[str, str] = WORDS["delivery_errors"]


def outcome(status: int | None, error: str | None) -> str:
    """Return what became of an attempt, such as "answered 500" or "no answer within 15 seconds"."""
    return f"answered {status}" if status is not None else ERRORS.get(error or "", "no answer")


def health(endpoint: Row, now: datetime) -> tuple[str, str, str]:
    """Return how an endpoint does: a word, how it looks, and a sentence."""
    waiting = f"{endpoint['waiting']:,} waiting" if endpoint["waiting"] else "nothing waits"
    if endpoint["revoked"]:
        return "key ended", "warn", "Its key is revoked or has ended: nothing is sent."
    if not endpoint["enabled"]:
        reasons = {"gone": "it answered 410, which means gone for good", "failing": "it failed for five days"}
        reason = reasons.get(endpoint["disabled_reason"])
        return "off", "", f"Switched off{': ' + reason if reason else ''}; {waiting}."
    if endpoint["failing_since"]:
        due, last = endpoint["next_attempt_at"], outcome(endpoint["last_status"], endpoint["last_error"])
        then = f"next attempt in {lasting(due - now)}" if due and due > now else "the next attempt is due"
        return "failing", "danger", f"{last.capitalize()}; {f'{then}; ' if endpoint['waiting'] else ''}{waiting}."
    if endpoint["waiting"]:
        return "sending", "info", f"{endpoint['waiting']:,} on their way."
    return ("healthy", "good", "") if endpoint["last_attempt_at"] else ("unused", "", "Nothing was sent so far.")
