"""Visibility of forms: unpublished forms, the studio's own settings, and the events about both (CONTRACT 3, 7)."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.support.asgi import AsgiResponse, ask, assert_refused
from tests.support.form_fields import completed
from tests.support.partner_api import open_partner_api
from tests.support.people import Partner, locs, partner_of
from tests.support.seed import issue_key

pytestmark = pytest.mark.anyio

SECRET = {"key": "secret_field", "label": "S", "type": "text", "required": True}
EMAILS = {"notification_emails": ["desk@studio.example"], "submit_label": "Send"}


@pytest.fixture(scope="module")
async def partner(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[Partner]:
    async for api in open_partner_api(new_database(), rate_limit=0):
        yield await partner_of(api)


async def create(partner: Partner, **body: Any) -> dict[str, Any]:
    response = await partner.post("/forms", {"title": f"Form {uuid4().hex}", "fields": [SECRET], **body})
    assert response.status == 201, response.body
    return response.json()  # type: ignore[no-any-return]


async def put(partner: Partner, form_id: str, **body: Any) -> dict[str, Any]:
    response = await partner.send("PUT", f"/forms/{form_id}", json.dumps(body).encode())
    assert response.status == 200, response.body
    return response.json()  # type: ignore[no-any-return]


async def archived(partner: Partner) -> tuple[str, str]:
    """Create a form that was submitted once and then archived; return its id and the submission's."""
    form = await create(partner, status="published")
    body = {"submitter_email": "a@b.example", "data": {"secret_field": "x"}}
    submission = (await partner.post(f"/forms/{form['id']}/submissions", body)).json()
    await put(partner, form["id"], status="archived")
    return form["id"], submission["id"]


def without_ids(response: AsgiResponse) -> tuple[int, bytes]:
    """Return status and body without the request id, which differs in every response."""
    return response.status, response.body.replace((response.header("x-request-id") or "").encode(), b"")


GOOD = {"submitter_email": "a@b.example", "data": {"secret_field": "x"}}
BODIES: list[Any] = [
    GOOD,
    {"submitter_email": "a@b.example", "data": {}},
    {"submitter_email": "a@b.example", "data": {"other": "x"}},
    {"submitter_email": "no email", "data": {"other": "x"}},
    {"data": {"other": "x"}},
    {"submitter_email": "a@b.example", "data": {"other": "x"}, "unknown": 1},
]
MULTIPART = (
    b'--b\r\ncontent-disposition: form-data; name="field_key"\r\n\r\nsecret_field\r\n'
    b'--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\nx\r\n--b--\r\n'
)


async def below(partner: Partner, key: str, form_id: str, submission_id: str) -> list[tuple[int, bytes]]:
    """Return the responses that a key gets on the form and on every route below it."""
    app, forms = partner.api.app, f"/forms/{form_id}"
    responses = [await ask(app, "GET", path, key=key) for path in (forms, f"{forms}?", f"{forms}/submissions")]
    responses.append(await ask(app, "GET", f"{forms}/submissions/{submission_id}", key=key))
    responses += [await partner.post(f"{forms}/submissions", body, key=key) for body in BODIES]
    headers = [("content-type", "multipart/form-data; boundary=b")]
    responses.append(await ask(app, "POST", f"{forms}/uploads", key=key, headers=headers, body=MULTIPART))
    return [without_ids(each) for each in responses]


READER = ("forms:read", "form_submissions:read", "form_submissions:write")


async def test_a_draft_does_not_exist_for_a_key_without_forms_write(partner: Partner) -> None:
    key = await issue_key(partner.api.connection, partner.studio, *READER)
    form = await create(partner)
    draft = await below(partner, key, form["id"], str(uuid4()))
    unknown = await below(partner, key, str(uuid4()), str(uuid4()))
    assert draft == unknown
    assert {status for status, _body in draft} == {404, 422}
    assert b"secret_field" not in b"".join(body for _status, body in draft)


async def test_an_archived_form_keeps_its_submissions_readable_and_nothing_else(partner: Partner) -> None:
    key = await issue_key(partner.api.connection, partner.studio, *READER)
    form_id, submission_id = await archived(partner)
    responses = await below(partner, key, form_id, submission_id)
    unknown = await below(partner, key, str(uuid4()), submission_id)
    assert [status for status, _ in responses[2:4]] == [200, 200]
    assert submission_id.encode() in responses[2][1]
    assert responses[:2] + responses[4:] == unknown[:2] + unknown[4:]


async def test_a_draft_that_was_archived_before_hides_its_submissions_again(partner: Partner) -> None:
    key = await issue_key(partner.api.connection, partner.studio, *READER)
    form_id, submission_id = await archived(partner)
    await put(partner, form_id, status="draft")
    assert await below(partner, key, form_id, submission_id) == await below(partner, key, str(uuid4()), submission_id)
    assert (await partner.get(f"/forms/{form_id}/submissions"))["data"][0]["id"] == submission_id


