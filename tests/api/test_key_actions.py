"""What partners change with their keys is in the audit log: which key, from where, what; personal values are masked."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.support.partner_api import PartnerApi, open_partner_api
from tests.support.seed import Studio, issue_key, seed_studio
from tests.support.webhook_studio import ALLOW_LOOPBACK

pytestmark = pytest.mark.anyio
URL = "http://127.0.0.1:9/hooks"
ENTRIES = """
    select action, subject_type, subject_id, changes::text as changes, channel, actor_name, address, account_id
    from audit_log where studio_id = $1 order by occurred_at, id"""


class Partner:
    """Sends writes with one key, and reads the audit log of its studio."""

    def __init__(self, api: PartnerApi, studio: Studio, key: str) -> None:
        self.api, self.studio, self.key = api, studio, key

    async def send(self, method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        headers = {"X-Service-Key": self.key, **headers}
        return await self.api.client.request(method, f"/partner/v1{path}", json=body, headers=headers)

    async def done(self, method: str, path: str, body: Any = None) -> Any:
        response = await self.send(method, path, body)
        assert response.status_code < 300, response.text
        return response.json() if response.content else None

    async def entries(self) -> list[Any]:
        return list(await self.api.connection.fetch(ENTRIES, self.studio.studio_id))

    async def actions(self) -> list[str]:
        return [each["action"] for each in await self.entries()]


@pytest.fixture(scope="module")
async def webhook_api(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[PartnerApi]:
    async for api in open_partner_api(new_database(), **ALLOW_LOOPBACK):
        yield api


@pytest.fixture
async def partner(webhook_api: PartnerApi) -> Partner:
    studio = await seed_studio(webhook_api.connection, f"studio-{uuid4()}")
    return Partner(webhook_api, studio, await issue_key(webhook_api.connection, studio))


async def test_people(partner: Partner) -> None:
    lead = await partner.done("POST", "/leads", {"email": "sam@example.com", "first_name": "Sam"})
    await partner.done("POST", "/leads", {"email": "sam@example.com", "last_name": "Lee"})
    await partner.done("PATCH", f"/leads/{lead['id'].upper()}", {"status": "qualified", "notes": "Mornings"})
    names = {"first_name": "Jo", "last_name": "Rivera"}
    member = await partner.done("POST", "/members", {"email": "jo@example.com", **names})
    rows = await partner.entries()
    assert [(each["action"], str(each["subject_id"])) for each in rows] == [
        ("lead.create", lead["id"]),
        ("lead.change", lead["id"]),
        ("lead.change", lead["id"]),
        ("member.create", member["id"]),
    ]
    who = {(each["channel"], each["actor_name"], each["address"], each["account_id"]) for each in rows}
    assert who == {("partner", partner.key.split("_")[2], "127.0.0.1", None)}
    assert json.loads(rows[1]["changes"]) == {"last_name": [None, "•••"]}
    assert json.loads(rows[2]["changes"]) == {"staff_notes": [None, "•••"], "status": ["new", "qualified"]}
    for text in ("sam@", "jo@", "Lee", "Rivera", "Mornings"):
        assert text not in str(rows)


async def test_forms(partner: Partner) -> None:
    field = {"key": "goal", "label": "Goal", "type": "text"}
    form = await partner.done("POST", "/forms", {"title": "Intake", "fields": [field]})
    await partner.done("PUT", f"/forms/{form['id']}", {"status": "published"})
    await partner.done("PUT", f"/forms/{form['id']}", {"status": "published"})
    sent = {"submitter_email": "sam@example.com", "data": {"goal": "Rest"}}
    submission = await partner.done("POST", f"/forms/{form['id']}/submissions", sent)
    rows = [each for each in await partner.entries() if not each["action"].startswith("lead.")]
    assert [(each["action"], str(each["subject_id"])) for each in rows] == [
        ("form.create", form["id"]),
        ("form.change", form["id"]),
        ("submission.create", submission["id"]),
    ]
    assert json.loads(rows[1]["changes"])["status"] == ["draft", "published"]
    assert "Rest" not in str(rows)


async def test_webhook_endpoints(partner: Partner) -> None:
    endpoint = await partner.done("POST", "/webhook-endpoints", {"url": URL})
    path = f"/webhook-endpoints/{endpoint['id']}"
    await partner.done("PATCH", path, {"enabled": False, "event_types": ["booking.*"]})
    rotated = await partner.done("POST", f"{path}/rotate-secret")
    await partner.done("DELETE", path)
    rows = await partner.entries()
    assert [each["action"].removeprefix("webhook_endpoint.") for each in rows] == [
        "create",
        "change",
        "rotate_secret",
        "delete",
    ]
    changed = json.loads(rows[1]["changes"])
    assert (changed["enabled"], changed["event_types"]) == ([True, False], [["*"], ["booking.*"]])
    assert {each["address"] for each in rows} == {"127.0.0.1"}
    for secret in (endpoint["secret"], rotated["secret"]):
        assert secret not in str(rows)
    assert not any("secret" in json.loads(each["changes"]) for each in rows)


async def test_what_is_refused_or_repeated_has_no_entry_of_its_own(partner: Partner) -> None:
    wanted = {"email": "jo@example.com", "first_name": "Jo", "last_name": "Rivera"}
    for _ in range(3):
        assert (await partner.send("POST", "/members", wanted, **{"Idempotency-Key": "member-0001"})).status_code == 201
    assert (await partner.send("POST", "/members", wanted)).status_code == 409
    assert (await partner.send("PATCH", f"/leads/{uuid4()}", {"status": "lost"})).status_code == 404
    assert (await partner.send("DELETE", f"/webhook-endpoints/{uuid4()}")).status_code == 404
    assert await partner.actions() == ["member.create"]
