"""The event log: writing events inside a flow's transaction, numbering committed events, reading them.

``emit`` leaves the sequence empty: a counter would make the writers of a studio wait for each other, and numbers taken
before the commit become visible out of order. ``number`` numbers committed events afterwards, in one transaction at a
time per studio; so a reader that has seen number n can be sure that no lower number will ever appear.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple
from uuid import UUID

from studiogate import API_VERSION
from studiogate.domain.access import Access, Scope
from studiogate.domain.events import EventType, readable_types, types_of
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.domain.retention import EVENT_DAYS
from studiogate.storage import resources
from studiogate.storage.catalog import PLACE_OF_PRODUCT, WHOLE_PRODUCT
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id
from studiogate.storage.paging import Filter, OneOf, Resource, read_one, read_page
from studiogate.storage.schedule.read import CLASS_TYPE, INSTRUCTOR, ROOM
from studiogate.storage.status_lists import ATTENDABLE
from studiogate.storage.studio import LOCATION, STUDIO_ROW

NOWHERE = UUID(int=0)


@dataclass(frozen=True, slots=True)
class _Subject:
    """The resource that events of a kind are about."""

    resource: Resource
    # Scopes a reader needs besides the read scope, as SQL over the resource's row and ``given``, the announced change.
    also_needs: str = "'{}'::text[]"
    # The location that a reader needs access to, as SQL over the resource's row; by default the resource's location.
    located: str | None = None

    def place(self, alias: str, studio: str) -> str:
        """Return the event's place: the location, or the studio if the resource belongs to all of it."""
        located = self.located or (self.resource.located_by and f"{alias}.{self.resource.located_by}")
        return f"coalesce({located}, '{NOWHERE}')" if located else studio


SUBJECTS: Mapping[str, _Subject] = {
    "booking": _Subject(resources.BOOKING),
    "waitlist_entry": _Subject(resources.WAITLIST_ENTRY),
    # Readers of a published form also see the event of its withdrawal, which has the content as it was published.
    "form": _Subject(
        resources.FORM,
        f"""case when 'published' in (f.status, given.previous_attributes::json ->> 'status') then '{{}}'::text[]
            else array['{Scope.FORMS_WRITE.value}'] end""",
    ),
    "form_submission": _Subject(resources.SUBMISSION),
    "lead": _Subject(resources.LEAD),
    "member": _Subject(resources.MEMBER),
    "membership": _Subject(resources.MEMBERSHIP),
    "purchase": _Subject(resources.PURCHASE),
    "class": _Subject(resources.CLASS),
    # An event has one place, so only unrestricted readers see events of an endpoint for several locations.
    "webhook_endpoint": _Subject(
        resources.ENDPOINT, "e.owner_scopes", "case cardinality(e.owner_locations) when 1 then e.owner_locations[1] end"
    ),
    "product": _Subject(WHOLE_PRODUCT, located=PLACE_OF_PRODUCT),
    "studio": _Subject(STUDIO_ROW),
    "location": _Subject(LOCATION, located="l.id"),
    "room": _Subject(ROOM),
    "class_type": _Subject(CLASS_TYPE),
    "instructor": _Subject(INSTRUCTOR),
}


def subject_of(type_: EventType) -> _Subject:
    return SUBJECTS[type_.resource]


class Change(NamedTuple):
    """A changed row, and the changed members of its wire form with their previous values. ``wire`` is that form as it
    is now, as JSON, if the caller has read it already. ``merged_id`` is the row that was merged into this one."""

    row_id: UUID
    previous_attributes: Mapping[str, object] = {}
    wire: str | None = None
    merged_id: UUID | None = None


as_json = json.JSONEncoder(default=str, separators=(",", ":")).encode


INSERT = "insert into events (studio_id, id, actor, type, subject, scopes, place, object, previous_attributes)"


def announced(type_: EventType, changed: str, previous_attributes: str = "'{}'") -> str:
    """Return the part of a statement that writes the events about the rows which the statement creates or changes.

    The statement has the named parameters ``:studio`` and ``:actor``. ``changed`` names its part with each row's new
    id, location and wire form (``object``), and with the ``event_id``.
    """
    place = subject_of(type_).place(changed, ":studio")
    return f"""
        {INSERT}
        select :studio, {changed}.event_id, :actor, '{type_.value}', {changed}.id, array['{type_.scope.value}'],
               {place}, {changed}.object, {previous_attributes}
        from {changed}"""


@cache
def _emit(type_: EventType) -> str:
    """Return the statement that writes events of a type. It looks up each row by its id (``offset 0`` keeps the planner
    from joining): a plan made while the table was small would otherwise read all rows of the studio for each event.

    $1 studio, $2 type, $3 its read scope, $4 event ids, $5 row ids, $6 previous attributes, $7 the actor, $8 wire
    forms that are known, $9 the rows that were merged into them."""
    subject = subject_of(type_)
    resource, alias = subject.resource, subject.resource.alias
    return f"""
        {INSERT.removesuffix(")")}, merged_id)
        select $1, given.event_id, $7, $2, {alias}.id, array_append({subject.also_needs}, $3),
               {subject.place(alias, "$1")},
               coalesce(given.wire::json, (select row_to_json(w) from (select {resource.columns}) w)),
               given.previous_attributes::json, given.merged_id
        from unnest($4::uuid[], $5::uuid[], $6::text[], $8::text[], $9::uuid[]) with ordinality
                 as given(event_id, row_id, previous_attributes, wire, merged_id, number)
        cross join lateral (
            select * from {resource.table} t where t.studio_id = $1 and t.id = given.row_id offset 0) {alias}
        {resource.joins} order by given.number"""


