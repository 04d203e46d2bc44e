"""Import a studio file or a CSV file: first a preview of every change, then the import itself.

Both run in the background, because they take minutes for a large file. The file is kept on the server meanwhile, for
an hour at most, and has a page of its own: it shows the progress, then the changes, then what was imported.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from studiogate.console.framework import ConsoleRequest, about, action, page
from studiogate.console.framework.paging import AFTER
from studiogate.console.set_up.import_preview import ImportToRun, run_import
from studiogate.domain.csv_import.kinds import KINDS
from studiogate.domain.csv_import.mapping import WrongMappingError
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.csv_rows import GENERIC, load_mapping, preset_names
from studiogate.flows.forms.upload import room_refusal
from studiogate.storage import import_files
from studiogate.storage.db.own_loop import WORK
from studiogate.storage.import_files import CHANGES, OTHERS, ImportFile, Owner, State
from studiogate.storage.upload_store import FilesUnavailableError
from studiogate.web.response import Answer

IMPORT = "/console/import"
MAX_FILE = 1 << 30
STUDIO_FILE = "studio"
DONE = "done"
GONE = Refusal(Code.VALIDATION_ERROR, faults=[Fault(("file",), "gone", "The file is no longer kept. Choose it again.")])
# The names of presets with their titles, the generic one first.
PRESETS = [(each, each.capitalize()) for each in sorted(preset_names(), key=lambda name: (name != GENERIC, name))]


@page("/import", Permission.IMPORT)
async def show(request: ConsoleRequest) -> Answer:
    return request.render("set_up/import.html", kinds=list(KINDS), presets=PRESETS, max_bytes=MAX_FILE)


@action("/import/preview", Permission.IMPORT, max_file=MAX_FILE)
async def preview(request: ConsoleRequest) -> Answer:
    wanted, file = _wanted(request.form), request.posted.file
    if file is None or not file.content.tell():
        return request.refused(_refusal("file", "Choose a file"), IMPORT)
    if isinstance(wanted, Refusal):
        return request.refused(wanted, IMPORT)
    read_as = {name: request.form[name] for name in ("kind", "mapping", "dates") if name in request.form}
    wanted = wanted._replace(name=file.name[:200])
    state = {"name": wanted.name, **read_as, "apply": False, "step": "waiting"}
    full = room_refusal(request.runtime.uploads, request.runtime.settings)
    if full is not None:
        return request.refused(full, IMPORT)
    try:
        kept = await asyncio.to_thread(import_files.keep, request.runtime.uploads, _owner(request), file.content, state)
    except FilesUnavailableError:
        return request.refused(Refusal(Code.STORAGE_UNAVAILABLE), IMPORT)
    await _submit(request, kept, wanted)
    return request.redirect(f"{IMPORT}/{kept.token}")


async def _kept(request: ConsoleRequest) -> tuple[ImportFile, State] | Answer:
    """Return the file that the path names, and how far its import is."""
    kept = import_files.find(request.runtime.uploads, _owner(request), request.params["token"])
    state = kept.state if kept is not None else None
    return request.error(GONE) if kept is None or state is None else (kept, state)


@page("/import/{token}", Permission.IMPORT)
@about(_kept)
async def show_import(request: ConsoleRequest, found: tuple[ImportFile, State]) -> Answer:
    kept, state = found
    is_locked = kept.is_locked
    state = kept.state or state  # it may have ended a moment ago
    done = state["step"] == DONE
    values: dict[str, Any] = {"state": state, "done": done, "interrupted": not done and not is_locked}
    if done and "refused" not in state:
        # What is left out, if anything is, or every change.
        shown = request.query.get("show")
        if shown not in (CHANGES, OTHERS):
            shown = OTHERS if state["faults"] else CHANGES
        after = request.query.get(AFTER, "")
        rows = kept.page(shown, int(after) if after.isascii() and after.isdecimal() and len(after) < 16 else 0)
        values |= {"shown": shown, "rows": rows.rows, "next": rows.after, "is_later": bool(after)}
    return request.render("set_up/preview.html", **values)


@action("/import/{token}/apply", Permission.IMPORT)
@about(_kept)
async def apply(request: ConsoleRequest, found: tuple[ImportFile, State]) -> Answer:
    kept, state = found
    wanted = _wanted(state)
    if isinstance(wanted, Refusal):
        return request.error(GONE)
    if not state["apply"] and state["step"] == DONE:
        skip_faults, quiet = request.form.get("skip_faults") == "yes", request.form.get("quiet") == "on"
        chosen = wanted._replace(name=state["name"], apply=True, skip_faults=skip_faults, quiet=quiet)
        await _submit(request, kept, chosen)
    return request.redirect(f"{IMPORT}/{kept.token}")


async def _submit(request: ConsoleRequest, kept: ImportFile, wanted: ImportToRun) -> None:
    """Let the file be imported when it is its studio's turn, unless somebody has asked for that already."""
    dsn, access = request.runtime.settings.database_url, request.access
    if dsn is None or access.staff is None:
        raise AssertionError("a runtime has the address of its database, and a person of the studio asks")
    locked = kept.lock()
    while locked is None and (kept.state or {}).get("step") == DONE and kept.path.exists():
        await asyncio.sleep(0.01)  # the preview was written a moment ago, and its lock is about to be released
        locked = kept.lock()
    state = kept.state
    if locked is None or state is None or state["apply"]:
        return
    if not wanted.apply:
        # A preview does not use up its form's token: it changes nothing.
        access = replace(access, staff=replace(access.staff, form=None))
    kept.write_state({**state, "apply": wanted.apply, "step": "waiting"})
    WORK.submit(access.studio_id, lambda: run_import(dsn, access, kept, locked, wanted))


def _owner(request: ConsoleRequest) -> Owner:
    return Owner(request.access.studio_id, request.signed_in.session.account_id)


def _wanted(given: Mapping[str, str]) -> ImportToRun | Refusal:
    """Return how a file is to be read, as the form or the kept state says."""
    kind, mapping = given.get("kind", STUDIO_FILE), given.get("mapping", GENERIC)
    if kind == STUDIO_FILE:
        return ImportToRun("", None)
    if kind not in KINDS or mapping not in preset_names():
        return _refusal("kind", "Choose what the file holds")
    dates = given.get("dates", "").strip()
    try:
        return ImportToRun("", load_mapping(mapping, KINDS[kind], [dates] if dates else []))
    except WrongMappingError as wrong:
        return _refusal("dates", *wrong.faults)


def _refusal(field: str, *messages: str) -> Refusal:
    return Refusal(Code.VALIDATION_ERROR, faults=[Fault((field,), "invalid", each) for each in messages])
