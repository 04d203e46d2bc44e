"""Import a studio file or a CSV file: first a preview of every change, then the import itself.

Nothing is stored between the two: the preview carries the file, and the import gets it back.
"""

import base64
import binascii
import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from studiogate.console.framework.page import action, page
from studiogate.console.framework.request import ConsoleRequest
from studiogate.domain.csv_import.kinds import KINDS
from studiogate.domain.csv_import.mapping import WrongMappingError
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.csv_import import CsvFile, CsvOutcome, import_csv
from studiogate.flows.csv_mappings import GENERIC, load_mapping, preset_names
from studiogate.flows.studio_file import Options, Outcome
from studiogate.flows.studio_file.by_staff import import_own_file
from studiogate.storage.studio_file.diff import RowChange
from studiogate.web.response import Answer

IMPORT = "/console/import"
MAXIMUM_FILE = 2 * 1024 * 1024
SHOWN = 500  # changes on the page of a preview
STUDIO_FILE = "studio"
# The names of presets with their titles, the generic one first.
PRESETS = [(each, each.capitalize()) for each in sorted(preset_names(), key=lambda name: (name != GENERIC, name))]


@dataclass(slots=True)
class Wanted:
    """What to import, and how to read it."""

    kind: str
    mapping: str
    dates: str
    name: str
    content: bytes
    changes: list[RowChange] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    change_count: int = 0

    def note(self, change: RowChange) -> None:
        self.change_count += 1
        if len(self.changes) < SHOWN:
            self.changes.append(change)

    @property
    def rows(self) -> Sequence[Sequence[str]]:
        """The verdicts of a CSV file, by line."""
        return list(csv.reader(io.StringIO("".join(self.verdicts), newline="")))[1:]


@page("GET", "/import", Permission.IMPORT)
async def show(request: ConsoleRequest) -> Answer:
    return request.render("set_up/import.html", kinds=list(KINDS), presets=PRESETS, megabytes=MAXIMUM_FILE >> 20)


@action("POST", "/import/preview", Permission.IMPORT)
async def preview(request: ConsoleRequest) -> Answer:
    wanted = _uploaded(request)
    outcome = wanted if isinstance(wanted, Refusal) else await _import(request, wanted, apply=False)
    if isinstance(outcome, Refusal) or isinstance(wanted, Refusal):
        return request.refused(outcome if isinstance(outcome, Refusal) else _no_file(), IMPORT)
    content = base64.b64encode(wanted.content).decode()
    values: dict[str, Any] = {"wanted": wanted, "outcome": outcome, "content": content, "shown": SHOWN}
    return request.render("set_up/preview.html", **values)


@action("POST", "/import/apply", Permission.IMPORT)
async def apply(request: ConsoleRequest) -> Answer:
    wanted = _carried(request)
    outcome = wanted if isinstance(wanted, Refusal) else await _import(request, wanted, apply=True)
    if isinstance(outcome, Refusal):
        return request.refused(outcome, IMPORT)
    if isinstance(outcome, Outcome) and outcome.faults:
        return request.refused(Refusal(Code.VALIDATION_ERROR, faults=[_fault(outcome.faults[0].message)]), IMPORT)
    return request.redirect("/console/welcome", toast=_summary(outcome))


async def _import(request: ConsoleRequest, wanted: Wanted, *, apply: bool) -> Outcome | CsvOutcome | Refusal:
    """Run the import; without ``apply`` it is rolled back after everything was checked."""
    file = io.BytesIO(wanted.content)
    async with request.database.connection() as connection:
        if wanted.kind == STUDIO_FILE:
            options = Options(dry_run=not apply, on_change=wanted.note)
            return await import_own_file(connection, request.access, file, options)
        try:
            mapping = load_mapping(wanted.mapping, KINDS[wanted.kind], [wanted.dates] if wanted.dates else [])
        except WrongMappingError as wrong:
            return Refusal(Code.VALIDATION_ERROR, faults=[Fault(("dates",), "format", each) for each in wrong.faults])
        write = wanted.verdicts.append
        source = CsvFile(file, wanted.name, mapping, write, apply=apply, skip_faults=apply)
        return await import_csv(connection, request.access, source)


def _uploaded(request: ConsoleRequest) -> Wanted | Refusal:
    """Return the file of the form, with how it is to be read."""
    file = request.posted.files.get("file")
    if file is None or not file.content:
        return _no_file()
    return _wanted(request, file.name, file.content)


def _carried(request: ConsoleRequest) -> Wanted | Refusal:
    """Return the file that the preview carried."""
    try:
        content = base64.b64decode(request.form.get("content", ""), validate=True)
    except (binascii.Error, ValueError):
        content = b""
    return _wanted(request, request.form.get("filename", ""), content) if content else _no_file()


def _wanted(request: ConsoleRequest, name: str, content: bytes) -> Wanted | Refusal:
    if len(content) > MAXIMUM_FILE:
        return Refusal(Code.BODY_TOO_LARGE, {"maximum_bytes": MAXIMUM_FILE})
    form = request.form
    kind = form.get("kind", STUDIO_FILE)
    mapping = form.get("mapping", GENERIC)
    if (kind != STUDIO_FILE and kind not in KINDS) or mapping not in preset_names():
        return Refusal(Code.VALIDATION_ERROR, faults=[Fault(("kind",), "enum", "Choose what the file holds")])
    return Wanted(kind, mapping, form.get("dates", "").strip(), name[:200], content)


def _no_file() -> Refusal:
    return Refusal(Code.VALIDATION_ERROR, faults=[_fault("Choose a file")])


def _fault(message: str) -> Fault:
    return Fault(("file",), "file", message)


def _summary(outcome: Outcome | CsvOutcome) -> str:
    if isinstance(outcome, CsvOutcome):
        counted = outcome.counts
    else:
        sections = outcome.sections.values()
        counted = {name: sum(getattr(each, name) for each in sections) for name in ("created", "updated", "unchanged")}
    return "Imported: " + ", ".join(f"{count} {name}" for name, count in counted.items() if count) + "."
