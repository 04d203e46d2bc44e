"""Limits that several machines share through Redis or Valkey, and what happens while it is away."""

import http.client
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from bench.service import Service
from studiogate import clock, settings
from studiogate.settings import Settings
from studiogate.telemetry import metrics
from studiogate.web import rate_limits
from studiogate.web.limits import Buckets, Limit
from studiogate.web.rate_limits import PREFIX, RateLimits, SharedBuckets
from tests.support.deadlines import LONG
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.anyio
SLOW = Limit("slow", 1 / 3600, 5)  # nothing comes back while a test runs


@pytest.fixture(autouse=True)
def long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may need longer than a request is let wait."""
    monkeypatch.setattr(rate_limits, "ANSWER_SECONDS", LONG)


def away() -> float:
    [metric] = metrics.SHARED_LIMITS_AWAY.collect()
    return float(metric.samples[0].value)


async def test_machines_count_together_and_like_one_machine(redis_server: RedisServer) -> None:
    machines = [RateLimits.open(Buckets(), redis_server.url) for _ in range(2)]
    alone = Buckets()
    for number in range(2 * SLOW.burst):
        shared, own = await machines[number % 2].take("key", SLOW), alone.take("key", SLOW)
        assert shared[:2] == own[:2]
        assert shared.wait_seconds == pytest.approx(own.wait_seconds, rel=0.05)
        checked = await machines[0].take("key", SLOW, cost=0)
        assert checked.allowed is alone.take("key", SLOW, cost=0).allowed
    assert (await machines[0].take("another", SLOW)).remaining == SLOW.burst - 1
    for each in machines:
        await each.close()


async def test_concurrent_requests_never_exceed_the_burst(redis_server: RedisServer) -> None:
    machines = [RateLimits.open(Buckets(), redis_server.url) for _ in range(3)]
    limit, allowed = Limit("crowd", 1 / 3600, 50), list[bool]()

    async def ask(number: int) -> None:
        allowed.append((await machines[number % 3].take("key", limit)).allowed)

    async with anyio.create_task_group() as group:
        for number in range(200):
            group.start_soon(ask, number)
    assert sum(allowed) == limit.burst
    for each in machines:
        await each.close()


async def test_a_bucket_is_forgotten_when_it_is_full_again_and_never_named(redis_server: RedisServer) -> None:
    limits = RateLimits.open(Buckets(), redis_server.url)
    await limits.take("address:198.51.100.7", Limit("quick", 10.0, 20))
    shared = limits._shared
    assert shared is not None
    names: list[Any] = await shared._redis.keys("*")
    [name] = names
    assert str(name, "ascii").startswith(PREFIX)
    assert "198" not in str(name, "ascii").removeprefix(PREFIX)
    assert 0 < await shared._redis.pttl(name) <= 1_200
    await limits.close()


@pytest.mark.parametrize("harm", [RedisServer.stop, RedisServer.pause])
async def test_each_machine_counts_for_itself_while_the_server_is_away(
    redis_server: RedisServer, harm: Callable[[RedisServer], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, now = RateLimits.open(Buckets(), redis_server.url), 100_000.0
    monkeypatch.setattr(clock, "monotonic", lambda: now)
    for _ in range(SLOW.burst):
        assert (await limits.take("key", SLOW)).allowed
    assert not (await limits.take("key", SLOW)).allowed
    monkeypatch.setattr(rate_limits, "ANSWER_SECONDS", 0.2)
    harm(redis_server)
    with capture_logs() as lines:
        answers = [(await limits.take("key", SLOW)).allowed for _ in range(SLOW.burst + 1)]
    assert answers == [True] * SLOW.burst + [False]  # the machine's own bucket, which was full
    assert [line["log_level"] for line in lines] == ["warning"]
    assert away() == 1
    redis_server.stop()
    redis_server.start()
    monkeypatch.setattr(rate_limits, "ANSWER_SECONDS", LONG)
    assert not (await limits.take("key", SLOW)).allowed  # it is not asked again at once
    now += rate_limits.AWAY_SECONDS
    with capture_logs() as lines:
        assert (await limits.take("key", SLOW)).remaining == SLOW.burst - 1
        await limits.take("key", SLOW)
    assert [line["event"] for line in lines] == ["limits are shared"]
    assert away() == 0
    await limits.close()


async def test_a_wrong_password_does_not_stop_the_service(redis_server: RedisServer) -> None:
    limits = RateLimits(Buckets(), SharedBuckets(redis_server.url.replace("only", "not")))
    with capture_logs() as lines:
        assert (await limits.take("key", SLOW)).allowed
    assert lines[0]["problem"] == "AuthenticationError"
    assert "not-for-tests" not in str(lines)
    await limits.close()


def test_two_services_share_the_limit_of_failed_sign_ins(
    database_url: str, redis_server: RedisServer, tmp_path: Path
) -> None:
    environment = {"STUDIOGATE_RATE_LIMIT": "1000", "STUDIOGATE_LIMITS_URL": redis_server.url}
    answers = []
    with (
        Service(database_url, workers=1, environment=environment) as first,
        Service(database_url, workers=1, environment=environment) as second,
    ):
        for service, tries in ((first, 15), (second, 15)):
            connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=LONG)
            for _ in range(tries):
                connection.request("GET", "/partner/v1/studio", headers={"X-Service-Key": "wrong"})
                answer = connection.getresponse()
                answer.read()
                answers.append(answer.status)
            connection.close()
    assert answers[:20] == [401] * 20
    assert 429 in answers[20:]


@pytest.mark.parametrize("rest", ["", ":1", "/7", ":1/7"])
def test_the_setting_is_checked(rest: str) -> None:
    """What the library would only refuse at the first request, or in an error that quotes the password, is refused."""
    for place in ("user:pa%2Fss@redis.example", "[::1]"):
        assert settings.load(limits_url=f"rediss://{place}{rest}").limits_url
    wrongs = [f"redis://user:{wrong}@host{rest}" for wrong in ("pa/ss", "pa#ss", "pa?ss", "pa@ss")]
    wrongs += [
        "redis://host:99999",
        "redis://host:0",
        "redis://host:x",
        "redis://host/x",
        "redis://host?db=x",
        "redis://:1",
    ]
    for wrong in wrongs:
        with pytest.raises(settings.SettingsError, match="STUDIOGATE_LIMITS_URL has a wrong value") as said:
            settings.load(limits_url=wrong)
        assert "ss@" not in str(said.value)
        assert "'pa" not in str(said.value)


def test_the_setting_needs_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ValueError, match=r"install `studiogate\[limits\]`"):
        Settings(limits_url="redis://127.0.0.1")
