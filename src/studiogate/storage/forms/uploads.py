"""The rows of uploaded files, and of pictures of class types and instructors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.forms.states import manages_forms
from studiogate.domain.forms.upload_limits import UploadUsage
from studiogate.domain.retention import UNUSED_PICTURE_HOURS, WAITING_UPLOAD_HOURS
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id

# All files in the upload folder.
FILES = """
    (select studio_id, stored_name, place from form_uploads
     union all select studio_id, name as stored_name, place from pictures)"""
FORM_USAGE = "select files, bytes from form_upload_usage where studio_id = $1 and form_id = $2"

ALL_OF_SUBMISSION = """
    select filename, content_type, size, stored_name, place from form_uploads
    where studio_id = $1 and submission_id = $2 order by created_at, id"""
# Of a query whose submission is n.
FILES_AS_JSON = """
    (select coalesce(json_agg(json_build_object('id', u.id, 'filename', u.filename, 'size', u.size)
                              order by u.created_at, u.id), '[]')
     from form_uploads u where u.studio_id = $1 and u.submission_id = n.id)::text as files"""
HAS_SUBMISSION = "select exists (select from form_submissions where studio_id = $1 and id = $2)"

FORGET = f"""
    delete from form_uploads where (studio_id, id) in (
        select studio_id, id from form_uploads
        where studio_id = $1 and submission_id is null
            and created_at <= clock_timestamp() - interval '{WAITING_UPLOAD_HOURS} hours'
        limit $2 for update skip locked)
    returning stored_name"""


PICTURE_IN_USE = """
    (exists (select from class_types t where t.studio_id = p.studio_id and t.picture = p.name)
     or exists (select from instructors i where i.studio_id = p.studio_id and i.picture = p.name))"""
PICTURE_GIVEN_UP = f"p.unused_since <= clock_timestamp() - interval '{UNUSED_PICTURE_HOURS} hours'"
KEEP_PICTURES = f"""
    update pictures p set unused_since = null where p.studio_id = $1 and {PICTURE_GIVEN_UP} and {PICTURE_IN_USE}"""
FORGET_PICTURES = f"""
    delete from pictures p where p.studio_id = $1 and {PICTURE_GIVEN_UP} and not {PICTURE_IN_USE} returning p.name"""


class NewUpload(NamedTuple):
    form_id: str | UUID
    field_key: str
    filename: str
    content_type: str
    size: int
    sha256: bytes
    stored_name: str
    place: str | None


@dataclass(frozen=True, slots=True)
class StoredFile:
    filename: str
    content_type: str
    size: int
    stored_name: str
    place: str | None


async def lock_usage(connection: Connection, access: Access, form_id: str | UUID) -> UploadUsage:
    """Lock upload usage until the transaction ends; return what the files of the form and of the studio use."""
    # Locks the studio's row: two uploads of a studio cannot both use the rest of its quota, nor of a form's.
    statement = """
        insert into studio_upload_usage as u (studio_id) values ($1)
        on conflict (studio_id) do update set files = u.files returning files, bytes"""
    studio = await connection.fetchrow(statement, access.studio_id)
    form = await connection.fetchrow(FORM_USAGE, access.studio_id, form_id)
    form_files, form_bytes = (form["files"], form["bytes"]) if form else (0, 0)
    studio_files, studio_bytes = (studio["files"], studio["bytes"]) if studio else (0, 0)
    return UploadUsage(form_files, form_bytes, studio_files, studio_bytes)


async def find_file(
    connection: Connection, access: Access, form_id: str, submission_id: str, upload_id: str
) -> StoredFile | None:
    ids = (form_id, submission_id, upload_id)
    statement = """
    select u.filename, u.content_type, u.size, u.stored_name, u.place from form_uploads u
    join form_submissions n on n.studio_id = u.studio_id and n.id = u.submission_id
    join forms f on f.studio_id = n.studio_id and f.id = n.form_id
    where u.studio_id = $1 and n.form_id = $2 and u.submission_id = $3 and u.id = $4 and (f.status <> 'draft' or $5)"""
    row = await connection.fetchrow(statement, access.studio_id, *ids, manages_forms(access))
    return None if row is None else StoredFile(**dict(row))


async def files_of_submission(connection: Connection, access: Access, submission_id: UUID) -> list[StoredFile] | None:
    """Return the files of a submission, or None if there is no such submission."""
    if not await connection.fetchval(HAS_SUBMISSION, access.studio_id, submission_id):
        return None
    rows = await connection.fetch(ALL_OF_SUBMISSION, access.studio_id, submission_id)
    return [StoredFile(**dict(row)) for row in rows]


async def insert_upload(connection: Connection, access: Access, made: NewUpload) -> str:
    statement = """
    with made as (
        insert into form_uploads
            (studio_id, id, form_id, field_key, filename, content_type, size, sha256, stored_name, place)
        values ($1, $2, $3, $4, $5, $6, $7, $8, ($9::text[])[1], ($9::text[])[2]) returning *
    )
    select row_to_json(w)::text from (
        select u.id, 'form_upload' as object, u.filename, u.size, u.content_type from made u
    ) w"""
    stored = [made.stored_name, made.place]
    return str(await connection.fetchval(statement, access.studio_id, new_id(), *made[:-2], stored))


async def forget_uploads(connection: Connection, access: Access, at_most: int) -> list[str]:
    """Delete the rows of files that no submission referred to within a day; return the files' names."""
    return [row["stored_name"] for row in await connection.fetch(FORGET, access.studio_id, at_most)]


