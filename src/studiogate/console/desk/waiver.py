"""Send the waiver: a signed link that opens the form for one member, to fill in here or on their phone."""

from typing import Any, NamedTuple
from urllib.parse import quote
from uuid import UUID

from studiogate.console.desk import panel as panels
from studiogate.console.desk import views
from studiogate.console.framework.page import action, page
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.members.forms import link_address
from studiogate.domain.forms.link_mails import LINK_LIFE
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.forms import staff as forms
from studiogate.storage.bookings import read
from studiogate.storage.db.pool import Connection
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


async def _wanted(connection: Connection, request: ConsoleRequest, member: str) -> WaiverToSign | None:
    card = await panels.find_card(connection, request, request.params["class_id"])
    member_id = as_id(member)
    if card is None or member_id is None:
        return None
    situation = await read.find_class(connection, request.access, card.class_.id)
    found = await hosted.find_page_member(connection, request.access, member_id)
    if situation is None or found is None or situation.policy.waiver_form_id is None:
        return None
    return WaiverToSign(card.class_, found, situation.policy.waiver_form_id)


@page("GET", "/classes/{class_id}/waiver", Permission.SUBMISSIONS)
async def ask(request: ConsoleRequest) -> Answer:
    async with request.database.connection() as connection:
        wanted = await _wanted(connection, request, request.query.get("member", ""))
    return request.not_found() if wanted is None else _shown(request, wanted)


@action("POST", "/classes/{class_id}/waiver", Permission.SUBMISSIONS)
async def make(request: ConsoleRequest) -> Answer:
    """Make the link and show it. That it was made is in the audit log."""
    async with request.database.connection() as connection:
        wanted = await _wanted(connection, request, request.form.get("member", ""))
        if wanted is None:
            return request.not_found()
        facts = await forms.link(connection, request.access, wanted.form_id, wanted.member.id)
    if isinstance(facts, Refusal):
        return request.refused(facts)
    url = link_address(request, facts, wanted.form_id, wanted.member.id)
    return _shown(request, wanted, url=url, mail=_mail(request, wanted, url), expires_at=facts.now + LINK_LIFE)


def _mail(request: ConsoleRequest, wanted: WaiverToSign, url: str) -> str | None:
    """Return an address that opens a mail with the link in the mail program of this computer."""
    if wanted.member.email is None:
        return None
    text = f"Hello {wanted.member.name},\n\nplease sign our waiver before the class:\n{url}\n\n{request.frame.name}"
    return f"mailto:{quote(wanted.member.email)}?subject={quote(SUBJECT)}&body={quote(text)}"


def _shown(request: ConsoleRequest, wanted: WaiverToSign, **values: Any) -> Answer:
    shown = {"class_": wanted.class_, "member": wanted.member, "views": views, "url": None, "mail": None, **values}
    if request.is_fragment:
        return request.fragment("desk/_waiver.html", **shown)
    return request.render("desk/waiver.html", **shown)
