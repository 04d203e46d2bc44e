"""studiogate form create | change | publish | archive: forms from JSON files."""

from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from studiogate.cli import lists
from studiogate.cli.actions import RowId, StudioOption, act, act_in_studio, some_of
from studiogate.cli.context import AsJson, CommandError, DataFolder, print_result
from studiogate.cli.form_links import app
from studiogate.domain.form_body import FIELDS
from studiogate.domain.forms.canonical import MAX_DEFINITION
from studiogate.domain.refusals import Refusal
from studiogate.flows.forms import staff as flow
from studiogate.web.request import strict_json

# A file may be written with more white space than the definition that is kept.
MAX_FILE = 4 * MAX_DEFINITION
FormFile = Annotated[
    Path,
    typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="JSON: title, slug, fields, settings …"),
]


@app.command("create")
def create(file: FormFile, studio: lists.Slug, as_json: AsJson = False, data: DataFolder = None) -> None:
    """Create a form from a JSON file, as a draft unless the file says otherwise."""
    given = _read(file)
    form = act_in_studio(data, studio, "form", lambda c, access: flow.create(c, access, given))
    print_result(form, f"Created form {form['id']} ({form['status']}) with the slug {form['slug']}.", as_json)


@app.command("change")
def change(
    form_id: RowId, file: FormFile, studio: StudioOption = None, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """Change a form by a JSON file: what the file has replaces the old value whole, the rest stays."""
    _change(data, studio, form_id, some_of(_read(file), FIELDS), as_json)


@app.command("publish")
def publish(form_id: RowId, studio: StudioOption = None, as_json: AsJson = False, data: DataFolder = None) -> None:
    """Publish a draft: visitors and partners can see it and send it."""
    _change(data, studio, form_id, {"status": "published"}, as_json)


@app.command("archive")
def archive(form_id: RowId, studio: StudioOption = None, as_json: AsJson = False, data: DataFolder = None) -> None:
    """Archive a published form: it takes no submissions any more."""
    _change(data, studio, form_id, {"status": "archived"}, as_json)


def _change(data: Path | None, studio: str | None, form_id: UUID, given: dict[str, object], as_json: bool) -> None:
    form = act(data, studio, "form", form_id, lambda c, access: flow.change(c, access, form_id, given))
    print_result(form, f"The form is {form['status']} now, version {form['version']}.", as_json)


def _read(file: Path) -> dict[str, object]:
    with file.open("rb") as stream:
        content = stream.read(MAX_FILE + 1)
    if len(content) > MAX_FILE:
        raise CommandError(f"{file} is larger than {MAX_FILE:,} bytes: a form is smaller.")
    given = strict_json(content)
    if isinstance(given, Refusal):
        raise CommandError(f"{file} is not valid JSON: {given.details['problem']}.")
    if not isinstance(given, dict):
        raise CommandError(f"{file} must hold a JSON object.")
    return given
