"""POST /forms/{id}/uploads: streamed, bounded, checked by content; nothing of a refused file remains (CONTRACT 6)."""

import asyncio
import json
import os
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from studiogate.domain.refusals import Code
from studiogate.flows import housekeeping
from studiogate.storage.upload_folder import UploadFolder
from studiogate.storage.upload_store import IncomingFile
from tests.support.asgi import AsgiResponse, ask, assert_refused
from tests.support.partner_api import open_partner_api
from tests.support.people import Partner, locs, partner_of
from tests.support.pictures import DOCX, PDF, ZIP, chunk, gif, jpeg, png, webp
from tests.support.seed import issue_key

pytestmark = pytest.mark.anyio

BOUNDARY = "----boundary-of-a-test"
IMAGES = "image/png, image/jpeg,image/gif,image/webp"
FIELDS: list[dict[str, Any]] = [
    {"key": "photo", "label": "Photo", "type": "file_upload", "accept": IMAGES, "max_file_size": 100_000},
    {"key": "any", "label": "Any", "type": "file_upload", "multiple": True},
    {"key": "paper", "label": "Paper", "type": "file_upload", "accept": ".pdf,.docx,text/plain"},
    {"key": "q", "label": "Q", "type": "text"},
]


class UploadStudio:
    """A studio with a form that accepts files, and the folder where they are stored."""

    def __init__(self, partner: Partner, folder: Path, form: str) -> None:
        self.partner, self.data, self.form = partner, folder, form

    @property
    def files(self) -> list[Path]:
        return sorted(path for path in self.data.rglob("*") if path.is_file())

    async def upload(
        self, content: bytes, field_key: str | None = "any", filename: str = "a.bin", **more: Any
    ) -> AsgiResponse:
        return await self.send(multipart(content, field_key, filename), **more)

    async def send(self, body: bytes, *, form: str | None = None, size: int = 65_536, **more: Any) -> AsgiResponse:
        headers = [("content-type", more.pop("content_type", f"multipart/form-data; boundary={BOUNDARY}"))]
        headers += more.pop("headers", [])
        chunks = [body[start : start + size] for start in range(0, len(body), size)] or [b""]
        partner = more.pop("partner", self.partner)
        key = more.pop("key", partner.key)
        target = f"/forms/{form or self.form}/uploads"
        return await ask(partner.api.app, "POST", target, key=key, headers=headers, body=chunks)

    async def refused(self, response: AsgiResponse, *loc: str) -> None:
        assert locs(response) == [["body", *loc]], response.body

    async def submit(self, data: dict[str, Any], form: str | None = None) -> AsgiResponse:
        body = {"submitter_email": "up@example.com", "data": data}
        return await self.partner.post(f"/forms/{form or self.form}/submissions", body)


def part(name: str, content: bytes, filename: str | None = None) -> bytes:
    named = f'; filename="{filename}"' if filename is not None else ""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{named}\r\n'
    head += "Content-Type: application/octet-stream\r\n" if filename is not None else ""
    return head.encode() + b"\r\n" + content + b"\r\n"


END = f"--{BOUNDARY}--\r\n".encode()


def multipart(content: bytes, field_key: str | None = "any", filename: str = "a.bin") -> bytes:
    key = part("field_key", field_key.encode()) if field_key is not None else b""
    return part("file", content, filename) + key + END


async def new_form(partner: Partner, **more: Any) -> str:
    body = {"title": "Files", "fields": FIELDS, "status": "published", **more}
    return str((await partner.post("/forms", body)).json()["id"])