async def emit(connection: Connection, access: Access, type_: EventType, *changes: Change) -> None:
    """Write one event per change, in the caller's transaction, with each resource as GET returns it at this moment."""
    if not changes:
        return
    await connection.execute(
        _emit(type_),
        access.studio_id,
        type_.value,
        type_.scope.value,
        [new_id() for _ in changes],
        [change.row_id for change in changes],
        [as_json(change.previous_attributes) for change in changes],
        access.actor.value,
        [change.wire for change in changes],
        [change.merged_id for change in changes],
    )


EVENT = Resource(
    table="events",
    alias="v",
    columns=f"""
        v.id, 'event' as object, v.type, '{API_VERSION}' as api_version, v.created_at, v.sequence, v.studio_id,
        json_build_object('type', v.actor) as actor,
        case when v.merged_id is null
             then json_build_object('object', v.object, 'previous_attributes', v.previous_attributes)
             else json_build_object('object', v.object, 'previous_attributes', v.previous_attributes,
                                    'merged_member_id', v.merged_id) end as data""",
    order="sequence",
    descending=False,
    permitted="(v.place = v.studio_id or v.place = any({}))",
)
NUMBERED = Filter("v.sequence is not null", of_the_list=True)
KEPT = Filter(f"v.created_at > now() - interval '{EVENT_DAYS} days'")


def _with_scopes(access: Access) -> Filter:
    return Filter("v.scopes <@ {}::text[]", sorted(access.scopes), of_the_list=True)


class EventFilters(NamedTuple):
    patterns: Sequence[str] | None = None
    created_after: datetime | None = None


async def list_events(connection: Connection, access: Access, page: PageRequest, asked: EventFilters) -> Page | Refusal:
    """Return a page of events, read along one index range per type, and per place for restricted keys."""
    readable = readable_types(access.scopes)
    wanted = readable if asked.patterns is None else [each for each in types_of(asked.patterns) if each in readable]
    ranges = []
    if access.restricted:
        ranges.append(OneOf("place", (access.studio_id, *(access.location_ids or ()))))
    if access.restricted or len(wanted) < len(EventType):
        ranges.append(OneOf("type", [each.value for each in wanted], "text"))
    filters = [NUMBERED, KEPT, _with_scopes(access)]
    if asked.created_after is not None:
        first = await first_since(connection, access, asked.created_after - LONGEST_TRANSACTION)
        filters += [Filter("v.sequence >= {}", first), Filter("v.created_at >= {}", asked.created_after)]
    return await read_page(connection, access, EVENT, page, filters=filters, one_of=ranges)


# The log is in the order of commits. No event is committed later than this after it was written.
LONGEST_TRANSACTION = timedelta(hours=1)
CREATED_AT = """
    select v.created_at from events v where v.studio_id = $1 and v.sequence >= $2 order by v.sequence limit 1"""


async def first_since(connection: Connection, access: Access, instant: datetime) -> int:
    """Return a number from which on the log has everything since an instant: found by halving, as the times of events
    rise with their numbers, but for the length of a transaction."""
    low, high = 0, await head(connection, access) + 1
    while low < high:
        middle = (low + high) // 2
        created_at = await connection.fetchval(CREATED_AT, access.studio_id, middle)
        if created_at is not None and created_at < instant:
            low = middle + 1
        else:
            high = middle
    return low


async def read_event(connection: Connection, access: Access, event_id: str) -> str | None:
    return await read_one(connection, access, EVENT, event_id, NUMBERED, KEPT, _with_scopes(access))


# What is true of the row that an event of a type is about, at the moment of the event.
TRUE_OF_ROW: Mapping[EventType, str] = {
    EventType.BOOKING_CREATED: f"status in ({ATTENDABLE})",
    EventType.BOOKING_UPDATED: "status <> 'cancelled'",
    EventType.BOOKING_CANCELLED: "status = 'cancelled'",
    EventType.CLASS_CREATED: "status <> 'cancelled'",
    EventType.CLASS_UPDATED: "status <> 'cancelled'",
    EventType.CLASS_CANCELLED: "status = 'cancelled'",
    EventType.MEMBER_ERASED: "erased_at is not null",
    EventType.WEBHOOK_ENDPOINT_DISABLED: "not enabled",
}


async def newest(connection: Connection, access: Access, type_: EventType) -> UUID | None:
    """Return the newest row that an event of this type could be about."""
    resource = subject_of(type_).resource
    source, condition = f"{resource.table} {resource.alias}", TRUE_OF_ROW.get(type_, "true")
    row_id: UUID | None = await connection.fetchval(
        f"select id from {source} where studio_id = $1 and {condition} order by created_at desc, id desc limit 1",
        access.studio_id,
    )
    return row_id


async def follow(
    connection: Connection, access: Access, after: int, types: Sequence[str], at_most: int
) -> list[tuple[int, str]]:
    """Return events after a sequence as (sequence, wire form), for the CLI."""
    statement = f"""
        select w.sequence, row_to_json(w)::text as wire from (
            select {EVENT.columns} from events v
            where v.studio_id = $1 and v.sequence > $2 and v.type = any($3::text[]) order by v.sequence limit $4) w"""
    rows = await connection.fetch(statement, access.studio_id, after, list(types), at_most)
    return [(row["sequence"], row["wire"]) for row in rows]


async def head(connection: Connection, access: Access) -> int:
    found = await connection.fetchval("select sequence from event_heads where studio_id = $1", access.studio_id)
    return found or 0