async def test_writers_of_forms_hear_why_a_draft_takes_nothing(partner: Partner) -> None:
    form = await create(partner)
    error = assert_refused(
        await partner.post(f"/forms/{form['id']}/submissions", GOOD), "form_not_accepting_submissions"
    )
    assert error["details"] == {"reason": "not_published"}
    assert locs(await partner.post(f"/forms/{form['id']}/submissions", BODIES[1])) == [["body", "data", "secret_field"]]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"opens_at": "2999-01-01T00:00:00Z"}, "not_open_yet"),
        ({"opens_at": "2999-01-01T00:00:00Z", "closes_at": "2999-01-02T00:00:00Z"}, "not_open_yet"),
        ({"closes_at": "2020-01-01T00:00:00Z"}, "closed"),
        ({"opens_at": "2019-01-01T00:00:00Z", "closes_at": "2020-01-01T00:00:00Z"}, "closed"),
        ({"max_submissions": 1}, "full"),
        ({"allow_multiple": False}, "already_submitted"),
        ({"allow_multiple": False, "max_submissions": 1}, "already_submitted"),
    ],
)
async def test_why_a_form_takes_nothing(partner: Partner, settings: dict[str, Any], reason: str) -> None:
    form = await create(partner, status="published", settings=settings)
    await partner.post(f"/forms/{form['id']}/submissions", GOOD)
    error = assert_refused(
        await partner.post(f"/forms/{form['id']}/submissions", GOOD), "form_not_accepting_submissions"
    )
    assert error["details"] == {"reason": reason}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, "not_published"),
        ({"status": "published", "settings": {"opens_at": "2999-01-01T00:00:00Z"}}, "not_open_yet"),
        ({"status": "published", "settings": {"closes_at": "2020-01-01T00:00:00Z"}}, "closed"),
    ],
)
async def test_why_a_form_takes_no_files(partner: Partner, body: dict[str, Any], reason: str) -> None:
    field = {"key": "note", "label": "N", "type": "file_upload"}
    form = await create(partner, fields=[field], **body)
    headers = [("content-type", "multipart/form-data; boundary=b")]
    path, content = f"/forms/{form['id']}/uploads", MULTIPART.replace(b"secret_field", b"note")
    response = await ask(partner.api.app, "POST", path, key=partner.key, headers=headers, body=content)
    assert assert_refused(response, "form_not_accepting_submissions")["details"] == {"reason": reason}


async def test_the_studios_addresses_are_shown_to_writers_only(partner: Partner) -> None:
    reader = await issue_key(partner.api.connection, partner.studio, "forms:read")
    form = await create(partner, status="published", settings=EMAILS)
    assert form["settings"] == EMAILS
    assert (await partner.get(f"/forms/{form['id']}"))["settings"] == EMAILS
    mine = {each["id"]: each for each in (await partner.get("/forms"))["data"]}
    assert mine[form["id"]]["settings"] == EMAILS
    one = (await ask(partner.api.app, "GET", f"/forms/{form['id']}", key=reader)).json()
    listed = (await ask(partner.api.app, "GET", "/forms", key=reader)).json()["data"]
    theirs = next(each for each in listed if each["id"] == form["id"])
    assert one == theirs == {**form, "settings": {"submit_label": "Send"}}
    await put(partner, form["id"], settings={"notification_emails": ["a@b.example"]})
    assert (await ask(partner.api.app, "GET", f"/forms/{form['id']}", key=reader)).json()["settings"] == {}


async def events_of(partner: Partner, form_id: str, *scopes: str) -> list[dict[str, Any]]:
    """Return the events about a form that a key with these scopes reads, in the order of the log."""
    await partner.api.app._runtime.sequencer.settled()
    key = await issue_key(partner.api.connection, partner.studio, "events:read", *scopes)
    found, cursor = [], ""
    while True:
        page = (await ask(partner.api.app, "GET", f"/events?type=form.*&limit=200{cursor}", key=key)).json()
        found += [each for each in page["data"] if each["data"]["object"]["id"] == form_id]
        if not page["has_more"]:
            return found
        cursor = f"&cursor={page['next_cursor']}"


