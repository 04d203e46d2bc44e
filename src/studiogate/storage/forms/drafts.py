"""Drafts of the form builder: what is changed and not published yet."""

import json
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection

Content = dict[str, Any]
READ = """
    select content, form_version, revision, updated_at from form_drafts where studio_id = $1 and form_id = $2"""
INSERT = """
    insert into form_drafts (studio_id, form_id, content, form_version) values ($1, $2, $3, $4)"""
UPDATE = """
    update form_drafts set content = $3, revision = revision + 1, updated_at = clock_timestamp()
    where studio_id = $1 and form_id = $2"""


class FormDraft(NamedTuple):
    content: Content
    form_version: int  # of the form when the draft was begun
    revision: int


async def read(connection: Connection, access: Access, form_id: UUID, *, lock: bool = False) -> FormDraft | None:
    """Return the draft of a form. ``lock`` keeps others from changing it until the transaction ends."""
    statement = f"{READ} for update" if lock else READ
    row = await connection.fetchrow(statement, access.studio_id, form_id)
    return None if row is None else FormDraft(json.loads(row["content"]), row["form_version"], row["revision"])


async def insert(connection: Connection, access: Access, form_id: UUID, content: str, form_version: int) -> None:
    await connection.execute(INSERT, access.studio_id, form_id, content, form_version)


async def update(connection: Connection, access: Access, form_id: UUID, content: str) -> None:
    await connection.execute(UPDATE, access.studio_id, form_id, content)


async def delete(connection: Connection, access: Access, form_id: UUID) -> None:
    await connection.execute("delete from form_drafts where studio_id = $1 and form_id = $2", access.studio_id, form_id)
