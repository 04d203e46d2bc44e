"""Walk-in: find or create a member, sell them what they need, book and check them in, in one drawer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from studiogate.console import offers, resolutions
from studiogate.console.desk import panel as panels
from studiogate.console.desk import views
from studiogate.console.desk.booking import override_of
from studiogate.console.framework import paging
from studiogate.console.framework.formats import day_and_time
from studiogate.console.framework.page import action, page
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.refusals import Resolution, shown
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.framework.run_flow import run
from studiogate.console.resolutions import ResolutionLinks
from studiogate.domain.bookings.overrides import ENTITLEMENT, can_override
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.sales import Order
from studiogate.domain.staff import Permission
from studiogate.flows.bookings import desk, previews
from studiogate.flows.bookings.book import BookClass
from studiogate.flows.bookings.desk import Booked, StaffBooking
from studiogate.flows.members import staff as members
from studiogate.storage import member_search
from studiogate.storage.db.pool import Connection
from studiogate.storage.member_list import MemberFilters
from studiogate.storage.paging import ListPage, read_one
from studiogate.storage.resources import MEMBER
from studiogate.storage.schedule import day
from studiogate.storage.schedule.day import DayClass
from studiogate.web.response import Answer

MAX_FOUND = 12
CREATED = "Member created."


class Reason(NamedTuple):
    """Why the member cannot be booked, in the API's words, and the link that resolves it."""

    code: str
    text: str
    resolution: Resolution | None


NOBODY = ListPage([])


def drawer_path(class_id: UUID, member_id: UUID | str | None = None, after: str | None = None) -> str:
    """Return the address of the drawer: of its search, or of a member and a page of what can be sold to them."""
    query = urlencode({name: each for name, each in (("member", member_id), (paging.AFTER, after)) if each})
    return f"/console/classes/{class_id}/walk-in" + (f"?{query}" if query else "")


@page("GET", "/classes/{class_id}/walk-in", Permission.BOOKINGS)
async def walk_in(request: ConsoleRequest) -> Answer:
    """Show the search, or what can be done for the member that the URL names."""
    async with request.database.connection() as connection:
        card = await panels.find_card(connection, request, request.params["class_id"])
        if card is None:
            return request.not_found()
        member_id = as_id(request.query.get("member", ""))
        values = await _values(connection, request, card.class_, member_id)
    if request.is_fragment:
        return request.fragment("desk/_walk_in.html", **values)
    return request.render("desk/walk_in.html", **values)


async def _values(
    connection: Connection, request: ConsoleRequest, class_: DayClass, member_id: UUID | None
) -> dict[str, Any]:
    """Return what the drawer shows: the search, or the chosen member."""
    values: dict[str, Any] = {"class_": class_, "views": views, "q": "", "member": None, "found": NOBODY}
    if member_id is not None:
        wire = await read_one(connection, request.access, MEMBER, member_id)
        if wire is not None:
            return values | {"member": json.loads(wire)} | await _case(connection, request, class_, member_id)
    return values


@action("POST", "/classes/{class_id}/walk-in/find", Permission.BOOKINGS)
async def find(request: ConsoleRequest) -> Answer:
    """Show who is found. A form, because URLs are logged and must not contain names."""
    text = request.form.get("q", "").strip()
    async with request.database.connection() as connection:
        card = await panels.find_card(connection, request, request.params["class_id"])
        if card is None:
            return request.not_found()
        found = await _found(connection, request, text) if text else NOBODY
    values: dict[str, Any] = {"class_": card.class_, "views": views, "q": text, "member": None, "found": found}
    if request.is_fragment:
        return request.fragment("desk/_found.html", **values)
    return request.render("desk/walk_in.html", **values)


async def _found(connection: Connection, request: ConsoleRequest, text: str) -> ListPage:
    """Return members by the beginnings of their names, email or phone, along indexes: this runs while people type."""
    place = (request.query.get("after") or request.form.get("after"), MAX_FOUND)  # of a search: it is no id
    return await member_search.search(connection, request.access, text, MemberFilters(), place)


async def _case(connection: Connection, request: ConsoleRequest, class_: DayClass, member_id: UUID) -> dict[str, Any]:
    """Return what booking this member would do now, and what can be sold and chosen."""
    judged = await previews.validate_booking(connection, request.access, BookClass(class_.id, member_id))
    found = [] if isinstance(judged, Refusal) else judged["reasons"]
    codes = {each["code"] for each in found}
    waits = resolutions.can_join_waitlist(found)
    sells = bool(codes & ENTITLEMENT) and request.may(Permission.SALES)
    spots = await day.free_spots(connection, request.access, class_.id) if class_.spot_selection_mode else []
    return {
        "reasons": _reasons(request, resolutions.at_the_desk(class_.id, member_id), found),
        "sells": sells,
        **(await _offers(connection, request, class_, member_id) if sells else {"offers": [], "more": None}),
        "after": paging.cursor_of(request),
        "can_override": can_override(codes, waits=waits),
        "can_wait": waits,
        "needs_only_sale": codes <= ENTITLEMENT | {Code.CLASS_FULL},
        "is_booked": bool(codes & {Code.ALREADY_BOOKED, Code.ALREADY_WAITLISTED}),
        "spots": [(spot.id, spot.label) for spot in spots],
        "can_check_in": request.may(Permission.ATTENDANCE),
    }


def _reasons(request: ConsoleRequest, ways: ResolutionLinks, judged: Sequence[Mapping[str, Any]]) -> list[Reason]:
    found = []
    for each in judged:
        # What the drawer itself offers needs no link to the drawer.
        resolves = None if each["code"] in ENTITLEMENT else resolutions.resolution(request, each["code"], ways)
        found.append(Reason(each["code"], each["message"], resolves))
    return found


