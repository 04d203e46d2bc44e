"""Pictures of class types and instructors: uploaded, served without the database, exported, backed up, and removed."""

import asyncio
import json
import os
from io import BytesIO
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from studiogate.domain.pictures import SIZES, named
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Role
from studiogate.flows import doctor, housekeeping, studio_file
from studiogate.flows.schedule import pictures
from studiogate.flows.studio_file import FilesBeside
from studiogate.flows.studio_file.files import MISSING_PICTURE, ExportedFiles
from studiogate.hosted.app import HostedApp
from studiogate.storage.audit import Subject
from studiogate.storage.forms import uploads
from studiogate.storage.upload_folder import UploadFolder
from studiogate.web.public_address import known_address
from tests.support import booking_studio
from tests.support.asgi import ask
from tests.support.booking_studio import BookingStudio
from tests.support.pictures import drawn, png
from tests.support.staff import audit_of, person, refused
from tests.support.studio_files import Document, load

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


@pytest.fixture
def folder(tmp_path: Path) -> UploadFolder:
    return UploadFolder(tmp_path)


async def upload(studio: BookingStudio, folder: UploadFolder, subject: Subject, content: bytes) -> str:
    """Return the name of the stored picture."""
    path: str = await studio.staff(pictures.upload, folder, subject, content)
    return path.rpartition("/")[2]


def class_type_of(studio: BookingStudio) -> Subject:
    return Subject("class_type", studio.class_type)


async def new_instructor(studio: BookingStudio) -> Subject:
    row_id = uuid4()
    await studio.sql("insert into instructors (studio_id, id, name) values ($1, $2, 'I')", row_id)
    return Subject("instructor", row_id)


async def findings(studio: BookingStudio, folder: UploadFolder) -> list[str]:
    """Return the files of the studio that are missing, as the doctor finds them."""
    connection, access = studio.api.connection, person(studio)
    names = await uploads.page_of_files(connection, access, "", 100)
    return [file.name for file in await doctor.missing_files(connection, access, folder, names)]


async def sweep(studio: BookingStudio, folder: UploadFolder) -> int:
    async with studio.database.connection() as connection:
        assert not connection.is_in_transaction()
    return await housekeeping.forget_pictures(studio.database, folder)


def hosted(studio: BookingStudio, folder: UploadFolder) -> HostedApp:
    app = HostedApp(studio.api.app._runtime)
    app._uploads = folder
    return app


async def test_a_picture_is_stored_shown_and_recorded(studio: BookingStudio, folder: UploadFolder) -> None:
    subject = await new_instructor(studio)
    before = await studio.get(f"/instructors/{subject.id}")
    assert before["image_url"] is None
    name = await upload(studio, folder, subject, drawn())
    after = await studio.get(f"/instructors/{subject.id}")
    address = known_address(studio.api.app._runtime.settings)
    assert after == before | {
        "image_url": f"{address}/media/{studio.id}/{name}",
        "updated_at": after["updated_at"],
    }
    assert after["updated_at"] > before["updated_at"]
    listed = await studio.get("/instructors", updated_after=after["updated_at"])
    assert listed["data"] == [after]
    kept = folder.kept(studio.id, name)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert named(kept.read_bytes()).name == name
    assert await upload(studio, folder, subject, drawn()) == name, "the same picture again changes nothing"
    await studio.staff(pictures.change, subject, None)
    assert (await studio.get(f"/instructors/{subject.id}"))["image_url"] is None
    assert await audit_of(studio, subject.id) == [
        ("instructor.picture", {"picture": [None, name]}),
        ("instructor.picture", {"picture": [name, None]}),
    ]
    assert await studio.findings() == []
    assert await findings(studio, folder) == []


async def test_what_is_no_picture_is_refused_and_leaves_no_file(studio: BookingStudio, folder: UploadFolder) -> None:
    subject = class_type_of(studio)
    refusal = await refused(studio, pictures.upload, folder, subject, png())
    assert [(fault.loc, fault.msg) for fault in refusal.faults] == [
        (("picture",), "has 2 x 2 pixels, and each side needs 200")
    ]
    denied = await refused(studio, pictures.upload, folder, subject, drawn(), access=person(studio, Role.FRONT_DESK))
    assert denied.code.value == "permission_denied"
    assert not folder.has_files()
    nobody = Subject("instructor", uuid4())
    assert await refused(studio, pictures.upload, folder, nobody, drawn()) == Refusal(denied.code.NOT_FOUND)


