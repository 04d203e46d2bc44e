"""The preview of a form that is being edited: the real page, for who has the builder's link; nothing is stored."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from studiogate.domain.forms.signed_links import Preview, sign
from tests.hosted.test_submit import AS_JSON, sending
from tests.hosted.test_verify import link_of, secret_of
from tests.support.hosted_forms import everything
from tests.support.page_reader import read
from tests.support.site import Site

DRAFT = "insert into form_drafts (studio_id, form_id, content, form_version) values ($1, $2, $3, 1)"
LINE = {"key": "line", "label": "A new line", "type": "text", "required": True}
WAITING_FILES = "select count(*) from form_uploads where submission_id is null"


def preview_of(site: Site, form: str, hours: float = 1) -> str:
    secret, now = secret_of(site)
    return sign(secret, site.form_id(form), Preview(uuid4(), now + timedelta(hours=hours)))


def url_of(site: Site, form: str, hours: float = 1) -> str:
    return f"{site.url(form)}/preview?token={preview_of(site, form, hours)}"


@pytest.fixture
def draft(site: Site) -> Iterator[Any]:
    """Yield a function that makes a draft of a form; drafts are removed afterwards."""

    def make(form: str, **content: Any) -> None:
        given = {"title": "A new title", "fields": [LINE], "settings": {}, **content}
        site.sql(DRAFT, site.studio["id"], site.form_id(form), json.dumps(given))

    yield make
    site.sql("delete from form_drafts")


def test_what_is_edited_is_only_shown_to_who_has_the_link(site: Site, client: httpx2.Client, draft: Any) -> None:
    draft("everything")
    shown = client.get(url_of(site, "everything"))
    assert (shown.status_code, "A new title" in shown.text, "A new line" in shown.text) == (200, True, True)
    assert "A new title" not in client.get(site.url("everything")).text
    link = f"{site.url('everything')}/preview?token={link_of(site, 'everything')}"
    other = f"{site.url('everything')}/preview?token={preview_of(site, 'all-required')}"
    for refused in (f"{site.url('everything')}/preview", url_of(site, "everything") + "x", link, other):
        answer = client.get(refused)
        assert (answer.status_code, "A new title" in answer.text) == (404, False)
    assert client.get(url_of(site, "everything", -1)).status_code == 410


def test_only_its_own_site_frames_it(site: Site, client: httpx2.Client) -> None:
    for _ in range(2):  # also once the page cache is filled
        shown = client.get(url_of(site, "everything"))
        assert "frame-ancestors 'self'" in shown.headers["content-security-policy"]
        assert shown.headers["x-frame-options"] == "SAMEORIGIN"
        page = client.get(site.url("everything"))
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert page.headers["x-frame-options"] == "DENY"


def test_nothing_is_stored(site: Site, client: httpx2.Client, draft: Any) -> None:
    draft("everything")
    before, waiting = site.submissions("everything"), site.sql(WAITING_FILES)
    given = sending(site, "everything") | {"shown": ["f.line"]}
    missing = client.post(url_of(site, "everything"), data=given)
    assert (missing.status_code, "Please fill this in." in missing.text) == (422, True)
    done = client.post(url_of(site, "everything"), data=given | {"f.line": "x"})
    assert (done.status_code, "This was a preview" in done.text) == (200, True)
    as_json = client.post(url_of(site, "everything"), data=given | {"f.line": "x"}, headers=AS_JSON)
    assert as_json.json()["notice"]["title"] == "This was a preview"
    assert site.submissions("everything") == before
    file = client.post(
        url_of(site, "everything") + "&field=files", content=b"x", headers={"Content-Type": "application/octet-stream"}
    )
    assert (file.status_code, file.json()) == (422, {"message": "Files are not taken in a preview."})
    data = {name: value for name, value in given.items() if isinstance(value, str)} | {"f.line": "x"}
    posted = client.post(url_of(site, "everything"), data=data, files={"f.files": ("a.png", b"x" * 100_000)})
    assert posted.status_code == 200
    assert site.sql(WAITING_FILES) == waiting


def test_drafts_archived_forms_and_closed_ones_can_be_previewed(site: Site, client: httpx2.Client) -> None:
    for form in ("not-yet", "closed", "members-only", "street-fair"):
        assert client.get(url_of(site, form)).status_code == 200, form


def test_questions_with_faults_are_left_out(site: Site, client: httpx2.Client, draft: Any) -> None:
    """Also those that would cost much: the highest rating decides how many inputs there are."""
    huge = {"key": "stars", "label": "Stars", "type": "rating", "max_rating": 10**9}
    rule = {"field_key": "stars", "op": "equals", "value": "1"}
    shapes: list[Any] = [1, None, {"key": []}, huge, LINE | {"key": "ruled", "display_when": rule}, LINE]
    draft("everything", fields=shapes, title=7, description=[], settings=[])
    shown = read(client.get(url_of(site, "everything")))
    assert [name for name, _ in shown.values if name.startswith("f.")] == ["f.ruled", "f.line"]
    contents: list[dict[str, Any]] = [
        {"fields": "x"},
        {"fields": {}},
        {"fields": [LINE] * 300},
        {"fields": everything(required=True)},
    ]
    for content in contents:
        site.sql("delete from form_drafts")
        draft("everything", **content)
        assert client.get(url_of(site, "everything")).status_code == 200
