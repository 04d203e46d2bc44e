"""Merge duplicates, and erase a person for good, after what moves or is removed was shown.

The permission to erase is a dangerous one: before the form takes effect, the person who sends it types the password
again. A form without the word that confirms it is refused before.
"""

import structlog

from studiogate.console.framework import ConsoleRequest, Refused, Resolution, Values, action, page_of, show_about
from studiogate.console.framework.inputs import Row
from studiogate.console.members.profile import MEMBER, address
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows.members import erase as erasing
from studiogate.flows.members import merge as merging
from studiogate.storage import member_profile, member_search, person_merge
from studiogate.storage.db.pool import Connection, DatabaseUnavailableError, OverloadedError, TransactionConflictError
from studiogate.storage.member_list import MemberFilters
from studiogate.web.response import Answer

CANDIDATES = 10
TEMPLATE = "members/merge.html"


@page_of(MEMBER, "/members/{member_id}/merge", Permission.MEMBERS, TEMPLATE)
async def show_candidates(request: ConsoleRequest, connection: Connection, member: Row) -> Values | Refusal:
    """Show members of the same name, or those that the form describes, and a field to find others."""
    refusal = request.access.refusal_without_all_locations(Permission.MEMBERS)
    if refusal is not None:
        return refusal
    place = (request.form.get("after"), CANDIDATES)
    wanted = request.form.get("text", member["name"])
    found = await member_search.search(connection, request.access, wanted, MemberFilters(), place)
    others = [each for each in found.rows if each["id"] != member["id"]]
    return {"others": others, "text": request.form.get("text", ""), "wanted": wanted, "after": found.next}


@action("/members/{member_id}/merge", Permission.MEMBERS)
async def find(request: ConsoleRequest) -> Answer:
    return await show_about(request, MEMBER, TEMPLATE, show_candidates)


@page_of(MEMBER, "/members/{member_id}/merge/{other_id}", Permission.MEMBERS, "members/merge_preview.html")
async def preview(request: ConsoleRequest, connection: Connection, member: Row) -> Values | Refusal:
    """Show what moves from the other profile, and the classes in which both are booked, at all locations."""
    refusal = request.access.refusal_without_all_locations(Permission.MEMBERS)
    if refusal is not None:
        return refusal
    other = await member_profile.read_profile(connection, request.access, request.param_id("other_id"))
    if other is None or other["id"] == member["id"]:
        return NOT_FOUND
    counts = await person_merge.counts(connection, request.access, other["id"], other["email"])
    shared = await person_merge.shared_classes(connection, request.access, member["id"], other["id"])
    return {"other": other, "counts": counts, "shared": shared}


@action("/members/{member_id}/merge/{other_id}", Permission.MEMBERS)
async def merge(request: ConsoleRequest) -> Answer:
    member_id, resolve = request.param_id("member_id"), None
    merged = await request.run(merging.merge, member_id, request.param_id("other_id"))
    if isinstance(merged, Refusal):
        classes = merged.details.get("class_ids")
        if merged.code is Code.ALREADY_BOOKED and classes:
            resolve = Resolution("Open the class in which both are booked", f"/console/classes/{classes[0]}")
        return request.refused(merged, request.http.path, resolve)
    return request.go_to(address(member_id), toast="Merged: the other profile's history is here now.")


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


def _without_word(request: ConsoleRequest) -> Refused | None:
    if request.form.get("word", "").strip().lower() == WORD:
        return None
    return Refused(refused(fault("word", f"Type the word {WORD} to confirm.")), request.http.path)


@action("/members/{member_id}/erase", Permission.MEMBERS_ERASE, _without_word)
async def erase(request: ConsoleRequest) -> Answer:
    done = await request.run(erasing.erase, request.param_id("member_id"))
    if isinstance(done, Refusal):
        return request.refused(done, request.http.path)
    try:
        await request.run(erasing.remove_files, request.runtime.uploads, done.files)
    except (OverloadedError, TransactionConflictError, DatabaseUnavailableError) as error:
        log.warning("files of an erased person left to housekeeping", problem=type(error).__name__)
    return request.go_to("/console/members", toast="Erased the person. Bookings and payments stay, without a name.")
