"""What one step of a walk announced and recorded, compared with what it changed.

Every change of a resource has exactly one event, of the right type, with exactly the fields that changed and their old
values; every action of staff has its audit entry; whatever changes nothing leaves neither. What a booking moves by
itself (a class's counts, a membership's credits, a position) is announced by the booking and the waitlist alone.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from studiogate.domain.access import system_access
from studiogate.domain.events import EventType
from studiogate.storage import event_changes

Resources = dict[tuple[str, str], dict[str, Any]]
# The action, the kind of its subject, and the subject's id; None: any.
Entry = tuple[str, str, UUID | None]

TABLES = {
    "bookings": EventType.BOOKING_UPDATED,
    "waitlist_entries": EventType.WAITLIST_UPDATED,
    "classes": EventType.CLASS_UPDATED,
    "memberships": EventType.MEMBERSHIP_UPDATED,
    "members": EventType.MEMBER_UPDATED,
    "purchases": EventType.PURCHASE_UPDATED,
    "leads": EventType.LEAD_UPDATED,
    "forms": EventType.FORM_UPDATED,
    "form_submissions": EventType.FORM_SUBMISSION_UPDATED,
    "products": EventType.PRODUCT_UPDATED,
    "studios": EventType.STUDIO_UPDATED,
    "locations": EventType.LOCATION_UPDATED,
    "rooms": EventType.ROOM_UPDATED,
    "class_types": EventType.CLASS_TYPE_UPDATED,
    "instructors": EventType.INSTRUCTOR_UPDATED,
}
# What changes without an event of its own, by the kind of the resource.
SILENT = {
    "booking": {"waitlist_position"},
    "waitlist": {"skip_reason"},
    "class": {"booked_count", "available_count", "waitlist_count"},
    "membership": {"credits_remaining", "state_version"},
    # What staff decide is announced, but not whose it is, nor an erasure.
    "form_submission": {"submitter_name", "submitter_email", "data", "verified", "member_id", "lead_id"},
    # Only the end of deliveries is announced: not a new endpoint or secret, what it receives, nor a deletion.
    "webhook_endpoint": {"enabled", "previous_secret_expires_at", "url", "event_types", "description"},
}
# What these say is in the member's ``member.updated`` too, if readers see a change.
BESIDE = {"member.merged", "member.erased"}
UNANNOUNCED = {"waitlist", "webhook_endpoint"}  # kinds of rows whose creation is not announced
OVER = {"in_progress", "completed", "cancelled"}  # of a class
EVENTS = """
    select id, type, actor, object::text as object, previous_attributes::text as previous, merged_id
    from events where studio_id = $1 and id <> all($2::uuid[]) order by created_at, id"""
ENTRIES = """
    select id, action, subject_type, subject_id from audit_log
    where studio_id = $1 and id <> all($2::uuid[]) order by occurred_at, id"""


@dataclass
class Step:
    """What a step did. ``several``: in more than one transaction. ``redacted``: previous values of people are gone."""

    actor: str
    entries: Sequence[Entry] = ()
    several: bool = False
    redacted: bool = False


@dataclass
class Log:
    """The resources, events and audit entries of a studio as of the last look."""

    fetch: Callable[..., list[Any]]
    snapshot: Callable[[EventType, list[UUID]], Any]
    studio_id: UUID
    resources: Resources = field(default_factory=dict)
    events: set[UUID] = field(default_factory=set)
    entries: set[UUID] = field(default_factory=set)

    def look(self) -> None:
        """Take what is there as known."""
        self._new(EVENTS, self.events)
        self._new(ENTRIES, self.entries)
        self.resources = self._read()

    def _new(self, query: str, seen: set[UUID]) -> list[Any]:
        rows = self.fetch(query, self.studio_id, list(seen))
        seen |= {row["id"] for row in rows}
        return rows

    def _read(self) -> Resources:
        found: Resources = {}
        for table, type_ in TABLES.items():
            query = f"select {id_column(table)} as id from {table} where studio_id = $1"
            ids = [row["id"] for row in self.fetch(query, self.studio_id)]
            for wire in self.snapshot(type_, ids).values():
                found[wire["object"], wire["id"]] = compared(wire)
        return found

    def check(self, step: Step) -> None:
        """Compare what has changed since the last look with what was announced and recorded."""
        before, events, entries = self.resources, self._new(EVENTS, self.events), self._new(ENTRIES, self.entries)
        self.resources = self._read()
        check_events(before, self.resources, events, step)
        _check_entries(entries, step)


def log_of(app_thread: Any, studio_id: UUID) -> Log:
    """Return the log of a studio in an ``AppThread`` of tests.races.test_model."""
    access = system_access(studio_id)

    def snapshot(type_: EventType, ids: list[UUID]) -> Any:
        return app_thread.call(event_changes.snapshot(app_thread.connection, access, type_, ids))

    log = Log(app_thread.fetch, snapshot, studio_id)
    log.look()
    return log


def check_events(before: Resources, after: Resources, events: Sequence[Any], step: Step) -> None:
    """Compare what has changed with what was announced."""
    announced, counts = dict(before), Counter[tuple[str, str]]()
    for event in (each for each in events if each["type"] not in BESIDE):
        assert event["merged_id"] is None, event
        object_ = compared(json.loads(event["object"]))
        key = (object_["object"], object_["id"])
        if not _by_the_clock(event, key[0]):
            counts[key] += 1
            _check_event(event, announced.get(key), object_, step)
        announced[key] = object_
    for key, now in after.items():
        unannounced = _difference(announced[key], now).keys() - _silent(key[0], now) if key in announced else None
        assert unannounced == set() or (unannounced is None and key[0] in UNANNOUNCED), (key, unannounced, step)
    _check_beside(before, after, events, step)
    assert step.several or max(counts.values(), default=1) == 1, (counts, step)


def _check_beside(before: Resources, after: Resources, events: Sequence[Any], step: Step) -> None:
    """Compare the members that were merged and erased with what says so, once each, with the whole change."""
    beside = [(each, compared(json.loads(each["object"]))) for each in events if each["type"] in BESIDE]
    for event, object_ in beside:
        key = (object_["object"], object_["id"])
        assert object_ == after[key], (event, after[key])
        _check_event(event, before[key], object_, step)
    merged = [str(event["merged_id"]) for event, _ in beside if event["type"] == "member.merged"]
    assert sorted(merged) == sorted(id_ for kind, id_ in before.keys() - after.keys() if kind == "member"), step
    erased = [object_["id"] for event, object_ in beside if event["type"] == "member.erased"]
    members = {id_: now for (kind, id_), now in after.items() if kind == "member" and ("member", id_) in before}
    assert sorted(erased) == sorted(
        id_ for id_, now in members.items() if now["erased_at"] != before["member", id_]["erased_at"]
    ), step


def _silent(kind: str, now: dict[str, Any]) -> set[str]:
    """Return what changes in a resource without an event of its own. A new policy is announced for classes to come."""
    silent = SILENT.get(kind, set())
    return silent | {name for name in now if name.endswith("_at")} if now.get("status") in OVER else silent


def id_column(table: str) -> str:
    return "studio_id" if table == "studios" else "id"


def compared(wire: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in wire.items() if name != "updated_at"}


def _difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in before.items() if after[name] != value}


def _by_the_clock(event: Any, kind: str) -> bool:
    """Return whether an event announces what time alone has changed: the status of a class."""
    return kind == "class" and event["actor"] == "system" and list(json.loads(event["previous"])) == ["status"]


def _check_event(event: Any, known: dict[str, Any] | None, object_: dict[str, Any], step: Step) -> None:
    kind, previous = object_["object"], json.loads(event["previous"])
    # What was due by the clock happens first, whoever acts: memberships that have ended.
    actors = {step.actor, "system"} if kind == "membership" else {step.actor}
    assert event["actor"] in actors, (event, step)
    assert event["type"] in BESIDE or event["type"] == _right_type(known, object_), (event, known)
    changed = {} if known is None else _difference(known, object_)
    if step.redacted and kind in ("member", "membership", "lead"):
        previous, changed = dict.fromkeys(previous), dict.fromkeys(changed)
    if step.several:
        silent = SILENT.get(kind, set())
        previous, changed = [{n: v for n, v in each.items() if n not in silent} for each in (previous, changed)]
    assert previous == changed, (event, known, step)


def _right_type(known: dict[str, Any] | None, object_: dict[str, Any]) -> str:
    kind = object_["object"]
    if kind == "webhook_endpoint":
        return "webhook_endpoint.disabled"
    if known is None and kind != "waitlist":
        return f"{kind}.created"
    if kind not in ("booking", "class") or known is None or known["status"] == object_["status"]:
        return f"{kind}.updated"
    return f"{kind}.cancelled" if object_["status"] == "cancelled" else f"{kind}.updated"


def _check_entries(entries: list[Any], step: Step) -> None:
    found = sorted((row["action"], row["subject_type"], str(row["subject_id"])) for row in entries)
    expected = sorted((action, kind, str(subject)) for action, kind, subject in step.entries)
    matches = [
        (action, kind) == (one, two) and subject in (three, str(None))
        for (one, two, three), (action, kind, subject) in zip(found, expected, strict=False)
    ]
    assert len(found) == len(expected), (found, expected)
    assert all(matches), (found, expected)
