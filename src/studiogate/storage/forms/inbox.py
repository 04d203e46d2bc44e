"""What staff read about forms and submissions: the forms with their counts, the inbox, one submission, all of a form.

A page of the inbox is read along an index; where it is of all forms, status by status, and the few rows are merged.
"""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.forms.states import SubmissionStatus
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import parsed
from studiogate.storage.forms.uploads import FILES_AS_JSON
from studiogate.storage.paging import ListPage, comes_after, list_page

FormRow = dict[str, Any]  # a row of forms or submissions by column, with its JSON read
MAX_WAITING = 100  # counting stops there
MAX_COUNTED = 1_000

# $1 studio, $2 limit, $3 status, $4 from, $5 until, $6 form, $7 the submission before the page (null: any).
_COLUMNS = """e.id, e.form_id, e.form_version, e.status, e.verified, e.created_at, e.submitter_name, e.submitter_email,
           e.member_id, e.lead_id, e.data"""
_ROWS = f"""
    select {_COLUMNS} from form_submissions e
    where e.studio_id = $1 and {{condition}} and e.created_at >= coalesce($4::timestamptz, '-infinity')
      and e.created_at < coalesce($5::timestamptz, 'infinity') {{beyond}}
    order by e.created_at desc, e.id desc limit $2"""
_ALL = ", ".join(f"('{each.value}')" for each in SubmissionStatus)
_OF_EACH_STATUS = f"""
    select each.* from (values {_ALL}) wanted(status) cross join lateral ({{}}) each
    order by each.created_at desc, each.id desc limit $2"""
# By whether it is of one form, and of one status. Those of a form are in order as they are; those of all forms are read
# status by status.
_CONDITIONS = {
    (False, False): "e.status = wanted.status and $3::text is null and $6::uuid is null",
    (False, True): "e.status = $3::text and $6::uuid is null",
    (True, False): "e.form_id = $6::uuid and $3::text is null",
    (True, True): "e.form_id = $6::uuid and e.status = $3::text",
}
_BEYOND = f"and {comes_after('form_submissions', 'e', '$7::uuid')}"
_NO_PLACE = "and $7::uuid is null"
_LIST = """
    select n.id, n.form_id, n.status, n.verified, n.created_at, n.submitter_name, n.submitter_email, n.member_id,
           n.lead_id, f.title as form, m.name as member, s.timezone,
           (select count(*) from form_uploads u where u.studio_id = $1 and u.submission_id = n.id) as files
    from ({}) n
    join studios s on s.studio_id = $1
    join forms f on f.studio_id = $1 and f.id = n.form_id
    left join members m on m.studio_id = $1 and m.id = n.member_id
    order by n.created_at desc, n.id desc"""
_ANSWERS = f"""
    select n.id, n.form_version, n.status, n.verified, n.created_at, n.submitter_name, n.submitter_email,
           n.data::text as data, {FILES_AS_JSON}
    from ({{}}) n order by n.created_at desc, n.id desc"""
_Shape = tuple[bool, bool, bool]


def _statements(shown: str) -> dict[_Shape, str]:
    """Return a statement for each shape: of one form or of all, of one status or of all, the first page or later."""
    statements = {}
    for (of_form, of_status), condition in _CONDITIONS.items():
        for later in (False, True):
            rows = _ROWS.format(condition=condition, beyond=_BEYOND if later else _NO_PLACE)
            rows = rows if of_form or of_status else _OF_EACH_STATUS.format(rows)
            statements[of_form, of_status, later] = shown.format(rows)
    return statements


LIST, ANSWERS = _statements(_LIST), _statements(_ANSWERS)
WAITING = """
    select count(*) from (
        select from form_submissions where studio_id = $1 and status = 'pending' limit $2) n"""
_COUNT = """
    (select count(*) from (
        select from form_submissions n where n.studio_id = $1 and n.form_id = f.id {} limit {}) n)"""
_FORM = f"""
    select f.id, f.title, f.slug, f.description, f.status, f.version, f.updated_at, f.created_at,
           f.fields::text as fields, f.settings::text as settings, s.slug as studio_slug, s.timezone,
           d.updated_at as draft_saved_at,
           coalesce(d.revision, 0) as draft_revision,
           {_COUNT.format("and n.status = 'pending'", MAX_WAITING)} as waiting,
           {_COUNT.format("", MAX_COUNTED)} as submissions
    from forms f join studios s on s.studio_id = f.studio_id
    left join form_drafts d on d.studio_id = $1 and d.form_id = f.id
    where f.studio_id = $1 and (f.status <> 'draft' or $2)"""
_FORMS = f"""{_FORM} and ($3::text is null or f.status = $3) {{}}
    order by f.created_at desc, f.id desc limit $4"""
