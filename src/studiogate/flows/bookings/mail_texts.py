"""The texts of mails to members: a plain part and an HTML part, in which every value is escaped.

Times are local times of the class's location, or of the studio if the class has no location; the zone is named.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from studiogate.domain.bookings.cancellation import CancellationType
from studiogate.domain.mails import MailKind
from studiogate.flows.mails import MailContent, rendered
from studiogate.templating import templates_in

_TEMPLATES = templates_in(Path(__file__).parent / "mail_templates")
_RECEIPTS = frozenset({MailKind.CLASS_CANCELLED, MailKind.BOOKING_CANCELLED})


class NoAddressError(Exception):
    """The member's address was removed after the mail was queued."""


class ClassText(NamedTuple):
    title: str
    start_time: datetime
    end_time: datetime
    location: str | None
    room: str | None
    instructor: str | None


class Fact(NamedTuple):
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class _Facts:
    """``changed`` names the fields of the class that changed, and ``before`` holds their previous values."""

    kind: MailKind
    timezone: str
    class_: ClassText
    changed: frozenset[str]
    before: ClassText
    spot: str | None
    waitlist_position: int | None
    receipt: Mapping[str, Any]


def content(row: Mapping[str, Any]) -> MailContent:
    """Return what a mail says. Raises NoAddressError if it can be sent to nobody."""
    if row["email"] is None:
        raise NoAddressError
    facts = _facts(row)
    headline, title = facts.kind.headline, facts.class_.title
    values = {
        "studio": row["studio"],
        "greeting": f"Hello {row['first_name']},",
        "headline": f"{headline}.",
        "facts": [*_class_facts(facts), *_receipt_facts(facts)],
        "notes": _notes(facts),
    }
    start = facts.class_.start_time.astimezone(ZoneInfo(facts.timezone))
    text, html = rendered(_TEMPLATES, "member", values)
    return MailContent(row["studio"], row["email"], f"{headline}: {title}, {start:%a %d %b, %H:%M}", text, html)


def _facts(row: Mapping[str, Any]) -> _Facts:
    """Return what the mail is about: a part of the class that did not change was as it is now."""
    previous: Mapping[str, Any] = json.loads(row["previous"])
    now = ClassText(*(row[name] for name in ("title", "start_time", "end_time", "location", "room", "instructor")))
    times = ("start_time", "end_time")
    before: dict[str, Any] = {name: datetime.fromisoformat(previous[name]) for name in times if previous.get(name)}
    before |= {name: row[f"old_{name}"] for name in ("location", "room", "instructor") if f"{name}_id" in previous}
    return _Facts(
        kind=MailKind(row["kind"]),
        timezone=row["timezone"],
        class_=now,
        changed=frozenset(previous),
        before=now._replace(**before),
        spot=row["spot"],
        waitlist_position=row["waitlist_position"],
        receipt=json.loads(row["receipt"]) if row["receipt"] else {},
    )


def _class_facts(content: _Facts) -> list[Fact]:
    class_, before, zone = content.class_, content.before, content.timezone
    time_changed = bool(content.changed & {"start_time", "end_time"})
    place_changed = bool(content.changed & {"location_id", "room_id"})
    found = [
        Fact("Class", class_.title),
        _fact(content, "When", (_when(class_, zone), _when(before, zone)), changed=time_changed),
        _fact(content, "Where", (_where(class_), _where(before)), changed=place_changed),
        _fact(content, "With", (class_.instructor, before.instructor), changed="instructor_id" in content.changed),
        Fact("Spot", content.spot or ""),
    ]
    if content.kind is MailKind.WAITLISTED and content.waitlist_position is not None:
        found.append(Fact("Your position", str(content.waitlist_position)))
    return [fact for fact in found if fact.value]


def _fact(content: _Facts, label: str, values: tuple[str | None, str | None], *, changed: bool) -> Fact:
    """Return the present value, and in a mail about a changed class also the one before."""
    now, before = (value or "" for value in values)
    if content.kind is not MailKind.CLASS_CHANGED or not changed:
        return Fact(label, now)
    return Fact(label, f"{now or 'not decided yet'} (before: {before or 'not decided'})")


def _when(class_: ClassText, timezone: str) -> str:
    zone = ZoneInfo(timezone)
    start, end = class_.start_time.astimezone(zone), class_.end_time.astimezone(zone)
    until = f"{end:%H:%M}" if end.date() == start.date() else f"{end:%A, %d %B %Y, %H:%M}"
    return f"{start:%A, %d %B %Y, %H:%M} to {until} ({timezone})"


def _where(class_: ClassText) -> str:
    return ", ".join(part for part in (class_.location, class_.room) if part)


def _receipt_facts(content: _Facts) -> list[Fact]:
    """Return what the cancellation costs and returns, as stated on its receipt."""
    if content.kind not in _RECEIPTS:
        return []
    receipt, fee = content.receipt, content.receipt.get("late_fee")
    if not receipt:
        return []
    found = [Fact("Receipt", str(receipt["id"]))]
    if receipt.get("cancelled_at"):
        at = datetime.fromisoformat(receipt["cancelled_at"]).astimezone(ZoneInfo(content.timezone))
        found.append(Fact("Cancelled", f"{at:%A, %d %B %Y, %H:%M} ({content.timezone})"))
    if receipt.get("cancelled_by") == "studio" and receipt.get("reason"):
        found.append(Fact("Reason", str(receipt["reason"])))
    if fee:
        found.append(Fact("Fee for the late cancellation", f"{fee['amount']} {fee['currency']}"))
    if receipt["credits_forfeited"]:
        found.append(Fact("Credits forfeited", str(receipt["credits_forfeited"])))
    if receipt["credits_returned"]:
        found.append(Fact("Credits returned", str(receipt["credits_returned"])))
    if receipt["credits_remaining"] is not None:
        found.append(Fact("Credits left", str(receipt["credits_remaining"])))
    return found


def _notes(content: _Facts) -> list[str]:
    if content.kind is MailKind.WAITLISTED:
        return ["We will write to you as soon as you have a place."]
    if content.kind not in _RECEIPTS:
        return []
    left_waitlist = content.receipt.get("cancellation_type") == CancellationType.WAITLIST_LEFT
    if left_waitlist and content.receipt.get("cancelled_by") == "system":
        return ["The class began and no place became free. You paid nothing."]
    if left_waitlist:
        return ["You are no longer on the waitlist. You paid nothing."]
    costs = content.receipt.get("late_fee") or content.receipt.get("credits_forfeited")
    return [] if costs else ["This cancellation costs nothing."]
