"""Separate PostgreSQL clusters for a test, run with the embedded programs: a primary and its standby."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from studiogate.server.postgres import programs
from studiogate.server.service_account import service_account

NAME = "studiogate"


class Cluster:
    """A server on a socket in its own folder. Nothing listens on TCP."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._account = service_account(self.data)

    @property
    def url(self) -> str:
        return f"postgresql://{NAME}@/postgres?host={self.folder}&port=5432"

    def run(self, program: str, *arguments: str) -> None:
        user = {"user": self._account.uid, "group": self._account.gid, "extra_groups": []} if self._account else {}
        command = [str(programs.program(program, self._account)), *arguments]
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
        self.run("initdb", "-D", str(self.data), "-U", NAME, "--auth", "trust", "--no-sync")

    def copy_of(self, primary: "Cluster") -> None:
        self.make_folder()
        source = ["-h", str(primary.folder), "-p", "5432", "-U", NAME]
        self.run("pg_basebackup", "-D", str(self.data), *source, "-R", "-X", "stream", "-c", "fast", "--no-sync")

    def start(self) -> None:
        options = f"-k {self.folder} -p 5432 -c listen_addresses= -c fsync=off -c max_connections=40"
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
def primary_and_standby() -> Iterator[tuple[Cluster, Cluster]]:
    """Yield both, running. Their folders are directly below /tmp: the path of a socket must be short, and the server's
    account must be able to reach it."""
    base = Path(tempfile.mkdtemp(prefix="sg-", dir="/tmp"))
    base.chmod(0o711)
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
        shutil.rmtree(base, ignore_errors=True)
