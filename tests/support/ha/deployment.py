"""A cluster with the service on it: two API machines, a worker, and those who use them."""

import asyncio
import base64
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import asyncpg
import httpx2

from bench.webhook_receiver import Receiver, receiving
from studiogate.storage.db import migrate, pool
from studiogate.storage.db.pool import Connection
from tests.cli.test_commands import run
from tests.support.background import beside
from tests.support.deadlines import LONG
from tests.support.ha.cluster import DB_PORT, HaCluster, folder_with_guard, free_port
from tests.support.ha.load import DirectWriter, Machine, Manager, Partner, silence
from tests.support.postgres_proxy import Proxy, proxy_of
from tests.support.races.checker import is_kept
from tests.support.races.client import PREFIX, Call, Crowd
from tests.support.races.crashes import Load, until
from tests.support.races.studio import RaceStudio, open_race_studio
from tests.support.seed import Studio, issue_key

CLIENTS = 3  # per machine, with bookings and cancellations
ACKNOWLEDGED_AFTER = 40
PROVOKED = ("database_unavailable", "overloaded")
FORM = [{"key": "note", "label": "Note", "type": "file_upload", "multiple": True}]


class Silence(NamedTuple):
    """The longest time in which a machine acknowledged nothing while the database accepted writes."""

    fault: str
    machine: str
    seconds: float


@dataclass
class Deployment:
    """The first API machine reaches the database through a proxy that can cut connections, and HAProxy; the second one
    names all nodes; the worker goes through HAProxy."""

    cluster: HaCluster
    proxy: Proxy
    api: list[Machine]
    worker: Machine
    writer: DirectWriter
    studio: RaceStudio
    partner: Partner
    manager: Manager
    receiver: Receiver
    silences: list[Silence] = field(default_factory=list)

    @property
    def machines(self) -> list[Machine]:
        return [*self.api, self.worker]

    async def reconnect(self) -> None:
        self.studio.connection.terminate()
        primary = await self.cluster.primary()
        self.studio.connection = await pool.connect(self.cluster.url(f"{primary.address}:{DB_PORT}"))

    async def progress(self) -> None:
        """Wait until each machine has acknowledged some more writes."""
        await asyncio.gather(*(more_of(machine) for machine in self.api))

    async def under_load(self, happen: Callable[["Deployment"], Awaitable[None]]) -> None:
        """Let something happen under load; keep how long each machine was silent without a reason."""
        await self.reconnect()
        load = Load(self.studio, await self.studio.add_classes(30, 20), await self.studio.add_members(60))
        ended = asyncio.Event()

        def end() -> None:
            load.end()
            ended.set()

        async with AsyncExitStack() as stack:
            for machine in self.api:
                crowd = Crowd(machine.port, self.studio.service_key, self.studio.history, CLIENTS)
                await stack.enter_async_context(crowd)
                for work in (
                    crowd.work_off(load.requests(), noting(load, machine)),
                    self.partner.work(machine, ended.is_set),
                ):
                    await stack.enter_async_context(beside(work, end))
            await stack.enter_async_context(beside(self.manager.work(ended.is_set), end))
            await self.progress()
            since = time.monotonic()
            await happen(self)
            await self.progress()
            now = time.monotonic()
        for machine in self.api:
            seconds = silence(machine, self.writer, since, now)
            self.silences.append(Silence(happen.__name__, machine.name, round(seconds, 2)))

    def acknowledged(self) -> int:
        """Return how many writes were acknowledged, each counted once."""
        partners = [*self.studio.history.by_key().values(), *self.partner.history.by_key().values()]
        return sum(any(is_kept(call) for call in calls) for calls in partners) + sum(self.manager.sent.values())

    async def violations(self) -> list[str]:
        """Compare what was acknowledged with the database, and ask `doctor`; no process may have been replaced."""
        await self.reconnect()
        wrong = await self.studio.violations(forgiven=PROVOKED)
        wrong += await self.partner.violations(self.studio.connection)
        wrong += await self.manager.violations(self.studio.connection, self.partner.studio_id)
        wrong += await self._undelivered()
        wrong += [f"{machine.name} ended by itself" for machine in self.machines if not machine.program.running]
        examined = await asyncio.to_thread(run, "doctor", **self.api[0].settings)
        return [*wrong, *([] if examined.returncode == 0 else [examined.stdout + examined.stderr])]

    async def _undelivered(self) -> list[str]:
        """Wait until the worker has delivered every event of a booking; return those that never arrive."""
        query = "select id from events where studio_id = $1 and type like 'booking.%'"
        events = {str(row["id"]) for row in await self.studio.fetch(query)}
        deadline = time.monotonic() + LONG
        while missing := events - {each.event["id"] for each in self.receiver.received}:
            if time.monotonic() > deadline:
                return [f"{len(missing)} of {len(events)} events were not delivered"]
            await asyncio.sleep(0.2)
        return []


