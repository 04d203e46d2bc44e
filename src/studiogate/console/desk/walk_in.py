"""Walk-in: find or create a member, sell them what they need, book and check them in, in one drawer;
and the link with which they sign the waiver."""

import json
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote
from uuid import UUID

from studiogate.console import offers, resolutions
from studiogate.console.desk import panel as panels
from studiogate.console.desk import views
from studiogate.console.desk.booking import override_of
from studiogate.console.desk.views import ClassCard
from studiogate.console.framework import ConsoleRequest, Resolution, about, action, page, paging, shown
from studiogate.console.framework.formats import day_and_time, with_query
from studiogate.console.framework.inputs import way_of_payment
from studiogate.console.framework.parse import as_id
from studiogate.console.members.forms import link_address
from studiogate.console.members.words import WAYS
from studiogate.domain.bookings.overrides import ENTITLEMENT, can_override
from studiogate.domain.forms.signed_links import LINK_LIFE
from studiogate.domain.purchases import Order
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.bookings import desk, previews
from studiogate.flows.bookings.book import BookClass
from studiogate.flows.bookings.desk import Booked, StaffBooking
from studiogate.flows.forms import staff as forms
from studiogate.flows.members import staff as members
from studiogate.storage import member_search
from studiogate.storage.bookings import read
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import hosted
from studiogate.storage.forms.hosted import PageMember
from studiogate.storage.member_list import MemberFilters
from studiogate.storage.paging import ListPage, read_one
from studiogate.storage.resources import MEMBER
from studiogate.storage.schedule import day
from studiogate.storage.schedule.day import DayClass
from studiogate.web.response import Answer

MAX_FOUND = 12
CREATED = "Member created."
PAGE, DRAWER = "desk/walk_in.html", "desk/_walk_in.html"
NOBODY = ListPage([])


def drawer_path(class_id: UUID, member_id: UUID | str | None = None, after: str | None = None) -> str:
    """Return the address of the drawer: of its search, or of a member and a page of what can be sold to them."""
    return with_query(f"/console/classes/{class_id}/walk-in", member=member_id, after=after)


@page("/classes/{class_id}/walk-in", Permission.BOOKINGS)
@about(panels.card_of_path)
async def walk_in(request: ConsoleRequest, card: ClassCard) -> Answer:
    """Show the search, or what can be done for the member that the URL names."""
    values = await _values(request, card.class_, as_id(request.query.get("member")))
    return request.render(PAGE, part=DRAWER, **values)


async def _values(request: ConsoleRequest, class_: DayClass, member_id: UUID | None) -> dict[str, Any]:
    """Return what the drawer shows: the search, or the chosen member."""
    values: dict[str, Any] = {"class_": class_, "views": views, "q": "", "member": None, "found": NOBODY, "given": {}}
    if member_id is None:
        return values
    async with request.database.connection() as connection:
        wire = await read_one(connection, request.access, MEMBER, member_id)
        if wire is None:
            return values
        return values | {"member": json.loads(wire)} | await _case(connection, request, class_, member_id)


@action("/classes/{class_id}/walk-in/find", Permission.BOOKINGS)
@about(panels.card_of_path)
async def find(request: ConsoleRequest, card: ClassCard) -> Answer:
    """Show who is found. A form, because URLs are logged and must not contain names."""
    text, found = request.form.get("q", "").strip(), NOBODY
    if text:
        place = (request.query.get("after") or request.form.get("after"), MAX_FOUND)  # of a search: it is no id
        found = await request.read(member_search.search, text, MemberFilters(), place)
    values = {**await _values(request, card.class_, None), "q": text, "found": found, "given": _new_member(text)}
    return request.render(PAGE, part="desk/_found.html", **values)


def _new_member(text: str) -> dict[str, str]:
    """Return what was typed in the search as the fields of a new member."""
    if "@" in text:
        return {"email": text}
    if text and not any(each.isalpha() for each in text):
        return {"phone": text}
    first, _, last = text.partition(" ")
    return {"first_name": first, "last_name": last.strip()}


