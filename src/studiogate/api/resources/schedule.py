"""GET /rooms, /class-types, /instructors, /classes and a class's spots."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from studiogate.api.framework import params
from studiogate.api.framework.operations import (
    LISTING,
    READING,
    Instant,
    Uuid,
    Wire,
    described,
    list_of,
    open_enum,
    operation,
)
from studiogate.api.framework.params import LIMIT, LIMIT_WHERE_ALL_FIT, Cursor, Id, Limit, PathId, UpdatedAfter
from studiogate.api.framework.route import Caller, LeanRoute, faults_between, needs
from studiogate.domain.access import Scope
from studiogate.domain.bookings.states import ClassStatus
from studiogate.domain.paging import PageRequest
from studiogate.domain.pictures import SIZES
from studiogate.domain.refusals import Fault
from studiogate.storage.paging import read_one
from studiogate.storage.resources import CLASS
from studiogate.storage.schedule import read as storage
from studiogate.web.response import Answer

Reader = Annotated[Caller, needs(Scope.SCHEDULE_READ)]
SpotSelectionMode = Annotated[str, open_enum("SpotSelectionMode", "optional", "required")]
LocationFilter = Annotated[Id | None, Query(description="Only at this permitted location; any other is 404.")]
IdFilter = Annotated[Id | None, Query()]
_SIZES = " or ".join(f"{size.width} x {size.height} ({kind.replace('_', ' ')})" for kind, size in SIZES.items())
ImageUrl = Annotated[
    str | None,
    Field(
        description=f"The absolute URL of a JPEG of {_SIZES} pixels. It changes with the picture, so both may be kept.",
        examples=[
            "https://studio.example/media/6d6f6e64-5c3e-5c19-9b0e-5a1f7a1d2c3b/5f0c2e9a1b7d4c385f0c2e9a1b7d4c38.jpg"
        ],
    ),
]
routes = APIRouter(route_class=LeanRoute, tags=["schedule"])


class Room(Wire):
    """A room at a location."""

    id: Uuid = Field(examples=["a1b8c7c2-6c3e-5c19-9b0e-5a1f7ad0e001"])
    object: Literal["room"] = "room"
    location_id: Uuid = described("The location that the room is in.", "5e0c7a3e-8f5b-5f0e-8a43-0d6d0f6f1c11")
    name: str = described("The room's name.", "Reformer Room")
    capacity: int = described("How many people the room holds. A class has its own `capacity`.", 12)
    active: bool = described("False once the studio no longer uses the room.", True)
    updated_at: Instant = Field(examples=["2026-10-01T00:00:00+00:00"])


class ClassType(Wire):
    """A kind of class."""

    id: Uuid = Field(examples=["7d1c3c6e-3a2b-5a7e-8c55-1f3f0a1b2c01"])
    object: Literal["class_type"] = "class_type"
    name: str = described("The name of this kind of class.", "Reformer Flow")
    description: str | None = described("A text for members.", "A flowing full-body reformer class.")
    beginner_safe: bool | None = described("Whether beginners may come; null where the studio does not say.", True)
    recovery: bool | None = described("Whether it is for recovery; null where the studio does not say.", False)
    active: bool = described("Whether new classes can have it; all are listed.", True)
    image_url: ImageUrl
    updated_at: Instant = Field(examples=["2026-10-01T00:00:00+00:00"])


class Instructor(Wire):
    """Private staff data is not part of it."""

    id: Uuid = Field(examples=["3c9a7a51-2b7f-5e55-9f1d-2d8f0b6a7c01"])
    object: Literal["instructor"] = "instructor"
    name: str = described("The instructor's public name.", "Amara Osei")
    tagline: str = described("One line about them; may be empty.", "Strong, slow, steady.")
    tags: list[str] = described("What they teach, in the studio's own words.", ["reformer", "prenatal"])
    active: bool = described("Only active ones are listed; each can be read by its id.", True)
    image_url: ImageUrl
    updated_at: Instant = Field(examples=["2026-10-01T00:00:00+00:00"])


class Class(Wire):
    """A class session. Availability is for display: the booking write checks it again."""

    id: Uuid = Field(examples=["f2f1a0c4-9c1b-5c8f-b0a6-4d1c9f3b7e01"])
    object: Literal["class"] = "class"
    title: str = described("The title that members see.", "Reformer Flow")
    description: str | None = described("A text about this class, if there is one.", None)
    class_type_id: Uuid | None = described("What kind of class it is.", "7d1c3c6e-3a2b-5a7e-8c55-1f3f0a1b2c01")
    location_id: Uuid | None = described(
        "Where it takes place. Keys limited to locations do not see classes without one.",
        "5e0c7a3e-8f5b-5f0e-8a43-0d6d0f6f1c11",
    )
    room_id: Uuid | None = described("The room that it takes place in.", "a1b8c7c2-6c3e-5c19-9b0e-5a1f7ad0e001")
    instructor_id: Uuid | None = described("Who teaches it.", "3c9a7a51-2b7f-5e55-9f1d-2d8f0b6a7c01")
    start_time: Instant = described("When it starts.", "2026-11-20T12:00:00+00:00")
    end_time: Instant = described("When it ends.", "2026-11-20T12:50:00+00:00")
    capacity: int = described("The most confirmed bookings.", 12)
    booked_count: int = described("Confirmed, checked-in and no-show bookings.", 9)
    available_count: int = described("Seats left: `capacity` less `booked_count`, and 0 once it is cancelled.", 3)
    waitlist_count: int = described("How many members wait.", 0)
    allow_waitlist: bool = described("Whether a full class takes members onto its waitlist.", True)
    spot_selection_mode: SpotSelectionMode | None = described(
        "Null: the class has no spots. `optional`: a free spot is assigned where none is asked for. `required`: a"
        " booking must name its `class_spot_id`.",
        "optional",
    )
    status: ClassStatus | str = described("`in_progress` and `completed` follow from the clock.", "scheduled")
    visible: bool = described("Whether clients see the class; one that they do not see cannot be booked.", True)
    booking_opens_at: Instant | None = described("Bookings are taken from then on; null: at any time before.", None)
    booking_closes_at: Instant = described("Bookings are taken until then.", "2026-11-20T12:00:00+00:00")
    cancellation_cutoff_at: Instant = described(
        "A cancellation after this instant is late. A booking keeps the policy that it was made under.",
        "2026-11-20T00:00:00+00:00",
    )
    promotion_cutoff_at: Instant = described(
        "Until then a free seat goes to the waitlist; afterwards it is open to any booking.",
        "2026-11-20T11:00:00+00:00",
    )
    updated_at: Instant = Field(examples=["2026-11-15T08:00:00+00:00"])


class ClassSpot(Wire):
    """A spot in a class's room, such as a reformer or a bike."""

    id: Uuid = described("Send it as `class_spot_id` of a booking.", "9a1f7ad0-6c3e-5c19-9b0e-a1b8c7c2e001")
    object: Literal["class_spot"] = "class_spot"
    class_id: Uuid = described("The class that the spot belongs to.", "f2f1a0c4-9c1b-5c8f-b0a6-4d1c9f3b7e01")
    label: str = described("What the spot is called in the room.", "R4")
    x: float | None = described("Its column on a plan of the room, where the studio has one.", 2.0)
    y: float | None = described("Its row on a plan of the room, where the studio has one.", 1.0)
    available: bool = described("Whether it is free now; the booking write checks it again.", True)


