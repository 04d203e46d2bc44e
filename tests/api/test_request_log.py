"""The request log of keys: what was asked for and answered, bounded, without personal data."""

from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest

from studiogate.domain import request_log as rules
from studiogate.domain.access import Scope, operator_access
from studiogate.flows import housekeeping
from studiogate.flows.request_log import RequestLog
from studiogate.storage import request_log
from studiogate.storage.request_log import Wanted
from tests.support.partner_api import PartnerApi, open_partner_api
from tests.support.seed import Studio, issue_key, seed_studio

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def log_api(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[PartnerApi]:
    async for api in open_partner_api(new_database()):
        yield api


@pytest.fixture
async def studio(log_api: PartnerApi) -> Studio:
    log_api.app.request_log = RequestLog(log_api.app._runtime.database)
    return await seed_studio(log_api.connection, f"studio-{uuid4()}")


async def listed(api: PartnerApi, studio: Studio, key: str, **wanted: Any) -> list[Any]:
    await api.app.request_log.flush()
    access = operator_access(studio.studio_id)
    return list(await request_log.list_requests(api.connection, access, Wanted(key.split("_")[2], **wanted)))


async def test_requests_are_listed_newest_first(log_api: PartnerApi, studio: Studio) -> None:
    key = await issue_key(log_api.connection, studio, Scope.STUDIO_READ, Scope.MEMBERS_READ)
    await log_api.get("/studio", key, headers={"X-Request-Id": "first"})
    await log_api.get(f"/members/{uuid4()}", key)
    await log_api.get("/members?email=ada@example.com&colour=red", key)
    await log_api.get("/leads", key)
    await log_api.get("/nothing/ada@example.com", key)
    rows = await listed(log_api, studio, key)
    assert [(row["method"], row["route"], row["status"], row["code"]) for row in rows] == [
        ("GET", "none", 404, "not_found"),
        ("GET", "/partner/v1/leads", 403, "insufficient_scope"),
        ("GET", "/partner/v1/members", 422, "validation_error"),
        ("GET", "/partner/v1/members/{member_id}", 404, "not_found"),
        ("GET", "/partner/v1/studio", 200, None),
    ]
    assert rows[-1]["request_id"] == "first"
    assert "example.com" not in str(rows)
    assert (rows[-1]["milliseconds"] > 0, rows[-1]["bytes"] > 0) == (True, True)
    failed = await listed(log_api, studio, key, failures_only=True, limit=2)
    assert [row["id"] for row in failed] == [row["id"] for row in rows[:2]]
    older = await listed(log_api, studio, key, before=failed[-1]["id"])
    assert [row["id"] for row in older] == [row["id"] for row in rows[2:]]


async def test_each_key_has_its_own_list(log_api: PartnerApi, studio: Studio) -> None:
    mine, other = [await issue_key(log_api.connection, studio, Scope.STUDIO_READ) for _ in range(2)]
    await log_api.get("/studio", mine)
    await log_api.get("/studio", "sgk_test_AAAAAAAA_wrong")
    assert (len(await listed(log_api, studio, mine)), len(await listed(log_api, studio, other))) == (1, 0)


async def test_many_good_requests_do_not_hide_a_failure(
    log_api: PartnerApi, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "LISTED_AT_ONCE", 3)
    key = await issue_key(log_api.connection, studio, Scope.STUDIO_READ)
    for path in [*["/studio"] * 5, "/leads"]:
        await log_api.get(path, key)
    rows = await listed(log_api, studio, key)
    assert [row["status"] for row in rows] == [403, 200, 200, 200]
    assert [row["unlisted"] for row in rows] == [2, 0, 0, 0]


async def test_a_flush_is_one_statement_per_studio_and_empties_the_memory(log_api: PartnerApi, studio: Studio) -> None:
    keys = [await issue_key(log_api.connection, studio, Scope.STUDIO_READ) for _ in range(3)]
    for key in keys * 2:
        await log_api.get("/studio", key)
    counting = "select count(distinct xmin::text), count(*) from request_log where studio_id = $1"

    async def counted() -> list[tuple[int, ...]]:
        return [tuple(row) for row in await log_api.connection.fetch(counting, studio.studio_id)]

    assert await counted() == [(0, 0)], "nothing on the way"
    await log_api.app.request_log.flush()
    assert await counted() == [(1, 6)]
    await log_api.app.request_log.flush()
    assert await counted() == [(1, 6)]


async def test_the_memory_is_bounded(log_api: PartnerApi, studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studiogate.flows.request_log.KEYS_AT_ONCE", 2)
    keys = [await issue_key(log_api.connection, studio, Scope.STUDIO_READ) for _ in range(3)]
    for key in keys:
        await log_api.get("/studio", key)
    assert [len(await listed(log_api, studio, key)) for key in keys] == [1, 1, 0]


ADD = """
    insert into request_log (studio_id, id, credential_id, occurred_at, method, route, status, milliseconds, bytes,
                             request_id)
    select $1, gen_random_uuid(), 'AAAAAAAA', now() - n * $3::interval, 'GET', '/partner/v1/studio', 200, 1, 1, 'r'
    from generate_series(1, $2::integer) n"""


async def test_old_entries_and_those_beyond_the_number_are_deleted(log_api: PartnerApi, studio: Studio) -> None:
    other = await seed_studio(log_api.connection, f"studio-{uuid4()}")
    await log_api.connection.execute(ADD.replace("$3", "'1 day'"), other.studio_id, 9)
    await log_api.connection.execute(ADD.replace("$3", "'1 second'"), studio.studio_id, rules.KEPT_PER_STUDIO + 250)
    assert await housekeeping.forget_old_requests(log_api.app._runtime.database) == 250 + 3
    counting = "select count(*) from request_log where studio_id = $1"
    assert await log_api.connection.fetchval(counting, studio.studio_id) == rules.KEPT_PER_STUDIO
    assert await log_api.connection.fetchval(counting, other.studio_id) == 6
    assert await housekeeping.forget_old_requests(log_api.app._runtime.database) == 0
