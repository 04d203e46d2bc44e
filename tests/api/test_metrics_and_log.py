"""Log and metrics: one line and one count per request, no secrets in either, and no series that attackers can add."""

import asyncio
import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import structlog
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from bench.service import wait_for
from studiogate import telemetry
from studiogate.storage.db.pool import DatabaseUnavailableError
from studiogate.web.limits import Buckets
from tests.support.asgi import PREFIX, ask, post
from tests.support.databases import run
from tests.support.deadlines import LONG
from tests.support.partner_api import PartnerApi
from tests.support.seed import Studio, issue_key, seed_studio

pytestmark = pytest.mark.anyio

EMAIL = "sam.secret@example.com"
SERIES = re.compile(r'^studiogate_requests_total\{method="([^"]*)",route="([^"]*)",status="(\d+)"\} ([\d.e+]+)$', re.M)


class Log:
    """The access log, written to a pipe instead of standard output."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, template: str) -> None:
        self._reading, writing = os.pipe()
        os.set_blocking(self._reading, False)
        monkeypatch.setattr(telemetry.request_records, "_file_descriptor", writing)
        monkeypatch.setattr(telemetry.request_records, "_template", template)

    def text(self) -> str:
        telemetry.request_records.write()  # write what this iteration of the event loop has not written yet
        try:
            return os.read(self._reading, 1_000_000).decode()
        except BlockingIOError:
            return ""

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text().splitlines()]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    return Log(monkeypatch, telemetry._JSON_LINE)


# The log


async def test_one_line_per_request(shared_api: PartnerApi, key: str, log: Log) -> None:
    for method, path, sent, route, status in (
        ("GET", "/studio", key, "/partner/v1/studio", 200),
        ("GET", "/classes/not-an-id", key, "/partner/v1/classes/{class_id}", 422),
        ("GET", "/nothing", key, "none", 404),
        ("PUT", "/studio", key, "/partner/v1/studio", 405),
        ("GET", "/studio", None, "/partner/v1/studio", 401),
        ("OPTIONS", "/studio", None, "/partner/v1/studio", 204),
        ("HEAD", "/studio", key, "/partner/v1/studio", 200),
        ("GET", "//livez", None, "/livez", 200),
        ("GET", "//elsewhere", None, "none", 404),
        ("BREW", "/studio", key, "/partner/v1/studio", 405),
    ):
        response = await ask(shared_api.app, method, path, key=sent)
        (line,) = log.lines()
        assert line["event"] == "request"
        assert line["method"] == (method if method != "BREW" else "other")
        assert (line["route"], line["status"]) == (route, status)
        assert line["key_id"] == (key.split("_")[2] if sent else "")
        assert line["request_id"] == response.header("x-request-id")
        assert line["milliseconds"] >= 0
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", line["timestamp"])


@pytest.mark.parametrize("form", [telemetry._JSON_LINE, telemetry._CONSOLE_LINE], ids=["json", "console"])
async def test_no_secrets_and_no_people(
    shared_api: PartnerApi, studios: list[Studio], key: str, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    log = Log(monkeypatch, form)
    member = studios[0].first("member")
    forged = key[:-1] + ("a" if key[-1] != "a" else "b")
    for sent in (key, forged):
        await ask(shared_api.app, "GET", f"/leads?email={EMAIL}", key=sent)
        await ask(shared_api.app, "GET", f"/members/{member}", key=sent)
        await ask(shared_api.app, "GET", f"/members/{EMAIL}", key=sent)
        await ask(
            shared_api.app, "GET", f"/{EMAIL}?{key}", key=sent, headers=[("user-agent", EMAIL), ("cookie", EMAIL)]
        )
        await post(shared_api.app, "/bookings", sent, {"class_id": EMAIL, EMAIL: EMAIL}, ("idempotency-key", EMAIL))
        await ask(shared_api.app, "GET", "/studio", key=sent, headers=[("x-request-id", EMAIL)])
    text = log.text()
    assert text.count("\n") == 12
    for secret in (key.split("_")[3], key, forged, EMAIL, EMAIL.split("@")[0], str(member), "?"):
        assert secret not in text


@pytest.mark.parametrize("own", ['x","level":"error', "x\nGET /", "\x1b[31m", "{0}", "%s", "x" * 200])
async def test_a_line_cannot_be_forged(shared_api: PartnerApi, key: str, log: Log, own: str) -> None:
    await ask(shared_api.app, "GET", f"/{own}", key=key, headers=[("x-request-id", own.encode())])
    await ask(shared_api.app, own, "/studio", key=key)
    lines = log.lines()
    assert len(lines) == 2
    assert [line["level"] for line in lines] == ["info", "info"]


async def test_a_failure_is_logged_without_its_values(
    shared_api: PartnerApi, key: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The stack is logged, the message is not, because PostgreSQL puts rows into its messages."""

    async def fail(_key: object) -> None:
        raise RuntimeError(f"Key (email)=({EMAIL}) already exists")

    configured = structlog.get_config()
    try:
        telemetry.configure_logging("json")
        monkeypatch.setattr("studiogate.web.front_end.log", structlog.get_logger())
        monkeypatch.setattr(shared_api.app.authenticator, "authenticate", fail)
        response = await ask(shared_api.app, "GET", "/studio", key=key)
    finally:
        structlog.configure(**configured)
        telemetry.request_records._file_descriptor = None
    written = capfd.readouterr().out
    assert response.status == 500
    assert "RuntimeError" in written
    request_id = response.header("x-request-id")
    assert request_id is not None
    assert request_id in written
    assert EMAIL not in written
    assert key not in written


