"""The forms that a member has sent, their answers and files, what was agreed to, and links that open a form for
the member.

Visitors upload what they like, so a file is always an attachment with a type that no browser runs. The audit log names
who took one, so taking it is an action with a form: browsers fetch links in advance, and other sites can name them.
"""

from uuid import UUID

from studiogate.console.answers import labels_of, shown_answers
from studiogate.console.framework import ConsoleRequest, Values, action, page_of, paging, show_about
from studiogate.console.framework.downloads import attachment
from studiogate.console.framework.formats import with_query
from studiogate.console.framework.inputs import Row
from studiogate.console.framework.parse import as_id, read_instant
from studiogate.console.members.profile import MEMBER, PAGE, address
from studiogate.domain.fields.documents import CONSENT_TEXTS
from studiogate.domain.forms.signed_links import LINK_LIFE, Link, link_path, open_link_secret, sign
from studiogate.domain.refusals import NOT_FOUND, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import INVALID, fault, refused
from studiogate.flows.forms import staff as flows
from studiogate.storage import member_profile as storage
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import save as forms
from studiogate.storage.forms import uploads
from studiogate.storage.forms.hosted import FormLinkFacts
from studiogate.storage.upload_store import in_thread
from studiogate.web.public_address import known_address
from studiogate.web.response import Answer, Header, OpenFile

LINK_TEMPLATE = "members/form_link.html"
NO_MAIL = Fault((), INVALID, "This service sends no mail. Make a link and hand it over.")


@page_of(MEMBER, "/members/{member_id}/forms", Permission.SUBMISSIONS, "members/forms.html")
async def submissions(request: ConsoleRequest, connection: Connection, member: Row) -> Values:
    after = as_id(request.query.get("after"))
    lines = await storage.submissions_of(connection, request.access, member["id"], after, PAGE)
    consents = [
        {
            **{name: each.get(name) for name in CONSENT_TEXTS},
            "label": labels_of(row["fields"]).get(each["key"], each["key"]),
            "form": row["title"],
            "agreed_at": read_instant(each.get("at")),
        }
        for row in lines.rows
        for each in row["consents"]
    ]
    return {"section": "forms", "lines": lines, "consents": consents}


@page_of(MEMBER, "/members/{member_id}/forms/{submission_id}", Permission.SUBMISSIONS, "members/answers.html")
async def answers(request: ConsoleRequest, connection: Connection, member: Row) -> Values | Refusal:
    """Show the answers of one submission with the labels of its form."""
    submission_id = request.param_id("submission_id")
    sent = await storage.read_submission(connection, request.access, member["id"], submission_id)
    if sent is None:
        return NOT_FOUND
    return {"submission": sent, "answers": shown_answers(sent["fields"], sent["data"], sent["files"])}


@page_of(MEMBER, "/members/{member_id}/form-link", Permission.SUBMISSIONS, LINK_TEMPLATE)
async def show_link(request: ConsoleRequest, connection: Connection, member: Row) -> Values:
    """Ask for which form the member gets a link."""
    page = paging.page_of(request)
    found = paging.rows_of(await forms.list_forms(connection, request.access, page, False))
    return {
        "url": None,
        "days": LINK_LIFE.days,
        "chosen": request.query.get("form", ""),
        "options": [(each["id"], each["title"]) for each in found.rows],
        "after": page.cursor,
        "more": found.next and with_query(address(member["id"], "form-link"), after=found.next),
    }


@action("/members/{member_id}/form-link", Permission.SUBMISSIONS)
async def link(request: ConsoleRequest) -> Answer:
    """Make a link that opens a form for the member, or send it by email; the audit log says who did."""
    member_id, form_id = request.param_id("member_id"), as_id(request.form.get("form_id"))
    back = with_query(address(member_id, "form-link"), after=paging.cursor_of(request))
    if form_id is None:
        return request.refused(refused(fault("form_id", "Choose a form.")), back)
    if request.form.get("by") == "mail":
        if not request.sends_mail:
            return request.refused(refused(NO_MAIL), back)
        queued = await request.run(flows.send_link, flows.FormLinkToSend(form_id, member_id))
        if isinstance(queued, Refusal):
            return request.refused(queued, back)
        return request.go_to(address(member_id, "forms"), toast="A mail with the link is on its way.")
    facts = await request.run(flows.link, form_id, member_id)
    if isinstance(facts, Refusal):
        return request.refused(facts, back)
    url = link_address(request, facts, form_id, member_id)
    return await show_about(request, MEMBER, LINK_TEMPLATE, show_link, url=url)


def link_address(request: ConsoleRequest, facts: FormLinkFacts, form_id: UUID, member_id: UUID) -> str:
    """Return the signed address of a form for one member, which works for ``LINK_LIFE``."""
    secret = open_link_secret(request.runtime.sealer, facts.studio_id, facts.link_secret)
    token = sign(secret, form_id, Link(member_id, facts.now + LINK_LIFE))
    return known_address(request.runtime.settings) + link_path(facts.studio_slug, facts.form_slug, token)


# Files.

BINARY: Header = (b"content-type", b"application/octet-stream")


@action("/members/{member_id}/forms/{submission_id}/files/{upload_id}", Permission.SUBMISSIONS)
async def file(request: ConsoleRequest) -> Answer:
    """Send a file of a submission of the member; the audit log says who took it."""
    member_id, submission_id = request.param_id("member_id"), request.param_id("submission_id")
    submission = await request.read(storage.read_submission, member_id, submission_id)
    if submission is None:
        return request.not_found()
    return await sent_file(request, submission["form_id"], submission_id, address(member_id, "forms"))


async def sent_file(request: ConsoleRequest, form_id: UUID, submission_id: UUID, back: str) -> Answer:
    """Send the file of a submission that the path names; ``back`` is the page that has its button."""
    ids = (str(form_id), str(submission_id), str(request.param_id("upload_id")))
    stored = await request.read(uploads.find_file, *ids)
    if stored is None:
        return request.not_found()
    taken = await request.run(flows.files, submission_id)
    if isinstance(taken, Refusal):
        return request.refused(taken, back)
    reading = (request.access.studio_id, stored.stored_name, stored.place)
    opened = await in_thread(request.runtime.uploads.open_or_refuse, *reading)
    if isinstance(opened, Refusal):
        return request.error(opened)
    return attachment(OpenFile(opened.stream, stored.size), BINARY, stored.filename)
