"""Export the submissions of a form as CSV."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from studiogate.console.answers import label_of, shown_answers
from studiogate.console.forms.lists import INBOX, wanted_of
from studiogate.console.forms.pages import read
from studiogate.console.framework import ConsoleRequest, action
from studiogate.console.framework.downloads import ListedRows, csv_of_list
from studiogate.console.framework.formats import local, with_query
from studiogate.console.members import words
from studiogate.domain.refusals import Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import INVALID, refused
from studiogate.flows.forms import staff as flows
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import inbox as storage
from studiogate.storage.forms.inbox import FormRow
from studiogate.storage.paging import ListPage
from studiogate.web.response import Answer

MAX_VERSIONS = 50
PER_READ = 200
MAX_EXPORTED = 50_000


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

    async def read_page(connection: Connection, after: UUID | None) -> ListPage:
        return await storage.page_of_answers(connection, request.access, filters, after, PER_READ)

    def line(row: FormRow) -> list[object]:
        return _line(row, fields.get(row["form_version"], []), columns, request.frame.timezone)

    listed = ListedRows(read_page, [*FIRST_COLUMNS, *columns.values()], line, MAX_EXPORTED)
    sent = await csv_of_list(request, form["slug"], listed)
    return sent or request.refused(refused(Fault((), INVALID, TOO_MANY)), back)


TOO_MANY = f"These are more than {MAX_EXPORTED:,} submissions. Choose fewer days."
FIRST_COLUMNS = ("Sent at", "Name", "Email", "Status", "Email verified", "Version")


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