async def more_of(machine: Machine) -> None:
    wanted = len(machine.acknowledged) + ACKNOWLEDGED_AFTER
    await until(lambda: len(machine.acknowledged) >= wanted, LONG, lambda: f"{machine.name}: {machine.program.tail()}")


def noting(load: Load, machine: Machine) -> Callable[[Call], None]:
    def note(call: Call) -> None:
        load.note(call)
        machine.note(call)

    return note


@asynccontextmanager
async def deployed(patroni: Path) -> AsyncIterator[Deployment]:
    """Start all of it; everything ends with the block."""
    ports = [free_port(), free_port()]
    with folder_with_guard() as (folder, account):
        cluster = HaCluster(folder, patroni, account, ports)
        await cluster.start()
        await _prepare(cluster)
        async with proxy_of(cluster.proxied) as proxy:
            key = base64.b64encode(secrets.token_bytes(32)).decode()
            serve = ("serve", "--no-worker", "--workers", "1")
            api = [
                Machine(cluster, f"api{number}", url, key, port, *serve)
                for number, url, port in zip((1, 2), (proxy.url, cluster.every_host), ports, strict=True)
            ]
            worker = Machine(cluster, "worker", cluster.proxied, key, free_port(), "worker")
            for machine in (*api, worker):
                machine.start()
            await asyncio.gather(*(machine.ready() for machine in (*api, worker)))
            async with _users(cluster, proxy, api, worker) as deployment:
                yield deployment


async def _prepare(cluster: HaCluster) -> None:
    primary = await cluster.primary()
    place = f"{primary.address}:{DB_PORT}"
    connection = await asyncpg.connect(cluster.url(place, "postgres", "postgres"))
    await connection.execute("create database direct")
    await connection.close()
    connection = await asyncpg.connect(cluster.url(place, "postgres", "direct"))
    await connection.execute("create table written (at timestamptz not null default now())")
    await connection.close()
    ours = await pool.connect(cluster.url(place))
    await migrate.migrate(ours)
    await ours.close()


@asynccontextmanager
async def _users(cluster: HaCluster, proxy: Proxy, api: list[Machine], worker: Machine) -> AsyncIterator[Deployment]:
    connection = await pool.connect(cluster.url(f"{(await cluster.primary()).address}:{DB_PORT}"))
    studio = await open_race_studio(api[0].port, connection)
    partner = await open_partner(connection, api[0].port)
    slug = await connection.fetchval("select slug from studios where studio_id = $1", partner.studio_id)
    words = ("staff", "invite", "manager@ha.example", "--studio", slug, "--role", "owner", "--json")
    invited = await asyncio.to_thread(run, *words, **api[0].settings)
    assert invited.returncode == 0, invited.stderr
    manager = Manager(api[0].port)
    await manager.accept(json.loads(invited.stdout)["url"])
    writer = DirectWriter(cluster)
    writing = [asyncio.create_task(writer.write(node)) for node in cluster.nodes]
    async with receiving() as receiver:
        await _post(
            api[0].port, studio.service_key, "/webhook-endpoints", url=receiver.url(), event_types=["booking.*"]
        )
        try:
            yield Deployment(cluster, proxy, api, worker, writer, studio, partner, manager, receiver)
        finally:
            for task in writing:
                task.cancel()
            await asyncio.gather(*writing, return_exceptions=True)
            await manager.close()


async def _post(port: int, service_key: str, path: str, **body: object) -> dict[str, object]:
    async with httpx2.AsyncClient(headers={"X-Service-Key": service_key}) as client:
        answer = await client.post(f"http://127.0.0.1:{port}{PREFIX}{path}", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()  # type: ignore[no-any-return]


async def open_partner(connection: Connection, port: int) -> Partner:
    """Add a studio with a form that takes files."""
    studio = Studio(uuid4(), f"ha-{uuid4().hex[:8]}", "ha")
    await connection.execute(
        "insert into studios (studio_id, name, slug, timezone, currency, country)"
        " values ($1, 'HA', $2, 'UTC', 'USD', 'US')",
        studio.studio_id,
        studio.slug,
    )
    service_key = await issue_key(connection, studio)
    made = await _post(port, service_key, "/forms", title="Files", fields=FORM, status="published")
    return Partner(service_key, str(made["id"]), studio.studio_id)


async def rolling_restart(deployment: Deployment) -> list[Call]:
    """Restart the API machines one after the other while partners book through HAProxy; return all calls."""
    await deployment.reconnect()
    studio, before = deployment.studio, len(deployment.studio.history.calls)
    load = Load(studio, await studio.add_classes(30, 20), await studio.add_members(60))
    port = deployment.cluster.api_port
    async with Crowd(port, studio.service_key, studio.history, CLIENTS) as crowd, load.by(crowd):
        await load.reach(ACKNOWLEDGED_AFTER)
        for machine in deployment.api:
            await machine.stop()
            machine.start()
            await machine.ready()
            await load.reach(load.answers + ACKNOWLEDGED_AFTER)
    return studio.history.calls[before:]
