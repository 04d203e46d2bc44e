"""Send the waiver: a signed link that opens the form for one member, to fill in here or on their phone."""

from typing import Any, NamedTuple
from urllib.parse import quote
from uuid import UUID

from studiogate.console.desk import panel as panels
from studiogate.console.desk import views
from studiogate.console.framework import ConsoleRequest, about, action, page
from studiogate.console.framework.parse import as_id
from studiogate.console.members.forms import link_address
from studiogate.domain.forms.signed_links import LINK_LIFE
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.forms import staff as forms
from studiogate.storage.bookings import read
from studiogate.storage.forms import hosted
from studiogate.storage.forms.hosted import PageMember
from studiogate.storage.schedule.day import DayClass
from studiogate.web.response import Answer

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
