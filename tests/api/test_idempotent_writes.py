"""Idempotency-Key on every POST, PUT and PATCH except those of bookings, which have their own tests."""

import hashlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest

from studiogate.api.app import ROUTES
from studiogate.domain.access import operator_access
from studiogate.storage import event_numbering
from tests.api.test_forms_uploads import BOUNDARY, multipart
from tests.support.asgi import AsgiResponse, ask, assert_refused
from tests.support.partner_api import open_partner_api
from tests.support.people import Partner, locs, partner_of
from tests.support.webhook_studio import SECRET_KEY

pytestmark = pytest.mark.anyio

MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
FIELDS: list[dict[str, object]] = [{"key": "any", "label": "Any", "type": "file_upload"}]
RULE = {"field_key": "a", "op": "is_not_empty"}
WRITTEN: list[dict[str, object]] = [
    *FIELDS,
    {"key": "a", "label": "A", "type": "text"},
    {**FIELDS[0], "key": "b", "display_when": RULE},
]
# The same definition with its defaults written out, and another one.
WHOLE: list[dict[str, object]] = [
    *FIELDS,
    {"key": "a", "label": "A", "type": "text", "required": False, "order": 0, "help_text": None},
    {**FIELDS[0], "key": "b", "multiple": None, "display_when": {**RULE, "value": None}},
]
OTHER = [{**each, "required": True} for each in WRITTEN]
URL = "https://93.184.216.34/hook"


class Write(NamedTuple):
    """A write, an equivalent body, and a different one. A write without a body has no different one."""

    method: str
    path: str
    body: Any = None
    same: Any = None
    other: Any = None
    tables: tuple[str, ...] = ()


WRITES = [
    Write("POST", "/leads", {"email": "a@b.example"}, {"email": " A@B.example "}, {"email": "c@b.example"}, ("leads",)),
    Write("PATCH", "/leads/{lead}", {"notes": "x", "phone": None}, {"phone": None, "notes": "x"}, {"notes": "y"}),
    Write("POST", "/leads/{lead}/update", {"notes": "x"}, {"notes": " x "}, {"notes": "y"}),
    Write(
        "POST",
        "/members",
        {"email": "m@b.example", "first_name": "A", "last_name": "B"},
        {"email": "M@b.example", "first_name": "A", "last_name": " B", "phone": None},
        {"email": "m@b.example", "first_name": "A", "last_name": "C"},
        ("members",),
    ),
    Write(
        "POST",
        "/leads",
        {"email": "d@b.example"},
        {"email": "d@b.example", "source": "partner_api", "first_name": None},
        {"email": "d@b.example", "source": "fair"},
        ("leads",),
    ),
    Write("POST", "/forms", {"title": "T"}, {"title": "T", "status": "draft"}, {"title": "U"}, ("forms",)),
    Write("POST", "/forms", {"title": "T", "fields": WRITTEN}, {"title": "T", "fields": WHOLE}, {"title": "T"}),
    Write("POST", "/forms", {"title": "T", "fields": WHOLE}, {"title": "T", "fields": WRITTEN}, {"title": "T"}),
    Write("PUT", "/forms/{form}", {"fields": WRITTEN}, {"fields": WHOLE}, {"fields": OTHER}, ("form_versions",)),
    Write("PUT", "/forms/{form}", {"description": "d"}, {"description": "d"}, {"description": "e"}, ("form_versions",)),
    Write(
        "POST",
        "/forms/{form}/submissions",
        {"submitter_email": "s@b.example"},
        {"submitter_email": "s@b.example", "data": {}, "submitter_name": None},
        {"submitter_email": "t@b.example"},
        ("form_submissions",),
    ),
    Write("POST", "/forms/{form}/uploads", multipart(b"x"), multipart(b"x"), multipart(b"y"), ("form_uploads",)),
    Write(
        "POST",
        "/webhook-endpoints",
        {"url": URL},
        {"url": URL, "event_types": ["*"], "enabled": True, "description": None},
        {"url": URL + "2"},
        ("webhook_endpoints",),
    ),
    Write("PATCH", "/webhook-endpoints/{endpoint}", {"description": "a"}, {"description": "a"}, {"description": "b"}),
    Write("POST", "/webhook-endpoints/{endpoint}/rotate-secret"),
    Write("POST", "/webhook-endpoints/{endpoint}/test", tables=("webhook_deliveries",)),
    Write(
        "POST",
        "/webhook-endpoints/{endpoint}/replay",
        {"since": "2026-01-01T00:00:00Z"},
        {"since": "2026-01-01T01:00:00+01:00", "until": None},
        {"since": "2026-01-02T00:00:00Z"},
        ("webhook_deliveries",),
    ),
    Write("POST", "/events/{event}/redeliver", tables=("webhook_deliveries",)),
]
# POST /bookings requires the header; validate has no effect to repeat.
ELSEWHERE = {("POST", "/bookings"), ("POST", "/bookings/validate")}


