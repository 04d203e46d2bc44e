"""A studio with endpoints, and the worker's parts in this process."""

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from studiogate import settings
from studiogate.domain.access import Access, Scope, operator_access
from studiogate.domain.keys import credential_access
from studiogate.flows import events, webhooks
from studiogate.flows.bookings.staff_bookings import Mark
from studiogate.runtime import Runtime
from studiogate.worker.webhooks import Deliverer
from tests.support import attendance
from tests.support.seed import Studio, issue_key, seed_studio

SECRET_KEY = base64.b64encode(b"k" * 32).decode()
ALLOW_LOOPBACK = {"webhook_allow_cidrs": ["127.0.0.0/8"], "webhook_allow_http": True, "secret_key": SECRET_KEY}
LISTENERS = """
    select count(*) from pg_stat_activity
    where datname = current_database() and application_name = 'studiogate-listener' and query ilike 'listen%'"""


class ObservedDeliverer(Deliverer):
    """A deliverer whose rounds a test can wait for."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self._begun, self._done = 0, 0  # rounds; the number of the last one that has ended
        self._ended = asyncio.Condition()

    async def _round(self) -> None:
        self._begun += 1
        await super()._round()
        async with self._ended:
            self._done = self._begun
            self._ended.notify_all()

    async def whole_round(self, studio_id: UUID) -> None:
        """Return once a round that begins now has claimed what is due in a studio, and its attempts are recorded."""
        async with self._ended:
            before = self._begun
            self._look_at(studio_id)
            await self._ended.wait_for(lambda: self._done > before)
        while under_way := {*self._attempts, *self._unsettled}:
            await asyncio.wait(under_way)


@dataclass
class Endpoint:
    id: UUID
    secret: str


@dataclass
class WebhookStudio:
    """One studio, and ways to change it and to receive its events."""

    runtime: Runtime
    studio: Studio
    connection: Any
    marks: dict[UUID, Mark] = field(default_factory=dict)

    @property
    def access(self) -> Access:
        return operator_access(self.studio.studio_id)

    async def endpoint(self, url: str, *, locations: list[UUID] | None = None, **details: Any) -> Endpoint:
        key = await issue_key(self.connection, self.studio, *details.pop("scopes", ()), locations=locations)
        access = credential_access(self.studio.studio_id, key.split("_")[2], [each.value for each in Scope], locations)
        wanted = {"url": url, "event_types": ["*"], "description": None, "enabled": True, **details}
        async with self.runtime.database.transaction() as connection:
            made = await webhooks.create(connection, access, self.runtime.sealer, wanted)
        assert isinstance(made, str), made
        found = json.loads(made)
        return Endpoint(UUID(found["id"]), found["secret"])

    async def change(self, number: int = 2) -> None:
        """Make one change of state, which is one event: check in, or undo a check-in."""
        booking = self.studio.ids["booking"][number]
        status: Mark = "confirmed" if self.marks.get(booking) == "checked_in" else "checked_in"
        async with self.runtime.database.connection() as connection:
            assert await attendance.mark(connection, self.access, booking, status) == status
        self.marks[booking] = status

    async def number(self) -> int:
        return await events.number_studio(self.runtime.database, self.access)

    async def no_waiting(self) -> None:
        """Make all retries and leases due now."""
        while True:
            with contextlib.suppress(asyncpg.DeadlockDetectedError):  # a worker writes outcomes in another order
                await self.connection.execute(
                    "update webhook_deliveries set due_at = now() where status = 'pending' and due_at < 'infinity'"
                )
                return

    @asynccontextmanager
    async def delivering(self) -> AsyncIterator[ObservedDeliverer]:
        before = await self.connection.fetchval(LISTENERS)
        deliverer = ObservedDeliverer(self.runtime)
        running = asyncio.create_task(deliverer.run())
        while await self.connection.fetchval(LISTENERS) <= before:
            await asyncio.sleep(0.01)
        try:
            yield deliverer
        finally:
            for task in list(deliverer._attempts):
                task.cancel()
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running


@asynccontextmanager
async def open_webhook_studio(database_url: str, connection: Any, **overrides: Any) -> AsyncIterator[WebhookStudio]:
    runtime = Runtime.open(settings.load(database_url=database_url, **{**ALLOW_LOOPBACK, **overrides}))
    studio = await seed_studio(connection)
    await connection.execute(
        """
        update webhook_endpoints set enabled = false;  -- those of the seed lead nowhere
        -- Nobody waits, so that nobody is promoted behind a test's back.
        update waitlist_entries set status = 'cancelled', position = null;
        update bookings set status = 'cancelled' where status = 'waitlisted';
        update classes set waitlist_count = 0"""
    )
    yield WebhookStudio(runtime, studio, connection)
    await runtime.close()


@pytest.fixture
async def webhook_studio(database_url: str, connection: Any) -> AsyncIterator[WebhookStudio]:
    async with open_webhook_studio(database_url, connection) as opened:
        yield opened


@pytest.fixture
async def strict_webhook_studio(database_url: str, connection: Any) -> AsyncIterator[WebhookStudio]:
    """Apply the production rules: no address is exempt, but plain http is allowed."""
    async with open_webhook_studio(database_url, connection, webhook_allow_cidrs=[]) as opened:
        yield opened