def announced(events: list[dict[str, Any]]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the type, the form's status and the previous attributes of each event."""
    return [(each["type"], each["data"]["object"]["status"], each["data"]["previous_attributes"]) for each in events]


async def test_events_never_hold_the_studios_addresses(partner: Partner) -> None:
    form = await create(partner, status="published", settings=EMAILS)
    await put(partner, form["id"], settings={"notification_emails": ["other@studio.example"], "submit_label": "Send"})
    await put(partner, form["id"], settings={"notification_emails": ["third@studio.example"], "submit_label": "Go"})
    for scopes in (["forms:read"], ["forms:read", "forms:write"]):
        events = await events_of(partner, form["id"], *scopes)
        assert "studio.example" not in json.dumps(events)
        assert announced(events) == [
            ("form.created", "published", {}),
            ("form.updated", "published", {"version": 1}),
            ("form.updated", "published", {"version": 2, "settings": {"submit_label": "Send"}}),
        ]


async def test_every_change_by_put_is_announced_with_exactly_what_changed(partner: Partner) -> None:
    form = await create(partner, status="published", description="D", settings={"extra": 1})
    changes: list[dict[str, Any]] = [
        {"title": "Another title"},
        {"slug": f"slug-{uuid4().hex}"},
        {"description": None},
        {"fields": [{**SECRET, "label": "Label"}]},
        {"fields": [{**SECRET, "label": "Label", "own": 1}]},
        {"fields": [{**SECRET, "label": "Label", "own": True}]},
        {"settings": {"extra": True}},
        {"settings": {"extra": 1.0}},
        {"title": "T", "settings": {}},
    ]
    before, wanted = form, []
    for number, change in enumerate(changes, 1):
        after = await put(partner, form["id"], **change)
        wanted.append({name: before[name] for name in change} | {"version": number})
        before = after
    await put(partner, form["id"], title="T", fields=before["fields"])
    events = await events_of(partner, form["id"], "forms:read")
    assert [previous for _, _, previous in announced(events)] == [{}, *wanted]
    assert [each["data"]["object"]["version"] for each in events] == list(range(1, len(changes) + 2))


async def test_readers_hear_that_a_form_is_withdrawn(partner: Partner) -> None:
    for goal in ("archived", "draft"):
        form = await create(partner, status="published")
        await put(partner, form["id"], status=goal)
        for scopes in (["forms:read"], ["forms:read", "forms:write"]):
            events = await events_of(partner, form["id"], *scopes)
            assert announced(events) == [
                ("form.created", "published", {}),
                ("form.updated", goal, {"status": "published", "version": 1}),
            ]
            assert events[-1]["data"]["object"] == {**form, "status": goal, "version": 2}


async def test_a_withdrawal_does_not_show_what_the_draft_has_become(partner: Partner) -> None:
    form = await create(partner, status="published")
    after = await put(partner, form["id"], status="draft", title="Hidden plans", fields=[])
    await put(partner, form["id"], title="More hidden plans")
    assert after["version"] == 2
    events = await events_of(partner, form["id"], "forms:read")
    assert "idden plans" not in json.dumps(events)
    assert announced(events)[1:] == [("form.updated", "draft", {"status": "published", "version": 1})]
    assert events[-1]["data"]["object"] == {**form, "status": "draft", "version": 2}
    changes = announced(await events_of(partner, form["id"], "forms:read", "forms:write"))
    assert changes[1:] == [
        ("form.updated", "draft", {"status": "published", "version": 1}),
        ("form.updated", "draft", {"title": form["title"], "fields": completed(SECRET)}),
        ("form.updated", "draft", {"title": "Hidden plans", "version": 2}),
    ]


async def test_a_publication_does_not_show_what_the_draft_was(partner: Partner) -> None:
    slug = f"public-{uuid4().hex}"
    form = await create(partner, title="Hidden plans", slug=slug, settings={"plan": "hidden"})
    after = await put(partner, form["id"], status="published", title="Public", settings={})
    assert after["version"] == 2
    events = await events_of(partner, form["id"], "forms:read")
    assert "idden" not in json.dumps(events)
    assert announced(events) == [("form.updated", "published", {"status": "draft"})]
    assert events[0]["data"]["object"] == after
    changes = announced(await events_of(partner, form["id"], "forms:read", "forms:write"))
    assert changes == [
        ("form.created", "draft", {}),
        ("form.updated", "draft", {"title": "Hidden plans", "settings": {"plan": "hidden"}, "version": 1}),
        ("form.updated", "published", {"status": "draft"}),
    ]


async def test_what_is_never_published_is_heard_of_by_writers_only(partner: Partner) -> None:
    form_id, _ = await archived(partner)
    await put(partner, form_id, status="draft", title="Hidden plans")
    readers = announced(await events_of(partner, form_id, "forms:read"))
    assert [(type_, status) for type_, status, _ in readers] == [
        ("form.created", "published"),
        ("form.updated", "archived"),
    ]
    writers = announced(await events_of(partner, form_id, "forms:read", "forms:write"))
    assert len(writers) == 3
    assert set(writers[-1][2]) == {"status", "title", "version"}


async def test_a_version_is_kept_once_when_a_change_is_announced_in_two_parts(partner: Partner) -> None:
    form = await create(partner, status="published")
    await put(partner, form["id"], status="draft", fields=[])
    rows = await partner.api.connection.fetch(
        "select version, fields from form_versions where form_id = $1 order by version", form["id"]
    )
    assert [(row["version"], json.loads(row["fields"])) for row in rows] == [(1, completed(SECRET)), (2, [])]