FORMS = {
    False: _FORMS.format("and $5::uuid is null"),
    True: _FORMS.format(f"and {comes_after('forms', 'f', '$5::uuid')}"),
}
FORM = f"{_FORM} and f.id = $3"
TITLES = """
    select f.id, f.title from forms f
    where f.studio_id = $1 and f.status <> 'draft' order by f.created_at desc, f.id desc limit $2"""
SUBMISSION = f"""
    select n.id, n.form_id, n.form_version, n.status, n.verified, n.created_at, n.submitter_name, n.submitter_email,
           n.member_id, n.lead_id, n.data::text as data, n.consents::text as consents, f.title as form,
           f.version as current_version, v.fields::text as fields, m.name as member, s.timezone,
           {FILES_AS_JSON}
    from form_submissions n
    join studios s on s.studio_id = $1
    join forms f on f.studio_id = $1 and f.id = n.form_id
    left join form_versions v on v.studio_id = $1 and v.form_id = n.form_id and v.version = n.form_version
    left join members m on m.studio_id = $1 and m.id = n.member_id
    where n.studio_id = $1 and n.id = $2"""
# Whose rules name the form as their waiver.
WAIVER_OF = """
    select 'the studio' as name from studios where studio_id = $1 and policy ->> 'waiver_form_id' = $2
    union all (select name from locations where studio_id = $1 and policy ->> 'waiver_form_id' = $2 limit 5)
    union all (select name from class_types where studio_id = $1 and policy ->> 'waiver_form_id' = $2 limit 5)"""
VERSIONS = """
    select v.version, v.created_at, v.fields::text as fields from form_versions v
    where v.studio_id = $1 and v.form_id = $2 and ($3::integer is null or v.version = $3)
    order by v.version desc limit $4"""


class SubmissionFilters(NamedTuple):
    """Which submissions; without a status, those of all of them."""

    form_id: UUID | None = None
    status: SubmissionStatus | None = None
    since: datetime | None = None
    until: datetime | None = None


async def list_submissions(
    connection: Connection, access: Access, filters: SubmissionFilters, after: UUID | None, limit: int
) -> ListPage:
    statement = LIST[_shape(filters, after)]
    return list_page(await connection.fetch(statement, access.studio_id, *_given(filters, after, limit)), limit)


async def page_of_answers(
    connection: Connection, access: Access, filters: SubmissionFilters, after: UUID | None, limit: int
) -> ListPage:
    """Return submissions with their answers and files, the newest first."""
    statement = ANSWERS[_shape(filters, after)]
    page = list_page(await connection.fetch(statement, access.studio_id, *_given(filters, after, limit)), limit)
    return page._replace(rows=[parsed(row, "data", "files") for row in page.rows])


def _shape(filters: SubmissionFilters, after: UUID | None) -> _Shape:
    return filters.form_id is not None, filters.status is not None, after is not None


def _given(filters: SubmissionFilters, after: UUID | None, limit: int) -> tuple[object, ...]:
    return limit + 1, filters.status, filters.since, filters.until, filters.form_id, after


async def count_waiting(connection: Connection, access: Access) -> int:
    """Return how many submissions nobody has decided about; counting stops at ``MAX_WAITING``."""
    return int(await connection.fetchval(WAITING, access.studio_id, MAX_WAITING))


async def list_forms(  # noqa: PLR0913
    connection: Connection, access: Access, status: str | None, after: UUID | None, limit: int, *, drafts: bool
) -> ListPage:
    """Return forms with the number of their submissions, the newest first; unpublished ones with ``drafts``."""
    values = (access.studio_id, drafts, status, limit + 1, after)
    return list_page(await connection.fetch(FORMS[after is not None], *values), limit)


async def form_titles(connection: Connection, access: Access, limit: int) -> list[Record]:
    return await connection.fetch(TITLES, access.studio_id, limit)


async def read_form(connection: Connection, access: Access, form_id: UUID, *, drafts: bool = True) -> FormRow | None:
    row = await connection.fetchrow(FORM, access.studio_id, drafts, form_id)
    return None if row is None else parsed(row, "fields", "settings")


async def read_submission(connection: Connection, access: Access, submission_id: UUID) -> FormRow | None:
    row = await connection.fetchrow(SUBMISSION, access.studio_id, submission_id)
    return None if row is None else parsed(row, "data", "consents", "fields", "files")


async def list_versions(
    connection: Connection, access: Access, form_id: UUID, limit: int, version: int | None = None
) -> list[FormRow]:
    """Return the versions of a form with their fields, the newest first, or one of them."""
    rows = await connection.fetch(VERSIONS, access.studio_id, form_id, version, limit)
    return [parsed(row, "fields") for row in rows]


async def waiver_of(connection: Connection, access: Access, form_id: UUID) -> list[str]:
    """Return whose rules ask for this form before a booking: the studio, locations, class types."""
    rows = await connection.fetch(WAIVER_OF, access.studio_id, str(form_id))
    return [row["name"] for row in rows]
