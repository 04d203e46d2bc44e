"""What follows from the rows of an import: events, settled payments, linked submissions, and the classes of series."""

import json
from dataclasses import dataclass, field

from studiogate.domain.access import Access
from studiogate.domain.audit import changed_fields
from studiogate.domain.events import POSITIONS_ANNOUNCED, EventType
from studiogate.domain.leads import with_submissions
from studiogate.domain.memberships import after_payment
from studiogate.domain.refusals import Refusal
from studiogate.domain.studio_file.rows import Fault
from studiogate.flows import changes
from studiogate.flows.schedule import series as series_flow
from studiogate.flows.schedule.series import SavedSeries
from studiogate.storage import audit, event_changes, events, memberships
from studiogate.storage.audit import Entry, Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.events import Change
from studiogate.storage.schedule import series as stored_series
from studiogate.storage.schedule.series import Series
from studiogate.storage.studio_file import diff, effects, emails, stage, tables
from studiogate.storage.studio_file.effects import AffectedSeries

BATCH = 500
# In the order of their events: what a resource refers to comes first.
CREATED = (
    (tables.LOCATIONS, EventType.LOCATION_CREATED),
    (tables.ROOMS, EventType.ROOM_CREATED),
    (tables.CLASS_TYPES, EventType.CLASS_TYPE_CREATED),
    (tables.INSTRUCTORS, EventType.INSTRUCTOR_CREATED),
    (tables.PRODUCTS, EventType.PRODUCT_CREATED),
    (tables.CLASSES, EventType.CLASS_CREATED),
    (tables.MEMBERS, EventType.MEMBER_CREATED),
    (tables.MEMBERSHIPS, EventType.MEMBERSHIP_CREATED),
    (tables.PURCHASES, EventType.PURCHASE_CREATED),
    (tables.LEADS, EventType.LEAD_CREATED),
    (tables.FORMS, EventType.FORM_CREATED),
    (tables.SUBMISSIONS, EventType.FORM_SUBMITTED),
    (tables.BOOKINGS, EventType.BOOKING_CREATED),
)
# Classes are announced once their seats are filled, waitlists by a rule of their own.
CHANGED = tuple(each for each in diff.ROWS if each not in (EventType.CLASS_UPDATED, EventType.WAITLIST_UPDATED))


async def prepare(connection: Connection, access: Access) -> None:
    """Keep the resources as they are before the import. What the clock did to the classes until now is announced, so
    that it is no part of the import's events."""
    async for class_ids in stage.ids_of(connection, tables.CLASSES, existing=True, at_most=BATCH):
        await changes.announce_first(connection, access, *class_ids)
    await diff.keep_resources(connection, access)


async def announce_rows(connection: Connection, access: Access) -> None:
    """Announce every created and changed row, except changed classes."""
    for table, created in CREATED:
        async for row_ids in stage.ids_of(connection, table, existing=False, at_most=BATCH):
            await events.emit(connection, access, created, *[Change(row_id) for row_id in row_ids])
    for changed in CHANGED:
        await announce_changed(connection, access, changed)
    async for rows in diff.compared_resources(connection, access, EventType.WAITLIST_UPDATED):
        entries = [change for change in event_changes.differences(rows) if _is_announced(change)]
        await events.emit(connection, access, EventType.WAITLIST_UPDATED, *entries)


async def announce_changed(connection: Connection, access: Access, type_: EventType) -> None:
    async for rows in diff.compared_resources(connection, access, type_):
        await events.emit(connection, access, type_, *event_changes.differences(rows))


def _is_announced(entry: Change) -> bool:
    """Return whether a changed waitlist entry is announced: a position alone only near the front."""
    if set(entry.previous_attributes) != {"position"}:
        return True
    return int(json.loads(entry.wire or "{}")["position"]) <= POSITIONS_ANNOUNCED


# What payments of an import mean for the memberships that they pay for, as when staff mark a purchase.


