"""`serve` and `worker` as real processes: the admin port, metrics of all processes, draining, the log."""

import base64
import http.client
import json
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.service import wait_for
from tests.cli.test_commands import COMMAND, environment
from tests.support.databases import run
from tests.support.deadlines import LONG
from tests.support.seed import new_key

SECRET_KEY = base64.b64encode(bytes(32)).decode()  # the services share a database, not a folder
HEALTH = ("/livez", "/readyz", "/up", "/metrics")
SPELLINGS = (
    "/%6detrics",
    "/metric%73",
    "/%6Civez",
    "//metrics",
    "/./metrics",
    "/x/../metrics",
    "/metrics/",
    "/%72eadyz",
    "/%75p",
)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


def ask(port: int, path: str, **headers: str) -> tuple[int, str, str]:
    """Send a request on a new connection; return the status, the body and the Connection header."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers.get("Connection", "")
    finally:
        connection.close()


class Running:
    """A command with its log."""

    def __init__(self, log: Path, *arguments: str, **settings: str) -> None:
        self.log = log
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [*COMMAND, *arguments],
                env=environment(LOG_FORMAT="json", SECRET_KEY=SECRET_KEY, **settings),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def lines(self) -> list[dict[str, Any]]:
        """Return the log lines; every line must be JSON."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def wait_until_ready(self) -> dict[str, Any]:
        def is_ready() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            return any(line["event"] == "ready" for line in self.lines())

        wait_for(is_ready, LONG, lambda: self.log.read_text())
        return next(line for line in self.lines() if line["event"] == "ready")

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def database(new_database: Callable[[], str]) -> tuple[str, str]:
    url = new_database()
    return url, run(new_key(url))


@pytest.fixture(scope="module")
def served(
    database: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Running, int, int, str]]:
    folder, admin = tmp_path_factory.mktemp("served"), free_port()
    settings = {"ADMIN_PORT": str(admin), "DRAIN_SECONDS": "300", "DATABASE_URL": database[0]}
    running = Running(folder / "log", "serve", "--port", "0", "--workers", "2", "--data", str(folder), **settings)
    try:
        port = int(running.wait_until_ready()["base_url"].split(":")[2].split("/")[0])
        yield running, port, admin, database[1]
    finally:
        running.end()


def test_health_is_on_the_admin_port_only(served: tuple[Running, int, int, str]) -> None:
    _, public, admin, _ = served
    assert [ask(admin, path)[0] for path in HEALTH] == [200] * len(HEALTH)
    assert ask(public, "/up")[0] == 200, "where hosts of containers and load balancers ask"
    hidden = (*(path for path in HEALTH if path != "/up"), *SPELLINGS)
    assert [ask(public, path)[0] for path in hidden] == [404] * len(hidden)
    unknown = json.loads(ask(public, "/unknown", **{"X-Request-Id": "same"})[1])
    assert json.loads(ask(public, "/metrics", **{"X-Request-Id": "same"})[1]) == unknown
    assert ask(admin, "/partner/v1/studio")[0] == 404
    assert ask(admin, "/docs")[0] == 404


def test_any_process_serves_the_metrics_of_all(served: tuple[Running, int, int, str]) -> None:
    _, public, admin, key = served
    assert ask(public, "/partner/v1/studio", **{"X-Service-Key": key})[0] == 200
    wanted = (
        'studiogate_requests_total{method="GET",route="/partner/v1/studio",status="200"} 1.0',
        'studiogate_process_cpu_seconds_total{process="api"}',
        'studiogate_process_cpu_seconds_total{process="worker"}',
        'studiogate_process_resident_memory_bytes{process="api"}',
        'studiogate_process_resident_memory_bytes{process="worker"}',
        "studiogate_database_pool_size 10.0",
        'studiogate_database_connections{state="in_use"}',
        "studiogate_database_queue_length 0.0",
        "studiogate_class_queue_length 0.0",
        "studiogate_http_connections",
        'studiogate_queue_length{queue="mails"} 0.0',
        'studiogate_queue_length{queue="deliveries"} 0.0',
        'studiogate_queue_age_seconds{queue="deliveries"} 0.0',
        "studiogate_build_info{",
    )
    wait_for(lambda: all(each in ask(admin, "/metrics")[1] for each in wanted), LONG, lambda: ask(admin, "/metrics")[1])


def test_every_line_is_json_and_names_the_studio(served: tuple[Running, int, int, str]) -> None:
    running, public, _, key = served
    response = ask(public, "/partner/v1/locations", **{"X-Service-Key": key, "X-Request-Id": "looked-for"})
    assert response[0] == 200

    def line() -> list[dict[str, Any]]:
        return [each for each in running.lines() if each.get("request_id") == "looked-for"]

    wait_for(lambda: bool(line()), LONG, "no line was written")
    studio = json.loads(ask(public, "/partner/v1/studio", **{"X-Service-Key": key})[1])
    assert line()[0]["studio_id"] == studio["id"]
    before = [each["event"] for each in running.lines()]
    assert "request" not in before[: before.index("ready")], "our own probes stand in the log"
    assert not [each for each in running.lines() if each.get("route") in HEALTH and each["route"] != "/up"]


