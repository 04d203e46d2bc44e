"""One submission: its answers and files, what staff decide about it, and the member that it may become; and all those
of a form as a CSV file."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from uuid import UUID

from studiogate.console.answers import label_of, labels_of, shown_answers
from studiogate.console.forms.pages import INBOX, read, wanted_of
from studiogate.console.framework import Action, ConsoleRequest, Done, Form, Subject, Values, about, action, page_of
from studiogate.console.framework.downloads import ListedRows, csv_of_list
from studiogate.console.framework.formats import local, with_query
from studiogate.console.framework.inputs import Row
from studiogate.console.framework.parse import read_instant
from studiogate.console.framework.request import UndoAction, own_page
from studiogate.console.members import words
from studiogate.console.members.actions import PROFILE, resolution_of
from studiogate.console.members.forms import sent_file
from studiogate.console.members.profile import address as member_address
from studiogate.domain.access import Access
from studiogate.domain.forms.definition import FieldType
from studiogate.domain.forms.states import SubmissionStatus
from studiogate.domain.refusals import Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import INVALID, refused
from studiogate.flows.forms import staff as flows
from studiogate.flows.members import staff as members
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import inbox as storage
from studiogate.storage.forms.inbox import FormRow
from studiogate.web.response import Answer

PATH = "/console/forms/submissions"
DECIDED = (SubmissionStatus.CONFIRMED, SubmissionStatus.REJECTED, SubmissionStatus.SPAM)


async def _read(connection: Connection, access: Access, submission_id: UUID) -> Row | None:
    """Return a submission, with what a new member's form proposes from it."""
    found = await storage.read_submission(connection, access, submission_id)
    return None if found is None else {**found, **_profile(found)}


def _profile(sent: FormRow) -> dict[str, str]:
    """Return names, email and phone as far as the answers say them."""
    data, name = sent["data"], (sent["submitter_name"] or "").strip()
    first, _, last = name.rpartition(" ") if " " in name else (name, "", "")
    phones = [each.get("key") for each in sent["fields"] if each.get("type") == FieldType.PHONE]
    return {
        "first_name": str(data.get("first_name") or first),
        "last_name": str(data.get("last_name") or last),
        "email": sent["submitter_email"],
        "phone": next((str(data[key]) for key in phones if data.get(key)), ""),
    }


SUBMISSION = Subject(
    "submission",
    "/forms/submissions/{submission_id}",
    Permission.SUBMISSIONS,
    _read,
    lambda row: f"{PATH}/{row['id']}",
    lambda row: str(row["form"]),
    {"words": words},
)


@page_of(SUBMISSION, "/forms/submissions/{submission_id}", Permission.SUBMISSIONS, "forms/submission.html")
async def show(request: ConsoleRequest, _connection: Connection, sent: Row) -> Values:
    labels = labels_of(sent["fields"])
    return {
        "answers": shown_answers(sent["fields"], sent["data"], sent["files"]),
        "consents": [
            {**each, "label": labels.get(each["key"], each["key"]), "agreed_at": read_instant(each.get("at"))}
            for each in sent["consents"]
        ],
        "offered": [each.value for each in DECIDED if each != sent["status"]],
        "next": own_page(request.query.get("next")),
        "has_leads": any(each.path == "/leads" for each in request.navigation),
    }


@action("/forms/submissions/{submission_id}/files/{upload_id}", Permission.SUBMISSIONS)
@about(SUBMISSION.of_path)
async def file(request: ConsoleRequest, sent: Row) -> Answer:
    """Send a file of a submission; the audit log says who took it."""
    return await sent_file(request, sent["form_id"], sent["id"], f"{PATH}/{sent['id']}")


def _decide(name: str, status: SubmissionStatus, text: str) -> Action:
    def undo(done: Done) -> UndoAction | None:
        """Go back to the decision before; nothing makes a submission undecided again."""
        before = SubmissionStatus(done.row["status"])
        here = own_page(done.request.form.get("next")) or INBOX
        name = next((verb for verb, to in VERBS.items() if to is before), "")
        return UndoAction(f"{PATH}/{done.row['id']}/{name}", {"next": here}) if name and before != status else None

    return Action(SUBMISSION, name, partial(flows.decide, status=status), text, leads_to=lambda _done: INBOX, undo=undo)


