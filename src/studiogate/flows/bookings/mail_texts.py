"""The texts of mails to members: a plain part and an HTML part, in which every value is escaped.

Times are local times of the class's location, or of the studio if the class has no location; the zone is named.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from studiogate.domain.bookings.cancellation import CancellationType
from studiogate.domain.mails import MailKind
from studiogate.flows.mails import Body
from studiogate.templating import templates_in

_TEMPLATES = templates_in(Path(__file__).parent / "mail_templates")
_HEADLINES = {
    MailKind.BOOKED: "You are booked",
    MailKind.WAITLISTED: "You are on the waitlist",
    MailKind.PROMOTED: "You have a place now",
    MailKind.CLASS_CHANGED: "Your class has changed",
    MailKind.CLASS_CANCELLED: "Your class is cancelled",
    MailKind.BOOKING_CANCELLED: "Your booking is cancelled",
}
_RECEIPTS = frozenset({MailKind.CLASS_CANCELLED, MailKind.BOOKING_CANCELLED})


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
class MemberMailContent:
    """``changed`` names the fields of the class that changed, and ``before`` holds their previous values."""

    kind: MailKind
    studio: str
    timezone: str
    first_name: str
    class_: ClassText
    changed: frozenset[str]
    before: ClassText
    spot: str | None
    waitlist_position: int | None
    receipt: Mapping[str, Any]


def subject(content: MemberMailContent) -> str:
    start = content.class_.start_time.astimezone(ZoneInfo(content.timezone))
    return f"{_HEADLINES[content.kind]}: {content.class_.title}, {start:%a %d %b, %H:%M}"


def body(content: MemberMailContent) -> Body:
    values = {
        "studio": content.studio,
        "greeting": f"Hello {content.first_name},",
        "headline": f"{_HEADLINES[content.kind]}.",
        "facts": [*_class_facts(content), *_receipt_facts(content)],
        "notes": _notes(content),
    }
    text, html = (_TEMPLATES.get_template(f"member.{part}").render(values) for part in ("txt", "html"))
    return Body(text, html)


def _class_facts(content: MemberMailContent) -> list[Fact]:
    class_, before, zone = content.class_, content.before, content.timezone
    time_changed = bool(content.changed & {"start_time", "end_time"})
    place_changed = bool(content.changed & {"location_id", "room_id"})
    found = [
        Fact("Class", class_.title),
        _fact(content, "When", (_when(class_, zone), _when(before, zone)), changed=time_changed),
        _fact(content, "Where", (_where(class_), _where(_place_before(content))), changed=place_changed),
        _fact(content, "With", (class_.instructor, before.instructor), changed="instructor_id" in content.changed),
        Fact("Spot", content.spot or ""),
    ]
    if content.kind is MailKind.WAITLISTED and content.waitlist_position is not None:
        found.append(Fact("Your position", str(content.waitlist_position)))
    return [fact for fact in found if fact.value]


def _fact(content: MemberMailContent, label: str, values: tuple[str | None, str | None], *, changed: bool) -> Fact:
    """Return the present value, and in a mail about a changed class also the one before."""
    now, before = (value or "" for value in values)
    if content.kind is not MailKind.CLASS_CHANGED or not changed:
        return Fact(label, now)
    return Fact(label, f"{now or 'not decided yet'} (before: {before or 'not decided'})")


def _place_before(content: MemberMailContent) -> ClassText:
    """Return the class with the place that it had before: a part that did not change is as it is now."""
    class_, before = content.class_, content.before
    return before._replace(
        location=before.location if "location_id" in content.changed else class_.location,
        room=before.room if "room_id" in content.changed else class_.room,
    )


def _when(class_: ClassText, timezone: str) -> str:
    zone = ZoneInfo(timezone)
    start, end = class_.start_time.astimezone(zone), class_.end_time.astimezone(zone)
    until = f"{end:%H:%M}" if end.date() == start.date() else f"{end:%A, %d %B %Y, %H:%M}"
    return f"{start:%A, %d %B %Y, %H:%M} to {until} ({timezone})"


def _where(class_: ClassText) -> str:
    return ", ".join(part for part in (class_.location, class_.room) if part)


def _receipt_facts(content: MemberMailContent) -> list[Fact]:
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


def _notes(content: MemberMailContent) -> list[str]:
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
