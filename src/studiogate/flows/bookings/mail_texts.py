"""The texts of mails to members: a plain part and an HTML part, in which every value is escaped.

Times are local times of the class's location, or of the studio if the class has no location; the zone is named."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from studiogate.domain.bookings.cancellation import CancellationType, ReceiptJson
from studiogate.domain.mails import MailKind
from studiogate.domain.time_format import TimeFormat, time_format_of
from studiogate.flows.mails import MailContent, rendered
from studiogate.templating import templates_in

Row: TypeAlias = Mapping[str, Any]
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


class _Written(NamedTuple):
    """How a mail writes times: in the zone of its class and the format of its studio."""

    timezone: str
    format: TimeFormat

    def short(self, instant: datetime) -> str:
        local = self._local(instant)
        return f"{self.format.day(local, local.year)}, {self.format.time_of_day(local)}"

    def long(self, instant: datetime) -> str:
        return f"{self._date_and_time(self._local(instant))} ({self.timezone})"

    def span(self, class_: ClassText) -> str:
        start, end = self._local(class_.start_time), self._local(class_.end_time)
        until = self.format.time_of_day(end) if end.date() == start.date() else self._date_and_time(end)
        return f"{self._date_and_time(start)} to {until} ({self.timezone})"

    def _local(self, instant: datetime) -> datetime:
        return instant.astimezone(ZoneInfo(self.timezone))

    def _date_and_time(self, local: datetime) -> str:
        return f"{self.format.long_date(local)}, {self.format.time_of_day(local)}"


def _written(row: Row) -> _Written:
    return _Written(row["timezone"], time_format_of(row["hour_cycle"], row["date_order"], row["country"]))


def content(row: Row) -> MailContent:
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
        "facts": [*_class_facts(row, class_), *_receipt_facts(receipt, _written(row))],
        "notes": _notes(kind, receipt),
    }
    text, html = rendered(_TEMPLATES, "member", values)
    subject = f"{kind.headline}: {class_.title}, {_written(row).short(class_.start_time)}"
    return MailContent(row["studio"], row["email"], subject, text, html)


def _class_facts(row: Row, class_: ClassText) -> list[Fact]:
    """Return the facts of the class, and in a mail about a changed class also what they were before."""
    previous: Row = json.loads(row["previous"])
    times = ("start_time", "end_time")
    before: dict[str, Any] = {name: datetime.fromisoformat(previous[name]) for name in times if previous.get(name)}
    before |= {name: row[f"old_{name}"] for name in ("location", "room", "instructor") if f"{name}_id" in previous}
    was, written, kind = class_._replace(**before), _written(row), row["kind"]

    def fact(label: str, now: str | None, then: str | None, *names: str) -> Fact:
        if kind != MailKind.CLASS_CHANGED or previous.keys().isdisjoint(names):
            return Fact(label, now or "")
        return Fact(label, f"{now or 'not decided yet'} (before: {then or 'not decided'})")

    found = [
        Fact("Class", class_.title),
        fact("When", written.span(class_), written.span(was), *times),
        fact("Where", _where(class_), _where(was), "location_id", "room_id"),
        fact("With", class_.instructor, was.instructor, "instructor_id"),
        Fact("Spot", row["spot"] or ""),
    ]
    if kind == MailKind.WAITLISTED and row["waitlist_position"] is not None:
        found.append(Fact("Your position", str(row["waitlist_position"])))
    return [each for each in found if each.value]


def _where(class_: ClassText) -> str:
    return ", ".join(part for part in (class_.location, class_.room) if part)


def _receipt_facts(receipt: ReceiptJson, written: _Written) -> list[Fact]:
    """Return what the cancellation costs and returns, as stated on its receipt."""
    if not receipt:
        return []
    at, fee, left = receipt.get("cancelled_at"), receipt.get("late_fee"), receipt["credits_remaining"]
    found = {
        "Receipt": str(receipt["id"]),
        "Cancelled": at and written.long(datetime.fromisoformat(at)),
        "Reason": receipt.get("reason") if receipt.get("cancelled_by") == "studio" else None,
        "Fee for the late cancellation": fee and f"{fee['amount']} {fee['currency']}",
        "Credits forfeited": receipt["credits_forfeited"],
        "Credits returned": receipt["credits_returned"],
        "Credits left": None if left is None else str(left),
    }
    return [Fact(label, str(value)) for label, value in found.items() if value]


def _notes(kind: MailKind, receipt: ReceiptJson) -> list[str]:
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