async def _case(connection: Connection, request: ConsoleRequest, class_: DayClass, member_id: UUID) -> dict[str, Any]:
    """Return what booking this member would do now, and what can be sold and chosen."""
    judged = await previews.validate_booking(connection, request.access, BookClass(class_.id, member_id))
    found = [] if isinstance(judged, Refusal) else judged["reasons"]
    codes = {each["code"] for each in found}
    waits = resolutions.can_join_waitlist(found)
    sells = bool(codes & ENTITLEMENT) and request.may(Permission.SALES)
    spots = await day.free_spots(connection, request.access, class_.id) if class_.spot_selection_mode else []
    on_sale, following = await offers.on_sale(connection, request, class_) if sells else ([], None)
    ways = resolutions.at_the_desk(class_.id, member_id)
    reasons = [(each, resolutions.resolution(request, each["code"], ways)) for each in found]
    return {
        # What the drawer itself offers needs no link to the drawer.
        "reasons": [{**each, "resolution": None if each["code"] in ENTITLEMENT else link} for each, link in reasons],
        "sells": sells,
        # The memberships that would pay for the class.
        "offers": [each for each in on_sale if each.gives_membership],
        "more": following and drawer_path(class_.id, member_id, following),
        "ways": WAYS,
        "after": paging.cursor_of(request),
        "can_override": can_override(codes, waits=waits),
        "can_wait": waits,
        "needs_only_sale": codes <= ENTITLEMENT | {Code.CLASS_FULL},
        "is_booked": bool(codes & {Code.ALREADY_BOOKED, Code.ALREADY_WAITLISTED}),
        "spots": [(spot.id, spot.label) for spot in spots],
        "can_check_in": request.may(Permission.ATTENDANCE),
    }


@action("/classes/{class_id}/walk-in/member", Permission.MEMBERS)
@about(panels.card_of_path)
async def create(request: ConsoleRequest, card: ClassCard) -> Answer:
    """Create the member, then continue with them. One who exists can be chosen instead."""
    class_id, resolve = card.class_.id, None
    given = {name: request.form.get(name, "").strip() for name in ("first_name", "last_name", "email", "phone")}
    done = await request.run(members.create, {name: value for name, value in given.items() if value})
    if isinstance(done, Refusal):
        if known := done.details.get("member_id"):
            resolve = Resolution("Continue with this member", drawer_path(class_id, known), in_drawer=True)
        return request.refused(done, drawer_path(class_id), resolve)
    if request.is_fragment:
        return request.fragment(DRAWER, toast=CREATED, **await _values(request, card.class_, UUID(done["id"])))
    return request.redirect(drawer_path(class_id, done["id"]), toast=CREATED)


@action("/classes/{class_id}/walk-in", Permission.BOOKINGS)
@about(panels.card_of_path)
async def book_walk_in(request: ConsoleRequest, card: ClassCard) -> Answer:
    """Sell what was chosen, book and check in, in one transaction: only a refused check-in leaves the others."""
    form, class_, order = request.form, card.class_, None
    member_id = as_id(form.get("member"))
    if member_id is None:
        return request.not_found()
    product_id, price_id = (as_id(each) for each in form.get("offer", "").partition(":")[::2])
    if product_id is not None and price_id is not None:
        order = Order(member_id, product_id, price_id, class_.location_id, paid=form.get("unpaid") != "on")
        way = way_of_payment("paid_by", form.get("paid_by", ""))
        order = order._replace(paid_by=None if isinstance(way, Fault) else way)
    wanted = StaffBooking(
        class_.id,
        member_id,
        join_waitlist=form.get("waitlist") == "on",
        class_spot_id=as_id(form.get("spot")),
        override=override_of(request),
        check_in=form.get("check_in") == "on",
    )
    done = await request.run(desk.book_for_member, wanted, order)
    if isinstance(done, Refusal):
        refusal = done if order is None else replace(done, details={**done.details, "sold": "nothing"})
        return await _refused(request, class_, member_id, refusal)
    text = " ".join(filter(None, ("Sold." if order else "", *_texts(class_, done))))
    if not request.is_fragment:
        return request.redirect(views.today_url(class_), toast=text)
    # Close the drawer and let the page read the class again.
    answer = request.fragment("desk/done.html", toast=text)
    then = ((b"hx-trigger", b"closeDrawer, deskChanged"), (b"hx-reswap", b"none"))
    return answer._replace(headers=(*answer.headers, *then))


