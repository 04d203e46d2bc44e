"""One class of the week: what it is, and what can be done with it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from studiogate.console.framework.page import page
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.schedule.responses import arranged
from studiogate.console.schedule.week import PATH
from studiogate.domain.staff import Permission
from studiogate.storage.schedule import classes, week
from studiogate.storage.schedule.classes import ClassDetails
from studiogate.storage.schedule.week import Choice, Choices
from studiogate.web.response import Answer


async def read_class(request: ConsoleRequest) -> ClassDetails | None:
    """Return the class that the path names, if it exists and the person may see it."""
    class_id = as_id(request.params["class_id"])
    if class_id is None:
        return None
    async with request.database.connection() as connection:
        found = await classes.read_class(connection, request.access, class_id)
    is_seen = found is not None and request.access.may_act_on_class_of(found.row["instructor_id"])
    return found if is_seen else None


class Options(NamedTuple):
    """What can be chosen for a class, as pairs of id and name."""

    rooms: Sequence[tuple[UUID, str]]
    instructors: Sequence[tuple[UUID, str]]
    class_types: Sequence[tuple[UUID, str]]


def options_of(choices: Choices, row: Mapping[str, Any]) -> Options:
    """Return the choices for a row; what it has already is among them, also if it is deactivated or elsewhere."""
    kinds = ("room", "instructor", "class_type")
    return Options(
        *(_pairs(found, row.get(f"{kind}_id"), row.get(kind)) for kind, found in zip(kinds, choices, strict=True))
    )


def _pairs(found: Sequence[Choice], own_id: UUID | None, own_name: str | None) -> list[tuple[UUID, str]]:
    pairs = [(each.id, each.name) for each in found]
    is_missing = own_id is not None and all(each != own_id for each, _ in pairs)
    return [*pairs, (own_id, own_name or "")] if own_id is not None and is_missing else pairs


async def read_choices(request: ConsoleRequest, location_id: UUID) -> Choices:
    """Return what a class at a location can have."""
    async with request.database.connection() as connection:
        return await week.read_choices(connection, request.access, location_id)


def class_path(class_id: UUID | str, rest: str = "") -> str:
    return f"{PATH}/classes/{class_id}{rest}"


def week_of_class(found: ClassDetails) -> str:
    """Return the address of the week in which a class takes place."""
    query = {"location": str(found.row["location_id"]), "week": str(found.local_start.date())}
    return with_query(PATH, query)


def with_query(path: str, fields: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(fields)}" if fields else path


@page("GET", "/schedule/classes/{class_id}", Permission.SCHEDULE_READ)
async def show_class(request: ConsoleRequest) -> Answer:
    """Show a class with its actions: change, substitute, cancel."""
    found = await read_class(request)
    if found is None:
        return request.not_found()
    options = None
    if request.may(Permission.SCHEDULE) and not found.is_cancelled:
        options = options_of(await read_choices(request, found.row["location_id"]), found.row)
    back = arranged(request, week_of_class(found))
    return request.render("schedule/class.html", found=found, row=found.row, options=options, back=back)
