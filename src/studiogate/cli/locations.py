"""studiogate location create, change, deactivate, list."""

from typing import Annotated

import typer

from studiogate.cli import lists
from studiogate.cli.actions import Clear, Policy, RowId, Strict, act, act_in_studio, changes, given, print_saved
from studiogate.cli.context import AsJson, DataFolder
from studiogate.cli.lists import Slug
from studiogate.flows.schedule import locations as flow
from studiogate.flows.schedule.rows import Given

app = lists.locations
Name = Annotated[str | None, typer.Option("--name", help="The location's name.")]
City = Annotated[str | None, typer.Option("--city", help="The city.")]
State = Annotated[str | None, typer.Option("--state", help="State, province or region.")]
Timezone = Annotated[str | None, typer.Option("--timezone", help="An IANA time zone; else the studio's.")]
Primary = Annotated[bool | None, typer.Option("--primary/--no-primary", help="The studio's main location.")]
Active = Annotated[bool | None, typer.Option("--active/--no-active", help="Whether it is in use.")]


@app.command("create")
def create(
    studio: Slug,
    name: Name,
    city: City = None,
    state: State = None,
    timezone: Timezone = None,
    primary: Primary = None,
    policy: Policy = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Create a location."""
    values = given(None, policy, name=name, city=city, state=state, timezone=timezone, is_primary=primary)
    saved = act_in_studio(data, studio, "location", lambda c, access: flow.create(c, access, Given(values)))
    print_saved(saved, "The location is created:", as_json)


@app.command("change")
def change(
    location_id: RowId,
    studio: Slug,
    name: Name = None,
    city: City = None,
    state: State = None,
    timezone: Timezone = None,
    primary: Primary = None,
    active: Active = None,
    policy: Policy = None,
    clear: Clear = None,
    strict: Strict = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Change the given fields of a location. With a new time zone, the classes of its series keep their local times."""
    values = changes(
        clear, policy, name=name, city=city, state=state, timezone=timezone, is_primary=primary, active=active
    )
    saved = act(
        data, studio, "location", location_id, lambda c, a: flow.change(c, a, location_id, Given(values, strict))
    )
    print_saved(saved, "The location is changed:", as_json)


@app.command("deactivate")
def deactivate(
    location_id: RowId, studio: Slug, strict: Strict = False, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """Take a location out of use. `change --active` takes it back."""
    saved = act(data, studio, "location", location_id, lambda c, a: flow.deactivate(c, a, location_id, strict))
    print_saved(saved, "The location is deactivated:", as_json)
