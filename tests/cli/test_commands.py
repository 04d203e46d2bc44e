"""The CLI as a person uses it: real commands, real processes."""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from bench.service import wait_for
from studiogate import settings
from studiogate.cli import serve
from studiogate.server.postgres.embedded import EmbeddedPostgresError
from studiogate.storage.private_file import PrivateFile
from tests.support.commands import run_command
from tests.support.deadlines import LONG

COMMAND = [sys.executable, "-m", "studiogate"]


def environment(**settings: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STUDIOGATE_")}
    return {**clean, "COLUMNS": "200", **{f"STUDIOGATE_{name}": value for name, value in settings.items()}}


def run(*arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    done = run_command(*arguments, environ=environment(**settings))
    return subprocess.CompletedProcess(arguments, done.returncode, done.stdout.decode(), done.stderr.decode())


def answer_of(port: int, path: str, key: str | None = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
    connection.request("GET", path, headers={"X-Service-Key": key} if key else {})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, json.loads(body) if body.startswith(b"{") else body.decode()


class Service:
    """`studiogate up` on its own folder, as a person starts it."""

    def __init__(self, folder: Path, *arguments: str, command: Sequence[str] = COMMAND) -> None:
        self.folder = folder
        self.log = folder.parent / f"{folder.name}.log"
        with self.log.open("w") as output:
            self.process = subprocess.Popen(
                [*command, "up", "--port", "0", "--data", str(folder), "--workers", "2", *arguments],
                env=environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.text = self._wait_for("Ctrl-C stops it.")
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)/partner/v1", self.text)[1])  # type: ignore[index]

    def _wait_for(self, words: str) -> str:
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline:
            text = self.log.read_text()
            if words in text:
                return text
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        text = self.log.read_text()
        self.stop(signal.SIGTERM)
        raise AssertionError(f"`up` did not come up:\n{text}")

    @property
    def key(self) -> str:
        return re.search(r"Demo key:\s+(sgk_test_\w+)", self.text)[1]  # type: ignore[index]

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(LONG)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    started = Service(tmp_path_factory.mktemp("service") / "data")
    yield started
    started.stop()


def test_the_version_is_that_of_the_package() -> None:
    printed = run("--version")
    assert (printed.returncode, printed.stdout, printed.stderr) == (0, f"studiogate {version('studiogate')}\n", "")


def test_up_prints_a_key_and_a_request_that_works(service: Service) -> None:
    command = re.search(r"curl -s -H 'X-Service-Key: (\S+)' '(\S+)'", service.text)
    assert command is not None
    assert command[1] == service.key
    path = command[2].split(str(service.port), 1)[1]
    status, body = answer_of(service.port, path, service.key)
    assert status == 200
    assert len(body["data"]) == 2
    assert all(each["start_time"] > f"{datetime.now(UTC):%Y-%m-%dT%H:%M}" for each in body["data"]), "classes to come"
    assert answer_of(service.port, "/docs")[0] == 200
    assert answer_of(service.port, "/readyz") == (200, {"status": "ok"})


def test_the_demo_studio_is_alive(service: Service) -> None:
    _, upcoming = answer_of(service.port, "/partner/v1/classes?status=scheduled&limit=200", service.key)
    assert any(each["available_count"] == 0 and each["waitlist_count"] > 0 for each in upcoming["data"])
    assert any(each["available_count"] > 0 for each in upcoming["data"])
    assert len(answer_of(service.port, "/partner/v1/locations", service.key)[1]["data"]) >= 2


def test_files_of_the_demo_studio_can_be_read_and_others_stored(service: Service) -> None:
    base, headers = f"http://127.0.0.1:{service.port}/partner/v1", {"X-Service-Key": service.key}
    with httpx2.Client(headers=headers, timeout=LONG) as client:
        forms = client.get(f"{base}/forms").json()["data"]
        form, field = next(
            (form["id"], field["key"])
            for form in forms
            for field in form["fields"]
            if field["type"] == "file_upload" and form["status"] == "published"
        )
        sent = client.get(f"{base}/forms/{form}/submissions").json()["data"]
        submission, answer = next((each["id"], each["data"][field]) for each in sent if each["data"].get(field))
        upload = answer if isinstance(answer, str) else answer[0]
        assert client.get(f"{base}/forms/{form}/submissions/{submission}/files/{upload}").status_code == 200
        given = {"file": ("x.pdf", b"%PDF-1.4\n%%EOF\n", "application/pdf")}
        stored = client.post(f"{base}/forms/{form}/uploads", data={"field_key": field}, files=given)
    assert stored.status_code == 201, stored.text


def test_commands_work_while_up_runs(service: Service) -> None:
    data = ["--data", str(service.folder)]
    made = run("key", "create", "--studio", "demo", "--name", "Aggregator", "--scope", "schedule:read", "--json", *data)
    assert made.returncode == 0, made.stderr
    issued = json.loads(made.stdout)
    assert sorted(issued) == ["id", "key", "location_ids", "name", "scopes"]
    assert answer_of(service.port, "/partner/v1/classes?limit=1", issued["key"])[0] == 200
    assert answer_of(service.port, "/partner/v1/members", issued["key"])[0] == 403
    rotated = run("key", "rotate", issued["id"], "--overlap", "0m", "--json", *data)
    assert rotated.returncode == 0, rotated.stderr
    assert answer_of(service.port, "/partner/v1/classes?limit=1", json.loads(rotated.stdout)["key"])[0] in (200, 401)
    listed = json.loads(run("key", "list", "--json", *data).stdout)
    assert {"Aggregator", "Demo"} <= {each["name"] for each in listed}
    assert run("key", "revoke", issued["id"], *data).returncode == 0
    doctor = run("doctor", "--json", *data)
    assert doctor.returncode == 0, doctor.stdout
    assert {finding["level"] for finding in json.loads(doctor.stdout)} <= {"ok", "warning"}


def test_a_form_s_link_leads_to_where_up_listens(service: Service) -> None:
    data = ["--data", str(service.folder)]
    form = answer_of(service.port, "/partner/v1/forms?limit=1", service.key)[1]["data"][0]["id"]
    member = answer_of(service.port, "/partner/v1/members?limit=1", service.key)[1]["data"][0]["id"]
    made = run("form", "link", form, "--member", member, "--json", *data)
    assert made.returncode == 0, made.stderr
    origin = f"http://127.0.0.1:{service.port}"
    url = json.loads(made.stdout)["url"]
    assert url.startswith(origin + "/f/demo/")
    assert answer_of(service.port, url.removeprefix(origin))[0] == 200


def test_metrics_add_up_over_the_workers(service: Service) -> None:
    for _ in range(10):
        answer_of(service.port, "/partner/v1/rooms", service.key)
    pattern = r'studiogate_requests_total\{method="GET",route="/partner/v1/rooms",status="200"\} ([\d.]+)'

    def counted() -> float:
        found = re.search(pattern, answer_of(service.port, "/metrics")[1])
        return float(found[1]) if found else 0

    wait_for(lambda: counted() >= 10, LONG, "not every request was counted")  # counted after the response is sent
    assert counted() == 10


def test_no_secret_and_nobody_in_the_log(service: Service) -> None:
    answer_of(service.port, "/partner/v1/members?email=robin.castellanos@example.com", service.key)

    def written() -> list[str]:
        return [line for line in service.log.read_text().splitlines() if "/partner/v1/members" in line]

    wait_for(lambda: bool(written()), LONG, "the request was never written down")
    requests = written()
    assert not any(service.key in line or "castellanos" in line for line in requests)


def test_export_can_be_imported_and_changes_nothing(service: Service, tmp_path: Path) -> None:
    file = tmp_path / "demo.json"
    data = ["--data", str(service.folder)]
    assert run("export", "--studio", "demo", "-o", str(file), *data).returncode == 0
    imported = run("import", str(file), "--json", *data)
    assert imported.returncode == 0, imported.stdout + imported.stderr
    assert '"created": 0' in imported.stdout
    assert not re.search(r'"(created|updated)": [1-9]', imported.stdout)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared") / "data"
    for command in ("migrate", "demo"):
        assert run(command, "--data", str(folder)).returncode == 0
    return folder


@pytest.fixture
def demo_folder(prepared: Path, tmp_path: Path) -> Path:
    """Return a data folder with the demo studio; ``service`` starts on an empty one."""
    return shutil.copytree(prepared, tmp_path / "data")


def test_ctrl_c_stops_everything_and_a_second_start_finds_the_same_studio(demo_folder: Path) -> None:
    first = Service(demo_folder)
    family = psutil.Process(first.process.pid).children(recursive=True)
    assert family
    key = first.key
    assert first.stop() == 0
    assert "Stopped." in first.log.read_text()
    _, alive = psutil.wait_procs(family, timeout=LONG)
    assert not alive
    assert not (demo_folder / "postgres" / "postmaster.pid").exists()
    second = Service(demo_folder)
    try:
        assert second.key == key
        assert answer_of(second.port, "/partner/v1/studio", key)[0] == 200
    finally:
        assert second.stop(signal.SIGTERM) == 0


def test_kill_9_of_up_leaves_nothing_running_and_the_next_start_works(demo_folder: Path) -> None:
    first = Service(demo_folder)
    workers = [each for each in psutil.Process(first.process.pid).children() if "_process" in " ".join(each.cmdline())]
    first.process.kill()
    first.process.wait()
    _, alive = psutil.wait_procs(workers, timeout=LONG)
    assert not alive, "API processes outlived their supervisor"
    second = Service(demo_folder)
    try:
        assert answer_of(second.port, "/partner/v1/studio", second.key)[0] == 200
    finally:
        assert second.stop() == 0


def test_a_slow_start_is_announced_when_it_is_ready(demo_folder: Path) -> None:
    """The complaint about a slow start is not the last word: the addresses and the demo key follow."""
    with_little_time = "from studiogate.cli import entry_point, serve; serve.READY_SECONDS = 0.0; entry_point.run()"
    started = Service(demo_folder, command=(sys.executable, "-c", with_little_time))
    try:
        assert started.text.index("Studiogate does not answer yet") < started.text.index("Demo key:")
    finally:
        assert started.stop() == 0


@pytest.mark.parametrize(
    ("host", "says"),
    [
        ("not a host", "Cannot listen on 'not a host': "),
        ("203.0.113.7", "Cannot listen on '203.0.113.7': "),
        ("ä" * 64, "that is no host"),
    ],
)
def test_a_wrong_host_is_named(host: str, says: str) -> None:
    said = run("serve", "--host", host, "--port", "0", DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert (said.returncode, says in said.stderr) == (1, True), said.stderr
    assert said.stderr.endswith(" Choose another host with --host (STUDIOGATE_HOST).\n")


def test_a_backup_that_cannot_be_written_names_its_file(tmp_path: Path) -> None:
    path = tmp_path / "none" / "b.backup"
    said = run("backup", "-o", str(path), DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    expected = f"error: {path}: No such file or directory. Name another file with -o FILE.\n"
    assert (said.returncode, said.stderr) == (1, expected)
    with pytest.raises(OSError, match=str(tmp_path)) as caught, PrivateFile(tmp_path):
        pass
    assert caught.value.filename == str(tmp_path)


def test_a_private_file_follows_a_link(tmp_path: Path) -> None:
    folder, link = tmp_path / "elsewhere", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder / "target")
    for content in (b"first", b"second"):
        with PrivateFile(link) as file:
            file.write(content)
        assert (link.is_symlink(), (folder / "target").read_bytes()) == (True, content)
    assert [each.name for each in folder.iterdir()] == ["target"]


def test_a_backup_replaces_no_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    for path in (pipe, link):
        said = run("backup", "-o", str(path), DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
        expected = f"error: {path}: It exists and is no regular file. Name another file with -o FILE.\n"
        assert (said.returncode, said.stderr) == (1, expected)
    assert (pipe.is_fifo(), sorted(tmp_path.iterdir())) == (True, [link, pipe])


@pytest.mark.parametrize("words", [("studio", "list"), ("doctor",)])
def test_a_database_that_cannot_be_reached_is_called_that(words: tuple[str, ...]) -> None:
    said = run(*words, DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert said.returncode == 1
    assert "127.0.0.1:1: " in said.stdout + said.stderr
    if words != ("doctor",):
        assert said.stderr.startswith("error: The database cannot be reached: 127.0.0.1:1: ")
        assert said.stderr.endswith(". Check STUDIOGATE_DATABASE_URL, or run `studiogate doctor`.\n")


NOTHING = [
    ("studio", "list"),
    ("studio", "create", "--name", "S", "--slug", "s", "--timezone", "UTC", "--currency", "EUR", "--country", "DE"),
    ("demo",),
    ("backup", "-o", "{}/file"),
    ("export", "--studio", "north"),
    ("console", "link", "ida@example.com"),
    ("secrets", "rotate"),
]


@pytest.mark.parametrize("words", NOTHING, ids=" ".join)
def test_a_folder_without_a_database_stays_as_it_is(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A mistyped folder does not get a database; the message names the folder and the commands that create one."""
    missing = tmp_path / "mistyped"
    words = tuple(word.format(tmp_path) for word in words)
    said = run(*words, "--data", str(missing))
    assert said.returncode == 1
    assert f"There is no database in {missing}. " in said.stderr
    assert "--data (STUDIOGATE_DATA_DIR), or create a database there with `studiogate up`" in said.stderr
    assert not missing.exists()
    assert run(*words, "--data", str(tmp_path)).returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_doctor_creates_no_database(tmp_path: Path) -> None:
    said = run("doctor", "--json", "--data", str(tmp_path / "mistyped"))
    assert said.returncode == 1
    first, *_ = json.loads(said.stdout)
    assert (first["level"], first["subject"]) == ("fault", "database")
    assert first["text"].startswith(f"cannot be reached: There is no database in {tmp_path / 'mistyped'}. ")
    assert list(tmp_path.iterdir()) == []


def test_serve_refuses_a_database_that_is_not_migrated(tmp_path: Path) -> None:
    data = ["--data", str(tmp_path / "data")]
    refused = run("serve", "--port", "0", *data)
    assert refused.returncode == 1
    assert "studiogate migrate" in refused.stderr
    dry = json.loads(run("migrate", "--dry-run", "--json", *data).stdout)
    assert dry["migrations"]
    assert "studiogate migrate" in run("key", "list", *data).stderr
    assert run("migrate", *data).returncode == 0
    assert json.loads(run("migrate", "--json", *data).stdout)["migrations"] == []
    assert "There is no studio" in run("key", "create", "--studio", "x", "--name", "n", "--all-scopes", *data).stderr


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("PORT", "http"),
        ("PORT", "70000"),
        ("WORKERS", "0"),
        ("LOG_FORMAT", "xml"),
        ("RATE_LIMIT", "fast"),
        ("DATABASE_URL", "mysql://localhost"),
        ("WEBHOOK_ALLOW_CIDRS", "10.0.0.0/99"),
        ("PUBLIC_URL", "not a url"),
        ("SMTP_URL", "http://mail.example"),
        ("SMTP_URL", "smtp://"),
        ("SMTP_URL", "smtp://mail.example:99999"),
        ("MAIL_FROM", "the studio"),
        ("LIMITS_URL", "http://127.0.0.1"),
        ("LIMITS_URL", "redis://"),
    ],
)
def test_a_wrong_setting_stops_the_start_with_one_line_that_names_it(setting: str, value: str) -> None:
    refused = run("up", **{setting: value})
    assert "Value error" not in refused.stderr
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert f"STUDIOGATE_{setting}" in refused.stderr


def test_an_option_does_not_hide_a_wrong_setting() -> None:
    """The processes that a command starts read the environment too."""
    refused = run("serve", "--port", "0", PORT="http")
    assert refused.returncode == 1
    assert refused.stderr.startswith("error: STUDIOGATE_PORT has a wrong value")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("MAIL_FROM", "forms@studio.example"),
        ("MAIL_FROM", "The Studio <forms@studio.example>"),
        ("SMTP_URL", "smtps://user:p%40ss@mail.example:465"),
        ("SMTP_URL", "smtp://[::1]:2525"),
    ],
)
def test_settings_that_are_right(setting: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"STUDIOGATE_{setting}", value)
    assert getattr(settings.load(), setting.lower()) == value


@pytest.mark.parametrize(
    "arguments",
    [
        ["key", "create", "--studio", "demo", "--name", "x"],
        ["key", "create", "--studio", "demo", "--name", "x", "--scope", "everything"],
        ["key", "create", "--studio", "demo", "--name", "x", "--all-scopes", "--expires", "soon"],
        ["key", "create", "--studio", "demo", "--name", "x", "--all-scopes", "--expires", "2037-W05-1"],
        ["key", "create", "--studio", "demo", "--name", "x", "--all-scopes", "--expires", "20371231"],
        ["key", "rotate", "abcdefgh", "--overlap", "tomorrow"],
        ["class", "capacity", "not-an-id", "3"],
        ["nonsense"],
    ],
)
def test_wrong_usage_is_exit_status_2(arguments: list[str], tmp_path: Path) -> None:
    assert run(*arguments, DATA_DIR=str(tmp_path / "data")).returncode == 2


def test_a_port_in_use_is_reported_at_once(service: Service, tmp_path: Path) -> None:
    refused = run("up", "--port", str(service.port), "--data", str(tmp_path / "data"))
    assert refused.returncode == 1
    assert "Choose another with --port (STUDIOGATE_PORT, make up PORT=…)." in refused.stderr


def test_a_database_that_does_not_start_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service keeps running (and answers 503) while its embedded PostgreSQL cannot be started."""
    monkeypatch.setattr(serve, "AGAIN_SECONDS", 0.0)
    tries = []

    def ensure_running() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise EmbeddedPostgresError("no space left")

    keep_alive = serve.KeepAlive(ensure_running)
    for _ in range(5):
        keep_alive()
    assert len(tries) == 3, "twice at once, then once a second"
