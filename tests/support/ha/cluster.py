"""A failover cluster on loopback addresses: three etcd members, three PostgreSQL nodes with Patroni, and HAProxy, with
the files of deploy/cluster. Each of its "machines" has an address.

Everything ends with the test, also when the test is killed: a guard at the other end of a pipe then kills whatever
works in the cluster's folder.
"""

import asyncio
import http.client
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
import psutil

from bench.processes import postgres_pids
from studiogate.server.postgres import programs
from studiogate.server.service_account import Account, service_account
from tests.support.deadlines import LONG

DEPLOY = Path(__file__).parents[3] / "deploy" / "cluster"
DB_PORT, PATRONI_PORT, ETCD_PORT, PEER_PORT = 5432, 8008, 2379, 2380
ASK_SECONDS = 2.0
# Run as a program: wait until the test closes the pipe, or is gone.
GUARD = """
import os, sys, psutil
folder = sys.argv[1]
os.read(0, 1)
def inside(process):
    try:
        return process.pid != os.getpid() and process.cwd().startswith(folder)
    except psutil.Error:
        return False
while found := [each for each in psutil.process_iter() if inside(each)]:
    for each in found:
        try:
            each.kill()
        except psutil.Error:
            pass
    psutil.wait_procs(found, timeout=1)
"""


class Program:
    """A process that a test starts, stops and lets hang."""

    def __init__(self, folder: Path, command: Sequence[str | Path], env: Mapping[str, str], account: Account | None):
        self.folder = folder
        self._command = [str(part) for part in command]
        self._env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", "HOME": str(folder), **env}
        self._account = account
        self.log = folder.with_suffix(".log")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        account = self._account
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command,
                cwd=self.folder,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
            )

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def pids(self) -> list[int]:
        """Return the process and its descendants."""
        if self.process is None or not self.running:
            return []
        with suppress(psutil.Error):
            return [self.process.pid, *(each.pid for each in psutil.Process(self.process.pid).children(recursive=True))]
        return []

    def kill(self) -> None:
        send(self.pids(), signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def hang(self) -> None:
        send(self.pids(), signal.SIGSTOP)

    def resume(self) -> None:
        send(self.pids(), signal.SIGCONT)

    def tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-60:]) if self.log.exists() else ""


