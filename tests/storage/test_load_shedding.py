"""The expected waiting time in a queue, estimated from how fast it moves."""

import pytest

from studiogate import clock
from studiogate.storage.db.load_shedding import MAX_STEP, MAX_WAIT_SECONDS, WaitEstimate


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    stopped = Time()
    monkeypatch.setattr(clock, "monotonic", stopped)
    return stopped


def move(estimate: WaitEstimate, time: Time, seconds: float, steps: int = 200) -> None:
    for _ in range(steps):
        time.now += seconds
        estimate.step(others_wait=True)


def test_a_queue_that_never_moved_is_joined() -> None:
    assert not WaitEstimate().would_time_out(1_000_000)


@pytest.mark.parametrize("seconds", [0.001, 0.01, 0.05])
def test_the_wait_is_the_length_times_the_step(time: Time, seconds: float) -> None:
    estimate = WaitEstimate()
    move(estimate, time, seconds)
    ahead = MAX_WAIT_SECONDS / seconds
    assert not estimate.would_time_out(int(ahead * 0.99))
    assert estimate.would_time_out(int(ahead * 1.01) + 1)


def test_it_follows_what_happens(time: Time) -> None:
    estimate = WaitEstimate()
    move(estimate, time, 0.05)
    move(estimate, time, 0.001)
    assert not estimate.would_time_out(400)


def test_what_is_idle_is_not_slow(time: Time) -> None:
    """Time in which nothing waited does not count."""
    estimate = WaitEstimate()
    move(estimate, time, 0.001)
    estimate.step(others_wait=False)
    time.now += 3600
    estimate.step(others_wait=True)
    assert not estimate.would_time_out(400)


def test_idle_time_is_not_part_of_the_estimate(time: Time) -> None:
    estimate = WaitEstimate()
    move(estimate, time, 0.001)
    move(estimate, time, 60, steps=1)
    assert not estimate.would_time_out(50)
    move(estimate, time, 60)
    assert estimate.would_time_out(int(MAX_WAIT_SECONDS / MAX_STEP) + 1)


def test_a_partly_executed_batch_counts_as_such(time: Time) -> None:
    """Of each turn, only half is done: whoever joins the queue waits for twice as many."""
    estimate = WaitEstimate()
    for _ in range(400):
        time.now += 0.01
        estimate.step(others_wait=True, requests=0.5)
    ahead = MAX_WAIT_SECONDS / 0.02
    assert not estimate.would_time_out(int(ahead * 0.99))
    assert estimate.would_time_out(int(ahead * 1.01) + 1)


def test_a_longer_step_can_be_allowed(time: Time) -> None:
    estimate = WaitEstimate(4 * MAX_STEP)
    move(estimate, time, 60)
    assert estimate.would_time_out(int(MAX_WAIT_SECONDS / MAX_STEP / 4) + 1)
