"""Rate limits: the bucket compared with an independent model, shared between processes, and as partners see them."""

import dataclasses
import math
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studiogate import clock
from studiogate.web import limits
from studiogate.web.limits import FAILED_AUTHENTICATION, Buckets, Limit, RateVerdict, request_limit
from tests.support.asgi import AsgiResponse, ask, assert_refused
from tests.support.deadlines import LONG
from tests.support.keys import rotate
from tests.support.partner_api import PartnerApi, open_partner_api
from tests.support.seed import Studio, issue_key, seed_studio

pytestmark = pytest.mark.anyio

# A structured field (RFC 9651): a list of one string with integer parameters.
POLICY = re.compile(r'"([a-z-]+)";q=(\d+);w=(\d+)')
STATE = re.compile(r'"([a-z-]+)";r=(\d+);t=(\d+)')


class Time:
    """The process's monotonic clock, advanced by the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100_000.0
        monkeypatch.setattr(clock, "monotonic", lambda: self.now)


@pytest.fixture
def time_(monkeypatch: pytest.MonkeyPatch) -> Time:
    return Time(monkeypatch)


# The bucket


@dataclass
class TokenBucket:
    """The textbook algorithm: a fixed number of tokens, refilled continuously, in exact arithmetic."""

    per_second: int
    burst: int
    tokens: Fraction = field(init=False)
    at: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        self.tokens = Fraction(self.burst)

    def take(self, now: Fraction) -> bool:
        self.tokens = min(Fraction(self.burst), self.tokens + (now - self.at) * self.per_second)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


@given(
    per_second=st.sampled_from([1, 2, 4, 8, 64, 1024]),
    burst=st.integers(1, 40),
    pauses=st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 64, 128, 1024, 4096, 9999]), max_size=150),
)
@settings(max_examples=150, deadline=None)
def test_the_bucket_is_a_token_bucket(per_second: int, burst: int, pauses: list[int]) -> None:
    """Every request gets the same verdict and the same remainder, with pauses of multiples of 1/1024 s."""
    limit = Limit("x", float(per_second), burst)
    model, buckets, ticks = TokenBucket(per_second, burst), Buckets(), 0
    with pytest.MonkeyPatch.context() as patch:
        moved = Time(patch)
        for pause in pauses:
            ticks += pause
            moved.now = 100_000.0 + ticks / 1024
            verdict = buckets.take("key", limit)
            assert verdict.allowed is model.take(Fraction(ticks, 1024))
            assert verdict.remaining == (math.floor(model.tokens) if verdict.allowed else 0)
            if not verdict.allowed:
                assert verdict.wait_seconds == pytest.approx(float((1 - model.tokens) / per_second), abs=1e-6)


@given(per_second=st.integers(1, 5000), requests=st.lists(st.floats(0, 0.05), min_size=1, max_size=200))
@settings(max_examples=100, deadline=None)
def test_never_more_than_burst_and_rate(per_second: int, requests: list[float]) -> None:
    """At any time since the start, at most burst + rate x time requests pass, and the reported wait is sufficient."""
    limit, buckets, allowed = request_limit(per_second), Buckets(), 0
    with pytest.MonkeyPatch.context() as patch:
        moved = Time(patch)
        started = moved.now
        for pause in requests:
            moved.now += pause
            verdict = buckets.take("key", limit)
            allowed += verdict.allowed
            assert allowed <= limit.burst + (moved.now - started) * per_second + 1e-3
            assert 0 <= verdict.remaining < limit.burst
        while buckets.take("key", limit).allowed:
            pass
        moved.now += buckets.take("key", limit).wait_seconds + 1e-6
        assert buckets.take("key", limit).allowed


def test_looking_costs_nothing(time_: Time) -> None:
    buckets, limit = Buckets(), request_limit(1)
    for _ in range(10):
        assert buckets.take("key", limit, cost=0).allowed
    assert [buckets.take("key", limit).allowed for _ in range(3)] == [True, True, False]
    assert not buckets.take("key", limit, cost=0).allowed


def test_buckets_are_apart(time_: Time) -> None:
    buckets, limit = Buckets(), request_limit(1)
    for name in ("a", "b", "", "address:a", "ä" * 100):
        assert [buckets.take(name, limit).allowed for _ in range(3)] == [True, True, False]


def test_time_that_stands_still_or_is_long(time_: Time) -> None:
    """Long uptimes lose no significant precision; a clock that stands still refills nothing."""
    for uptime in (0.0, 1.0, 1e6, 1e8):
        time_.now = uptime
        buckets, limit = Buckets(), request_limit(1000)
        assert sum(buckets.take("key", limit).allowed for _ in range(3000)) in (1999, 2000)


# The table


def test_a_full_table_evicts_the_idlest(time_: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller that is being limited stays limited; a new caller never inherits the debt of another."""
    monkeypatch.setattr(limits, "SLOTS", 16)
    buckets, limit = Buckets(), request_limit(1)
    for _ in range(3):
        buckets.take("greedy", limit)
    assert not buckets.take("greedy", limit).allowed
    for number in range(500):
        verdict = buckets.take(f"newcomer-{number}", limit)
        assert verdict.allowed, "a newcomer has its whole burst"
        assert verdict.remaining == 1
    assert not buckets.take("greedy", limit).allowed, "the fullest bucket is never the one that goes"
    assert len(buckets._slots) <= 16