@routes.get("/rooms", **operation("List rooms", list_of(Room), *LISTING, *READING))
async def list_rooms(
    caller: Reader,
    location_id: LocationFilter = None,
    updated_after: UpdatedAfter = None,
    cursor: Cursor = None,
    limit: Limit = LIMIT_WHERE_ALL_FIT,
) -> Answer:
    """Rooms at all permitted locations, or at one."""
    page = await caller.read(storage.list_rooms, PageRequest(cursor, limit), location_id, updated_after)
    return caller.listed(page)


@routes.get("/rooms/{room_id}", **operation("Read a room", Room, *READING))
async def read_room(caller: Reader, room_id: PathId) -> Answer:
    return caller.found(await caller.read(read_one, storage.ROOM, room_id))


@routes.get("/class-types", **operation("List class types", list_of(ClassType), *LISTING))
async def list_class_types(
    caller: Reader, updated_after: UpdatedAfter = None, cursor: Cursor = None, limit: Limit = LIMIT_WHERE_ALL_FIT
) -> Answer:
    """What kinds of classes the studio offers."""
    return caller.listed(await caller.read(storage.list_class_types, PageRequest(cursor, limit), updated_after))


@routes.get("/class-types/{class_type_id}", **operation("Read a class type", ClassType, *READING))
async def read_class_type(caller: Reader, class_type_id: PathId) -> Answer:
    return caller.found(await caller.read(read_one, storage.CLASS_TYPE, class_type_id))


