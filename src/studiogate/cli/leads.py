"""studiogate lead move | note | convert: what staff do with leads."""

from typing import Annotated

import typer

from studiogate.cli import lists
from studiogate.cli.actions import RowId, StudioOption, act
from studiogate.cli.context import AsJson, DataFolder, print_result
from studiogate.cli.members import FirstName, LastName, Phone
from studiogate.domain.leads import LeadStatus
from studiogate.flows import lead_staff as flow

app = lists.leads
Status = Annotated[LeadStatus, typer.Argument(metavar="STATUS", help="new, contacted, qualified, unqualified or lost.")]


@app.command("move")
def move(
    lead_id: RowId, status: Status, studio: StudioOption = None, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """Move a lead along the pipeline. It becomes converted by `lead convert`, and stays converted."""
    done = act(data, studio, "lead", lead_id, lambda c, access: flow.move(c, access, lead_id, status))
    print_result({"id": str(lead_id), "status": done.value}, f"The lead is {done.value} now.", as_json)


@app.command("note")
def note(
    lead_id: RowId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The note. Partners never see it.")],
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Add a note to a lead's staff notes, on a line of its own."""
    act(data, studio, "lead", lead_id, lambda c, access: flow.add_note(c, access, lead_id, text))
    print_result({"id": str(lead_id), "added": True}, "Added the note.", as_json)


@app.command("convert")
def convert(
    lead_id: RowId,
    first_name: FirstName = None,
    last_name: LastName = None,
    phone: Phone = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Make a member of a lead, with the lead's email. Names and phone are the lead's where none are given."""
    fields = {"first_name": first_name, "last_name": last_name, "phone": phone}
    given = {name: value for name, value in fields.items() if value is not None}
    member = act(data, studio, "lead", lead_id, lambda c, access: flow.convert(c, access, lead_id, given))
    print_result(member, f"The lead is member {member['id']} now.", as_json)
