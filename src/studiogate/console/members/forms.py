"""The forms that a member has sent, their answers, what was agreed to, and links that open a form for the member."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from studiogate.console.form_links import link_address
from studiogate.console.framework.page import AFTER, action, cursor_of, page, page_of, rows_of, run
from studiogate.console.framework.parse import as_id, read_instant
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.members.form_values import PAGE
from studiogate.console.members.profile import address, member_of, no_member, show
from studiogate.domain.forms.link_mails import LINK_LIFE
from studiogate.domain.refusals import Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import INVALID, fault, refused
from studiogate.domain.studio_file.documents import CONSENT_TEXTS
from studiogate.flows.forms import staff as flows
from studiogate.flows.forms.staff import FormLinkToSend
from studiogate.storage import member_profile as storage
from studiogate.storage.forms import read as forms
from studiogate.web.response import Answer

NO_MAIL = Fault((), INVALID, "This service sends no mail. Make a link and hand it over.")


@page("GET", "/members/{member_id}/forms", Permission.SUBMISSIONS)
async def submissions(request: ConsoleRequest) -> Answer:
    async with request.database.connection() as connection:
        member = await member_of(connection, request)
        if member is None:
            return await no_member(request)
        after = as_id(request.query.get("after"))
        lines = await storage.submissions_of(connection, request.access, member["id"], after, PAGE)
    consents = [
        {
            **{name: each.get(name) for name in CONSENT_TEXTS},
            "label": _labels(row["fields"]).get(each["key"], each["key"]),
            "form": row["title"],
            "agreed_at": read_instant(each.get("at")),
        }
        for row in lines.rows
        for each in row["consents"]
    ]
    return show(request, "members/forms.html", member, lines=lines, consents=consents)


@page("GET", "/members/{member_id}/forms/{submission_id}", Permission.SUBMISSIONS)
async def answers(request: ConsoleRequest) -> Answer:
    """Show the answers of one submission with the labels of its form."""
    submission_id = as_id(request.params["submission_id"])
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


def _labels(fields: Sequence[Mapping[str, object]]) -> dict[str, str]:
    return {str(each.get("key")): str(each.get("label") or each.get("key")) for each in fields}


def _text(value: object) -> str:
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
    """Make a link that opens a form for the member, or send it by email; the audit log says who did."""
    member_id, form_id = as_id(request.params["member_id"]), as_id(request.form.get("form_id"))
    after = cursor_of(request)
    back = address(request.params["member_id"], "form-link") + (f"?{urlencode({AFTER: after})}" if after else "")
    if member_id is None or form_id is None:
        return request.refused(refused(fault("form_id", "Choose a form.")), back)
    if request.form.get("by") == "mail":
        return await _send(request, FormLinkToSend(form_id, member_id), back)
    facts = await run(request, flows.link, form_id, member_id)
    if isinstance(facts, Refusal):
        return request.refused(facts, back)
    return await _link_page(request, link_address(request, facts, form_id, member_id))


async def _send(request: ConsoleRequest, wanted: FormLinkToSend, back: str) -> Answer:
    if not _sends_mail(request):
        return request.refused(refused(NO_MAIL), back)
    queued = await run(request, flows.send_link, wanted)
    if isinstance(queued, Refusal):
        return request.refused(queued, back)
    return request.go_to(address(wanted.member_id, "forms"), toast="A mail with the link is on its way.")


def _sends_mail(request: ConsoleRequest) -> bool:
    return request.runtime.settings.smtp_url is not None


async def _link_page(request: ConsoleRequest, url: str | None) -> Answer:
    async with request.database.connection() as connection:
        member = await member_of(connection, request)
        if member is None:
            return await no_member(request)
        page = page_of(request)
        found = rows_of(await forms.list_forms(connection, request.access, page, False))
    here = address(member["id"], "form-link")
    values: dict[str, object] = {
        "sends_mail": _sends_mail(request),
        "options": [(each["id"], each["title"]) for each in found.rows],
        "after": page.cursor,
        "more": found.next and f"{here}?{urlencode({AFTER: found.next})}",
    }
    return show(request, "members/form_link.html", member, url=url, days=LINK_LIFE.days, **values)