@pytest.fixture(scope="module")
async def partner(
    anyio_backend: object, new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Partner]:
    folder: Path = tmp_path_factory.mktemp("uploads")
    async for api in open_partner_api(new_database(), rate_limit=0, secret_key=SECRET_KEY, data_dir=folder):
        yield await partner_of(api)


@pytest.fixture(scope="module")
async def ids(partner: Partner) -> dict[str, str]:
    async def made(path: str, body: dict[str, Any]) -> str:
        response = await partner.post(path, body)
        assert response.status == 201, response.body
        return str(response.json()["id"])

    form = {"title": "Files", "fields": FIELDS, "status": "published"}
    known = {
        "lead": await made("/leads", {"email": "known@b.example"}),
        "form": await made("/forms", form),
        "endpoint": await made("/webhook-endpoints", {"url": URL}),
    }
    await number_events(partner)
    known["event"] = (await partner.get("/events?limit=1"))["data"][0]["id"]
    return known


async def number_events(partner: Partner) -> None:
    async with partner.api.connection.transaction():
        await event_numbering.number(partner.api.connection, operator_access(partner.studio.studio_id))


def test_the_table_names_every_such_route() -> None:
    routes = {
        (method, route.path) for route in ROUTES for method in route.methods or () if method in ("POST", "PUT", "PATCH")
    }
    named = {"lead": "lead_id", "form": "form_id", "endpoint": "endpoint_id", "event": "event_id"}
    tested = {(each.method, each.path.format(**{key: f"{{{name}}}" for key, name in named.items()})) for each in WRITES}
    assert tested == routes - ELSEWHERE


async def send(partner: Partner, write: Write, path: str, body: Any, key: str) -> AsgiResponse:
    headers = [("idempotency-key", key)]
    raw = b""
    if body is not None:
        is_json = not isinstance(body, bytes)
        headers.append(("content-type", "application/json" if is_json else MULTIPART))
        raw = json.dumps(body).encode() if is_json else body
    return await ask(partner.api.app, write.method, path, key=partner.key, headers=headers, body=raw)


@pytest.mark.parametrize("write", WRITES, ids=lambda write: f"{write.method} {write.path}")
async def test_a_repetition_is_the_first_answer(partner: Partner, ids: dict[str, str], write: Write) -> None:
    path, key = write.path.format(**ids), f"once-{uuid4()}"

    async def counts() -> list[int]:
        await number_events(partner)  # or the service would, at some time after each write: that creates deliveries
        return [await partner.value(f"select count(*) from {table}") for table in (*write.tables, "events")]

    first = await send(partner, write, path, write.body, key)
    assert first.status in (200, 201, 202), first.body
    assert first.header("idempotent-replayed") is None
    after_first = await counts()
    for target in (path, path.replace(ids.get("lead", ""), ids["lead"].upper())):
        again = await send(partner, write, target, write.same, key)
        assert (again.status, again.body) == (first.status, first.body)
        assert again.header("idempotent-replayed") == "true"
    if write.other is not None:
        assert_refused(await send(partner, write, path, write.other, key), "idempotency_key_reused")
    elsewhere = WRITES[0] if write is not WRITES[0] else WRITES[3]
    assert_refused(await send(partner, elsewhere, elsewhere.path, elsewhere.body, key), "idempotency_key_reused")
    assert await counts() == after_first


@pytest.mark.parametrize("write", WRITES, ids=lambda write: f"{write.method} {write.path}")
async def test_a_key_has_8_to_120_characters(partner: Partner, ids: dict[str, str], write: Write) -> None:
    for key in ("x" * 7, "x" * 121):
        response = await send(partner, write, write.path.format(**ids), write.body, key)
        assert_refused(response, "validation_error", param="Idempotency-Key")


LARGE = {"metadata": {"a": "x" * 20_000}}
ANSWERS = [{"key": "age", "label": "Age", "type": "number"}]


