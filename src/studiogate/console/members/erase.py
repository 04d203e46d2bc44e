"""Erase a person for good: what it removes is shown first, and a typed word confirms it.

The permission is a dangerous one: before the form takes effect, whoever sends it types the password again. A form
without the word is refused before.
"""

import structlog

from studiogate.console.framework.actions import Values, page_of
from studiogate.console.framework.inputs import Row
from studiogate.console.framework.page import action
from studiogate.console.framework.request import ConsoleRequest, Refused
from studiogate.console.framework.run_flow import run
from studiogate.console.members.profile import MEMBER, address
from studiogate.domain.access import Access
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows.members import erase as flows
from studiogate.flows.members.erase import Erased
from studiogate.storage import person_merge
from studiogate.storage.db.pool import (
    Connection,
    DatabaseUnavailableError,
    OverloadedError,
    TransactionConflictError,
)
from studiogate.storage.upload_folder import UploadFolder
from studiogate.web.response import Answer

WORD = "erase"
log = structlog.get_logger()


@page_of(MEMBER, "/members/{member_id}/erase", Permission.MEMBERS_ERASE, "members/erase.html")
async def show_erase(request: ConsoleRequest, connection: Connection, member: Row) -> Values | Refusal:
    """Show what would be removed, at all locations."""
    refusal = request.access.refusal_without_all_locations(Permission.MEMBERS_ERASE)
    if refusal is not None:
        return refusal
    counts = await person_merge.counts(connection, request.access, member["id"], member["email"])
    return {"counts": counts, "word": WORD}


def _page(request: ConsoleRequest) -> str:
    return address(request.params["member_id"], "erase")


def _without_word(request: ConsoleRequest) -> Refused | None:
    if request.form.get("word", "").strip().lower() == WORD:
        return None
    return Refused(refused(fault("word", f"Type the word {WORD} to confirm.")), _page(request))


@action("POST", "/members/{member_id}/erase", Permission.MEMBERS_ERASE, _without_word)
async def erase(request: ConsoleRequest) -> Answer:
    member_id = request.param_id("member_id")
    if member_id is None:
        return request.not_found()
    done = await run(request, flows.erase, member_id)
    if isinstance(done, Refusal):
        return request.refused(done, _page(request))
    try:
        await run(request, _remove_files, UploadFolder(request.runtime.settings.data_dir), done)
    except (OverloadedError, TransactionConflictError, DatabaseUnavailableError) as error:
        log.warning("files of an erased person left to housekeeping", problem=type(error).__name__)
    return request.go_to("/console/members", toast="Erased the person. Bookings and payments stay, without a name.")


async def _remove_files(connection: Connection, access: Access, folder: UploadFolder, done: Erased) -> int | Refusal:
    return await flows.remove_files(connection, access, folder, done.files)
