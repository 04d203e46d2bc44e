"""Reading forms and their submissions."""

from datetime import datetime

from studiogate.domain.access import Access, Scope
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.storage.database import Connection
from studiogate.storage.listing import Filter, Parent, Resource, read_one, read_page

FORM = Resource(
    table="forms",
    alias="f",
    columns="f.id, 'form' as object, f.title, f.slug, f.description, f.fields, f.settings, f.status, f.version",
)
PUBLISHED = Filter("f.status = 'published'")

SUBMISSION = Resource(
    table="form_submissions",
    alias="n",
    columns="""
        n.id, 'form_submission' as object, n.form_id, n.form_version, n.submitter_name, n.submitter_email, n.data,
        n.status, n.member_id, n.lead_id, n.created_at, n.updated_at""",
)
FORM_EXISTS = "select from forms f where f.studio_id = $1 and f.id = {}"


async def list_forms(connection: Connection, access: Access, page: PageRequest, include_drafts: bool) -> Page | Refusal:
    filters = [] if include_drafts else [PUBLISHED]
    return await read_page(connection, access, FORM, page, filters=filters)


async def read_form(connection: Connection, access: Access, form_id: str) -> str | None:
    """A form that is not published exists only for those who may write forms."""
    filters = [] if Scope.FORMS_WRITE in access.scopes else [PUBLISHED]
    return await read_one(connection, access, FORM, form_id, *filters)


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
        parents=[Parent(FORM_EXISTS, form_id)],
    )


async def read_submission(connection: Connection, access: Access, form_id: str, submission_id: str) -> str | None:
    return await read_one(connection, access, SUBMISSION, submission_id, Filter("n.form_id = {}", form_id))