def test_an_evicted_bucket_is_found_again_by_all(tmp_path: Path, time_: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes agree on a bucket's slot after one of them has reassigned it."""
    monkeypatch.setattr(limits, "SLOTS", 8)
    path = tmp_path / "buckets"
    Buckets.create(path)
    first, second, limit = Buckets(path), Buckets(path), request_limit(10)
    first.take("mine", limit)
    second.take("mine", limit)
    time_.now += 100
    for number in range(20):
        second.take(f"other-{number}", limit)
    taken = [each.take("mine", limit).allowed for _ in range(15) for each in (first, second)]
    assert sum(taken) == 20


@given(names=st.lists(st.text(max_size=8), min_size=1, max_size=60), slots=st.sampled_from([8, 9, 64]))
@settings(max_examples=50, deadline=None)
def test_two_names_never_share_a_bucket(names: list[str], slots: int) -> None:
    """Whatever the state of the table, the first request of a name finds a full burst."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "SLOTS", slots)
        Time(patch)
        buckets, limit = Buckets(), Limit("x", 1.0, 5)
        seen: set[str] = set()
        for name in names:
            remaining = buckets.take(name, limit).remaining
            assert remaining == 4 or name in seen
            seen.add(name)


PROCESS = """
import sys
from pathlib import Path
from studiogate.web.limits import Buckets, Limit
buckets, limit = Buckets(Path(sys.argv[1])), Limit("x", 0.001, 40_000)
print("ready", flush=True)
sys.stdin.readline()
print(sum(buckets.take("key", limit).allowed for _ in range(39_000)))
"""


def test_processes_share_one_limit(tmp_path: Path) -> None:
    """Concurrent processes together get the limit, however they are interrupted."""
    path = tmp_path / "buckets"
    Buckets.create(path)
    command = [sys.executable, "-c", PROCESS, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(2)]  # type: ignore[call-overload]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 2
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    allowed = [int(process.communicate(timeout=LONG)[0]) for process in processes]
    assert sum(allowed) == 40_000, "each asked for almost all of it"


# As partners see it


@dataclass
class ApiStudio:
    api: PartnerApi
    studio: Studio

    async def studio_with(self, key: str | None, address: str = "192.0.2.1") -> AsgiResponse:
        return await ask(self.api.app, "GET", "/studio", key=key, address=address)


@pytest.fixture(scope="module")
async def limited(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[ApiStudio]:
    async for api in open_partner_api(new_database(), rate_limit=5):
        yield ApiStudio(api, await seed_studio(api.connection))


@pytest.fixture(scope="module")
async def key(limited: ApiStudio) -> str:
    return await issue_key(limited.api.connection, limited.studio)


def limit_of(response: AsgiResponse) -> tuple[str, int, int, int, int]:
    """Return name, q, w, r and t of the rate limit headers."""
    policy, state = (
        POLICY.fullmatch(response.header("ratelimit-policy") or ""),
        STATE.fullmatch(response.header("ratelimit") or ""),
    )
    assert policy is not None
    assert state is not None
    assert policy[1] == state[1]
    return policy[1], int(policy[2]), int(policy[3]), int(state[2]), int(state[3])


async def test_the_headers_count_down_and_recover(limited: ApiStudio, key: str, time_: Time) -> None:
    time_.now += 1000
    for left in range(9, -1, -1):
        response = await limited.studio_with(key)
        assert response.status == 200
        assert limit_of(response) == ("requests", 10, 2, left, math.ceil((10 - left) / 5))
    response = await limited.studio_with(key)
    assert_refused(response, "rate_limited")
    assert limit_of(response) == ("requests", 10, 2, 0, 2)
    assert response.header("retry-after") == "1"
    time_.now += 1.0
    assert [(await limited.studio_with(key)).status for _ in range(6)] == [200] * 5 + [429]
    time_.now += 3600
    assert limit_of(await limited.studio_with(key))[3] == 9


async def test_every_response_to_a_key_has_its_limit(limited: ApiStudio, key: str, time_: Time) -> None:
    time_.now += 2000
    for method, path in (
        ("GET", "/nothing"),
        ("PUT", "/studio"),
        ("GET", "/classes?limit=0"),
        ("GET", "/classes?cursor=x"),
        ("HEAD", "/studio"),
        ("POST", "/bookings"),
        ("OPTIONS", "/bookings"),
        ("OPTIONS", "/nothing"),
    ):
        response = await ask(limited.api.app, method, path, key=key)
        assert limit_of(response)[:3] == ("requests", 10, 2)
    response = await limited.studio_with("x", "198.51.100.1")
    assert limit_of(response)[:3] == ("failed-authentication", 20, 60)


async def test_options_without_a_key_are_not_counted_as_failures(limited: ApiStudio, time_: Time) -> None:
    time_.now += 2500
    address = "198.51.100.2"
    for left in (20, 19):
        for _ in range(3):
            response = await ask(limited.api.app, "OPTIONS", "/bookings", address=address)
            assert response.status == 204
            assert limit_of(response)[:4] == ("failed-authentication", 20, 60, left)
        assert (await limited.studio_with("x", address)).status == 401
    wrong = await ask(limited.api.app, "OPTIONS", "/bookings", key="x", address=address)
    assert_refused(wrong, "invalid_api_key")


async def test_a_key_with_a_limit_of_its_own(limited: ApiStudio, time_: Time) -> None:
    time_.now += 3000
    small = await issue_key(limited.api.connection, limited.studio, rate_limit=1)
    large = await issue_key(limited.api.connection, limited.studio, rate_limit=50)
    assert [(await limited.studio_with(small)).status for _ in range(3)] == [200, 200, 429]
    statuses = [(await limited.studio_with(large)).status for _ in range(101)]
    assert statuses == [200] * 100 + [429]
    assert (await limited.studio_with(small)).header("retry-after") == "1"


async def test_a_limit_belongs_to_the_credential(limited: ApiStudio, time_: Time) -> None:
    """Not to the address, and not to the secret: rotating a key does not raise its limit."""
    time_.now += 4000
    mine = await issue_key(limited.api.connection, limited.studio, rate_limit=1)
    new = (await rotate(limited.api.connection, mine.split("_")[2], timedelta(hours=1))).key
    responses = [await limited.studio_with(each, f"192.0.2.{n}") for n, each in enumerate((mine, new, mine, new))]
    assert [each.status for each in responses] == [200, 200, 429, 429]
    other = await issue_key(limited.api.connection, limited.studio, rate_limit=1)
    assert (await limited.studio_with(other)).status == 200


async def test_failed_authentications(limited: ApiStudio, key: str, time_: Time) -> None:
    """The 21st failure in a minute is 429; valid keys from that address still work; other addresses are unaffected."""
    time_.now += 5000
    wrong = [None, "x", "sgk_live_AAAAAAAA_" + "A" * 49, ""] * 5
    for number, each in enumerate(wrong):
        response = await limited.studio_with(each)
        assert response.status == 401, number
        assert limit_of(response)[3] == 19 - number
    response = await limited.studio_with("x")
    error = assert_refused(response, "rate_limited")
    assert error["retryable"] is True
    assert response.header("retry-after") == "3"
    assert response.header("www-authenticate") is None
    assert (await limited.studio_with(key)).status == 200
    assert limit_of(await limited.studio_with(key))[0] == "requests"
    assert (await limited.studio_with("x", "198.51.100.9")).status == 401
    time_.now += 3.001
    assert [(await limited.studio_with("x")).status for _ in range(2)] == [401, 429]
    time_.now += 60
    assert [(await limited.studio_with("x")).status for _ in range(21)] == [401] * 20 + [429]


async def test_good_keys_do_not_count_as_failures(limited: ApiStudio, time_: Time) -> None:
    time_.now += 6000
    plenty = await issue_key(limited.api.connection, limited.studio, rate_limit=1000)
    for _ in range(100):
        assert (await limited.studio_with(plenty, "203.0.113.5")).status == 200
    assert limit_of(await limited.studio_with("x", "203.0.113.5"))[3] == 19


async def test_off_lifts_both_limits(limited: ApiStudio, time_: Time) -> None:
    runtime = limited.api.app._runtime
    unlimited = type(limited.api.app)(
        dataclasses.replace(runtime, settings=runtime.settings.model_copy(update={"rate_limit": 0}))
    )
    small = await issue_key(limited.api.connection, limited.studio, rate_limit=1)
    for each in [small] * 30 + ["x"] * 30:
        response = await ask(unlimited, "GET", "/studio", key=each)
        assert response.status == (200 if each == small else 401)
        assert response.header("ratelimit") is None
        assert response.header("ratelimit-policy") is None


@pytest.mark.parametrize("per_second", [1, 3, 1000, 100_000])
def test_the_policy_in_words(per_second: int) -> None:
    limit = request_limit(per_second)
    assert limit.policy.decode() == f'"requests";q={2 * per_second};w=2'
    assert FAILED_AUTHENTICATION.policy == b'"failed-authentication";q=20;w=60'


@pytest.mark.parametrize(("wait", "header"), [(0.0001, b"1"), (1.0, b"1"), (1.01, b"2"), (2.5, b"3")])
def test_retry_after_is_whole_seconds_and_enough(wait: float, header: bytes) -> None:
    assert RateVerdict(False, 0, wait).retry_after == header


async def test_failures_of_one_network_are_counted_together(limited: ApiStudio, time_: Time) -> None:
    time_.now += 7000
    tried = [(await limited.studio_with("x", f"2001:db8:1:2::{number:x}")).status for number in range(1, 25)]
    assert tried == [401] * 20 + [429] * 4
    assert (await limited.studio_with("x", "2001:db8:1:3::1")).status == 401