async def test_it_is_served_from_its_file_for_good(
    studio: BookingStudio, folder: UploadFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = await upload(studio, folder, class_type_of(studio), drawn("PNG", (900, 600)))
    app = hosted(studio, folder)
    monkeypatch.setattr(app._runtime.database, "connection", None)
    path = f"//media/{studio.id}/{name}"
    answer = await ask(app, "GET", path)
    assert (answer.status, named(answer.body).name) == (200, name)
    expected = {
        "content-type": "image/jpeg",
        "content-length": str(len(answer.body)),
        "cache-control": "public, max-age=31536000, immutable",
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "cross-origin",
        "etag": f'"{name}"',
    }
    assert {each: answer.header(each) for each in expected} == expected
    head = await ask(app, "HEAD", path)
    assert (head.status, head.body, head.header("content-length")) == (200, b"", expected["content-length"])
    fresh = await ask(app, "GET", path, headers=[("if-none-match", expected["etag"])])
    assert (fresh.status, fresh.body, fresh.header("etag")) == (304, b"", expected["etag"])
    assert (await ask(app, "POST", path)).status == 404


async def test_nothing_else_is_served(studio: BookingStudio, folder: UploadFolder) -> None:
    """Files of submissions are in the same folder, under names of another form."""
    name = await upload(studio, folder, class_type_of(studio), drawn())
    app, other = hosted(studio, folder), name.removesuffix(".jpg")
    folder.kept(studio.id, other).write_bytes(b"private")
    for target in (
        f"{studio.id}/{other}",
        f"{studio.id}/{other}.png",
        f"{uuid4()}/{name}",
        f"{studio.id}/{'0' * 32}.jpg",
        f"incoming/{name}",
        f"{studio.id}/..%2f{name}",
        f"..%2f..%2fetc/{name}",
        f"{studio.id}/{name}/",
        f"{str(studio.id).replace('-', '')}/{name}",
    ):
        answer = await ask(app, "GET", f"//media/{target}")
        assert answer.status == 404, target
        assert b"private" not in answer.body


async def test_a_picture_is_removed_a_day_after_its_last_use(studio: BookingStudio, folder: UploadFolder) -> None:
    first, second = await new_instructor(studio), await new_instructor(studio)
    name = await upload(studio, folder, first, drawn())
    assert await upload(studio, folder, second, drawn()) == name
    long_ago = "update pictures set unused_since = unused_since - interval '25 hours' where studio_id = $1"

    async def is_there() -> bool:
        await sweep(studio, folder)
        await studio.sql(long_ago)
        await sweep(studio, folder)
        return folder.has(studio.id, name)

    await studio.staff(pictures.change, first, None)
    assert await is_there(), "the other row still has it"
    await studio.staff(pictures.change, second, None)
    await sweep(studio, folder)
    assert folder.has(studio.id, name), "partners may still show it"
    await upload(studio, folder, first, drawn())
    assert await is_there(), "it was used again"
    await studio.staff(pictures.change, first, None)
    assert not await is_there()
    assert await studio.api.connection.fetch("select from pictures where studio_id = $1", studio.id) == []
    assert await findings(studio, folder) == []


async def test_a_file_whose_writer_died_is_settled(studio: BookingStudio, folder: UploadFolder) -> None:
    """Before the commit nothing refers to it; afterwards it only has to be moved."""
    picture = named(b"of nobody")
    folder.receive(studio.id, picture.name, BytesIO(picture.content))
    name = await upload(studio, folder, class_type_of(studio), drawn())
    folder.kept(studio.id, name).replace(folder.incoming(studio.id, name))
    assert (await ask(hosted(studio, folder), "GET", f"//media/{studio.id}/{name}")).status == 200
    for each in (picture.name, name):
        os.utime(folder.incoming(studio.id, each), (0, 0))
    assert await housekeeping.settle_abandoned_files(studio.database, folder) == 2
    assert folder.kept(studio.id, name).exists()
    assert not folder.has(studio.id, picture.name)


async def test_a_picture_that_comes_back_while_it_is_removed_has_its_file(
    studio: BookingStudio, folder: UploadFolder
) -> None:
    subject = await new_instructor(studio)
    for _ in range(5):
        name = await upload(studio, folder, subject, drawn())
        await studio.staff(pictures.change, subject, None)
        await sweep(studio, folder)
        await studio.sql("update pictures set unused_since = now() - interval '2 days' where studio_id = $1")
        async with studio.database.connection() as connection:
            access = person(studio)
            await asyncio.gather(pictures.upload(connection, access, folder, subject, drawn()), sweep(studio, folder))
        assert folder.kept(studio.id, name).exists()
        assert await findings(studio, folder) == []


async def exported_with_files(studio: BookingStudio, folder: UploadFolder, beside: Path) -> Document:
    pieces: list[str] = []
    slug = await studio.api.connection.fetchval("select slug from studios where studio_id = $1", studio.id)
    assert await studio_file.export_studio(studio.api.connection, slug, pieces.append, ExportedFiles(beside, folder))
    document: Document = json.loads("".join(pieces))
    return document


async def test_a_studio_file_carries_them(studio: BookingStudio, folder: UploadFolder, tmp_path: Path) -> None:
    subject, beside = await new_instructor(studio), tmp_path / "north.files"
    name = await upload(studio, folder, subject, drawn())
    document = await exported_with_files(studio, folder, beside)
    assert [each.name for each in beside.iterdir()] == [name]
    patch: Document = {
        "studio": {"id": str(studio.id)},
        "instructors": [each for each in document["instructors"] if each["id"] == str(subject.id)],
    }
    assert patch["instructors"][0]["picture"] == name
    assert (await load(studio.api.connection, patch)).sections["instructors"].unchanged == 1, "no file is needed"

    other = named(drawn(size=SIZES["instructor"]))
    row: Document = {"id": str(subject.id), "picture": other.name}
    changed: Document = {"studio": patch["studio"], "instructors": [row]}
    files = FilesBeside(beside, folder)
    assert [str(each) for each in (await load(studio.api.connection, changed)).faults] == [
        f"instructors[0].picture: {MISSING_PICTURE}"
    ]
    (beside / other.name).write_bytes(other.content + b"more")
    (fault,) = (await load(studio.api.connection, changed, files=files)).faults
    assert "not the picture of this name" in fault.message
    (beside / other.name).write_bytes(other.content)
    tried = await load(studio.api.connection, changed, files=files, dry_run=True)
    assert (tried.faults, folder.has(studio.id, other.name)) == ([], False)
    assert (await load(studio.api.connection, changed, files=files)).sections["instructors"].updated == 1
    assert folder.kept(studio.id, other.name).read_bytes() == other.content
    shown = await studio.get(f"/instructors/{subject.id}")
    assert shown["image_url"].endswith(f"/media/{studio.id}/{other.name}")

    row["picture"] = None
    await load(studio.api.connection, changed)
    assert (await studio.get(f"/instructors/{subject.id}"))["image_url"] is None
    row["picture"] = "../../etc/passwd"
    (fault,) = (await load(studio.api.connection, changed)).faults
    assert fault.place == "instructors[0].picture"


async def test_texts_that_look_like_a_picture_are_left_alone(studio: BookingStudio) -> None:
    """They are escaped, or of another studio."""
    address = known_address(studio.api.app._runtime.settings)
    own, other = f"/media/{studio.id}/x.jpg", f"/media/{UUID(int=1)}/x.jpg"
    lead = await studio.api.client.post(
        "/partner/v1/leads",
        json={"email": f"{uuid4().hex}@example.com", "metadata": {"image_url": other, "own": f'"image_url":"{own}'}},
        headers={"x-service-key": studio.key},
    )
    read = await studio.get(f"/leads/{lead.json()['id']}")
    assert read["metadata"] == {"image_url": other, "own": f'"image_url":"{own}'}
    assert address not in json.dumps(read)
