"""The texts of mails to members: a plain part and an HTML part, in which every value is escaped.

Times are local times of the class's location, or of the studio if the class has no location; the zone is named."""

import json
from collections.abc import Mapping
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


def content(row: Mapping[str, Any]) -> MailContent:
    """Return what a mail says. Raises NoAddressError if it can be sent to nobody."""
    if row["email"] is None:
        raise NoAddressError
    kind = MailKind(row["kind"])
    class_ = ClassText(*(row[name] for name in ClassText._fields))
    receipt = json.loads(row["receipt"]) if row["receipt"] and kind in _RECEIPTS else {}
    values = {
        "studio": row["studio"],
        "greeting": f"Hello {row['first_name']},",
        "headline": f"{kind.headline}.",
        "facts": [*_class_facts(row, class_), *_receipt_facts(receipt, row["timezone"])],
        "notes": _notes(kind, receipt),
    }
    start = class_.start_time.astimezone(ZoneInfo(row["timezone"]))
    text, html = rendered(_TEMPLATES, "member", values)
    subject = f"{kind.headline}: {class_.title}, {start:%a %d %b, %H:%M}"
    return MailContent(row["studio"], row["email"], subject, text, html)


def _class_facts(row: Mapping[str, Any], class_: ClassText) -> list[Fact]:
    """Return the facts of the class, and in a mail about a changed class also what they were before."""
    previous: Mapping[str, Any] = json.loads(row["previous"])
    times = ("start_time", "end_time")
    before: dict[str, Any] = {name: datetime.fromisoformat(previous[name]) for name in times if previous.get(name)}
    before |= {name: row[f"old_{name}"] for name in ("location", "room", "instructor") if f"{name}_id" in previous}
    was, zone, kind = class_._replace(**before), row["timezone"], row["kind"]

    def fact(label: str, now: str | None, then: str | None, *names: str) -> Fact:
        if kind != MailKind.CLASS_CHANGED or previous.keys().isdisjoint(names):
            return Fact(label, now or "")
        return Fact(label, f"{now or 'not decided yet'} (before: {then or 'not decided'})")

    found = [
        Fact("Class", class_.title),
        fact("When", _when(class_, zone), _when(was, zone), *times),
        fact("Where", _where(class_), _where(was), "location_id", "room_id"),
        fact("With", class_.instructor, was.instructor, "instructor_id"),
        Fact("Spot", row["spot"] or ""),
    ]
    if kind == MailKind.WAITLISTED and row["waitlist_position"] is not None:
        found.append(Fact("Your position", str(row["waitlist_position"])))
    return [each for each in found if each.value]


def _when(class_: ClassText, timezone: str) -> str:
    zone = ZoneInfo(timezone)
    start, end = class_.start_time.astimezone(zone), class_.end_time.astimezone(zone)
    until = f"{end:%H:%M}" if end.date() == start.date() else f"{end:%A, %d %B %Y, %H:%M}"
    return f"{start:%A, %d %B %Y, %H:%M} to {until} ({timezone})"


def _where(class_: ClassText) -> str:
    return ", ".join(part for part in (class_.location, class_.room) if part)


def _receipt_facts(receipt: Mapping[str, Any], timezone: str) -> list[Fact]:
    """Return what the cancellation costs and returns, as stated on its receipt."""
    if not receipt:
        return []
    found = [Fact("Receipt", str(receipt["id"]))]
    if receipt.get("cancelled_at"):
        at = datetime.fromisoformat(receipt["cancelled_at"]).astimezone(ZoneInfo(timezone))
        found.append(Fact("Cancelled", f"{at:%A, %d %B %Y, %H:%M} ({timezone})"))
    if receipt.get("cancelled_by") == "studio" and receipt.get("reason"):
        found.append(Fact("Reason", str(receipt["reason"])))
    if fee := receipt.get("late_fee"):
        found.append(Fact("Fee for the late cancellation", f"{fee['amount']} {fee['currency']}"))
    if receipt["credits_forfeited"]:
        found.append(Fact("Credits forfeited", str(receipt["credits_forfeited"])))
    if receipt["credits_returned"]:
        found.append(Fact("Credits returned", str(receipt["credits_returned"])))
    if receipt["credits_remaining"] is not None:
        found.append(Fact("Credits left", str(receipt["credits_remaining"])))
    return found


def _notes(kind: MailKind, receipt: Mapping[str, Any]) -> list[str]:
    if kind is MailKind.WAITLISTED:
        return ["We will write to you as soon as you have a place."]
    if kind not in _RECEIPTS:
        return []
    left_waitlist = receipt.get("cancellation_type") == CancellationType.WAITLIST_LEFT
    if left_waitlist and receipt.get("cancelled_by") == "system":
        return ["The class began and no place became free. You paid nothing."]
    if left_waitlist:
        return ["You are no longer on the waitlist. You paid nothing."]
    costs = receipt.get("late_fee") or receipt.get("credits_forfeited")
    return [] if costs else ["This cancellation costs nothing."]
