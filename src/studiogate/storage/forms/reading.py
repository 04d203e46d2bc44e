"""Reading forms and their submissions."""

from datetime import datetime

from studiogate.domain.access import Access
from studiogate.domain.forms.acceptance import manages_forms
from studiogate.domain.forms.saving import FormStatus
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.storage.database import Connection
from studiogate.storage.forms.wire import FIELDS, SETTINGS, SHARED_SETTINGS
from studiogate.storage.listing import Filter, Parent, Resource, read_one, read_page


def _form(settings: str) -> Resource:
    columns = f"f.id, 'form' as object, f.title, f.slug, f.description, {FIELDS}, {settings}, f.status, f.version"
    return Resource(table="forms", alias="f", columns=columns)


# Events hold the first one: a key without forms:write may read them.
FORM = _form(SHARED_SETTINGS)
MANAGED_FORM = _form(SETTINGS)
PUBLISHED = Filter(f"f.status = '{FormStatus.PUBLISHED.value}'")

SUBMISSION = Resource(
    table="form_submissions",
    alias="n",
    columns="""
        n.id, 'form_submission' as object, n.form_id, n.form_version, n.submitter_name, n.submitter_email, n.data,
        n.status, n.member_id, n.lead_id, n.created_at, n.updated_at""",
)
# Whose submissions can be read: an archived form's too, once it has been published.
FORM_EXISTS = "select from forms f where f.studio_id = $1 and f.id = {}"
FORM_WAS_PUBLISHED = FORM_EXISTS + f" and f.status <> '{FormStatus.DRAFT.value}'"


def _as_seen_by(access: Access) -> Resource:
    return MANAGED_FORM if manages_forms(access) else FORM


async def list_forms(connection: Connection, access: Access, page: PageRequest, include_drafts: bool) -> Page | Refusal:
    filters = [] if include_drafts else [PUBLISHED]
    return await read_page(connection, access, _as_seen_by(access), page, filters=filters)


async def read_form(connection: Connection, access: Access, form_id: str) -> str | None:
    """A form that is not published exists only for those who may write forms."""
    filters = [] if manages_forms(access) else [PUBLISHED]
    return await read_one(connection, access, _as_seen_by(access), form_id, *filters)


def _parent(access: Access) -> str:
    return FORM_EXISTS if manages_forms(access) else FORM_WAS_PUBLISHED


async def list_submissions(
    connection: Connection, access: Access, page: PageRequest, form_id: str, updated_after: datetime | None
) -> Page | Refusal:
    return await read_page(
        connection,
        access,
        SUBMISSION,
        page,
        filters=[Filter("n.form_id = {}", form_id, of_the_list=True)],
        updated_after=updated_after,
        parents=[Parent(_parent(access), form_id)],
    )


async def read_submission(connection: Connection, access: Access, form_id: str, submission_id: str) -> str | None:
    of_the_form = [Filter("n.form_id = {}", form_id), Filter(f"exists ({_parent(access)})", form_id)]
    return await read_one(connection, access, SUBMISSION, submission_id, *of_the_form)
