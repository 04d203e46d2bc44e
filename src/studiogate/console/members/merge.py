"""Merge duplicates: find the other profile, see what moves, confirm."""

from uuid import UUID

from studiogate.console.framework.page import action, page, run
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.refusals import Resolution
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.members.profile import address, member_of, no_member, show
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.members import merge as flows
from studiogate.storage import member_profile, member_search, person_preview
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.member_list import MemberFilters
from studiogate.web.response import Answer

CANDIDATES = 10


@page("GET", "/members/{member_id}/merge", Permission.MEMBERS)
async def show_candidates(request: ConsoleRequest) -> Answer:
    """Show members of the same name, and a field to find others."""
    return await _candidates(request, None)


@action("POST", "/members/{member_id}/merge", Permission.MEMBERS)
async def find(request: ConsoleRequest) -> Answer:
    return await _candidates(request, request.form.get("text", ""))


async def _candidates(request: ConsoleRequest, text: str | None) -> Answer:
    refusal = request.access.refusal_without_all_locations(Permission.MEMBERS)
    if refusal is not None:
        return request.error(refusal)
    async with request.database.connection() as connection:
        member = await member_of(connection, request)
        if member is None:
            return await no_member(request)
        place = (request.form.get("after"), CANDIDATES)
        wanted = member["name"] if text is None else text
        found = await member_search.search(connection, request.access, wanted, MemberFilters(), place)
    others = [each for each in found.members if each["id"] != member["id"]]
    return show(request, "members/merge.html", member, others=others, text=text or "", wanted=wanted, after=found.next)


@page("GET", "/members/{member_id}/merge/{other_id}", Permission.MEMBERS)
async def preview(request: ConsoleRequest) -> Answer:
    """Show what moves from the other profile, and the classes in which both are booked, at all locations."""
    refusal = request.access.refusal_without_all_locations(Permission.MEMBERS)
    if refusal is not None:
        return request.error(refusal)
    other_id = as_id(request.params["other_id"])
    async with request.database.connection() as connection:
        member = await member_of(connection, request)
        if member is None:
            return await no_member(request)
        other = await _other(connection, request, other_id)
        if other is None or other["id"] == member["id"]:
            return request.not_found()
        counts = await person_preview.counts(connection, request.access, other["id"], other["email"])
        shared = await person_preview.shared_classes(connection, request.access, member["id"], other["id"])
    return show(request, "members/merge_preview.html", member, other=other, counts=counts, shared=shared)


async def _other(connection: Connection, request: ConsoleRequest, other_id: UUID | None) -> Record | None:
    return None if other_id is None else await member_profile.read_profile(connection, request.access, other_id)


@action("POST", "/members/{member_id}/merge/{other_id}", Permission.MEMBERS)
async def merge(request: ConsoleRequest) -> Answer:
    member_id, other_id = as_id(request.params["member_id"]), as_id(request.params["other_id"])
    if member_id is None or other_id is None:
        return request.not_found()
    merged = await run(request, flows.merge, member_id, other_id)
    if isinstance(merged, Refusal):
        return request.refused(merged, address(member_id, f"merge/{other_id}"), _resolution(merged))
    return request.go_to(address(member_id), toast="Merged: the other profile's history is here now.")


def _resolution(refusal: Refusal) -> Resolution | None:
    classes = refusal.details.get("class_ids")
    if refusal.code is not Code.ALREADY_BOOKED or not classes:
        return None
    return Resolution("Open the class in which both are booked", f"/console/classes/{classes[0]}")