VERBS = {"confirm": SubmissionStatus.CONFIRMED, "reject": SubmissionStatus.REJECTED, "spam": SubmissionStatus.SPAM}


async def _create_member(
    connection: Connection, access: Access, _submission_id: UUID, *given: str | None
) -> Mapping[str, object] | Refusal:
    """Create a member, who is given the verified submissions with the same email, this one included."""
    named = zip((each.name for each in PROFILE), given, strict=True)
    return await members.create(connection, access, {name: value for name, value in named if value})


ACTIONS = (
    _decide("confirm", SubmissionStatus.CONFIRMED, "Confirmed what {submitter_email} sent."),
    _decide("reject", SubmissionStatus.REJECTED, "Rejected what {submitter_email} sent."),
    _decide("spam", SubmissionStatus.SPAM, "Marked what {submitter_email} sent as spam."),
    Action(
        SUBMISSION,
        "member",
        _create_member,
        lambda done: f"{done.result['name']} is a member now. What they sent is in their profile.",
        PROFILE,
        Form("Create a member", "Create the member", template="forms/new_member.html"),
        needs=Permission.MEMBERS,
        is_offered=lambda sent: bool(sent["verified"] and not sent["member_id"]),
        leads_to=lambda done: member_address(done.result["id"]),
        resolve=resolution_of,
    ),
)


# The submissions of a form as CSV.

MAX_VERSIONS = 50
PER_READ = 200
MAX_EXPORTED = 50_000
TOO_MANY = f"These are more than {MAX_EXPORTED:,} submissions. Choose fewer days."
FIRST_COLUMNS = ("Sent at", "Name", "Email", "Status", "Email verified", "Version")


@action("/forms/{form_id}/export", Permission.SUBMISSIONS)
async def export(request: ConsoleRequest) -> Answer:
    """Send the submissions of a form that the filters leave as CSV; the audit log says who took them."""
    form_id, wanted = request.param_id("form_id"), wanted_of(request)
    filters = wanted.filters._replace(form_id=form_id)
    back = with_query(INBOX, **{**wanted.given, "form": form_id})
    form = await request.read(read, form_id)
    if form is None:
        return request.not_found()
    taken = await request.run(flows.export_submissions, form_id)
    if isinstance(taken, Refusal):
        return request.refused(taken, back)
    versions = await request.read(storage.list_versions, form_id, MAX_VERSIONS)
    fields = {each["version"]: each["fields"] for each in versions}
    columns = _columns(list(fields.values()))

    def line(row: FormRow) -> list[object]:
        return _line(row, fields.get(row["form_version"], []), columns, request.frame.timezone)

    listed = ListedRows(
        lambda connection, after: storage.page_of_answers(connection, request.access, filters, after, PER_READ),
        [*FIRST_COLUMNS, *columns.values()],
        line,
        MAX_EXPORTED,
    )
    sent = await csv_of_list(request, form["slug"], listed)
    return sent or request.refused(refused(Fault((), INVALID, TOO_MANY)), back)


def _columns(versions: Sequence[Sequence[FormRow]]) -> dict[str, str]:
    """Return the label of each question by its key: those of the newest version first, then those of earlier ones."""
    fields = [each for version in versions for each in version if isinstance(each, dict)]
    asked = [each for each in fields if each.get("type") != "section_break"]
    columns: dict[str, str] = {}
    for each in asked:
        columns.setdefault(str(each.get("key")), label_of(each))
    return columns


def _line(row: FormRow, fields: Sequence[FormRow], keys: Iterable[str], zone: str) -> list[object]:
    texts = {answer.key: answer.text for answer in shown_answers(fields, row["data"], row["files"])}
    sent_at = local(row["created_at"], zone).strftime("%Y-%m-%d %H:%M")
    status, verified = words.SUBMISSION[row["status"]][0], "yes" if row["verified"] else "no"
    first = [sent_at, row["submitter_name"], row["submitter_email"], status, verified, row["form_version"]]
    return [*first, *(texts.get(key, "") for key in keys)]
