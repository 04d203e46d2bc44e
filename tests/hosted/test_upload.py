"""Uploads from the page: with JavaScript as a separate request body, without it inside the form."""

import os
import resource
from typing import Any

import httpx2
import pytest

from tests.hosted.test_submit import sending
from tests.support.page_reader import read, token_of
from tests.support.site import Site

PDF = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n"


def upload(client: httpx2.Client, site: Site, content: bytes, **given: Any) -> httpx2.Response:
    form = given.get("form", "everything")
    headers = {"X-Form-Token": given.get("token", token_of(site, form)), "X-File-Name": given.get("name", "note.pdf")}
    headers["Accept"] = given.get("accept", "application/json")
    return client.post(site.url(form, "/uploads"), params={"field": given.get("field", "files")}, content=content,
                       headers=headers)  # fmt: skip


def on_disk(site: Site) -> int:
    return sum(len(files) for _, _, files in os.walk(site.data / "uploads"))


def test_a_file_goes_up_and_is_named_by_the_submission(site: Site, client: httpx2.Client) -> None:
    answer = upload(client, site, PDF, name="My%20n%C3%B6te.pdf")
    assert answer.status_code == 201
    uploaded = answer.json()
    assert (uploaded["filename"], uploaded["content_type"], uploaded["size"]) == (
        "My nöte.pdf",
        "application/pdf",
        len(PDF),
    )
    sent = client.post(site.url("everything"), data=sending(site, "everything", **{"f.files": uploaded["id"]}))
    assert sent.status_code == 303
    row = site.sql("select submission_id from form_uploads where id = $1", uploaded["id"])[0]
    assert row["submission_id"] == site.submissions("everything")[-1]["id"]


@pytest.mark.parametrize(
    ("given", "content", "status", "words"),
    [
        ({}, b"", 422, "empty"),
        ({}, b"GIF89a nothing", 422, "file"),
        ({}, b"<html><script>alert(1)</script>", 422, "file"),
        ({}, PDF + b"x" * 3_000_000, 413, "larger than 2.9 MB"),
        ({"field": "line"}, PDF, 422, "no such field"),
        ({"token": "nonsense"}, PDF, 403, "session expired"),
        ({"form": "movement-intake", "field": "files"}, PDF, 422, "no such field"),
    ],
)
def test_files_that_are_not_taken(
    site: Site, client: httpx2.Client, given: dict[str, str], content: bytes, status: int, words: str
) -> None:
    before = on_disk(site)
    answer = upload(client, site, content, **given)
    assert answer.status_code == status
    assert words in answer.json()["message"]
    assert on_disk(site) == before


def test_without_script_a_file_comes_with_the_form(site: Site, client: httpx2.Client) -> None:
    data = sending(site, "everything", submitter_email="not yet")
    stopped = client.post(site.url("everything"), data=data, files={"u.files": ("note.pdf", PDF)})
    assert stopped.status_code == 422
    kept = [given["value"] for tag, given in read(stopped).tags if given.get("name") == "f.files" and given["value"]]
    assert len(kept) == 1, "it need not be chosen again"
    assert "note.pdf" in stopped.text
    sent = client.post(site.url("everything"), data=sending(site, "everything", **{"f.files": kept[0]}))
    assert sent.status_code == 303


def test_without_script_a_wrong_file_is_reported_beside_its_field(site: Site, client: httpx2.Client) -> None:
    before = on_disk(site)
    answer = client.post(
        site.url("everything"), data=sending(site, "everything"), files={"u.files": ("<b>.exe", b"MZ\x90 whatever")}
    )
    assert answer.status_code == 422
    assert "&lt;b&gt;.exe: This" in answer.text
    assert on_disk(site) == before


def test_a_file_without_a_token_is_not_even_read(site: Site, client: httpx2.Client) -> None:
    before = on_disk(site)
    answer = client.post(site.url("everything"), data={"action": "send"}, files={"u.files": ("note.pdf", PDF)})
    assert answer.status_code == 422
    assert on_disk(site) == before


def test_another_form_s_file_is_refused(site: Site, client: httpx2.Client) -> None:
    uploaded = upload(client, site, PDF).json()
    values = {"f.line": "x", "f.files": uploaded["id"]}
    answer = client.post(site.url("all-required"), data=sending(site, "all-required", **values))
    assert "Please add the file again." in read(answer).errors.values()


def test_a_large_file_keeps_memory_flat(site: Site, client: httpx2.Client) -> None:
    """Uploads ten mebibytes several times through this process."""
    site.sql(
        "update forms set fields = replace(fields::text, '3000000', '12000000')::json where id = $1",
        site.form_id("everything"),
    )

    def body() -> Any:
        yield PDF[:9]
        for _ in range(160):
            yield b"%" + b"x" * 65_535
        yield PDF[9:]

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(4):
        assert upload(client, site, body()).status_code == 201
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024