@routes.get("/instructors", **operation("List active instructors", list_of(Instructor), *LISTING))
async def list_instructors(
    caller: Reader, updated_after: UpdatedAfter = None, cursor: Cursor = None, limit: Limit = LIMIT_WHERE_ALL_FIT
) -> Answer:
    """Instructors who are active now. One who was deactivated leaves the list: read them by their id, or follow
    events."""
    return caller.listed(await caller.read(storage.list_instructors, PageRequest(cursor, limit), updated_after))


@routes.get("/instructors/{instructor_id}", **operation("Read an instructor", Instructor, *READING))
async def read_instructor(caller: Reader, instructor_id: PathId) -> Answer:
    """Also one who is no longer active: past classes keep naming them."""
    return caller.found(await caller.read(read_one, storage.INSTRUCTOR, instructor_id))


def _window_faults(values: Mapping[str, Any]) -> list[Fault]:
    after, before = values.get("starts_after"), values.get("starts_before")
    if after is None or before is None or after <= before:
        return []
    return [Fault(("query", "starts_after"), "value_error", "Input should not be after starts_before")]


@routes.get(
    "/classes",
    **operation(
        "List classes with live availability",
        list_of(Class),
        *LISTING,
        *READING,
        order="`start_time` and `id`, earliest first",
    ),
)
@faults_between(_window_faults)
async def list_classes(
    caller: Reader,
    starts_after: Annotated[
        params.DateTime | None, Query(description="Only classes that start at or after this instant.")
    ] = None,
    starts_before: Annotated[
        params.DateTime | None, Query(description="Only classes that start before this instant.")
    ] = None,
    location_id: LocationFilter = None,
    class_type_id: IdFilter = None,
    instructor_id: IdFilter = None,
    status: Annotated[ClassStatus | None, Query()] = None,
    visible: Annotated[params.Boolean | None, Query(description="Open to clients, or not.")] = None,
    updated_after: UpdatedAfter = None,
    cursor: Cursor = None,
    limit: Limit = LIMIT,
) -> Answer:
    """Availability is for display: the booking write checks it again. Filters combine; an unknown class type or
    instructor gives an empty list.
    """
    wanted = storage.ClassFilters(
        starts_after, starts_before, location_id, status, updated_after, class_type_id, instructor_id, visible
    )
    return caller.listed(await caller.read(storage.list_classes, PageRequest(cursor, limit), wanted))


@routes.get("/classes/{class_id}", **operation("Read a class", Class, *READING))
async def read_class(caller: Reader, class_id: PathId) -> Answer:
    """One class session with its availability at this moment."""
    return caller.found(await caller.read(read_one, CLASS, class_id))


@routes.get(
    "/classes/{class_id}/spots",
    **operation(
        "List a class's spots, free and taken", list_of(ClassSpot), *LISTING, *READING, order="`y`, `x` and `label`"
    ),
)
async def list_spots(
    caller: Reader, class_id: PathId, cursor: Cursor = None, limit: Limit = LIMIT_WHERE_ALL_FIT
) -> Answer:
    """Empty where the class does not let members choose. `available` is live; the booking write checks it again."""
    return caller.listed(await caller.read(storage.list_spots, PageRequest(cursor, limit), class_id))
