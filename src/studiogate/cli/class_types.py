"""studiogate class-type create, change, deactivate, list."""

from typing import Annotated

import typer

from studiogate.cli import lists
from studiogate.cli.actions import Clear, Policy, RowId, Strict, act, act_in_studio, changes, given, print_saved
from studiogate.cli.context import AsJson, DataFolder
from studiogate.cli.lists import Slug
from studiogate.flows.schedule import class_types as flow
from studiogate.flows.schedule.rows import Given

app = lists.group("class_type", "Class types.")
Name = Annotated[str | None, typer.Option("--name", help="The name of the class type.")]
Description = Annotated[str | None, typer.Option("--description", help="A text about it.")]
BeginnerSafe = Annotated[
    bool | None, typer.Option("--beginner-safe/--no-beginner-safe", help="Whether beginners can take part.")
]
Recovery = Annotated[bool | None, typer.Option("--recovery/--no-recovery", help="Whether it is a recovery class.")]
Active = Annotated[bool | None, typer.Option("--active/--no-active", help="Whether it is in use.")]


@app.command("create")
def create(
    studio: Slug,
    name: Name,
    description: Description = None,
    beginner_safe: BeginnerSafe = None,
    recovery: Recovery = None,
    policy: Policy = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Create a class type."""
    values = given(None, policy, name=name, description=description, beginner_safe=beginner_safe, recovery=recovery)
    saved = act_in_studio(data, studio, "class type", lambda c, access: flow.create(c, access, Given(values)))
    print_saved(saved, "The class type is created:", as_json)


@app.command("change")
def change(
    class_type_id: RowId,
    studio: Slug,
    name: Name = None,
    description: Description = None,
    beginner_safe: BeginnerSafe = None,
    recovery: Recovery = None,
    active: Active = None,
    policy: Policy = None,
    clear: Clear = None,
    strict: Strict = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Change the given fields of a class type. A new policy also applies to its classes to come."""
    values = changes(
        clear,
        policy,
        name=name,
        description=description,
        beginner_safe=beginner_safe,
        recovery=recovery,
        active=active,
    )
    saved = act(
        data, studio, "class-type", class_type_id, lambda c, a: flow.change(c, a, class_type_id, Given(values, strict))
    )
    print_saved(saved, "The class type is changed:", as_json)


@app.command("deactivate")
def deactivate(
    class_type_id: RowId, studio: Slug, strict: Strict = False, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """Take a class type out of use. `change --active` takes it back."""
    saved = act(data, studio, "class-type", class_type_id, lambda c, a: flow.deactivate(c, a, class_type_id, strict))
    print_saved(saved, "The class type is deactivated:", as_json)
