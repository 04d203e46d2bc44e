"""Idempotency-Key on every POST, PUT and PATCH except those of bookings, which have their own tests."""

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
from tests.support.people import Partner, partner_of
from tests.support.webhook_studio import SECRET_KEY

pytestmark = pytest.mark.anyio

MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
FIELDS = [{"key": "any", "label": "Any", "type": "file_upload"}]
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
    Write("POST", "/forms", {"title": "T"}, {"title": "T", "status": "draft"}, {"title": "U"}, ("forms",)),
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