@pytest.fixture(scope="module")
async def upload_studio(
    anyio_backend: object, new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[UploadStudio]:
    folder = tmp_path_factory.mktemp("uploads")
    async for api in open_partner_api(new_database(), rate_limit=0, data_dir=folder):
        partner = await partner_of(api)
        yield UploadStudio(partner, folder, await new_form(partner))


GOOD = [
    ("photo", png(), "image/png"),
    ("photo", jpeg(), "image/jpeg"),
    ("photo", gif(), "image/gif"),
    ("photo", webp(), "image/webp"),
    ("photo", png(30_000, 1), "image/png"),
    ("paper", PDF, "application/pdf"),
    ("paper", DOCX, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("paper", "Grüße\n".encode(), "text/plain"),
    ("any", ZIP, "application/zip"),
    ("any", b"\x00\x01\x02", "application/octet-stream"),
    ("any", b"MZ\x90\x00\x03", "application/octet-stream"),
    ("any", b"<html><script>alert(1)</script>", "text/html"),
    ("any", b"<svg onload=alert(1)>", "image/svg+xml"),
    ("any", b"\0\0\0\x18ftypheic\0\0\0\0", "image/heic"),
]


@pytest.mark.parametrize(("field_key", "content", "kind"), GOOD)
async def test_a_file_is_kept(upload_studio: UploadStudio, field_key: str, content: bytes, kind: str) -> None:
    response = await upload_studio.upload(content, field_key, "holiday.exe")
    assert response.status == 201, response.body
    upload = response.json()
    assert list(upload) == ["id", "object", "filename", "size", "content_type"]
    assert (upload["object"], upload["size"], upload["content_type"]) == ("form_upload", len(content), kind)
    row = await upload_studio.partner.api.connection.fetchrow("select * from form_uploads where id = $1", upload["id"])
    assert row is not None
    kept = UploadFolder(upload_studio.data).kept(row["studio_id"], row["stored_name"])
    assert kept.read_bytes() == content
    assert kept.stat().st_mode & 0o777 == 0o600
    above = [each for each in kept.parents if "uploads" in each.parts]
    assert {each.stat().st_mode & 0o777 for each in above} == {0o700}
    assert "holiday" not in str(kept)


async def test_a_file_belongs_to_one_submission(upload_studio: UploadStudio) -> None:
    ids = [(await upload_studio.upload(png())).json()["id"] for _ in range(2)]
    made = await upload_studio.submit({"any": ids})
    assert made.status == 201, made.body
    assert made.json()["data"] == {"any": ids}
    assert locs(await upload_studio.submit({"any": ids[:1]})) == [["body", "data", "any"]]


async def test_ids_of_files_are_stored_and_compared_in_lower_case(upload_studio: UploadStudio) -> None:
    one, two = [(await upload_studio.upload(png())).json()["id"] for _ in range(2)]
    key = ("idempotency-key", "the same in another case")

    async def submitted(data: dict[str, Any]) -> AsgiResponse:
        body = {"submitter_email": "case@example.com", "data": data}
        return await upload_studio.partner.post(f"/forms/{upload_studio.form}/submissions", body, key)

    made = await submitted({"any": [one.upper(), two], "q": one.upper()})
    assert made.status == 201, made.body
    assert made.json()["data"] == {"any": [one, two], "q": one.upper()}
    again = await submitted({"any": [one, two.upper()], "q": one.upper()})
    assert (again.status, again.body, again.header("idempotent-replayed")) == (201, made.body, "true")
    other = await submitted({"any": [two, one], "q": one.upper()})
    assert locs(other) == [["body", "data", "any"]], "faults come first: the files belong to the first submission"
    assert_refused(await submitted({"q": one.upper()}), Code.IDEMPOTENCY_KEY_REUSED)


async def test_two_submissions_cannot_both_have_it(upload_studio: UploadStudio) -> None:
    upload = (await upload_studio.upload(png())).json()["id"]
    responses = await asyncio.gather(*(upload_studio.submit({"any": [upload]}) for _ in range(6)))
    assert sorted(each.status for each in responses) == [201] + [422] * 5


async def test_a_file_of_another_field_form_or_studio(upload_studio: UploadStudio) -> None:
    upload = (await upload_studio.upload(png(), "photo")).json()["id"]
    assert locs(await upload_studio.submit({"any": [upload]})) == [["body", "data", "any"]]
    second = await new_form(upload_studio.partner)
    assert locs(await upload_studio.submit({"photo": upload}, second)) == [["body", "data", "photo"]]
    other = await partner_of(upload_studio.partner.api, f"other{uuid4().hex[:6]}")
    theirs = await new_form(other)
    foreign = (await upload_studio.upload(png(), "photo", form=theirs, partner=other)).json()["id"]
    assert locs(await upload_studio.submit({"photo": foreign})) == [["body", "data", "photo"]]
    assert_refused(await upload_studio.upload(png(), form=theirs), "not_found")
    assert (await upload_studio.submit({"photo": upload})).status == 201


HOSTILE = [
    ("photo", b"<script>alert(1)</script>", "a.png"),
    ("photo", PDF, "a.png"),
    ("photo", ZIP, "a.png"),
    ("photo", b"\x89PNG\r\n\x1a\n", "cut.png"),
    ("photo", png()[:-1], "cut.png"),
    ("photo", png() + b"<script>alert(1)</script>", "tail.png"),
    ("photo", png() + ZIP, "polyglot.png"),
    ("photo", png()[:-12] + chunk(b"IEND", b"x"), "odd.png"),
    ("photo", jpeg() + ZIP, "polyglot.jpg"),
    ("photo", jpeg(comment=b"<?php system('id'); ?>"), "shell.jpg"),
    ("photo", jpeg(comment=b"%PDF-1.4 %%EOF"), "pdf.jpg"),
    ("photo", b"GIF89a/*" + b"\0" * 10 + b"*/=1;alert(1)", "script.gif"),
    ("photo", gif() + b"<script>", "tail.gif"),
    ("photo", gif()[:-1], "cut.gif"),
    ("photo", png(30_001, 1), "wide.png"),
    ("photo", png(1, 65_535), "high.png"),
    ("photo", png(2**31 - 1, 2**31 - 1), "huge.png"),
    ("photo", jpeg(65_535, 65_535), "huge.jpg"),
    ("photo", gif(40_000, 40_000), "huge.gif"),
    ("photo", webp(16_777_216, 1), "huge.webp"),
    ("photo", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "a.svg"),
    ("photo", b"BM" + b"\0" * 50, "a.bmp"),
    ("paper", png(), "a.pdf"),
    ("paper", b"%PDF-1.7 without an end", "a.pdf"),
    ("paper", PDF + ZIP, "a.pdf"),
    ("paper", ZIP, "a.docx"),
    ("paper", DOCX[:-22], "bomb.docx"),
    ("paper", b"MZ\x90\x00", "a.pdf"),
    ("paper", b"#!/bin/sh\n\x00", "a.txt"),
    ("paper", b"<html><body onload=alert(1)>", "a.txt"),
    ("paper", b"caf\xe9", "latin.txt"),
    ("paper", b"\xff\xfea\0", "utf16.txt"),
    ("paper", b"x" * 70_000 + b"\x00", "late.txt"),
    ("paper", b"x" * 70_000 + b"\xc3", "half.txt"),
    ("photo", b"", "empty.png"),
]


@pytest.mark.parametrize(
    ("field_key", "content", "filename"), HOSTILE, ids=[each[2] + str(n) for n, each in enumerate(HOSTILE)]
)
async def test_hostile_files_leave_nothing(
    upload_studio: UploadStudio, field_key: str, content: bytes, filename: str
) -> None:
    before = upload_studio.files
    await upload_studio.refused(await upload_studio.upload(content, field_key, filename), "file")
    assert upload_studio.files == before


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("note.pdf", "note.pdf"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\windows\\system32\\x.dll", "x.dll"),
        ("/etc/shadow", "shadow"),
        ("C:\\x\\y.txt", "y.txt"),
        ("..", "file"),
        ("...", "file"),
        ("", "file"),
        ("a/", "file"),
        (".htaccess", "htaccess"),
        ("con|aux?*<>.txt", "conaux.txt"),
        ("x%0D%0ASet-Cookie: a=b.txt", "xSet-Cookie a=b.txt"),
        ("evil\u202egnp.exe", "evilgnp.exe"),
        ("漢字 📎.pdf", "漢字 📎.pdf"),
        ("<img src=x>.png", "img src=x.png"),
        ("x" * 300 + ".pdf", "x" * 110 + ".pdf"),
    ],
)
async def test_names_are_only_names(upload_studio: UploadStudio, given: str, kept: str) -> None:
    response = await upload_studio.upload(PDF, "any", given)
    assert response.status == 201, response.body
    assert response.json()["filename"] == kept
    outside = {path for path in upload_studio.files if "uploads" not in path.relative_to(upload_studio.data).parts}
    assert outside == set()


async def test_too_large(upload_studio: UploadStudio) -> None:
    before = upload_studio.files
    error = assert_refused(
        await upload_studio.upload(png(extra=chunk(b"tEXt", b"x" * 100_000)), "photo"), "body_too_large"
    )
    assert error["details"] == {"maximum_bytes": 100_000}
    big = b"\0" * (10 * 1024 * 1024 + 1)
    error = assert_refused(await upload_studio.upload(big), "body_too_large")
    assert error["details"] == {"maximum_bytes": 10 * 1024 * 1024}
    declared = await upload_studio.upload(b"x", headers=[("content-length", "99999999999999999999")])
    error = assert_refused(declared, "body_too_large", param="file")
    assert error["details"] == {"maximum_bytes": 10 * 1024 * 1024}, "the file's limit, not that of its envelope"
    assert upload_studio.files == before
    exact = await upload_studio.upload(b"\0" * (10 * 1024 * 1024))
    assert exact.status == 201


async def peak_of_ten_mebibytes(upload_studio: UploadStudio) -> int:
    """Return the peak memory while 10 MiB arrive. Chunks are created on demand, so the test itself holds none."""
    chunks = 160

    async def send(_message: Any) -> None:
        answered.append(_message)

    def body() -> Iterator[bytes]:
        yield part("file", b"", "big.bin")[:-2]
        for _ in range(chunks - 1):
            yield os.urandom(65_536)
        yield b"\r\n" + part("field_key", b"any") + END

    arriving = body()

    async def receive() -> dict[str, Any]:
        chunk = next(arriving)
        return {"type": "http.request", "body": chunk, "more_body": not chunk.endswith(END)}

    answered: list[Any] = []
    headers = [
        (b"content-type", f"multipart/form-data; boundary={BOUNDARY}".encode()),
        (b"x-service-key", upload_studio.partner.key.encode()),
    ]
    path = f"/partner/v1/forms/{upload_studio.form}/uploads"
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers, "client": None}
    tracemalloc.start()
    held = tracemalloc.get_traced_memory()[0]
    await upload_studio.partner.api.app(scope, receive, send)
    peak = tracemalloc.get_traced_memory()[1] - held
    tracemalloc.stop()
    assert answered[0]["status"] == 201, answered
    return peak


