"""Started by root, API and worker processes run as another user, and need nothing that only root can read."""

import io
import os
import stat
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from bench.service import API_MODULE, ROOT, Service
from studiogate import settings
from studiogate.server import service_account
from studiogate.server.service_account import Account, make_private, prepared_account
from studiogate.settings import make_data_folder
from studiogate.storage.upload_folder import FOLDER, UploadFolder
from tests.security import test_logs
from tests.support.secret_search import Secrets

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root; an ordinary user gives up nothing")

# As if the interpreter, its packages and our own were in a folder that is closed to everybody but root.
CLOSED = f"""
import os, sys

places = ({str(ROOT)!r}, sys.prefix, sys.base_prefix)

def refuse(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and os.geteuid() != 0:
        path = arguments[0]
        if path.startswith(places) or (path[:1] != "/" and path.endswith((".py", ".pyc"))):
            sys.stderr.write(f"CLOSED {{path}}\\n")
            raise PermissionError(13, "Permission denied", path)

sys.addaudithook(refuse)
"""


# What the console and the API do with files and addresses, after the switch.
USED_AFTERWARDS = """
import io

from studiogate.server import service_account

service_account.drop("65534:65534", "studiogate.api", "studiogate.hosted", "studiogate.console")

from studiogate.domain.csv_import import records
from studiogate.domain.forms.settings import encoded_url
from studiogate.domain.people import normalize_email
from studiogate.domain.studio_file.parser import Window

for codec in records.NAMES:
    data = "name\\nZoe\\n".encode(codec)
    found = records.find_encoding(io.BytesIO(data).read)
    assert list(records.read_lines(io.BytesIO(data).read, codec))[:2] == ["name", "Zoe"], (codec, found)
Window(io.BytesIO(b"{}").read)
assert normalize_email("jane@m\u00fcnchen.example") == "jane@xn--mnchen-3ya.example"
assert encoded_url("https://b\u00fccher.example/x") == "https://xn--bcher-kva.example/x"
"""


