"""The lists of the screen Forms: forms, and the inbox of submissions, whose filters are in the address."""

from typing import NamedTuple

from studiogate.console.forms import words as form_words
from studiogate.console.framework import ConsoleRequest, page
from studiogate.console.framework.formats import with_query
from studiogate.console.framework.parse import Days, as_id
from studiogate.console.members import words
from studiogate.domain.forms.states import FormStatus, SubmissionStatus
from studiogate.domain.staff import Permission
from studiogate.storage.forms import inbox as storage
from studiogate.storage.forms.inbox import MAX_WAITING, FormRow, SubmissionFilters
from studiogate.web.response import Answer

PATH = "/console/forms"
INBOX = f"{PATH}/inbox"
PAGE = 50
MAX_TITLES = 200


@page("/forms", Permission.SUBMISSIONS)
async def forms(request: ConsoleRequest) -> Answer:
    asked, after = request.query.get("status"), as_id(request.query.get("after"))
    is_builder = request.may(Permission.FORMS)
    statuses = [each for each in FormStatus if is_builder or each is not FormStatus.DRAFT]
    status = asked if asked in statuses else None
    async with request.database.connection() as connection:
        found = await storage.list_forms(connection, request.access, status, after, PAGE, drafts=is_builder)
        waiting = await storage.count_waiting(connection, request.access)
    chosen = [("", "All"), *((each.value, each.value.capitalize()) for each in statuses)]
    return request.render(
        "forms/list.html",
        section="forms",
        rows=found.rows,
        next_href=found.next and with_query(PATH, status=status, after=found.next),
        chosen=status,
        statuses=[(name, label, with_query(PATH, status=name)) for name, label in chosen],
        **_shared(waiting),
    )


def _shared(waiting: int) -> FormRow:
    shown = f"{waiting}+" if waiting == MAX_WAITING else str(waiting)
    return {"waiting": shown if waiting else "", "words": words, "form_words": form_words, "storage": storage}


class Wanted(NamedTuple):
    """The filters of the inbox, and the same as they are in its address."""

    filters: SubmissionFilters
    given: dict[str, object]


def wanted_of(request: ConsoleRequest) -> Wanted:
    """Read the filters of the address, or of the form that exports what it shows. The inbox begins with what waits for
    a decision."""
    sent = request.form if request.http.method == "POST" else request.query
    asked = sent.get("status", SubmissionStatus.PENDING.value)
    status = SubmissionStatus(asked) if asked in set(SubmissionStatus) else None
    form_id, days = as_id(sent.get("form")), Days.of(sent)
    given: dict[str, object] = {"form": form_id, "status": asked if status else "all", **days.query}
    return Wanted(SubmissionFilters(form_id, status, *days.between(request.frame.timezone)), given)


@page("/forms/inbox", Permission.SUBMISSIONS)
async def inbox(request: ConsoleRequest) -> Answer:
    wanted, after = wanted_of(request), as_id(request.query.get("after"))
    async with request.database.connection() as connection:
        found = await storage.list_submissions(connection, request.access, wanted.filters, after, PAGE)
        waiting = await storage.count_waiting(connection, request.access)
        titles = await storage.form_titles(connection, request.access, MAX_TITLES)
    given = wanted.given
    statuses = [
        (each.value, words.SUBMISSION[each][0].capitalize(), with_query(INBOX, **{**given, "status": each.value}))
        for each in SubmissionStatus
    ]
    return request.render(
        "forms/inbox.html",
        section="inbox",
        rows=found.rows,
        next_href=found.next and with_query(INBOX, **given, after=found.next),
        given=given,
        statuses=[*statuses, ("all", "All", with_query(INBOX, **{**given, "status": "all"}))],
        titles=[(each["id"], each["title"]) for each in titles],
        here=with_query(INBOX, **given, after=after),
        **_shared(waiting),
    )
