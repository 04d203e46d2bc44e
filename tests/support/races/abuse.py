"""Mixed abuse while a well-behaved partner works.

Minutes with and without abuse alternate, so that other load on the machine affects both equally. Each attack is paced:
the test measures what an attack costs the service, not how much CPU the attackers take on the same two cores.
"""

import asyncio
import statistics
import time
from dataclasses import dataclass, field
from uuid import UUID

import psutil

from bench.service import Service
from tests.support.races import attacks
from tests.support.races.client import PREFIX, Client, History, Request, booking
from tests.support.races.studio import RaceStudio
from tests.support.seed import Studio, issue_key

PARTNER_PAUSE = 0.05
CALM_SECONDS, ABUSE_SECONDS = 6.0, 60.0


@dataclass
class Partner:
    """Reads and books at a steady pace; each of its requests must succeed."""

    race_studio: RaceStudio
    class_ids: list[UUID]
    seconds: dict[bool, list[float]] = field(default_factory=lambda: {False: [], True: []})
    failures: list[int | None] = field(default_factory=list)

    async def work(self, until: float, *, abused: bool) -> None:
        history = History()
        client = Client(self.race_studio.port, self.race_studio.service_key, history)
        members = await self.race_studio.add_members(1, paid=None)
        while time.monotonic() < until:
            class_id = self.race_studio.random.choice(self.class_ids)
            for request in (
                Request("GET", f"{PREFIX}/classes/{class_id}", ""),
                Request("GET", f"{PREFIX}/classes?limit=50", ""),
                booking(class_id, members[0]),
            ):
                call = await client.send(request)
                self.seconds[abused].append(call.seconds)
                if call.status not in (200, 201, 409):
                    self.failures.append(call.status)
                await asyncio.sleep(PARTNER_PAUSE)
        client.close()
        self.race_studio.history.calls += [call for call in history.calls if call.request.method == "POST"]

    def p99(self, abused: bool) -> float:
        return statistics.quantiles(self.seconds[abused], n=100)[98]

    @property
    def slower(self) -> float:
        return self.p99(True) / self.p99(False)


@dataclass
class Outcome:
    partner: Partner
    statuses: dict[str, set[int]] = field(default_factory=dict)
    attacks: int = 0
    memory: list[int] = field(default_factory=list)

    def add(self, statuses: dict[str, list[int]]) -> None:
        for name, seen in statuses.items():
            self.statuses.setdefault(name, set()).update(seen)
            self.attacks += len(seen)

    @property
    def growth(self) -> int:
        return max(self.memory) - self.memory[0]


async def attack_target(race_studio: RaceStudio) -> attacks.AttackTarget:
    """Return what attackers know about this studio, including a key of their own."""
    slug = await race_studio.connection.fetchval("select slug from studios where studio_id = $1", race_studio.studio_id)
    service_key = await issue_key(race_studio.connection, Studio(race_studio.studio_id, slug, "race"))
    return attacks.AttackTarget(race_studio.port, service_key, slug, seed=race_studio.seed)


async def abused(race_studio: RaceStudio, service: Service, minutes: int) -> Outcome:
    """Run this many minutes of abuse, alternating with minutes without it."""
    classes = await race_studio.add_classes(50, 1000)
    await race_studio.connection.execute("analyze classes, members, memberships")
    aim, partner = await attack_target(race_studio), Partner(race_studio, classes)
    await attacks.prepare(aim)
    await partner.work(time.monotonic() + 3, abused=False)
    partner.seconds[False].clear()
    outcome = Outcome(partner, memory=[_memory(service)])
    for _ in range(minutes):
        await partner.work(time.monotonic() + CALM_SECONDS, abused=False)
        attackers = asyncio.create_task(attacks.in_own_process(aim, ABUSE_SECONDS))
        await partner.work(time.monotonic() + ABUSE_SECONDS, abused=True)
        outcome.add(await attackers)
        outcome.memory.append(_memory(service))
    await partner.work(time.monotonic() + CALM_SECONDS, abused=False)
    return outcome


def _memory(service: Service) -> int:
    return sum(psutil.Process(pid).memory_info().rss for pid in service.api_pids())
