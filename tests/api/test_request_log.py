"""The request log of keys: what was asked for and answered, bounded, without personal data."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest

from studiogate.domain import request_log as rules
from studiogate.domain.access import Scope, operator_access
from studiogate.flows import housekeeping
from studiogate.flows import request_log as writer
from studiogate.flows.request_log import RequestLog
from studiogate.storage import request_log
from studiogate.storage.housekeeping import STUDIOS
from studiogate.storage.request_log import LogFilter
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
    return list(await request_log.list_requests(api.connection, access, LogFilter(key.split("_")[2], **wanted)))


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


async def count(api: PartnerApi, studio: Studio) -> int:
    counting = "select count(*) from request_log where studio_id = $1"
    return int(await api.connection.fetchval(counting, studio.studio_id))


async def test_old_entries_are_deleted(log_api: PartnerApi, studio: Studio) -> None:
    database = log_api.app._runtime.database
    await log_api.connection.execute(ADD.replace("$3", "'1 day'"), studio.studio_id, 9)
    assert await housekeeping.forget_old_requests(database) == 3
    assert await count(log_api, studio) == 6
    assert await housekeeping.forget_old_requests(database) == 0


async def test_what_is_beyond_the_number_is_deleted_by_who_writes(
    log_api: PartnerApi, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process checks with its first entry of a studio, and again after so many entries."""
    monkeypatch.setattr(writer, "CHECKED_AFTER", 3)
    monkeypatch.setattr(writer, "DELETED_AT_ONCE", 100)
    other = await seed_studio(log_api.connection, f"studio-{uuid4()}")
    key = await issue_key(log_api.connection, studio, Scope.STUDIO_READ)
    add = ADD.replace("$3", "'1 second'")
    for each in (studio, other):
        await log_api.connection.execute(add, each.studio_id, rules.KEPT_PER_STUDIO + 250)
    counts = []
    for _ in range(7):
        await log_api.get("/studio", key)
        assert len(await listed(log_api, studio, key)) > 0, "what was just written is kept"
        counts.append(await count(log_api, studio) - rules.KEPT_PER_STUDIO)
    assert counts == [0, 1, 2, 0, 1, 2, 0]
    assert await count(log_api, other) == rules.KEPT_PER_STUDIO + 250, "nobody wrote there"


async def test_a_studio_that_cannot_be_written_does_not_drop_the_entries_of_another(
    log_api: PartnerApi, studio: Studio
) -> None:
    """Each of the two fails once, because nothing says which one comes first."""
    other = await seed_studio(log_api.connection, f"studio-{uuid4()}")
    keys = {each.slug: await issue_key(log_api.connection, each, Scope.STUDIO_READ) for each in (studio, other)}
    for broken, whole in ((studio, other), (other, studio)):
        for key in keys.values():
            await log_api.get("/studio", key)
        before = await count(log_api, whole)
        await log_api.connection.execute(
            f"alter table request_log add constraint broken check (studio_id <> '{broken.studio_id}') not valid"
        )
        with pytest.raises(ExceptionGroup):
            await log_api.app.request_log.flush()
        await log_api.connection.execute("alter table request_log drop constraint broken")
        assert await count(log_api, whole) == before + 1


def nodes_of(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for each in plan.get("Plans", []) for node in nodes_of(each))]


async def test_looking_for_old_entries_reads_no_others(log_api: PartnerApi, studio: Studio) -> None:
    """Every worker looks in all studios every 20 seconds."""
    await log_api.connection.execute(ADD.replace("$3", "'1 second'"), studio.studio_id, 2_000)
    async with log_api.app._runtime.database.connection() as connection:
        text = await connection.fetchval("explain (analyze, format json) " + STUDIOS["old requests"])
    nodes = [each for each in nodes_of(json.loads(text)[0]["Plan"]) if each.get("Relation Name") == "request_log"]
    assert [each["Index Name"] for each in nodes] == ["request_log_by_time"]
    assert "studio_id" in nodes[0]["Index Cond"]
    assert nodes[0]["Actual Rows"] <= 1
