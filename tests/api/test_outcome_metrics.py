"""Metrics count the outcomes of bookings and the requests that were shed."""

import asyncio
import json
from collections import Counter

import pytest
from prometheus_client import REGISTRY

from studiogate.storage.db.pool import OverloadedError
from tests.support.asgi import ask, post
from tests.support.partner_api import PartnerApi
from tests.support.seed import issue_key, seed_studio

pytestmark = pytest.mark.anyio


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def all_bookings() -> "Counter[str]":
    samples = next(each for each in REGISTRY.collect() if each.name == "studiogate_bookings").samples
    return Counter({each.labels["outcome"]: int(each.value) for each in samples if each.name.endswith("_total")})


async def test_bookings_by_their_outcome(api: PartnerApi) -> None:
    studio = await seed_studio(api.connection)
    key = await issue_key(api.connection, studio)
    body = {"class_id": str(studio.first("class")), "member_id": str(studio.first("member"))}
    before = all_bookings()
    outcomes = []
    for number in ("one", "two", "one"):
        response = await post(api.app, "/bookings", key, body, ("idempotency-key", f"metrics-{number}"))
        parsed = json.loads(response.body)
        outcomes.append(parsed["status"] if response.status == 201 else parsed["error"]["code"])
    rise = all_bookings() - before
    assert rise == Counter(outcomes[:2]), "each attempt by its outcome, and a replay is no attempt"


@pytest.mark.parametrize(
    ("error", "reason"), [(OverloadedError(), "overloaded"), (asyncio.CancelledError(), "drained")]
)
async def test_overloads_by_their_reason(
    shared_api: PartnerApi, key: str, monkeypatch: pytest.MonkeyPatch, error: BaseException, reason: str
) -> None:
    async def fail(_key: object) -> None:
        raise error

    monkeypatch.setattr(shared_api.app.authenticator, "authenticate", fail)
    before = counted("studiogate_overloads_total", reason=reason)
    assert (await ask(shared_api.app, "GET", "/studio", key=key)).status == 503
    assert counted("studiogate_overloads_total", reason=reason) == before + 1
