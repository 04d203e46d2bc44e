"""GET /events: the event log."""

import re
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from studiogate import API_VERSION, clock
from studiogate.api.framework.operations import (
    LISTING,
    READING,
    Instant,
    Uuid,
    Wire,
    closed_enum,
    described,
    list_of,
    open_enum,
    operation,
)
from studiogate.api.framework.params import LIMIT, Cursor, DateTime, Limit, PathId, digits
from studiogate.api.framework.route import Caller, LeanRoute, needs
from studiogate.domain.access import Actor, Scope
from studiogate.domain.events import PATTERNS
from studiogate.domain.paging import Page, PageRequest
from studiogate.storage import events as storage
from studiogate.web.response import Answer

Reader = Annotated[Caller, needs(Scope.EVENTS_READ)]
MAX_WAIT_SECONDS = 20
_EXAMPLE_ID = "0192f0c1-a2b3-7c4d-8e5f-60718293a4b5"
# How often a waiting reader polls if no notification arrives (because of a lost connection, for example).
LOOK_AGAIN_SECONDS = 1.0
routes = APIRouter(route_class=LeanRoute, tags=["events"])


def _pattern(value: str) -> str:
    if value not in PATTERNS:
        raise PydanticCustomError("event_type", "Input should be one of {allowed}", {"allowed": ", ".join(PATTERNS)})
    return value


def _patterns(value: str) -> str:
    return ",".join(_pattern(each) for each in value.split(","))


EVENT_PATTERNS = ("EventPattern", *PATTERNS)
Pattern = Annotated[str, AfterValidator(_pattern), closed_enum(*EVENT_PATTERNS)]
_ONE_OF = f"({'|'.join(re.escape(each) for each in PATTERNS)})"
_SEVERAL = {"type": "string", "pattern": f"^{_ONE_OF}(,{_ONE_OF})*$", "examples": ["booking.*,class.updated"]}
TypeFilter = Annotated[
    Annotated[str, AfterValidator(_patterns), open_enum(*EVENT_PATTERNS, other=_SEVERAL)] | None,
    Query(alias="type", description="Types, families such as `booking.*`, or `*`; several separated by commas."),
]
CreatedAfter = Annotated[DateTime | None, Query(description="Only events written at or after this instant.")]
Wait = Annotated[
    Annotated[int, BeforeValidator(digits), Field(ge=0, le=MAX_WAIT_SECONDS)],
    Query(description=f"Seconds (at most {MAX_WAIT_SECONDS}) to wait for an event when there is none yet."),
]


def _without_merged(schema: dict[str, Any]) -> None:
    """Require only what every event has, and allow further members."""
    schema.pop("additionalProperties", None)
    schema["required"].remove("merged_member_id")


class EventData(Wire):
    """What changed."""

    model_config = ConfigDict(json_schema_extra=_without_merged)

    object: dict[str, Any] = described(
        "The resource as GET returned it when this happened.",
        {"id": "d0e0aabb-6c3e-5c19-9b0e-5a1f7a1d2c3b", "object": "booking", "status": "confirmed"},
    )
    previous_attributes: dict[str, Any] = described(
        "The fields that changed, with the values they had; without `updated_at`.", {"status": "waitlisted"}
    )
    merged_member_id: Uuid | None = Field(
        None,
        description="Only on `member.merged`: the member that became part of `object`.",
        examples=["9f8e7d6c-6c3e-5c19-9b0e-5a1f7ad0e0bb"],
    )


class EventActor(Wire):
    """Who made a change."""

    type: Actor | str = described(
        "A `partner` through this API, `staff`, a `visitor` on a hosted page, or the `system` because time passed.",
        "partner",
    )


class Event(Wire):
    """A change, and the resource after it; ``framework/openapi/events.py`` makes a schema of it for each type."""

    id: Uuid = described("The same on every attempt: dedupe by it.", _EXAMPLE_ID)
    object: Literal["event"] = "event"
    type: str = described("What happened.", "booking.updated")
    api_version: str = described("The version that the event was written in.", API_VERSION)
    created_at: Instant = described("When it happened.", "2026-11-15T08:00:00+00:00")
    sequence: int = described("Rises without gaps within the studio.", 4711)
    studio_id: Uuid = described("The studio.", "6d6f6e64-5c3e-5c19-9b0e-5a1f7a1d2c3b")
    actor: EventActor = Field(description="Who made the change.")
    data: EventData = Field(description="The resource after the change, and what it was before.")


@routes.get("/events", **operation("List events", list_of(Event), *LISTING, order="`sequence`, oldest first"))
async def list_events(
    caller: Reader,
    patterns: TypeFilter = None,
    created_after: CreatedAfter = None,
    cursor: Cursor = None,
    limit: Limit = LIMIT,
    wait: Wait = 0,
) -> Answer:
    """What happened in the last 30 days.

    To follow the log, send the `id` of the last event that you have seen as `cursor`, with `wait`: the answer comes
    as soon as there is something new.
    """
    asked = storage.EventFilters(patterns.split(",") if patterns else None, created_after)
    page = await caller.read(storage.list_events, PageRequest(cursor, limit), asked)
    deadline = clock.monotonic() + wait
    while wait and isinstance(page, Page) and not page.rows and clock.monotonic() < deadline:
        seconds = max(0.0, min(LOOK_AGAIN_SECONDS, deadline - clock.monotonic()))
        if not await caller.runtime.event_listeners.wait(caller.access.studio_id, seconds):
            break  # waiting is not possible
        page = await caller.read(storage.list_events, PageRequest(cursor, limit), asked)
    return caller.listed(page)


@routes.get("/events/{event_id}", **operation("Read an event", Event, *READING))
async def read_event(caller: Reader, event_id: PathId) -> Answer:
    return caller.found(await caller.read(storage.read_event, event_id))