def send(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


class Node:
    """A database machine: Patroni and the PostgreSQL that it runs."""

    def __init__(self, name: str, address: str, patroni: Program, data: Path) -> None:
        self.name, self.address, self.patroni, self.data = name, address, patroni, data
        self._hung: list[int] = []

    def postgres(self) -> list[int]:
        with suppress(OSError, ValueError, IndexError, psutil.Error):
            return postgres_pids(self.data)
        return []

    def kill(self) -> None:
        """Let the machine lose power. Patroni goes first, or it would start PostgreSQL again."""
        pids = self.postgres()
        self.patroni.kill()
        send(pids, signal.SIGKILL)

    def kill_postgres(self) -> None:
        send(self.postgres(), signal.SIGKILL)

    def hang(self) -> None:
        """Stop everything on the machine; its connections stay open. Sessions that begin meanwhile hang as well."""
        self._hung = [*self.patroni.pids(), *self.postgres()]
        send(self._hung, signal.SIGSTOP)

    def resume(self) -> None:
        send(self._hung, signal.SIGCONT)
        self._hung = []

    def ask(self, path: str, body: Mapping[str, Any] | None = None) -> tuple[int, bytes]:
        """Ask Patroni; 0 if it does not answer."""
        return asked(f"{self.address}:{PATRONI_PORT}", path, body)


def asked(place: str, path: str, body: Mapping[str, Any] | None = None) -> tuple[int, bytes]:
    """Ask over HTTP, or post a body; the status is 0 if there is no answer."""
    connection = http.client.HTTPConnection(place, timeout=LONG if body else ASK_SECONDS)
    try:
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


class HaCluster:
    """All of it. ``members`` are what Patroni says; nothing here remembers who is the primary."""

    def __init__(self, folder: Path, patroni: Path, account: Account | None, api_ports: Sequence[int]) -> None:
        self.folder, self._account = folder, account
        self.data = folder / "data"  # the data folder that all machines of the service mount
        self.data.mkdir()
        network = f"127.{secrets.randbelow(254) + 1}.{secrets.randbelow(255)}"  # other clusters may run on this machine
        self._addresses = [f"{network}.{last}" for last in (11, 12, 13)]
        self.front = f"{network}.10"
        self.password = secrets.token_hex(16)
        self.api_port = free_port()
        self.etcd = [self._etcd(index) for index in range(3)]
        self.nodes = [self._node(index, patroni) for index in range(3)]
        databases = {f"DB{number}": address for number, address in enumerate(self._addresses, 1)}
        apis = {f"API{number}": f"127.0.0.1:{port}" for number, port in enumerate(api_ports, 1)}
        ports = {"DB_PORT": str(DB_PORT), "PATRONI_PORT": str(PATRONI_PORT)}
        listen = {"DB_LISTEN": f"{self.front}:{DB_PORT}", "API_LISTEN": f"127.0.0.1:{self.api_port}"}
        command = [shutil.which("haproxy") or "/usr/sbin/haproxy", "-db", "-f", str(DEPLOY / "haproxy.cfg")]
        self.haproxy = self._program("haproxy", command, {**databases, **apis, **ports, **listen})

    def _program(self, name: str, command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> Program:
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        if self._account:
            os.chown(folder, self._account.uid, self._account.gid)
        return Program(folder, command, env or {}, self._account)

    def _etcd(self, index: int) -> Program:
        client, peer = f"http://{self._addresses[index]}:{ETCD_PORT}", f"http://{self._addresses[index]}:{PEER_PORT}"
        peers = ",".join(f"db{number}=http://{each}:{PEER_PORT}" for number, each in enumerate(self._addresses, 1))
        options = {
            "name": f"db{index + 1}",
            "data-dir": "data",
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": peers,
            "logger": "zap",
        }
        return self._program(f"etcd{index + 1}", ["etcd", *(f"--{name}={value}" for name, value in options.items())])

    def _node(self, index: int, patroni: Path) -> Node:
        name, address = f"db{index + 1}", self._addresses[index]
        data = self.folder / name / "data"
        env = {
            "PATRONI_NAME": name,
            "PATRONI_ETCD3_HOSTS": ",".join(f"{each}:{ETCD_PORT}" for each in self._addresses),
            "PATRONI_RESTAPI_LISTEN": f"{address}:{PATRONI_PORT}",
            "PATRONI_RESTAPI_CONNECT_ADDRESS": f"{address}:{PATRONI_PORT}",
            "PATRONI_POSTGRESQL_LISTEN": f"{address}:{DB_PORT}",
            "PATRONI_POSTGRESQL_CONNECT_ADDRESS": f"{address}:{DB_PORT}",
            "PATRONI_POSTGRESQL_DATA_DIR": str(data),
            "PATRONI_POSTGRESQL_PGPASS": str(data.parent / "pgpass"),
            "PATRONI_POSTGRESQL_BIN_DIR": str(programs.program("postgres", self._account).parent),
            "PATRONI_SUPERUSER_USERNAME": "postgres",
            "PATRONI_SUPERUSER_PASSWORD": self.password,
            "PATRONI_REPLICATION_USERNAME": "replicator",
            "PATRONI_REPLICATION_PASSWORD": self.password,
        }
        return Node(name, address, self._program(name, [patroni, DEPLOY / "patroni.yaml"], env), data)

    def url(self, address: str, role: str = "studiogate", database: str = "studiogate") -> str:
        return f"postgresql://{role}:{self.password}@{address}/{database}?sslmode=disable"

    @property
    def proxied(self) -> str:
        """The database through HAProxy."""
        return self.url(f"{self.front}:{DB_PORT}")

    @property
    def every_host(self) -> str:
        return self.url(",".join(f"{each}:{DB_PORT}" for each in self._addresses))

    async def start(self) -> None:
        for each in (*self.etcd, *(node.patroni for node in self.nodes), self.haproxy):
            each.start()
        await self.healthy()
        primary = await self.primary()
        connection = await asyncpg.connect(self.url(primary.address, "postgres", "postgres"))
        try:
            await connection.execute(f"create role studiogate login password '{self.password}'")
            await connection.execute("create database studiogate owner studiogate")
        finally:
            await connection.close()

    async def members(self) -> dict[str, dict[str, Any]]:
        """Return what the first Patroni that answers says about all members, by their names."""
        for node in self.nodes:
            status, body = await asyncio.to_thread(node.ask, "/cluster")
            if status == 200:
                return {each["name"]: each for each in json.loads(body)["members"]}
        return {}

    async def primary(self) -> Node:
        """Wait for a primary, and return it."""
        deadline = asyncio.get_running_loop().time() + LONG
        while asyncio.get_running_loop().time() < deadline:
            for node in self.nodes:
                if (await asyncio.to_thread(node.ask, "/primary"))[0] == 200:
                    return node
            await asyncio.sleep(0.1)
        raise AssertionError("the cluster has no primary")

    async def standbys(self) -> tuple[Node, Node]:
        """Wait for a synchronous standby and another one, and return them: a fault may show only some time after it."""
        while True:
            await self.healthy()
            members = await self.members()
            by_role = {members[node.name]["role"]: node for node in self.nodes if node.name in members}
            if {"sync_standby", "replica"} <= by_role.keys():
                return by_role["sync_standby"], by_role["replica"]

    async def healthy(self) -> None:
        """Wait until there is a primary, a synchronous standby and another standby, and both stream."""
        deadline, seen = asyncio.get_running_loop().time() + LONG, ""
        while asyncio.get_running_loop().time() < deadline:
            members = await self.members()
            seen = str(members)
            if sorted((each["role"], each["state"]) for each in members.values()) == [
                ("leader", "running"),
                ("replica", "streaming"),
                ("sync_standby", "streaming"),
            ]:
                return
            await asyncio.sleep(0.2)
        tails = "\n\n".join(f"{node.name}\n{node.patroni.tail()}" for node in self.nodes)
        raise AssertionError(f"the cluster did not recover: {seen}\n{tails}")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
    return port


@contextmanager
def folder_with_guard() -> Iterator[tuple[Path, Account | None]]:
    """Yield a folder directly below /tmp, in which everything that works is killed at the end, and the account that
    the programs run as: PostgreSQL does not run as root."""
    folder = Path(tempfile.mkdtemp(prefix="sg-ha-", dir="/tmp"))
    folder.chmod(0o711)
    command = [sys.executable, "-c", GUARD, str(folder)]
    guard = subprocess.Popen(command, stdin=subprocess.PIPE, cwd="/", start_new_session=True)
    try:
        yield folder, service_account(folder / "data")
    finally:
        assert guard.stdin is not None
        guard.stdin.close()
        guard.wait(LONG)
        shutil.rmtree(folder, ignore_errors=True)
