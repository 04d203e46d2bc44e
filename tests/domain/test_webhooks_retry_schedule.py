"""When a delivery is retried."""

from datetime import UTC, datetime, timedelta

import pytest

from studiogate.domain.webhooks.deliveries import DELAYS, JITTER, Attempted, judge, retry_after

NOW = datetime(2026, 11, 15, 8, tzinfo=UTC)


def test_the_contract_s_schedule() -> None:
    hours = [each.total_seconds() / 3600 for each in DELAYS]
    assert hours == [0, 5 / 3600, 5 / 60, 0.5, 2, 5, 10, 14, 20, 24]


def test_every_failure_waits_for_its_delay_and_the_last_one_ends_it() -> None:
    failed = Attempted(NOW, 5, status=500)
    for before in range(len(DELAYS) - 1):
        verdict = judge(failed, before)
        assert verdict.status == "pending"
        assert DELAYS[before + 1] <= verdict.delay <= DELAYS[before + 1] * (1 + JITTER)
    assert judge(failed, len(DELAYS) - 1).status == "failed"


def test_jitter_spreads() -> None:
    assert len({judge(Attempted(NOW, 5, status=500), 2).delay for _ in range(20)}) > 10


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_success(status: int) -> None:
    assert judge(Attempted(NOW, 5, status=status), 0).status == "succeeded"


@pytest.mark.parametrize("status", [199, 301, 302, 304, 307, 308, 400, 404, 429, 500, 503])
def test_everything_else_is_tried_again(status: int) -> None:
    assert judge(Attempted(NOW, 5, status=status), 0).status == "pending"


def test_gone_is_not_tried_again() -> None:
    assert judge(Attempted(NOW, 5, status=410), 0).status == "failed"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("120", 120), (" 5 ", 5), ("Sun, 15 Nov 2026 08:01:00 GMT", 60), ("Sun, 15 Nov 2026 07:00:00 GMT", 0),
     ("99999999999", 86_400), ("Sun, 15 Nov 9999 08:00:00 GMT", 86_400),
     ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", 0), (None, 0), ("", 0), ("soon", 0), ("-5", 0), ("²", 0)],
)  # fmt: skip
def test_retry_after(value: str | None, seconds: int) -> None:
    assert retry_after(value, NOW) == timedelta(seconds=seconds)


def test_retry_after_only_ever_waits_longer() -> None:
    assert judge(Attempted(NOW, 5, status=503, retry_after="600"), 0).delay == timedelta(minutes=10)
    assert judge(Attempted(NOW, 5, status=503, retry_after="1"), 1).delay >= timedelta(minutes=5)
