"""A fault in the worker is logged, and a job that ends stops its process, so that it is restarted."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bench.service import Service, wait_for
from studiogate import settings
from studiogate.runtime import Runtime
from studiogate.worker.webhooks import Deliverer
from tests.support import ended_job_worker
from tests.support.deadlines import LONG

pytestmark = pytest.mark.anyio


async def test_a_fault_of_the_poll_is_logged_and_tried_again(
    connection: Any, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studiogate.worker.webhooks.POLL_SECONDS", 0.01)
    await connection.execute("alter table webhook_deliveries rename to webhook_deliveries_away")
    runtime = Runtime.open(settings.Settings(database_url=database_url, data_dir=tmp_path))
    with capture_logs() as logged:
        running = asyncio.create_task(Deliverer(runtime).run())
        while len(faults := [each for each in logged if each["event"] == "due deliveries not looked up"]) < 2:
            assert not running.done()
            await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    await runtime.close()
    assert {each["log_level"] for each in faults} == {"warning"}
    assert {each["problem"] for each in faults} == {"UndefinedTableError"}


def test_a_job_that_ends_ends_its_process_which_is_started_again(database_url: str) -> None:
    with Service(database_url, workers=1, sweep=True, worker_module=ended_job_worker.__name__) as service:

        def named(event: str) -> list[dict[str, Any]]:
            lines = [json.loads(line) for line in service.log.read_text().splitlines() if line.startswith("{")]
            return [line for line in lines if line["event"] == event]

        wait_for(lambda: len(named("worker job ended")) > 1, LONG, service.log_tail)
        assert {(line["level"], line["job"]) for line in named("worker job ended")} == {("error", "number")}

        def deaths() -> list[int]:
            return [line["status"] for line in named("process died") if line["name"] == "worker"]

        wait_for(lambda: len(deaths()) > 1, LONG, service.log_tail)
        assert set(deaths()) == {1}
        wait_for(service.answers, LONG, service.log_tail)