@only_root
def test_nothing_is_loaded_on_first_use(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(CLOSED)
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    command = [sys.executable, "-c", USED_AFTERWARDS]
    run = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


# A port where nothing listens: the driver looks for certificates first.
CONNECTS = """
import asyncio, os, sys

from studiogate.server import service_account
from studiogate.storage.db import pool

service_account.drop(sys.argv[1])
try:
    asyncio.run(pool.connect("postgresql://user:password@127.0.0.1:1/none"))
except pool.DatabaseUnavailableError as error:
    print(os.environ["HOME"], error)
"""


@only_root
@pytest.mark.parametrize("uid", [65534, 54321], ids=["nobody", "a user without a name"])
def test_a_database_is_reached_from_a_home_that_is_closed(tmp_path: Path, uid: int) -> None:
    """Certificates are looked for in the home of the account; root's own is closed to it."""
    home = tmp_path / "root"
    home.mkdir(mode=0o700)
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    run = subprocess.run(
        [sys.executable, "-c", CONNECTS, f"{uid}:{uid}"],
        env={**os.environ, "HOME": str(home), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert " 127.0.0.1:1: " in run.stdout
    assert str(home) not in run.stdout, "as its HOME, or as the folder that it may not enter"


@only_root
def test_what_root_left_in_the_uploads_is_given_to_the_account(tmp_path: Path) -> None:
    uploads, account = tmp_path / "uploads", Account("nobody", 65534, 65534)
    make_private(uploads, account)
    left = uploads / "incoming" / "studio"
    left.mkdir(parents=True)
    (left / "file").write_bytes(b"x")
    make_private(uploads, account)
    assert {path.stat().st_uid for path in (uploads, *uploads.rglob("*"))} == {65534}


@only_root
def test_what_root_creates_in_the_uploads_belongs_to_their_owner(tmp_path: Path) -> None:
    make_private(tmp_path / FOLDER, Account("nobody", 65534, 65534))
    folder = UploadFolder(tmp_path)
    folder.put(uuid4(), "name", io.BytesIO(b"x"))
    assert {path.stat().st_uid for path in (tmp_path / FOLDER).rglob("*")} == {65534}
    assert [path.read_bytes() for path in (tmp_path / FOLDER).rglob("*") if path.is_file()] == [b"x"]


def test_services_that_start_at_once_add_one_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real useradd gives a user that was added meanwhile another id; the first service would have none."""
    added, program = tmp_path / "added", tmp_path / "bin" / "useradd"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {added}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(service_account, "_account", lambda name: Account(name, 900, 900) if added.exists() else None)
    start = threading.Barrier(8)

    def add() -> Account | None:
        start.wait()
        return service_account._new_account("studiogate")

    with ThreadPoolExecutor(8) as threads:
        found = [each.result() for each in [threads.submit(add) for _ in range(8)]]
    assert found == [Account("studiogate", 900, 900)] * 8
    assert added.read_text().splitlines() == ["--system --no-create-home --shell /usr/sbin/nologin studiogate"]


@pytest.fixture
def closed_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(CLOSED)
    original = Service.__init__

    def with_site(self: Service, *arguments: object, **options: object) -> None:
        environment = dict(options.pop("environment", None) or {})  # type: ignore[call-overload]
        environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path / "site"), str(ROOT), str(ROOT / "src")])
        original(self, *arguments, environment=environment, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Service, "__init__", with_site)


@only_root
def test_a_whole_run_without_root(tmp_path: Path, closed_installation: None) -> None:
    """Everything that the service does, from a data folder and an installation that its account cannot walk to."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    modes = {parent: parent.stat().st_mode for parent in (closed, tmp_path)}
    data = closed / "data"
    logs = dict[str, str]()
    with test_logs.running(data, Secrets(), API_MODULE, logs) as full_run:
        service = full_run.service
        served = [*service.api_pids(), service.worker_pid()]
        for pid in served:
            process = psutil.Process(pid)
            assert set(process.uids()) == {data.joinpath("postgres").stat().st_uid}
            assert 0 not in {*process.uids(), *process.gids()}
            assert "Groups:\t\n" in Path(f"/proc/{pid}/status").read_text().replace(" \n", "\n")
        full_run.everything()
    wanted = [line for line in logs["service"].splitlines() if line.startswith("CLOSED")]
    assert [line for line in wanted if not line.endswith(".py")] == [], "other than the sources, for tracebacks"
    assert {parent: parent.stat().st_mode for parent in modes} == modes
    uploads = data / "uploads"
    assert {path.stat().st_uid for path in (uploads, *uploads.rglob("*"))} == {(data / "postgres").stat().st_uid}
    assert stat.S_IMODE(uploads.stat().st_mode) == 0o700


def test_a_data_folder_is_private_and_an_older_one_is_corrected(tmp_path: Path) -> None:
    """Root keeps the permission to enter: the service's account works there. Its own folders inside are closed."""
    allowed = 0o711 if os.geteuid() == 0 else 0o700
    fresh, older, shared = tmp_path / "fresh", tmp_path / "older", tmp_path / "shared"
    for folder in (older, shared):
        folder.mkdir()
        folder.chmod(0o755)
    (older / "uploads").mkdir()
    (shared / "homes").mkdir()
    for folder in (fresh, older, shared):
        make_data_folder(folder)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (fresh, older, shared)] == [0o700, allowed, 0o755]


@only_root
def test_the_account_of_the_service_enters_a_private_data_folder(tmp_path: Path) -> None:
    for parent in (tmp_path, *tmp_path.parents):
        if parent == Path(tempfile.gettempdir()):
            break
        parent.chmod(0o711)
    data = tmp_path / "data"
    account = prepared_account(settings.load(data_dir=data, secret_key=None))
    assert account is not None
    assert stat.S_IMODE(data.stat().st_mode) & 0o066 == 0
    for folder, refused in ((data / "uploads", False), (data, True)):
        run = subprocess.run(["ls", str(folder)], user=account.uid, group=account.gid, extra_groups=[], check=False)
        assert (run.returncode != 0) is refused, folder
