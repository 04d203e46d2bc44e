"""Read and save forms."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg

from studiogate.domain.access import Access
from studiogate.domain.forms.states import FormStatus, manages_forms
from studiogate.domain.json_values import json_text
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.storage.db.pool import Connection, TransactionConflictError
from studiogate.storage.db.statement import new_id
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


WIRE = f"select row_to_json(w)::text from (select {MANAGED_FORM.columns} from saved f) w"

INSERT = f"""
    with saved as (
        insert into forms (studio_id, id, title, slug, description, fields, settings, status, completed_version)
        values ($1, $2, $3, $4, $5, $6, $7, $8, 1)
        on conflict (studio_id, slug) do nothing returning *
    ), kept as (
        insert into form_versions (studio_id, form_id, version, fields)
        select studio_id, id, version, fields from saved
    )
    {WIRE}"""

UPDATE = f"""
    with saved as (
        update forms set title = $3, slug = $4, description = $5, fields = $6, settings = $7, status = $8,
                         version = $9, completed_version = $9
        where studio_id = $1 and id = $2 returning *
    )
    {WIRE}"""


@dataclass(frozen=True, slots=True)
class FormContent:
    """All writable attributes of a form, complete and canonical."""

    title: str
    slug: str = ""
    description: str | None = None
    fields: list[Any] = field(default_factory=list)
    settings: Mapping[str, object] = field(default_factory=dict)
    status: str = FormStatus.DRAFT

    @property
    def columns(self) -> tuple[object, ...]:
        fields, settings = json_text(self.fields), json_text(dict(self.settings))
        return self.title, self.slug, self.description, fields, settings, self.status


class StoredForm(NamedTuple):
    content: FormContent
    version: int


async def insert_form(connection: Connection, access: Access, content: FormContent) -> str | None:
    wire: str | None = await connection.fetchval(INSERT, access.studio_id, new_id(), *content.columns)
    return wire


async def lock_form(connection: Connection, access: Access, form_id: str) -> StoredForm | None:
    statement = """
        select title, slug, description, fields, settings, status, version from forms
        where studio_id = $1 and id = $2 for no key update"""
    row = await connection.fetchrow(statement, access.studio_id, form_id)
    if row is None:
        return None
    fields, settings = json.loads(row["fields"]), json.loads(row["settings"])
    content = FormContent(row["title"], row["slug"], row["description"], fields, settings, row["status"])
    return StoredForm(content, row["version"])


async def has_submissions(connection: Connection, access: Access, form_id: str) -> bool:
    statement = "select exists (select from form_submissions where studio_id = $1 and form_id = $2)"
    return bool(await connection.fetchval(statement, access.studio_id, form_id))


async def update_form(connection: Connection, access: Access, form_id: str, content: FormContent, version: int) -> str:
    """Write all of a form and return it in wire form. If another form takes the slug at the same time, raise
    TransactionConflictError, so that the transaction is retried."""
    try:
        wire: str = await connection.fetchval(UPDATE, access.studio_id, form_id, *content.columns, version)
    except asyncpg.UniqueViolationError as error:
        raise TransactionConflictError(str(error)) from error
    return wire


async def keep_version(connection: Connection, access: Access, form_id: str) -> None:
    """Store the fields of the form's current version for its submissions."""
    statement = """
        insert into form_versions (studio_id, form_id, version, fields)
        select studio_id, id, version, fields from forms where studio_id = $1 and id = $2"""
    await connection.execute(statement, access.studio_id, form_id)


async def taken_slugs(connection: Connection, access: Access, slug: str, except_form: str | UUID | None) -> set[str]:
    """Return which of this slug and its numbered variants other forms of the studio use."""
    statement = """
        select slug from forms
        where studio_id = $1 and (slug = $2 or slug ~ ('^' || $2 || '-[0-9]+$')) and id is distinct from $3"""
    rows = await connection.fetch(statement, access.studio_id, slug, except_form)
    return {row["slug"] for row in rows}
