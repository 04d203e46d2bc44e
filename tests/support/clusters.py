"""Separate PostgreSQL clusters for tests: a primary and its standby, and a server of another version."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from studiogate.server.postgres import programs
from studiogate.server.service_account import service_account
from studiogate.storage.db.service_role import MAKE_ROLE, NAME, ROLE


class Cluster:
    """A server on a socket in its own folder, run with the embedded programs or with those of another folder. Nothing
    listens on TCP."""

    def __init__(self, folder: Path, bin_folder: Path | None = None) -> None:
        self.folder = folder
        self._bin = bin_folder
        self.data = folder / "data"
        self._account = service_account(self.data)

    @property
    def url(self) -> str:
        return f"postgresql://{NAME}@/postgres?host={self.folder}&port=5432"

    def run(self, program: str, *arguments: str) -> None:
        user = {"user": self._account.uid, "group": self._account.gid, "extra_groups": []} if self._account else {}
        path = self._bin / program if self._bin else programs.program(program, self._account)
        command = [str(path), *arguments]
        output = self.folder / f"{program}.out"
        with output.open("ab") as log:
            done = subprocess.run(command, cwd="/", check=False, stdout=log, stderr=log, **user)  # type: ignore[call-overload]
        assert done.returncode == 0, output.read_text()[-2000:]

    def make_folder(self) -> None:
        self.folder.mkdir(mode=0o700)
        if self._account:
            os.chown(self.folder, self._account.uid, self._account.gid)

    def create(self) -> None:
        self.make_folder()
        encoding = ["--encoding", "UTF8", "--locale", "C.UTF-8"]
        self.run("initdb", "-D", str(self.data), "-U", NAME, "--auth", "trust", "--no-sync", *encoding)

    def copy_of(self, primary: "Cluster") -> None:
        self.make_folder()
        source = ["-h", str(primary.folder), "-p", "5432", "-U", NAME]
        self.run("pg_basebackup", "-D", str(self.data), *source, "-R", "-X", "stream", "-c", "fast", "--no-sync")

    def start(self, connections: int = 40) -> None:
        options = f"-k {self.folder} -p 5432 -c listen_addresses= -c fsync=off -c max_connections={connections}"
        self.run("pg_ctl", "-D", str(self.data), "-w", "-t", "300", "-o", options, "-l", self._log, "start")

    @property
    def _log(self) -> str:
        return str(self.folder / "server.log")

    def stop(self) -> None:
        self.run("pg_ctl", "-D", str(self.data), "-w", "-m", "immediate", "stop")

    def promote(self) -> None:
        self.run("pg_ctl", "-D", str(self.data), "-w", "-t", "300", "promote")

    def remove(self) -> None:
        if (self.data / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def _folder() -> Iterator[Path]:
    """Yield a folder directly below /tmp: the path of a socket must be short, and the server's account must be able to
    reach it."""
    base = Path(tempfile.mkdtemp(prefix="sg-", dir="/tmp"))
    base.chmod(0o711)
    try:
        yield base
    finally:
        shutil.rmtree(base, ignore_errors=True)


@contextmanager
def primary_and_standby() -> Iterator[tuple[Cluster, Cluster]]:
    """Yield both, running."""
    with _folder() as base:
        primary, standby = Cluster(base / "a"), Cluster(base / "b")
        try:
            primary.create()
            primary.start()
            standby.copy_of(primary)
            standby.start()
            yield primary, standby
        finally:
            for each in (standby, primary):
                each.remove()


@contextmanager
def own_cluster() -> Iterator[Cluster]:
    """Yield a running cluster; the tests that use it are superusers."""
    with _folder() as base:
        cluster = Cluster(base / "a")
        try:
            cluster.create()
            cluster.start()
            yield cluster
        finally:
            cluster.remove()


@contextmanager
def server_of(bin_folder: Path, needed: Sequence[str]) -> Iterator[str]:
    """Run a server with the programs of a folder, such as those of another version; yield its URL for the role of the
    service, which gets the needed privileges."""
    with _folder() as base:
        cluster = Cluster(base / "a", bin_folder)
        try:
            cluster.create()
            cluster.start(connections=200)
            asyncio.run(_execute(cluster.url, MAKE_ROLE, *needed, f"create database {NAME} owner {ROLE}"))
            yield cluster.url.replace(f"{NAME}@/postgres", f"{ROLE}@/{NAME}")
        finally:
            cluster.remove()


async def _execute(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()
