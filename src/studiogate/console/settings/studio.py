"""The first page of the settings, and the studio itself: its declared fields in one form, and its logo."""

from collections.abc import Mapping
from dataclasses import replace

from studiogate.console.framework import ConsoleRequest, UndoAction, Values, action, page, words
from studiogate.console.framework.inputs import Input, input_of, shown_text
from studiogate.console.framework.posted import SEEN, seen_text, untouched
from studiogate.console.settings.countries import CHOICES, choices
from studiogate.domain.fields import Field
from studiogate.domain.fields.readers import SHAPES
from studiogate.domain.logos import MAX_BYTES, MAX_SIDE, logo_path
from studiogate.domain.refusals import Fault, Refusal
from studiogate.domain.schedule.fields import STUDIO
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import refused
from studiogate.flows import studio as flows
from studiogate.flows.schedule.rows import Given
from studiogate.storage import studio as storage
from studiogate.storage.db.pool import Record
from studiogate.web.response import Answer

PATH = "/console/settings/studio"
# What has a page or a form of its own.
ELSEWHERE = frozenset({"policy", "logo"})
LABELS: Mapping[str, str] = words.WORDS["studio_labels"]
WORDS: Mapping[str, str] = words.WORDS["studio_values"]
HELP: Mapping[str, str] = words.WORDS["studio_help"]


@page("/settings", Permission.STUDIO)
async def show_settings(request: ConsoleRequest) -> Answer:
    """Show what each page of the settings is for."""
    return request.render("settings/index.html")


def _input(field: Field, row: Record) -> Input:
    """Return the input of a declared field, whatever it is: one that is declared later appears by itself."""
    name = field.name
    found = input_of(field, HELP.get(name, field.help), label=LABELS.get(name, field.label))
    if name in CHOICES:
        return replace(found, type="choice", required=True, options=choices(name, row[name]), attributes={})
    if "enum" not in SHAPES.get(field.read, {}):
        return found
    usual = [] if field.default is not None else [("", "As usual in the country")]
    return replace(found, options=[*usual, *((value, WORDS.get(value, text)) for value, text in found.options)])


def _inputs(row: Record) -> list[Input]:
    return [_input(each, row) for name, each in STUDIO.items() if name not in ELSEWHERE]


@page("/settings/studio", Permission.STUDIO)
async def show(request: ConsoleRequest) -> Answer:
    row = await request.read(storage.read_settings)
    if row is None:
        return request.not_found()
    inputs = _inputs(row)
    stored = {each.name: shown_text(row[each.name]) for each in inputs}
    values: Values = {
        "inputs": {each.name: each for each in inputs},
        "stored": stored,
        "seen": (request.typed or {}).get(SEEN) or seen_text(stored),
        "logo": row["logo"] and logo_path(row["slug"], row["logo"]),
        "max_bytes": MAX_BYTES,
        "logo_limit": f"PNG, JPEG or WebP, at most {MAX_BYTES // 1024} KiB and {MAX_SIDE} pixels per side.",
    }
    return request.render("settings/studio.html", **values)


@action("/settings/studio", Permission.STUDIO)
async def save(request: ConsoleRequest) -> Answer:
    """Change the fields that were changed in the form. Sent by the button to undo, the form has only those fields."""
    row = await request.read(storage.read_settings)
    if row is None:
        return request.not_found()
    form, inputs = request.form, _inputs(row)
    same = untouched(form, [each.name for each in inputs])
    given: dict[str, object] = {
        each.name: each.read(each.name, form[each.name].strip(), row)
        for each in inputs
        if each.name in form and each.name not in same
    }
    faults = [each for each in given.values() if isinstance(each, Fault)]
    saved = refused(*faults) if faults else await request.run(flows.change, Given(given))
    if isinstance(saved, Refusal):
        if saved.param is not None and not saved.faults:
            saved = refused(Fault((saved.param,), saved.code.value, saved.message))
        return request.refused(saved, PATH)
    if not given:
        return request.redirect(PATH, toast="Nothing was changed.")
    undo = UndoAction(PATH, {name: shown_text(row[name]) for name in given})
    return request.redirect(PATH, toast=" ".join(["Saved.", *(each.message for each in saved.warnings)]), undo=undo)


@action("/settings/studio/logo", Permission.STUDIO, max_file=MAX_BYTES)
async def store_logo(request: ConsoleRequest) -> Answer:
    file = request.posted.file
    content = b"" if file is None else (file.content.seek(0), file.content.read(MAX_BYTES + 1))[1]
    if not content:
        return request.refused(refused(Fault((), "missing", "Choose an image.")), PATH)
    stored = await request.run(flows.store_logo, content)
    if isinstance(stored, Refusal):
        faults = [each._replace(loc=(), msg=f"The image {each.msg}.") for each in stored.faults]
        return request.refused(Refusal(stored.code, stored.details, stored.param, faults), PATH)
    return request.redirect(PATH, toast="The logo is stored. Forms and the schedule show it too.")


@action("/settings/studio/logo/remove", Permission.STUDIO)
async def remove_logo(request: ConsoleRequest) -> Answer:
    removed = await request.run(flows.remove_logo)
    if isinstance(removed, Refusal):
        return request.refused(removed, PATH)
    return request.redirect(PATH, toast="The logo is removed." if removed else "There was no logo.")
