"""Limits of visitors' uploads: files are counted while they arrive, within quotas, and refused on a full disk."""

import http.client
from typing import Any

import httpx2
import pytest

from studiogate.domain.forms.upload_limits import MAX_FILES_PER_SUBMISSION
from studiogate.hosted import posted_form
from studiogate.hosted.bot_protection import UPLOADING
from tests.hosted.test_submit import sending
from tests.hosted.test_upload import PDF, on_disk, upload
from tests.support.deadlines import LONG
from tests.support.page_reader import token_of
from tests.support.site import Site, serving

MIB = 1024 * 1024


def many(count: int) -> list[Any]:
    return [("u.files", (f"{number}.pdf", PDF)) for number in range(count)]


def test_many_files_are_refused_while_they_arrive(site: Site, client: httpx2.Client) -> None:
    before, rows = on_disk(site), len(site.sql("select from form_uploads"))
    answer = client.post(site.url("everything"), data=sending(site, "everything"), files=many(300))
    assert (answer.status_code, "Too many files" in answer.text) == (422, True)
    assert answer.headers["content-type"].startswith("text/html")
    assert on_disk(site) == before, "no page names the files that came before the one too many"
    assert len(site.sql("select from form_uploads")) == rows
    nowhere = [("other", (f"{number}.pdf", PDF)) for number in range(300)]
    refused = client.post(site.url("everything"), data=sending(site, "everything"), files=nowhere)
    assert refused.status_code == 422, "whatever field they claim to be for"


def test_many_parts_are_refused(site: Site, client: httpx2.Client) -> None:
    parts = b"".join(b'--x\r\nContent-Disposition: form-data; name="a%d"\r\n\r\n1\r\n' % n for n in range(1001))
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = client.post(site.url("everything"), content=parts + b"--x--\r\n", headers=kind)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "text/html; charset=utf-8")


def test_a_submission_names_at_most_twenty_files(site: Site, client: httpx2.Client) -> None:
    ids = [upload(client, site, PDF).json()["id"] for _ in range(MAX_FILES_PER_SUBMISSION + 1)]
    answer = client.post(site.url("everything"), data=sending(site, "everything", **{"f.files": ids}))
    assert answer.status_code == 422
    assert "At most 20 files" in answer.text


def test_the_rate_counts_files_not_requests(new_database: Any, tmp_path: Any) -> None:
    with serving(Site(new_database(), tmp_path)) as site, httpx2.Client(timeout=LONG) as client:
        statuses: list[int] = []
        while 429 not in statuses and len(statuses) < 20:  # on a slow machine the limit refills in between
            data = sending(site, "everything", submitter_email="no address")
            statuses.append(client.post(site.url("everything"), data=data, files=many(20)).status_code)
        assert len(statuses) > UPLOADING.burst // 20
        assert statuses == [422] * (len(statuses) - 1) + [429]
        assert on_disk(site) < 20 * len(statuses), "the rest of the last form was not stored"


def test_the_quota_is_kept(new_database: Any, tmp_path: Any) -> None:
    with (
        serving(Site(new_database(), tmp_path), rate_limit=0, upload_quota_form=1) as site,
        httpx2.Client(timeout=LONG) as client,
    ):
        half = PDF[:9] + b"%" + b"x" * (MIB // 2) + b"\n" + PDF[9:]
        assert upload(client, site, half).status_code == 201
        response = upload(client, site, half)
        assert (response.status_code, "No more files" in response.json()["message"]) == (409, True)
        plain = upload(client, site, half, accept="text/html")
        assert (plain.status_code, plain.headers["content-type"]) == (409, "text/html; charset=utf-8")
        assert on_disk(site) == 1


def test_nothing_is_stored_on_a_disk_that_is_nearly_full(new_database: Any, tmp_path: Any) -> None:
    with (
        serving(Site(new_database(), tmp_path), rate_limit=0, upload_min_free_disk=2**40) as site,
        httpx2.Client(timeout=LONG) as client,
    ):
        response = upload(client, site, PDF)
        assert (response.status_code, "try again later" in response.json()["message"]) == (503, True)
        assert response.headers["retry-after"]
        assert on_disk(site) == 0


def test_a_stalled_upload_gets_an_error(site: Site, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server runs in this process: its timeout is shortened, the stall is real."""
    monkeypatch.setattr(posted_form, "BODY", posted_form.BODY._replace(silence=0.2))
    before = on_disk(site)
    host, _, port = site.origin.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=LONG)
    connection.putrequest("POST", site.url("everything", "/uploads?field=files").removeprefix(site.origin))
    connection.putheader("X-Form-Token", token_of(site, "everything"))
    connection.putheader("Content-Length", "1000")
    connection.endheaders(b"%PDF-1.4")
    answer = connection.getresponse()
    assert (answer.status, answer.headers["content-type"]) == (408, "text/html; charset=utf-8")
    assert b"took too long" in answer.read()
    connection.close()
    assert on_disk(site) == before