def test_readiness_fails_before_the_listener_closes(served: tuple[Running, int, int, str]) -> None:
    """Must be the last test on this service. Draining would take minutes: the second signal ends it."""
    running, public, admin, key = served
    running.process.send_signal(signal.SIGTERM)
    wait_for(lambda: ask(admin, "/readyz")[0] == 503, LONG, "it stays ready")
    for _ in range(10):  # whichever process answers
        wait_for(lambda: ask(admin, "/readyz")[0] == 503, LONG, "one of them stays ready")
    assert json.loads(ask(admin, "/readyz")[1])["error"]["details"] == {"problem": "draining"}
    assert ask(admin, "/livez")[0] == 200
    status, _, connection = ask(public, "/partner/v1/studio", **{"X-Service-Key": key})
    assert (status, connection) == (200, "close"), "new connections are still served, and sent elsewhere afterwards"
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(LONG) == 0
    with pytest.raises(ConnectionRefusedError):
        ask(public, "/livez")
    assert running.lines()[-1]["event"] == "stopped"


def test_without_an_admin_port_health_has_one_spelling(database: tuple[str, str], tmp_path: Path) -> None:
    settings = {"DRAIN_SECONDS": "300", "DATABASE_URL": database[0]}
    running = Running(tmp_path / "log", "serve", "--port", "0", "--workers", "1", "--data", str(tmp_path), **settings)
    try:
        port = int(running.wait_until_ready()["base_url"].split(":")[2].split("/")[0])
        assert [ask(port, path)[0] for path in HEALTH] == [200] * len(HEALTH)
        assert [ask(port, path)[0] for path in SPELLINGS] == [404] * len(SPELLINGS)
        running.process.send_signal(signal.SIGINT)  # Ctrl-C does not wait for a proxy
        assert running.process.wait(LONG) == 0
    finally:
        running.end()


def doc_url_of_broken_http(port: int) -> str:
    with socket.create_connection(("127.0.0.1", port), timeout=LONG) as connection:
        connection.sendall(b"GET / NONSENSE\r\n\r\n")
        head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 "), head
    return str(json.loads(body)["error"]["doc_url"])


def test_errors_name_pages_below_the_public_url(database: tuple[str, str], tmp_path: Path) -> None:
    """Including errors sent before there is a complete request, and those of the admin port."""
    public, admin, errors = free_port(), free_port(), "https://studio.example/docs/errors#"
    settings = {"ADMIN_PORT": str(admin), "PUBLIC_URL": "https://studio.example/", "DATABASE_URL": database[0]}
    options = ["--port", str(public), "--workers", "1", "--no-worker", "--data", str(tmp_path)]
    running = Running(tmp_path / "log", "serve", *options, **settings)
    try:
        running.wait_until_ready()
        wait_for(lambda: answers(admin), LONG, lambda: running.log.read_text())
        for port in (public, admin):
            assert json.loads(ask(port, "/unknown")[1])["error"]["doc_url"] == errors + "not_found"
            assert doc_url_of_broken_http(port) == errors + "invalid_http"
    finally:
        running.end()


def test_the_worker_has_health_and_metrics(database: tuple[str, str], tmp_path: Path) -> None:
    admin = free_port()
    settings = {"ADMIN_PORT": str(admin), "DATABASE_URL": database[0], "DATA_DIR": str(tmp_path)}
    running = Running(tmp_path / "log", "worker", PUBLIC_URL="https://studio.example", **settings)
    try:
        running.wait_until_ready()
        wait_for(lambda: answers(admin), LONG, lambda: running.log.read_text())
        assert [ask(admin, path)[0] for path in HEALTH] == [200] * len(HEALTH)
        missing = json.loads(ask(admin, "/")[1])["error"]
        assert missing["doc_url"] == "https://studio.example/docs/errors#not_found"
        assert doc_url_of_broken_http(admin) == "https://studio.example/docs/errors#invalid_http"
        wanted = ('queue="deliveries"', 'process="worker"', "studiogate_build_info")
        wait_for(lambda: all(each in ask(admin, "/metrics")[1] for each in wanted), LONG, "metrics are missing")
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(LONG) == 0
        assert running.lines()[-1]["event"] == "stopped"
    finally:
        running.end()


def answers(port: int) -> bool:
    try:
        return ask(port, "/livez")[0] == 200
    except OSError:
        return False


def test_an_admin_port_in_use_is_reported(database: tuple[str, str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [*COMMAND, "serve", "--port", "0", "--data", str(tmp_path)],
            env=environment(ADMIN_PORT=port, DATABASE_URL=database[0]),
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )
    assert done.returncode == 1
    assert "STUDIOGATE_ADMIN_PORT" in done.stderr