async def test_records_are_written_in_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write is small enough to be atomic on a pipe, so that the lines of two processes never mix."""
    pieces: list[bytes] = []
    monkeypatch.setattr(telemetry, "_write", lambda _file_descriptor, piece: pieces.append(piece))
    monkeypatch.setattr(telemetry.request_records, "_file_descriptor", 1)
    monkeypatch.setattr(telemetry.request_records, "_template", telemetry._JSON_LINE)
    for number in range(100):
        telemetry.request_records.add(telemetry.RequestRecord("GET", "/turn", 200, 0.001, 5, "key", f"r{number}"))
    assert pieces == []
    await asyncio.sleep(0)
    assert 1 < len(pieces) < 100
    assert max(len(piece) for piece in pieces) <= select.PIPE_BUF
    lines = [json.loads(line) for piece in pieces for line in piece.decode().splitlines()]
    assert [line["request_id"] for line in lines] == [f"r{number}" for number in range(100)]


# The metrics


def counted() -> dict[tuple[str, str, str], float]:
    text = telemetry.metrics_text().decode()
    return {(method, route, status): float(value) for method, route, status, value in SERIES.findall(text)}


async def test_requests_are_counted(shared_api: PartnerApi, key: str) -> None:
    before = counted()
    for _ in range(3):
        await ask(shared_api.app, "GET", "/studio", key=key)
    await ask(shared_api.app, "GET", "/studio?x=1", key=None)
    after = counted()
    ok, refused = ("GET", "/partner/v1/studio", "200"), ("GET", "/partner/v1/studio", "401")
    assert after[ok] - before.get(ok, 0) == 3
    assert after[refused] - before.get(refused, 0) == 1


async def test_many_durations_are_counted_like_one_by_one() -> None:
    registry = CollectorRegistry()
    together = telemetry._Durations("together", "x", buckets=telemetry._BUCKETS, registry=registry)
    apart = Histogram("apart", "x", buckets=telemetry._BUCKETS, registry=registry)
    amounts = [0.0, 0.001, 0.0011, 0.3, 0.3, 5.0, 60.0]
    together.observe_all(amounts)
    for amount in amounts:
        apart.observe(amount)
    exposed = generate_latest(registry).decode()
    series = [re.findall(rf"^{name}_(?:bucket|sum|count).*$", exposed, re.M) for name in ("together", "apart")]
    assert [line.removeprefix("together") for line in series[0]] == [line.removeprefix("apart") for line in series[1]]
    assert len(series[0]) == len(telemetry._BUCKETS) + 3


async def test_an_attacker_makes_no_series(shared_api: PartnerApi, studios: list[Studio], key: str) -> None:
    """Whatever paths, methods, ids, codes and keys are sent, no series is added after the first of each kind."""

    async def attack(word: str) -> None:
        for method in ("GET", "POST", word, word.lower()):
            for path in (
                f"/{word}",
                f"/classes/{word}",
                f"/{word}/x",
                f"//{word}",
                "/studio",
                f"/classes?{word}={word}",
            ):
                for sent in (key, word, None):
                    await ask(
                        shared_api.app, method, path, key=sent, headers=[("x-request-id", word), ("user-agent", word)]
                    )

    await attack("FIRST")
    before = set(re.findall(r"^\w+(?:\{.*?\})?(?= )", telemetry.metrics_text().decode(), re.M))
    for number in range(10):
        await attack(f"NEXT{number}")
    after = set(re.findall(r"^\w+(?:\{.*?\})?(?= )", telemetry.metrics_text().decode(), re.M))
    assert after == before


async def test_metrics_name_no_secret(shared_api: PartnerApi, studios: list[Studio], key: str) -> None:
    await ask(shared_api.app, "GET", f"/leads?email={EMAIL}", key=key)
    response = await ask(shared_api.app, "GET", "//metrics")
    assert response.status == 200
    assert (
        response.header(
            "content-type",
        )
        == telemetry.METRICS_CONTENT_TYPE
    )
    text = response.body.decode()
    for secret in (key, key.split("_")[2], EMAIL, studios[0].canary, str(studios[0].studio_id)):
        assert secret not in text


async def test_readiness(shared_api: PartnerApi, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await ask(shared_api.app, "GET", "//readyz")).json() == {"status": "ok"}
    assert (await ask(shared_api.app, "GET", "//livez")).json() == {"status": "ok"}

    class LostDatabase:
        def connection(self) -> None:
            raise DatabaseUnavailableError("host=secret")

    monkeypatch.setattr(shared_api.app.health, "_database", LostDatabase())
    response = await ask(shared_api.app, "GET", "//readyz")
    assert response.status == 503
    assert response.header("retry-after")
    assert "secret" not in response.body.decode()
    assert (await ask(shared_api.app, "GET", "//livez")).status == 200


# Two real processes


@pytest.fixture(scope="module")
def processes(new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, ...]]:
    """Two API processes as the supervisor starts them, each on its own port, with a shared table of buckets."""
    folder, url = tmp_path_factory.mktemp("processes"), new_database()

    async def prepare() -> str:
        connection = await asyncpg.connect(url)
        try:
            return await issue_key(connection, await seed_studio(connection), rate_limit=10)
        finally:
            await connection.close()

    key = run(prepare())
    Buckets.create(folder / "buckets")
    (folder / "metrics").mkdir()
    environment = {
        **os.environ,
        "STUDIOGATE_DATABASE_URL": url,
        "STUDIOGATE_LOG_FORMAT": "json",
        "PROMETHEUS_MULTIPROC_DIR": str(folder / "metrics"),
    }
    lifeline = os.pipe()
    started, ports, logs = [], [], []
    for number in range(2):
        listening = socket.create_server(("127.0.0.1", 0))
        listening.set_inheritable(True)
        ports.append(listening.getsockname()[1])
        logs.append(folder / f"log-{number}")
        options = ["--socket", listening.fileno(), "--lifeline", lifeline[0], "--buckets", folder / "buckets"]
        with logs[-1].open("wb") as output:
            started.append(
                subprocess.Popen(
                    [sys.executable, "-m", "studiogate.server.api_process", *map(str, options)],
                    env=environment,
                    pass_fds=(listening.fileno(), lifeline[0]),
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
            )
        listening.close()
    try:
        yield ports, logs, key
    finally:
        for port in ports:  # the signal kills a process that is still starting instead of draining it
            fetch(port, "/livez")
        for process in started:
            process.send_signal(signal.SIGTERM)
        statuses = [process.wait(LONG) for process in started]
        for descriptor in lifeline:
            os.close(descriptor)
        assert statuses == [0, 0]


def fetch(port: int, path: str, key: str | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
    try:
        connection.request("GET", path, headers={"X-Service-Key": key} if key else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_two_processes_add_up(processes: tuple[list[int], list[Path], str]) -> None:
    """Each process reports the sum and writes its own log lines; the rate limit is shared."""
    ports, logs, key = processes
    for number, port in enumerate(ports):
        for _ in range(3 + number):
            assert fetch(port, f"{PREFIX}/studio", key)[0] == 200

    def counted(port: int) -> float:
        found = {(m, r, s): float(v) for m, r, s, v in SERIES.findall(fetch(port, "/metrics")[1])}
        return found[("GET", "/partner/v1/studio", "200")]

    for port in ports:  # a request is counted after its response is sent
        wait_for(lambda port=port: counted(port) >= 7, LONG, "not every request was counted")  # type: ignore[misc]
        assert counted(port) == 7
    statuses: list[int] = []
    started = time.monotonic()
    while 429 not in statuses and time.monotonic() - started < 20:
        statuses += [fetch(port, f"{PREFIX}/studio", key)[0] for port in ports]
    taken = statuses.count(200)
    assert taken <= 20 + 10 * (time.monotonic() - started) + 5
    for number, path in enumerate(logs):
        text = path.read_text()
        lines = [json.loads(line) for line in text.splitlines()]
        requests = [line for line in lines if line["event"] == "request"]
        assert requests == lines
        assert sum(line["route"] == "/partner/v1/studio" for line in requests[: 3 + number]) == 3 + number
        assert {line["key_id"] for line in requests if "studio" in line["route"]} == {key.split("_")[2]}
        assert key not in text
        assert EMAIL not in text
