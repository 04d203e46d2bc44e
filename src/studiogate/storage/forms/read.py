"""Reading forms and their submissions."""

from datetime import datetime

from studiogate.domain.access import Access
from studiogate.domain.forms.acceptance import manages_forms
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.storage.db.pool import Connection
from studiogate.storage.paging import Filter, Parent, read_one, read_page
from studiogate.storage.resources import FORM, MANAGED_FORM, SUBMISSION

PUBLISHED = Filter("f.status = 'published'")

# The forms whose submissions can be read, including archived ones that have been published.
FORM_EXISTS = "select from forms f where f.studio_id = $1 and f.id = {}"
FORM_WAS_PUBLISHED = FORM_EXISTS + " and f.status <> 'draft'"


async def list_forms(connection: Connection, access: Access, page: PageRequest, include_drafts: bool) -> Page | Refusal:
    filters = [] if include_drafts else [PUBLISHED]
    resource = MANAGED_FORM if manages_forms(access) else FORM
    return await read_page(connection, access, resource, page, filters=filters)


async def read_form(connection: Connection, access: Access, form_id: str) -> str | None:
    """Return a form; one that is not published exists only for keys that may write forms."""
    if manages_forms(access):
        return await read_one(connection, access, MANAGED_FORM, form_id)
    return await read_one(connection, access, FORM, form_id, PUBLISHED)


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
        parents=[Parent(FORM_EXISTS if manages_forms(access) else FORM_WAS_PUBLISHED, form_id)],
    )


async def read_submission(connection: Connection, access: Access, form_id: str, submission_id: str) -> str | None:
    parent = FORM_EXISTS if manages_forms(access) else FORM_WAS_PUBLISHED
    of_the_form = [Filter("n.form_id = {}", form_id), Filter(f"exists ({parent})", form_id)]
    return await read_one(connection, access, SUBMISSION, submission_id, *of_the_form)