async def form_with_answers(partner: Partner) -> str:
    form = {"title": "Answers", "fields": ANSWERS, "status": "published"}
    return str((await partner.post("/forms", form)).json()["id"])


async def test_faults_come_before_a_key_that_was_used_for_another_request(
    partner: Partner, ids: dict[str, str]
) -> None:
    """Also those that only stored data can tell. What was sent with the key at first is still replayed."""
    path, key = f"/forms/{await form_with_answers(partner)}/submissions", f"faults-{uuid4()}"
    first = await partner.post(
        "/leads", {"email": "first@b.example", "phone": "212 555 0100"}, ("idempotency-key", key)
    )
    assert first.status == 201, first.body
    before = [await partner.value(f"select count(*) from {each}") for each in ("leads", "members", "form_submissions")]
    for method, target, body, fault in (
        ("POST", "/leads", {"email": "first@b.example", "phone": "12"}, ["phone"]),
        ("POST", "/leads", {"email": "new@b.example", **LARGE}, ["metadata"]),
        ("PATCH", f"/leads/{ids['lead']}", {"phone": "12"}, ["phone"]),
        ("PATCH", f"/leads/{ids['lead']}", LARGE, ["metadata"]),
        ("POST", "/members", {"email": "n@b.example", "first_name": "A", "last_name": "B", "phone": "12"}, ["phone"]),
        ("POST", path, {"submitter_email": "n@b.example", "data": {"age": "old"}}, ["data", "age"]),
        ("POST", path, {"submitter_email": "nobody"}, ["submitter_email"]),
    ):
        refused = await partner.send(method, target, json.dumps(body).encode(), ("idempotency-key", key))
        assert locs(refused) == [["body", *fault]], (target, body)
    for target, body in (
        ("/leads", {"email": "first@b.example"}),
        (path, {"submitter_email": "n@b.example", "data": {"age": "7"}}),
        (path.replace(path.split("/")[2], str(uuid4())), {"submitter_email": "n@b.example"}),
    ):
        assert_refused(await partner.post(target, body, ("idempotency-key", key)), "idempotency_key_reused")
    after = [await partner.value(f"select count(*) from {each}") for each in ("leads", "members", "form_submissions")]
    assert after == before, "nothing was done"


async def test_a_replay_outlives_what_it_was_judged_by(partner: Partner) -> None:
    """A first request that was right is replayed, even if the form or the studio's country has changed since."""
    form, key, phone_key = await form_with_answers(partner), f"form-{uuid4()}", f"phone-{uuid4()}"
    answers = {"submitter_email": "n@b.example", "data": {"age": "7"}}
    lead = {"email": "country@b.example", "phone": "212 555 0100"}
    first = await partner.post(f"/forms/{form}/submissions", answers, ("idempotency-key", key))
    first_lead = await partner.post("/leads", lead, ("idempotency-key", phone_key))
    assert (first.status, first_lead.status) == (201, 201)
    changed = {"fields": [{"key": "name", "label": "Name", "type": "text", "required": True}]}
    assert (await partner.send("PUT", f"/forms/{form}", json.dumps(changed).encode())).status == 200
    country = await partner.value("select country from studios where studio_id = $1", partner.studio.studio_id)
    try:
        await partner.value("update studios set country = 'GB' where studio_id = $1", partner.studio.studio_id)
        again = await partner.post(f"/forms/{form}/submissions", answers, ("idempotency-key", key))
        again_lead = await partner.post("/leads", lead, ("idempotency-key", phone_key))
    finally:
        await partner.value("update studios set country = $2 where studio_id = $1", partner.studio.studio_id, country)
    assert (again.status, again.body) == (first.status, first.body)
    assert (again_lead.status, again_lead.body) == (first_lead.status, first_lead.body)


async def test_fingerprints_of_the_release_before(partner: Partner) -> None:
    """What it stored for requests without written defaults still matches: their fingerprint has the same content."""
    key, path = f"former-{uuid4()}", "/partner/v1/forms"
    unset: dict[str, object] = {"slug": None, "description": None, "settings": {}, "status": "draft"}
    body = {"title": "Former", "fields": WRITTEN, **unset}
    first = await partner.post("/forms", {"title": "Former", "fields": WRITTEN}, ("idempotency-key", key))
    assert first.status == 201, first.body
    former = json.dumps(["POST", path, [], body], sort_keys=True, separators=(",", ":"))
    stored = await partner.value("select fingerprint from idempotency_keys where key = $1", key)
    assert stored == hashlib.sha256(former.encode()).digest()
