"""A member's profile: one page per section, each with its own address."""

from typing import Any
from uuid import UUID

from studiogate.console.framework.page import page
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.members import words
from studiogate.console.members.form_values import PAGE, PAGE_OF_FORMS
from studiogate.console.members.history import StudioFacts, changes_of
from studiogate.console.members.prices import with_renewal
from studiogate.domain.staff import Permission
from studiogate.storage import member_profile as storage
from studiogate.storage import sales_list
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.sales_list import PurchaseFilters
from studiogate.web.response import Answer

PATH = "/console/members"
AHEAD = 10


def address(member_id: UUID | str, section: str = "") -> str:
    """Return the address of a member's profile, or of a page below it."""
    return f"{PATH}/{member_id}{'/' if section else ''}{section}"


async def member_of(connection: Connection, request: ConsoleRequest) -> Record | None:
    """Return the member that the path names."""
    member_id = as_id(request.params["member_id"])
    return None if member_id is None else await storage.read_profile(connection, request.access, member_id)


async def no_member(request: ConsoleRequest) -> Answer:
    """Lead from a member that was merged to the one that is kept; else there is no such page."""
    member_id = as_id(request.params["member_id"])
    if member_id is not None:
        async with request.database.connection() as connection:
            kept = await storage.merged_into(connection, request.access, member_id)
        if kept is not None:
            return request.redirect(address(kept), toast="These two profiles were merged.")
    return request.not_found()


def show(request: ConsoleRequest, template: str, member: Record, **values: Any) -> Answer:
    """Render a page about a member."""
    section = template.rpartition("/")[2].removesuffix(".html")
    return request.render(template, member=member, section=section, base=address(member["id"]), words=words, **values)


@page("GET", "/members/{member_id}", Permission.MEMBERS)
async def overview(request: ConsoleRequest) -> Answer:
    access = request.access
    async with request.database.connection() as connection:
        member = await member_of(connection, request)
        if member is None:
            return await no_member(request)
        after = as_id(request.query.get("after"))
        running = await storage.running_memberships(connection, access, member["id"])
        ended = await storage.ended_memberships(connection, access, member["id"], after, PAGE)
        ahead = await storage.bookings_ahead(connection, access, member["id"], AHEAD)
        filters = PurchaseFilters(member_id=member["id"], open_fees=True)
        fees = await sales_list.list_purchases(connection, access, filters, None, AHEAD)
    live = [with_renewal(each) for each in running]
    shown = {"live": live, "ended": ended, "is_later_page": after is not None, "ahead": ahead, "fees": fees.rows}
    return show(request, "members/overview.html", member, **shown)


@page("GET", "/members/{member_id}/bookings", Permission.MEMBERS)
async def bookings(request: ConsoleRequest) -> Answer:
    async with request.database.connection() as connection:
        member = await member_of(connection, request)
        if member is None:
            return await no_member(request)
        after = as_id(request.query.get("after"))
        lines = await storage.bookings_of(connection, request.access, member["id"], after, PAGE_OF_FORMS)
    return show(request, "members/bookings.html", member, lines=lines)


@page("GET", "/members/{member_id}/credits", Permission.MEMBERS)
async def ledger(request: ConsoleRequest) -> Answer:
    """Show the credit ledger, each line with its booking."""
    async with request.database.connection() as connection:
        member = await member_of(connection, request)
        if member is None:
            return await no_member(request)
        running = await storage.running_memberships(connection, request.access, member["id"])
        after = as_id(request.query.get("after"))
        lines = await storage.ledger_of(connection, request.access, member["id"], after, PAGE)
    counted = [each for each in running if each["credits_remaining"] is not None]
    return show(request, "members/credits.html", member, lines=lines, counted=counted)


@page("GET", "/members/{member_id}/purchases", Permission.MEMBERS)
async def purchases(request: ConsoleRequest) -> Answer:
    async with request.database.connection() as connection:
        member = await member_of(connection, request)
        if member is None:
            return await no_member(request)
        filters, after = PurchaseFilters(member_id=member["id"]), as_id(request.query.get("after"))
        lines = await sales_list.list_purchases(connection, request.access, filters, after, PAGE_OF_FORMS)
    return show(request, "members/purchases.html", member, lines=lines)


@page("GET", "/members/{member_id}/history", Permission.AUDIT_READ)
async def history(request: ConsoleRequest) -> Answer:
    """Show what staff changed about the member, as the audit log has it."""
    async with request.database.connection() as connection:
        member = await member_of(connection, request)
        if member is None:
            return await no_member(request)
        after = as_id(request.query.get("after"))
        lines = await storage.history_of(connection, request.access, member["id"], after, PAGE)
    locations = {str(each.id): each.name for each in request.frame.locations}
    facts = StudioFacts(member["timezone"], member["currency"], locations)
    entries = [{**each, "changes": changes_of(each, facts)} for each in lines.rows]
    return show(request, "members/history.html", member, entries=entries, next=lines.next)
