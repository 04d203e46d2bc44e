"""Export everything about one person as an archive: a page to read, JSON for machines, and the person's files."""

import re
import shutil
import zipfile
from collections.abc import Mapping
from html import escape
from json import dumps
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.changes import record
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import members, person_export
from studiogate.storage.db.pool import Connection
from studiogate.storage.upload_store import UploadStore
from studiogate.templating import templates_in

MAX_FILE_NAME = 80
# Said elsewhere on the page, or of no use to a reader; person.json has them.
HIDDEN = frozenset({"fields", "stored_name", "policy"})
_TEMPLATES = templates_in(Path(__file__).parent / "templates")
_UNSAFE = re.compile(r"[^0-9A-Za-z._-]+")


@staff_flow(Permission.MEMBERS)
async def export(connection: Connection, access: Access, member_id: UUID) -> person_export.Person | Refusal:
    """Return everything that is stored about a member, and record that it was taken out."""
    if refusal := access.refusal_without_all_locations(Permission.MEMBERS):
        return refusal
    if (kept := await members.lock_member(connection, access, member_id)) is None:
        return Refusal(Code.NOT_FOUND)
    await record(connection, access, "member.export", "member", member_id)
    return await person_export.read_person(connection, access, member_id, kept.profile["email"])


@staff_flow(Permission.MEMBERS)
async def export_list(connection: Connection, access: Access) -> Refusal | None:
    """Record that the list of members is taken out. The caller reads its pages afterwards."""
    if refusal := access.refusal_without_all_locations(Permission.MEMBERS):
        return refusal
    await record(connection, access, "member.export_list", "studio", access.studio_id)
    return None


def safe_name(number: int, filename: str) -> str:
    """Return a name for a file in a folder of downloads: numbered, without anything a file system or shell reads."""
    kept = _UNSAFE.sub("_", filename).strip("._")[-MAX_FILE_NAME:]
    return f"{number:02}-{kept or 'file'}"


def write_archive(target: BinaryIO, person: person_export.Person, folder: UploadStore, studio_id: UUID) -> list[str]:
    """Write the archive; return the names of files that are not here and so not in it."""
    stored = person.sections["files"]
    files = {each["id"]: f"files/{safe_name(number, each['filename'])}" for number, each in enumerate(stored, 1)}
    missing = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in stored:
            try:
                content = folder.open(studio_id, each["stored_name"]).stream
            except FileNotFoundError:
                missing.append(files.pop(each["id"]))
                continue
            with content, archive.open(files[each["id"]], "w", force_zip64=True) as copy:
                shutil.copyfileobj(content, copy)
        archive.writestr("index.html", page(person, files))
        archive.writestr("person.json", dumps(_shown(person), ensure_ascii=False, indent=2))
    return missing


def _shown(person: person_export.Person) -> dict[str, object]:
    """Return the sections for person.json, without the names under which files are stored here."""
    files = [
        {name: value for name, value in each.items() if name != "stored_name"} for each in person.sections["files"]
    ]
    return {"studio": person.studio, "taken_at": person.taken_at, **person.sections, "files": files}


def page(person: person_export.Person, files: Mapping[str, str]) -> str:
    """Return what the studio has stored about a person, to be read. ``files`` has the paths of files by their ids."""
    sections = {
        name: [{"shown": _answers(row), "path": files.get(str(row.get("id")))} for row in rows]
        for name, rows in person.sections.items()
    }
    values = {"studio": person.studio, "taken_at": person.taken_at, "sections": sections, "files": files}
    return _TEMPLATES.get_template("person.html").render(values, escaped=_escaped)


def _escaped(value: object) -> str:
    return escape(str(value)).replace("\n", "<br>")


def _answers(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a submission with the labels of its fields in place of their keys; any other row as it is."""
    shown = {name: value for name, value in row.items() if name not in HIDDEN}
    if isinstance(row.get("fields"), list):
        labels = {each.get("key"): each.get("label") for each in row["fields"] if isinstance(each, Mapping)}
        answers = shown.pop("data", {})
        shown |= {str(labels.get(key) or key): value for key, value in answers.items()}
    return shown