async def forget_pictures(connection: Connection, access: Access) -> list[str]:
    """Delete the rows of pictures that were given up long ago, unless another row has them; return their names."""
    await connection.execute(KEEP_PICTURES, access.studio_id)
    return [row["name"] for row in await connection.fetch(FORGET_PICTURES, access.studio_id)]


async def discard_uploads(connection: Connection, access: Access, ids: list[str]) -> list[str]:
    """Delete the rows of these files, but for those of a submission; return the files' names."""
    statement = """
    delete from form_uploads where studio_id = $1 and id = any($2) and submission_id is null returning stored_name"""
    return [row["stored_name"] for row in await connection.fetch(statement, access.studio_id, ids)]


async def known_files(connection: Connection, access: Access, names: list[str]) -> dict[str, str | None]:
    """Return the places of those that have a row, as an upload or as a picture."""
    statement = f"select stored_name, place from {FILES} f where studio_id = $1 and stored_name = any($2)"
    return {row["stored_name"]: row["place"] for row in await connection.fetch(statement, access.studio_id, names)}


async def digests(connection: Connection, access: Access, names: Sequence[str]) -> dict[str, str]:
    """Return how the SHA-256 of each file begins, in hex: that of a picture is in its name."""
    statement = """
        select stored_name, encode(sha256, 'hex') as digest from form_uploads
        where studio_id = $1 and stored_name = any($2)
        union all select name, split_part(name, '.', 1) from pictures where studio_id = $1 and name = any($2)"""
    return {row["stored_name"]: row["digest"] for row in await connection.fetch(statement, access.studio_id, names)}


async def note_place(connection: Connection, access: Access, names: Sequence[str], place: str | None) -> None:
    """Record where these files are now."""
    statement = """
        with changed as (
            update form_uploads set place = $3
            where studio_id = $1 and stored_name = any($2) and place is distinct from $3)
        update pictures set place = $3 where studio_id = $1 and name = any($2) and place is distinct from $3"""
    await connection.execute(statement, access.studio_id, list(names), place)


async def page_of_files(connection: Connection, access: Access, after: str, at_most: int) -> list[str]:
    """Return the names of files after the last one of the previous page."""
    statement = f"""
        select stored_name from {FILES} f where studio_id = $1 and stored_name > $2 order by stored_name limit $3"""
    return [row["stored_name"] for row in await connection.fetch(statement, access.studio_id, after, at_most)]
