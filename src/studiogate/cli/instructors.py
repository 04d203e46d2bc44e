"""studiogate instructor create, change, deactivate, list."""

from typing import Annotated

import typer

from studiogate.cli import lists
from studiogate.cli.actions import Clear, RowId, Strict, act, act_in_studio, changes, given, print_saved
from studiogate.cli.context import AsJson, DataFolder
from studiogate.cli.lists import Slug
from studiogate.flows.schedule import instructors as flow
from studiogate.flows.schedule.rows import Given

app = lists.instructors
Name = Annotated[str | None, typer.Option("--name", help="The instructor's name.")]
Tagline = Annotated[str | None, typer.Option("--tagline", help="One line about them.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Repeat it for several.")]
Active = Annotated[bool | None, typer.Option("--active/--no-active", help="Whether it is in use.")]


@app.command("create")
def create(
    studio: Slug,
    name: Name,
    tagline: Tagline = None,
    tag: Tags = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Create an instructor."""
    values = given(None, name=name, tagline=tagline, tags=tag or None)
    saved = act_in_studio(data, studio, "instructor", lambda c, access: flow.create(c, access, Given(values)))
    print_saved(saved, "The instructor is created:", as_json)


@app.command("change")
def change(
    instructor_id: RowId,
    studio: Slug,
    name: Name = None,
    tagline: Tagline = None,
    tag: Tags = None,
    active: Active = None,
    clear: Clear = None,
    strict: Strict = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Change the given fields of an instructor. --tag names all tags."""
    values = changes(clear, name=name, tagline=tagline, tags=tag or None, active=active)
    saved = act(
        data, studio, "instructor", instructor_id, lambda c, a: flow.change(c, a, instructor_id, Given(values, strict))
    )
    print_saved(saved, "The instructor is changed:", as_json)


@app.command("deactivate")
def deactivate(
    instructor_id: RowId, studio: Slug, strict: Strict = False, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """Take an instructor out of use. `change --active` takes them back."""
    saved = act(data, studio, "instructor", instructor_id, lambda c, a: flow.deactivate(c, a, instructor_id, strict))
    print_saved(saved, "The instructor is deactivated:", as_json)
