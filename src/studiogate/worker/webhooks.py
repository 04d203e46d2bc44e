"""Deliver webhooks: lease what is due, send it, record the outcome. Nothing is sent inside a transaction.

Any number of workers share the work: when a worker dies, its leases expire and the deliveries are due again. The
number of concurrent attempts per endpoint is limited, so that one that never answers does not delay the others.
"""

import asyncio
import contextlib
from collections import Counter
from uuid import UUID

import structlog

from studiogate import clock, telemetry
from studiogate.domain.access import system_access
from studiogate.domain.encryption import SealError
from studiogate.domain.webhooks.deliveries import Attempted, judge
from studiogate.flows import deliveries, retry
from studiogate.flows.deliveries import Claimed, Settled
from studiogate.flows.webhooks import purpose_of
from studiogate.runtime import Runtime
from studiogate.storage.db.pool import Database
from studiogate.storage.db.statement import new_id
from studiogate.storage.notifications import Listener
from studiogate.web.public_address import with_absolute_pictures
from studiogate.worker.webhook_sender import Sender

PLACES_OF_AN_ENDPOINT = 12
MAX_UNDER_WAY = 400
POLL_SECONDS = 1.0
SETTLE_SECONDS = 0.03
CONNECTIONS = 4
DRAIN_SECONDS = 16.0
log = structlog.get_logger()


class Deliverer:
    def __init__(self, runtime: Runtime, sender: Sender | None = None) -> None:
        self._runtime = runtime
        dsn = str(runtime.settings.database_url)
        # A lease or an outcome that is lost when PostgreSQL crashes costs one more delivery, so commits need not wait
        # for the disk. A claim reads the index of due deliveries in its order; a planner without statistics (on a new
        # database) would instead sort everything that is due, at every claim.
        self._database = Database(dsn, CONNECTIONS, synchronous_commit="off", enable_sort="off")
        self._sender = sender or Sender(runtime.resolver)
        self._listener = Listener(dsn, self._look_at)
        self._woken = asyncio.Event()
        self._studios: set[UUID] = set()
        self._under_way: Counter[UUID] = Counter()
        self._attempts: set[asyncio.Task[None]] = set()
        self._outcomes: dict[UUID, list[Settled]] = {}
        self._settling: dict[UUID, asyncio.Task[None]] = {}  # those that still gather outcomes
        self._unsettled: set[asyncio.Task[None]] = set()  # these, and those that write

    async def run(self) -> None:
        """Run until cancelled; attempts in progress then get ``DRAIN_SECONDS`` to finish."""
        self._listener.start()
        poll = asyncio.create_task(self._poll_forever())
        try:
            while True:
                await self._woken.wait()
                self._woken.clear()
                await self._round()
        finally:
            poll.cancel()
            await self._listener.close()
            await self._drain()

    def _look_at(self, studio_id: UUID) -> None:
        self._studios.add(studio_id)
        self._woken.set()

    async def _poll_forever(self) -> None:
        while True:
            try:
                for studio_id in await retry.studios_with(self._database, "due deliveries"):
                    self._look_at(studio_id)
                telemetry.OUTBOX_AGE.set((await deliveries.age(self._database)).total_seconds())
            except Exception as error:
                log.warning("due deliveries not looked up", problem=telemetry.problem_of(error))
            await asyncio.sleep(POLL_SECONDS)

    async def _round(self) -> None:
        studios, self._studios = self._studios, set()
        for studio_id in studios:
            if len(self._attempts) >= MAX_UNDER_WAY:
                return  # the poll finds the rest again, and every attempt that ends checks its studio
            try:
                await self._claim(studio_id)
            except Exception as error:
                log.warning("deliveries not claimed", problem=type(error).__name__)

    async def _claim(self, studio_id: UUID) -> None:
        claimed = await deliveries.claim(
            self._database, system_access(studio_id), self._under_way, PLACES_OF_AN_ENDPOINT, new_id()
        )
        for each in claimed:
            self._under_way[each.endpoint_id] += 1
            task = asyncio.create_task(self._attempt(studio_id, each))
            self._attempts.add(task)
            task.add_done_callback(self._attempts.discard)

    async def _attempt(self, studio_id: UUID, claimed: Claimed) -> None:
        began = clock.now()
        try:
            attempted = await self._send(studio_id, claimed)
            verdict = judge(attempted, claimed.attempts)
        except Exception as error:
            # Whatever a receiver answers, its attempt ends: otherwise its place would stay taken.
            log.error("attempt failed", delivery_id=str(claimed.id), problem=telemetry.problem_of(error))
            attempted = Attempted(began, 0, error="internal_error")
            verdict = judge(attempted, claimed.attempts)
        outcome = Settled(claimed, attempted, verdict)
        telemetry.WEBHOOK_ATTEMPTS.labels(attempted.outcome).inc()
        self._outcomes.setdefault(studio_id, []).append(outcome)
        if studio_id not in self._settling:
            task = self._settling[studio_id] = asyncio.create_task(self._settle(studio_id))
            self._unsettled.add(task)
            task.add_done_callback(self._unsettled.discard)

    async def _send(self, studio_id: UUID, claimed: Claimed) -> Attempted:
        purpose = purpose_of(system_access(studio_id), claimed.endpoint_id)
        try:
            whsecs = [self._runtime.sealer.open(claimed.secret, purpose).decode()]
        except SealError as error:
            log.error("webhook not signed", endpoint_id=str(claimed.endpoint_id), problem=str(error))
            return Attempted(clock.now(), 0, error="not_signed")
        for sealed in claimed.replaced_secrets:
            try:
                whsecs.append(self._runtime.sealer.open(sealed, purpose).decode())
            except SealError as error:
                # A process of an earlier release that replaces the secret key does not know all replaced secrets.
                log.error("webhook secret not opened", endpoint_id=str(claimed.endpoint_id), problem=str(error))
        body = with_absolute_pictures(claimed.body, studio_id, self._runtime.settings)
        return await self._sender.send(claimed.url, whsecs, claimed.message_id, body, claimed.endpoint_id)

    async def _settle(self, studio_id: UUID) -> None:
        """Record the outcomes that arrive within ``SETTLE_SECONDS`` together."""
        await asyncio.sleep(SETTLE_SECONDS)
        del self._settling[studio_id]
        outcomes = self._outcomes.pop(studio_id)
        try:
            disabled = await deliveries.settle(self._database, system_access(studio_id), outcomes)
            for endpoint_id in disabled:
                log.warning("webhook endpoint disabled", studio_id=str(studio_id), endpoint_id=str(endpoint_id))
                telemetry.WEBHOOK_ENDPOINTS_DISABLED.inc()
        except Exception as error:
            # The leases expire and the deliveries are repeated: delivery is at least once.
            log.error("deliveries not settled", count=len(outcomes), problem=type(error).__name__)
        for outcome in outcomes:
            self._under_way[outcome.claimed.endpoint_id] -= 1
            if not self._under_way[outcome.claimed.endpoint_id]:
                del self._under_way[outcome.claimed.endpoint_id]
        self._look_at(studio_id)

    async def _drain(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while self._attempts or self._unsettled:
                    await asyncio.wait([*self._attempts, *self._unsettled])
        for task in (*self._attempts, *self._unsettled):
            task.cancel()
        await self._sender.close()
        await self._database.close()