async def settle_payments(connection: Connection, access: Access) -> int:
    """Make memberships past_due whose purchase the import marks as failed, and usable again those of which none is
    failed any more; return how many changed. Their events follow with those of the import's own rows."""
    settled = 0
    async for batch in effects.paid_memberships(connection, access):
        changed, entries = {}, []
        for membership_id, before, unpaid in batch:
            after = after_payment(before, unpaid=unpaid)
            if after != before:
                changed[membership_id] = after
                fields = changed_fields("membership", before._asdict(), after._asdict())
                entries.append(Entry("membership.change", Subject("membership", membership_id), fields))
        await memberships.write_statuses(connection, access, changed)
        await audit.add_many(connection, access, entries)
        settled += len(changed)
    return settled


async def note_submissions(connection: Connection, access: Access) -> None:
    """Add the linked submissions to the metadata of their leads. The events follow with those of the import's rows."""
    async for leads in emails.linked_leads(connection, access):
        metadata = {lead.id: with_submissions(lead.metadata, lead.submissions) for lead in leads}
        await emails.write_metadata(connection, access, metadata)


# The classes of series follow as they do when staff change a series, a closure or a time zone: last, because that has
# its own events and audit entries.


@dataclass(slots=True)
class Followed:
    """What became of the classes of series, and what is wrong with it or worth a warning."""

    effects: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    warnings: list[Fault] = field(default_factory=list)

    def add(self, affected: AffectedSeries, saved: SavedSeries) -> None:
        counts = {"classes_created": saved.created, "classes_changed": saved.changed}
        counts |= {"classes_cancelled": saved.cancelled, "promoted": saved.promoted}
        for name, count in counts.items():
            self.effects[name] = self.effects.get(name, 0) + count
        self.warnings += [Fault(_place(affected), each.message, affected.n or 0) for each in saved.warnings]


async def follow_series(connection: Connection, access: Access, *, studio_existed: bool) -> Followed:
    """Make the classes of changed and new series agree with them. A studio that is new has the classes of its file:
    only series that never had any get them now, unannounced."""
    followed = Followed()
    for affected in await effects.series_to_follow(connection) if studio_existed else ():
        outcome = await _agree(connection, access, affected)
        if isinstance(outcome, Refusal):
            facts, class_id = outcome.details, outcome.details["class_id"]
            why = f"{facts.get('booked_count')} seats of the class {class_id} are taken: choose a larger capacity"
            if "spots_chosen" in facts:
                why = f"members of the class {class_id} have chosen spots: cancel these bookings, or keep the room"
            followed.faults.append(Fault(_place(affected), why, affected.n or 0))
        else:
            followed.add(affected, outcome)
    for affected in await effects.new_series(connection):
        series = await _locked(connection, access, affected)
        warnings = await series_flow.series_warnings(connection, access, series) if studio_existed else ()
        created = await series_flow.create_missing(connection, access, series, announce=studio_existed)
        followed.add(affected, SavedSeries(series.id, warnings, created))
    return followed


async def _agree(connection: Connection, access: Access, affected: AffectedSeries) -> SavedSeries | Refusal:
    if affected.moved:
        await stored_series.raise_revision(connection, access, affected.id)
    series = await _locked(connection, access, affected)
    if not affected.agrees:  # only a closure has changed
        return SavedSeries(series.id, created=await series_flow.create_missing(connection, access, series))
    return await series_flow.agree(connection, access, series, affected.changed)


async def _locked(connection: Connection, access: Access, affected: AffectedSeries) -> Series:
    series = await stored_series.lock_series(connection, access, affected.id)
    if series is None:
        raise LookupError(f"no series {affected.id}")
    return series


def _place(affected: AffectedSeries) -> str:
    """Return the place in the file; a series that is not in it follows from its location or from a closure."""
    return affected.place or f"series {affected.id}"