async def _offers(connection: Connection, request: ConsoleRequest, class_: DayClass, member_id: UUID) -> dict[str, Any]:
    """Return a page of the memberships on sale that would pay for the class, the cheapest first."""
    found = await offers.on_sale(connection, request, class_)
    return {
        "offers": sorted((each for each in found.rows if each.gives_membership), key=lambda each: Decimal(each.amount)),
        "more": found.next and drawer_path(class_.id, member_id, found.next),
    }


@action("POST", "/classes/{class_id}/walk-in/member", Permission.MEMBERS)
async def create(request: ConsoleRequest) -> Answer:
    """Create the member, then continue with them."""
    given = {name: request.form.get(name, "").strip() for name in ("first_name", "last_name", "email", "phone")}
    async with request.database.connection() as connection:
        card = await panels.find_card(connection, request, request.params["class_id"])
    if card is None:
        return request.not_found()
    done = await run(request, members.create, {name: value for name, value in given.items() if value})
    if isinstance(done, Refusal):
        return _exists(request, done, card.class_.id)
    if request.is_fragment:
        async with request.database.connection() as connection:
            values = await _values(connection, request, card.class_, UUID(done["id"]))
        return request.fragment("desk/_walk_in.html", toast=CREATED, **values)
    return request.redirect(drawer_path(card.class_.id, done["id"]), toast=CREATED)


def _exists(request: ConsoleRequest, refusal: Refusal, class_id: UUID) -> Answer:
    """Show why the member was not created; one who exists can be chosen instead."""
    known = refusal.details.get("member_id")
    resolve = Resolution("Continue with this member", drawer_path(class_id, known), in_drawer=True) if known else None
    return request.refused(refusal, back=drawer_path(class_id), resolve=resolve)


@action("POST", "/classes/{class_id}/walk-in", Permission.BOOKINGS)
async def book_walk_in(request: ConsoleRequest) -> Answer:
    """Sell what was chosen, book and check in, in one transaction: only a refused check-in leaves the others."""
    class_id, member_id = as_id(request.params["class_id"]), as_id(request.form.get("member", ""))
    if class_id is None or member_id is None:
        return request.not_found()
    async with request.database.connection() as connection:
        card = await panels.find_card(connection, request, str(class_id))
    if card is None:
        return request.not_found()
    order = _order(request, card.class_, member_id)
    done = await run(request, desk.book_for_member, _wanted(request, class_id, member_id), order)
    if isinstance(done, Refusal):
        return await _refused(request, card.class_, member_id, done if order is None else _with_nothing_sold(done))
    sold = "Sold." if order else ""
    return _done(request, card.class_, " ".join(filter(None, (sold, _text(done.booking), _arrived(card.class_, done)))))


def _wanted(request: ConsoleRequest, class_id: UUID, member_id: UUID) -> StaffBooking:
    return StaffBooking(
        class_id,
        member_id,
        join_waitlist=request.form.get("waitlist") == "on",
        class_spot_id=as_id(request.form.get("spot", "")),
        override=override_of(request),
        check_in=request.form.get("check_in") == "on",
    )


def _order(request: ConsoleRequest, class_: DayClass, member_id: UUID) -> Order | None:
    """Return the order of the chosen offer, if one was chosen."""
    product, _, price = request.form.get("offer", "").partition(":")
    product_id, price_id = as_id(product), as_id(price)
    if product_id is None or price_id is None:
        return None
    return Order(member_id, product_id, price_id, class_.location_id, paid=request.form.get("unpaid") != "on")


def _with_nothing_sold(refusal: Refusal) -> Refusal:
    return replace(refusal, details={**refusal.details, "sold": "nothing"})


def _arrived(class_: DayClass, booked: Booked) -> str:
    """Return whether the member was checked in, if that was asked for."""
    refusal = booked.checked_in
    if not isinstance(refusal, Refusal):
        return "Checked in." if refusal else ""
    opens = refusal.details.get("possible_from")
    if opens is None:
        return f"Not checked in: {refusal.message}"
    when = day_and_time(datetime.fromisoformat(str(opens)), class_.timezone)
    return f"Not checked in: check-in opens {when}."


def _text(booking: Mapping[str, Any]) -> str:
    return "Booked." if booking["status"] == "confirmed" else f"On the waitlist, place {booking['waitlist_position']}."


async def _refused(request: ConsoleRequest, class_: DayClass, member_id: UUID, refusal: Refusal) -> Answer:
    """Show why the member was not booked, and what else stands against it."""
    resolve = resolutions.of_refusal(request, refusal, resolutions.at_the_desk(class_.id, member_id))
    answer = request.refused(refusal, drawer_path(class_.id, member_id, paging.cursor_of(request)), resolve)
    if not request.is_fragment:
        return answer
    async with request.database.connection() as connection:
        values = await _values(connection, request, class_, member_id)
    values |= {"refusal": shown(refusal, request.form, resolve)}
    others = request.fragment("desk/_reasons.html", is_update=True, **values)
    return answer._replace(body=answer.body + others.body)


def _done(request: ConsoleRequest, class_: DayClass, text: str) -> Answer:
    """Close the drawer and let the page read the class again, or lead to Today."""
    if not request.is_fragment:
        return request.redirect(views.today_url(class_), toast=text)
    answer = request.fragment("desk/done.html", toast=text)
    then = ((b"hx-trigger", b"closeDrawer, deskChanged"), (b"hx-reswap", b"none"))
    return answer._replace(headers=(*answer.headers, *then))
