"""What happens to a cluster under load. Each fault returns once the cluster is whole again."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable

from tests.support.deadlines import LONG
from tests.support.ha.cluster import HaCluster, Node, send
from tests.support.ha.deployment import ACKNOWLEDGED_AFTER, Deployment
from tests.support.races.crashes import until

ETCD_GONE_SECONDS = 30.0  # longer than Patroni's ttl

Fault = Callable[[Deployment], Awaitable[None]]
FAULTS: list[Fault] = []


def fault(happen: Fault) -> Fault:
    FAULTS.append(happen)
    return happen


async def other_primary(cluster: HaCluster, than: Node) -> None:
    others = [node for node in cluster.nodes if node is not than]
    await until(lambda: any(node.ask("/primary")[0] == 200 for node in others), LONG, "no successor")


async def not_ready(deployment: Deployment) -> None:
    """Wait until each machine says that it cannot serve."""
    for machine in deployment.api:
        await until(lambda machine=machine: not machine.is_ready(), LONG, "it takes itself for ready")  # type: ignore[misc]


@fault
async def primary_machine_killed(deployment: Deployment) -> None:
    cluster = deployment.cluster
    primary = await cluster.primary()
    primary.kill()
    await not_ready(deployment)
    await other_primary(cluster, primary)
    primary.patroni.start()
    await cluster.healthy()


@fault
async def primary_postgres_killed(deployment: Deployment) -> None:
    (await deployment.cluster.primary()).kill_postgres()
    await deployment.cluster.healthy()


@fault
async def switchover(deployment: Deployment) -> None:
    cluster = deployment.cluster
    primary, (sync, _) = await cluster.primary(), await cluster.standbys()
    status, said = await asyncio.to_thread(primary.ask, "/switchover", {"leader": primary.name, "candidate": sync.name})
    assert status == 200, said
    await cluster.healthy()


@fault
async def primary_restarted(deployment: Deployment) -> None:
    primary = await deployment.cluster.primary()
    status, said = await asyncio.to_thread(primary.ask, "/restart", {"role": "primary"})
    assert status == 200, said
    await deployment.cluster.healthy()


@fault
async def primary_machine_hangs(deployment: Deployment) -> None:
    cluster = deployment.cluster
    primary = await cluster.primary()
    primary.hang()
    try:
        await not_ready(deployment)
        await other_primary(cluster, primary)
    finally:
        primary.resume()
    await cluster.healthy()


@fault
async def primary_without_patroni(deployment: Deployment) -> None:
    """Its PostgreSQL goes on, as a second primary whose writes no standby confirms in the end. The first machine has no
    primary until Patroni names another one, because HAProxy asks Patroni. The second one, which names all nodes, stays
    with the old primary until the deadline of its statements has passed."""
    cluster, since = deployment.cluster, time.monotonic()
    primary = await cluster.primary()
    primary.patroni.kill()
    await other_primary(cluster, primary)
    deployment.api[0].excused.append((since, time.monotonic()))
    await deployment.progress()
    deployment.api[1].excused.append((since, time.monotonic()))
    primary.patroni.start()
    await cluster.healthy()


@fault
async def synchronous_standby_hangs(deployment: Deployment) -> None:
    cluster = deployment.cluster
    sync, other = await cluster.standbys()
    sync.hang()
    try:
        await until(lambda: other.ask("/sync")[0] == 200, LONG, "no other synchronous standby")
    finally:
        sync.resume()
    await cluster.healthy()


@fault
async def synchronous_standby_killed(deployment: Deployment) -> None:
    cluster = deployment.cluster
    sync, other = await cluster.standbys()
    sync.kill()
    await until(lambda: other.ask("/sync")[0] == 200, LONG, "no other synchronous standby")
    sync.patroni.start()
    await cluster.healthy()


@fault
async def both_standbys_killed(deployment: Deployment) -> None:
    """Nothing is acknowledged until one of them is back."""
    cluster = deployment.cluster
    standbys = await cluster.standbys()
    for each in standbys:
        each.kill()
    for each in standbys:
        each.patroni.start()
    await cluster.healthy()


@fault
async def etcd_gone(deployment: Deployment) -> None:
    """The primary goes on, since it reaches all members."""
    cluster = deployment.cluster
    primary = await cluster.primary()
    for each in cluster.etcd:
        each.hang()
    try:
        await asyncio.sleep(ETCD_GONE_SECONDS)
        await deployment.progress()
        assert (await cluster.primary()) is primary
    finally:
        for each in cluster.etcd:
            each.resume()
    await cluster.healthy()


@fault
async def etcd_and_a_standby_gone(deployment: Deployment) -> None:
    """The primary cannot know whether it was replaced, so it accepts no writes."""
    cluster = deployment.cluster
    primary, (_, other) = await cluster.primary(), await cluster.standbys()
    other.kill()
    for each in cluster.etcd:
        each.kill()
    await until(lambda: primary.ask("/primary")[0] != 200, LONG, "it goes on as the primary")
    for each in cluster.etcd:
        each.start()
    other.patroni.start()
    await cluster.healthy()


@fault
async def haproxy_killed(deployment: Deployment) -> None:
    since = time.monotonic()
    deployment.cluster.haproxy.kill()
    deployment.cluster.haproxy.start()
    await deployment.progress()
    deployment.api[0].excused.append((since, time.monotonic()))


@fault
async def connections_black_holed(deployment: Deployment) -> None:
    """The first machine's connections to the database carry nothing, and its pool is full of them."""
    (first, second), since = deployment.api, time.monotonic()
    deployment.proxy.hang()
    await asyncio.wait_for(deployment.proxy.held.wait(), LONG)
    await until(lambda: not first.is_ready(), LONG, "it takes itself for ready")
    before = len(second.acknowledged)
    await until(lambda: len(second.acknowledged) > before + ACKNOWLEDGED_AFTER, LONG, "the second one suffers too")
    deployment.proxy.drop()
    deployment.proxy.resume()
    first.excused.append((since, time.monotonic()))


@fault
async def api_process_killed(deployment: Deployment) -> None:
    for machine in deployment.api:
        since = time.monotonic()
        send(machine.api_pids(), signal.SIGKILL)
        await machine.ready()
        machine.excused.append((since, time.monotonic()))


@fault
async def worker_killed(deployment: Deployment) -> None:
    send(deployment.worker.api_pids(), signal.SIGKILL)
    await deployment.worker.ready()
