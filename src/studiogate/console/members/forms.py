"""The forms that a member has sent, their answers, what was agreed to, and links that open a form for the member."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from studiogate.console.framework.page import action, page
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.members.acting import PAGE, id_of, run
from studiogate.console.members.profile import address, member_of, no_member, show
from studiogate.domain.forms.signed_links import Link, make_link
from studiogate.domain.paging import MAXIMUM_LIMIT, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.domain.webhooks.signing import open_link_secret
from studiogate.flows.forms import staff as flows
from studiogate.storage import member_profile as storage
from studiogate.storage.forms import read as forms
from studiogate.storage.forms.hosted import LinkGround
from studiogate.web.public_address import known_address
from studiogate.web.response import Answer

LINK_LIFE = timedelta(days=7)


@page("GET", "/members/{member_id}/forms", Permission.SUBMISSIONS)
async def submissions(request: ConsoleRequest) -> Answer:
    async with request.database.connection() as connection:
        member = await member_of(connection, request)
        if member is None:
            return await no_member(request)
        sent = await storage.submissions_of(connection, request.access, member["id"], PAGE)
    consents = [
        {**each, "label": _labels(row["fields"]).get(each["key"], each["key"]), "form": row["title"]}
        for row in sent
        for each in row["consents"]
    ]
    return show(request, "members/forms.html", member, submissions=sent, consents=consents)


@page("GET", "/members/{member_id}/forms/{submission_id}", Permission.SUBMISSIONS)
async def answers(request: ConsoleRequest) -> Answer:
    """Show the answers of one submission with the labels of its form."""
    submission_id = id_of(request.params["submission_id"])
    async with request.database.connection() as connection:
        member = await member_of(connection, request)
        if member is None or submission_id is None:
            return request.not_found()
        sent = await storage.read_submission(connection, request.access, member["id"], submission_id)
    if sent is None:
        return request.not_found()
    labels = _labels(sent["fields"])
    shown = [(labels.get(key, key), _text(value)) for key, value in sent["data"].items()]
    return show(request, "members/answers.html", member, submission=sent, answers=shown)


def _labels(fields: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {str(each.get("key")): str(each.get("label") or each.get("key")) for each in fields}


def _text(value: Any) -> str:
    """Return an answer in words: a file by its name, several choices with commas."""
    if isinstance(value, Mapping):
        return str(
            value.get("filename") or value.get("name") or ", ".join(f"{k}: {_text(v)}" for k, v in value.items())
        )
    if isinstance(value, list):
        return ", ".join(_text(each) for each in value)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


@page("GET", "/members/{member_id}/form-link", Permission.SUBMISSIONS)
async def show_link(request: ConsoleRequest) -> Answer:
    """Ask for which form the member gets a link."""
    return await _link_page(request, None)


@action("POST", "/members/{member_id}/form-link", Permission.SUBMISSIONS)
async def link(request: ConsoleRequest) -> Answer:
    """Make a link that opens a form for the member; the audit log says who made it."""
    member_id, form_id = id_of(request.params["member_id"]), id_of(request.form.get("form_id"))
    back = address(request.params["member_id"], "form-link")
    if member_id is None or form_id is None:
        return request.refused(refused(fault("form_id", "Choose a form.")), back)
    ground = await run(request, flows.link, form_id, member_id)
    if isinstance(ground, Refusal):
        return request.refused(ground, back)
    return await _link_page(request, _address(request, ground, form_id, member_id))


def _address(request: ConsoleRequest, ground: LinkGround, form_id: UUID, member_id: UUID) -> str:
    secret = open_link_secret(request.runtime.sealer, ground.studio_id, ground.link_secret)
    token = make_link(secret, form_id, Link(member_id, ground.now + LINK_LIFE))
    origin = known_address(request.runtime.settings)
    return f"{origin}/f/{ground.studio_slug}/{ground.form_slug}?{urlencode({'link': token})}"


async def _link_page(request: ConsoleRequest, url: str | None) -> Answer:
    async with request.database.connection() as connection:
        member = await member_of(connection, request)
        if member is None:
            return await no_member(request)
        found = await forms.list_forms(connection, request.access, PageRequest(None, MAXIMUM_LIMIT), False)
    rows = [] if isinstance(found, Refusal) else json.loads(f"[{found.rows}]")
    options = [(each["id"], each["title"]) for each in rows]
    return show(request, "members/form_link.html", member, options=options, url=url, days=LINK_LIFE.days)
