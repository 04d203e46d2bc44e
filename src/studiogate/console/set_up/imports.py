"""Import a studio file or a CSV file: first a preview of every change, then the import itself.

Between the two the file is kept on the server, for an hour at most; the preview carries a token that reads it back.
"""

import asyncio
import io
from typing import Any, NamedTuple

from studiogate.console.framework.page import action, page
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.set_up.import_preview import SHOWN, Preview
from studiogate.domain.access import Access
from studiogate.domain.csv_import.kinds import KINDS
from studiogate.domain.csv_import.mapping import WrongMappingError
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.csv_import import CsvFile, CsvOutcome, import_csv
from studiogate.flows.csv_mappings import GENERIC, load_mapping, preset_names
from studiogate.flows.forms.upload import room_refusal
from studiogate.flows.studio_file import Options, Outcome
from studiogate.flows.studio_file.by_staff import import_own_file
from studiogate.storage import import_files
from studiogate.storage.db.own_loop import run_in_own_loop
from studiogate.storage.db.pool import Database
from studiogate.storage.import_files import Owner
from studiogate.storage.upload_folder import DiskFullError, UploadFolder
from studiogate.web.response import Answer

IMPORT = "/console/import"
MAXIMUM_FILE = 2 * 1024 * 1024
STUDIO_FILE = "studio"
GONE = Refusal(Code.VALIDATION_ERROR, faults=[Fault(("file",), "gone", "The file is no longer kept. Choose it again.")])
# The names of presets with their titles, the generic one first.
PRESETS = [(each, each.capitalize()) for each in sorted(preset_names(), key=lambda name: (name != GENERIC, name))]


class Wanted(NamedTuple):
    """What to import, and how to read it."""

    kind: str
    mapping: str
    dates: str
    name: str
    content: bytes
    quiet: bool


@page("GET", "/import", Permission.IMPORT)
async def show(request: ConsoleRequest) -> Answer:
    return request.render("set_up/import.html", kinds=list(KINDS), presets=PRESETS, megabytes=MAXIMUM_FILE >> 20)


@action("POST", "/import/preview", Permission.IMPORT)
async def preview(request: ConsoleRequest) -> Answer:
    wanted = _uploaded(request)
    if isinstance(wanted, Refusal):
        return request.refused(wanted, IMPORT)
    found = Preview()
    outcome = await _import(request, wanted, found, apply=False)
    token = outcome if isinstance(outcome, Refusal) else await _keep(request, wanted.content)
    if isinstance(token, Refusal):
        return request.refused(token, IMPORT)
    values: dict[str, Any] = {"wanted": wanted, "outcome": outcome, "token": token, "preview": found, "shown": SHOWN}
    return request.render("set_up/preview.html", **values)


@action("POST", "/import/apply", Permission.IMPORT)
async def apply(request: ConsoleRequest) -> Answer:
    wanted = await _kept(request)
    outcome = wanted if isinstance(wanted, Refusal) else await _import(request, wanted, Preview(), apply=True)
    if isinstance(outcome, Refusal):
        return request.refused(outcome, IMPORT)
    if isinstance(outcome, Outcome) and outcome.faults:
        return request.refused(Refusal(Code.VALIDATION_ERROR, faults=[_fault(outcome.faults[0].message)]), IMPORT)
    return request.redirect("/console/welcome", toast=_summary(outcome))


async def _import(
    request: ConsoleRequest, wanted: Wanted, found: Preview, *, apply: bool
) -> Outcome | CsvOutcome | Refusal:
    """Run the import outside the event loop; without ``apply`` it is rolled back after everything was checked."""
    address, access = request.runtime.settings.database_url, request.access
    if address is None:
        raise AssertionError("a runtime has the address of its database")
    if wanted.kind == STUDIO_FILE:
        options = Options(dry_run=not apply, quiet=wanted.quiet, on_change=found.note)
        return await run_in_own_loop(address, lambda database: _import_file(database, access, wanted, options))
    try:
        mapping = load_mapping(wanted.mapping, KINDS[wanted.kind], [wanted.dates] if wanted.dates else [])
    except WrongMappingError as wrong:
        return Refusal(Code.VALIDATION_ERROR, faults=[Fault(("dates",), "format", each) for each in wrong.faults])
    file = io.BytesIO(wanted.content)
    source = CsvFile(file, wanted.name, mapping, found.write, apply=apply, skip_faults=apply, quiet=wanted.quiet)
    return await run_in_own_loop(address, lambda database: _import_csv(database, access, source))


async def _import_file(database: Database, access: Access, wanted: Wanted, options: Options) -> Outcome | Refusal:
    async with database.connection() as connection:
        return await import_own_file(connection, access, io.BytesIO(wanted.content), options)


async def _import_csv(database: Database, access: Access, source: CsvFile) -> CsvOutcome | Refusal:
    async with database.connection() as connection:
        return await import_csv(connection, access, source)


def _folder(request: ConsoleRequest) -> UploadFolder:
    return UploadFolder(request.runtime.settings.data_dir)


def _owner(request: ConsoleRequest) -> Owner:
    return Owner(request.access.studio_id, request.signed_in.session.account_id)


async def _keep(request: ConsoleRequest, content: bytes) -> str | Refusal:
    """Keep the file for the import; return the token that the preview carries."""
    full = room_refusal(request.runtime.settings)
    if full is not None:
        return full
    try:
        return await asyncio.to_thread(import_files.keep, _folder(request), _owner(request), content)
    except DiskFullError:
        return Refusal(Code.STORAGE_UNAVAILABLE)


async def _kept(request: ConsoleRequest) -> Wanted | Refusal:
    """Return the file of the preview."""
    token = request.form.get("token", "")
    content = await asyncio.to_thread(import_files.read, _folder(request), _owner(request), token)
    return GONE if content is None else _wanted(request, request.form.get("filename", ""), content)


def _uploaded(request: ConsoleRequest) -> Wanted | Refusal:
    """Return the file of the form, with how it is to be read."""
    file = request.posted.files.get("file")
    if file is None or not file.content:
        return _no_file()
    return _wanted(request, file.name, file.content)


def _wanted(request: ConsoleRequest, name: str, content: bytes) -> Wanted | Refusal:
    if len(content) > MAXIMUM_FILE:
        return Refusal(Code.BODY_TOO_LARGE, {"maximum_bytes": MAXIMUM_FILE})
    form = request.form
    kind = form.get("kind", STUDIO_FILE)
    mapping = form.get("mapping", GENERIC)
    if (kind != STUDIO_FILE and kind not in KINDS) or mapping not in preset_names():
        return Refusal(Code.VALIDATION_ERROR, faults=[Fault(("kind",), "enum", "Choose what the file holds")])
    return Wanted(kind, mapping, form.get("dates", "").strip(), name[:200], content, form.get("quiet") == "on")


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