async def test_memory_stays_flat(upload_studio: UploadStudio) -> None:
    await upload_studio.upload(b"warm up")
    assert await peak_of_ten_mebibytes(upload_studio) < 2 * 1024 * 1024


async def test_an_application_that_holds_the_file_is_noticed(
    upload_studio: UploadStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prove that the test above can fail: it does if every chunk is kept."""
    kept: list[bytes] = []
    write = IncomingFile.write

    def hold(file: IncomingFile, chunk: bytes) -> None:
        kept.append(chunk)
        write(file, chunk)

    monkeypatch.setattr(IncomingFile, "write", hold)
    assert await peak_of_ten_mebibytes(upload_studio) > 9 * 1024 * 1024


MALFORMED = [
    (b"", None),
    (b"no multipart at all", None),
    (END, None),
    (part("file", b"x", "a")[:-2], None),
    (part("file", b"x", "a") + part("field_key", b"any"), None),
    (f"--{BOUNDARY}\r\n\r\nx\r\n".encode() + END, None),
    (f"--{BOUNDARY}\r\nContent-Disposition: attachment; name=file\r\n\r\nx\r\n".encode() + END, None),
    (f"--{BOUNDARY}\r\nX: {'y' * 10_000}\r\n\r\nx\r\n".encode() + END, None),
    (part("file", b"x", "a") + END, [["body", "field_key"]]),
    (part("field_key", b"any") + END, [["body", "file"]]),
    (part("other", b"x") + END, [["body", "file"], ["body", "field_key"], ["body", "other"]]),
    (part("file", b"x", "a") * 2 + part("field_key", b"any") + END, [["body", "file"]]),
    (part("file", b"x", "a") + part("field_key", b"any") * 2 + END, [["body", "field_key"]]),
    (multipart(b"x", "nobody"), [["body", "field_key"]]),
    (multipart(b"x", "q"), [["body", "field_key"]]),
    (multipart(b"x", ""), [["body", "field_key"]]),
    (multipart(b"x", "any\0"), [["body", "field_key"]]),
    (multipart(b"x", "k" * 60_000), [["body", "field_key"]]),
    (b"".join(part(f"p{n}", b"") for n in range(1100)) + END, None),
]


@pytest.mark.parametrize(("body", "faulty"), MALFORMED)
@pytest.mark.parametrize("size", [7, 65_536])
async def test_malformed_bodies(
    upload_studio: UploadStudio, body: bytes, faulty: list[list[str]] | None, size: int
) -> None:
    before = upload_studio.files
    found = locs(await upload_studio.send(body, size=size))
    assert found == faulty if faulty is not None else found[0][0] == "body"
    assert upload_studio.files == before


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "", "multipart/mixed; boundary=x"])
async def test_other_media_types(upload_studio: UploadStudio, content_type: str) -> None:
    assert_refused(await upload_studio.upload(b"x", content_type=content_type), "unsupported_media_type")


async def test_a_body_that_is_encoded(upload_studio: UploadStudio) -> None:
    response = await upload_studio.upload(b"x", headers=[("content-encoding", "gzip")])
    assert_refused(response, "unsupported_media_type", param="Content-Encoding")


@pytest.mark.parametrize("boundary", ["", "; boundary=", "; boundary=" + "x" * 71, "; charset=utf-8"])
async def test_no_boundary(upload_studio: UploadStudio, boundary: str) -> None:
    await upload_studio.refused(await upload_studio.upload(b"x", content_type="multipart/form-data" + boundary))


async def test_a_connection_that_is_cut_leaves_nothing(upload_studio: UploadStudio) -> None:
    before = upload_studio.files
    messages = [{"type": "http.request", "body": part("file", b"x" * 1000, "a"), "more_body": True}]

    async def receive() -> dict[str, Any]:
        return messages.pop() if messages else {"type": "http.disconnect"}

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [
        (b"content-type", f"multipart/form-data; boundary={BOUNDARY}".encode()),
        (b"x-service-key", upload_studio.partner.key.encode()),
    ]
    path = f"/partner/v1/forms/{upload_studio.form}/uploads"
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers, "client": None}
    await upload_studio.partner.api.app(scope, receive, send)
    assert sent[0]["status"] == 400
    assert upload_studio.files == before


async def test_a_form_that_takes_nothing(upload_studio: UploadStudio) -> None:
    closed = await new_form(upload_studio.partner, status="draft")
    assert_refused(await upload_studio.upload(png(), form=closed), "form_not_accepting_submissions")
    over = await new_form(upload_studio.partner, settings={"closes_at": "2020-01-01T00:00:00Z"})
    assert_refused(await upload_studio.upload(png(), form=over), "form_not_accepting_submissions")
    assert_refused(await upload_studio.upload(png(), form=str(uuid4())), "not_found")
    assert (await upload_studio.upload(png(), form="not-an-id")).status == 422


async def test_a_key_without_the_scope(upload_studio: UploadStudio) -> None:
    key = await issue_key(upload_studio.partner.api.connection, upload_studio.partner.studio, "form_submissions:read")
    assert_refused(await upload_studio.upload(png(), key=key), "insufficient_scope")


async def test_a_retry_with_its_key(upload_studio: UploadStudio) -> None:
    header = [("idempotency-key", f"upload-{uuid4()}")]
    first = await upload_studio.upload(png(), headers=header)
    before = upload_studio.files
    again = await upload_studio.upload(png(), headers=header)
    assert (again.status, again.body, again.header("idempotent-replayed")) == (201, first.body, "true")
    assert upload_studio.files == before
    assert_refused(await upload_studio.upload(gif(), headers=header), "idempotency_key_reused")
    assert upload_studio.files == before


async def test_a_retry_after_the_form_was_closed(upload_studio: UploadStudio) -> None:
    """The first response is replayed; only a new upload is refused."""
    form = await new_form(upload_studio.partner)
    header = [("idempotency-key", f"upload-{uuid4()}")]
    first = await upload_studio.upload(png(), form=form, headers=header)
    assert first.status == 201, first.body
    await upload_studio.partner.send("PUT", f"/forms/{form}", b'{"status": "archived"}')
    again = await upload_studio.upload(png(), form=form, headers=header)
    assert (again.status, again.body, again.header("idempotent-replayed")) == (201, first.body, "true")
    before = upload_studio.files
    other = [("idempotency-key", f"upload-{uuid4()}")]
    assert_refused(await upload_studio.upload(png(), form=form, headers=other), "form_not_accepting_submissions")
    assert upload_studio.files == before


async def test_what_nobody_names_is_swept(upload_studio: UploadStudio) -> None:
    database = upload_studio.partner.api.app._runtime.database
    folder = UploadFolder(upload_studio.data)
    forgotten = (await upload_studio.upload(png())).json()["id"]
    named = (await upload_studio.upload(png())).json()["id"]
    fresh = (await upload_studio.upload(png())).json()["id"]
    await upload_studio.submit({"any": [named]})
    await upload_studio.partner.api.connection.execute(
        "update form_uploads set created_at = created_at - interval '25 hours' where id = any($1)", [forgotten, named]
    )
    before = len(upload_studio.files)
    assert await housekeeping.forget_uploads(database, folder) == 1
    assert len(upload_studio.files) == before - 1
    assert locs(await upload_studio.submit({"any": [forgotten]})) == [["body", "data", "any"]]
    assert (await upload_studio.submit({"any": [fresh]})).status == 201


async def test_what_died_on_its_way_is_settled(upload_studio: UploadStudio) -> None:
    database = upload_studio.partner.api.app._runtime.database
    folder, studio_id = UploadFolder(upload_studio.data), upload_studio.partner.studio.studio_id
    upload = (await upload_studio.upload(png())).json()["id"]
    name = await upload_studio.partner.value("select stored_name from form_uploads where id = $1", upload)
    incoming, stray = folder.incoming(studio_id, name), folder.incoming(studio_id, "f" * 32)
    folder.kept(studio_id, name).rename(incoming)
    stray.write_bytes(b"x")
    assert await housekeeping.settle_abandoned_files(database, folder) == 0, "it may still be arriving"
    for path in (incoming, stray):
        os.utime(path, (0, 0))
    assert await housekeeping.settle_abandoned_files(database, folder) == 2
    assert folder.kept(studio_id, name).exists()
    assert not incoming.exists()
    assert not stray.exists()


async def test_the_body_is_not_echoed(upload_studio: UploadStudio) -> None:
    response = await upload_studio.upload(b"secret-of-the-file <script>", "photo", "secret-name.png")
    assert b"secret" not in json.dumps(response.json()).encode()