def _texts(class_: DayClass, booked: Booked) -> tuple[str, str]:
    """Return whether the member has a seat, and whether they were checked in, if that was asked for."""
    booking, refusal = booked.booking, booked.checked_in
    is_booked = booking["status"] == "confirmed"
    seat = "Booked." if is_booked else f"On the waitlist, place {booking['waitlist_position']}."
    if not isinstance(refusal, Refusal):
        return seat, "Checked in." if refusal else ""
    opens = refusal.details.get("possible_from")
    if opens is None:
        return seat, f"Not checked in: {refusal.message}"
    when = day_and_time(datetime.fromisoformat(str(opens)), class_.timezone)
    return seat, f"Not checked in: check-in opens {when}."


async def _refused(request: ConsoleRequest, class_: DayClass, member_id: UUID, refusal: Refusal) -> Answer:
    """Show why the member was not booked, and the remaining reasons."""
    resolve = resolutions.of_refusal(request, refusal, resolutions.at_the_desk(class_.id, member_id))
    answer = request.refused(refusal, drawer_path(class_.id, member_id, paging.cursor_of(request)), resolve)
    if not request.is_fragment:
        return answer
    values = {**await _values(request, class_, member_id), "refusal": shown(refusal, request.form, resolve)}
    others = request.fragment("desk/_reasons.html", is_update=True, **values)
    return answer._replace(body=answer.body + others.body)


# The waiver: a signed link that opens the form for one member, to fill in here or on their phone.

SUBJECT = "Please sign our waiver"


class WaiverToSign(NamedTuple):
    """Who shall sign which form, for which class."""

    class_: DayClass
    member: PageMember
    form_id: UUID


async def _waiver(request: ConsoleRequest) -> WaiverToSign | None:
    """Return the waiver of the class for the member that the address or the form names."""
    member_id = as_id(request.form.get("member") or request.query.get("member"))
    async with request.database.connection() as connection:
        card = await panels.find_card(connection, request, request.param_id("class_id"))
        if card is None or member_id is None:
            return None
        situation = await read.find_class(connection, request.access, card.class_.id)
        found = await hosted.find_page_member(connection, request.access, member_id)
    if situation is None or found is None or situation.policy.waiver_form_id is None:
        return None
    return WaiverToSign(card.class_, found, situation.policy.waiver_form_id)


@page("/classes/{class_id}/waiver", Permission.SUBMISSIONS)
@about(_waiver)
async def ask(request: ConsoleRequest, wanted: WaiverToSign) -> Answer:
    return _shown(request, wanted)


@action("/classes/{class_id}/waiver", Permission.SUBMISSIONS)
@about(_waiver)
async def make(request: ConsoleRequest, wanted: WaiverToSign) -> Answer:
    """Make the link and show it. That it was made is in the audit log."""
    async with request.database.connection() as connection:
        facts = await forms.link(connection, request.access, wanted.form_id, wanted.member.id)
    if isinstance(facts, Refusal):
        return request.refused(facts)
    member, mail = wanted.member, None
    url = link_address(request, facts, wanted.form_id, member.id)
    if member.email is not None:
        # Opens a mail with the link in the mail program of this computer.
        text = f"Hello {member.name},\n\nplease sign our waiver before the class:\n{url}\n\n{request.frame.name}"
        mail = f"mailto:{quote(member.email)}?subject={quote(SUBJECT)}&body={quote(text)}"
    return _shown(request, wanted, url=url, mail=mail, expires_at=facts.now + LINK_LIFE)


def _shown(request: ConsoleRequest, wanted: WaiverToSign, **values: Any) -> Answer:
    shown = {"class_": wanted.class_, "member": wanted.member, "views": views, "url": None, "mail": None, **values}
    return request.render("desk/waiver.html", part="desk/_waiver.html", **shown)
