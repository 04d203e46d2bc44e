"""Health and metrics: /livez, /readyz, /metrics. On the admin port if there is one, else on the public port.

``/up`` says the same as /readyz and is always on the public port too: hosts of containers and load balancers ask there.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from studiogate import telemetry
from studiogate.api.framework.errors import refused
from studiogate.domain.refusals import Code, Refusal
from studiogate.storage.db import health
from studiogate.storage.db.pool import Database
from studiogate.telemetry import metrics
from studiogate.web.response import Answer

UP = "/up"
# The check of a proxy usually waits for 1 or 2 s.
ANSWER_SECONDS = 0.9
OK = Answer(200, b'{"status":"ok"}')
CODES = {"draining": Code.OVERLOADED, health.DISK_FULL: Code.STORAGE_UNAVAILABLE}
METRICS_TYPE = (b"content-type", telemetry.METRICS_CONTENT_TYPE.encode())


class Health:
    """The health of one process. ``draining`` is set when it is to end: it is no longer ready, but still serves.
    ``starting`` is set while it waits for its database: it lives, but serves nothing yet."""

    def __init__(self, database: Database, sample: Callable[[], None] = metrics.sample_process) -> None:
        self.draining = self.starting = False
        self._database = database
        self._check: asyncio.Task[str | None] | None = None
        self.sample = sample

    @property
    def pages(self) -> Mapping[str, Callable[[str], Awaitable[Answer]]]:
        """Return the pages by path; each takes the request's id."""
        return {"/livez": self._livez, "/readyz": self._readyz, UP: self._readyz, "/metrics": self._metrics}

    async def problem(self) -> str | None:
        """Return in one word what keeps this process from serving, or None."""
        if self.draining or self.starting:
            return "draining" if self.draining else "starting"
        # While a server hangs, one check waits for it, on one connection; cancelling it would wait for the server, too.
        if self._check is None or self._check.done():
            self._check = asyncio.create_task(health.problem(self._database))
        check = self._check
        done, _ = await asyncio.wait({check}, timeout=ANSWER_SECONDS)
        return check.result() if done else "database unavailable"

    async def _livez(self, _request_id: str) -> Answer:
        return OK

    async def _readyz(self, request_id: str) -> Answer:
        """Report readiness: not draining, and the database answers and has every migration this version knows."""
        problem = await self.problem()
        if problem is None:
            return OK
        code = CODES.get(problem, Code.DATABASE_UNAVAILABLE)
        return refused(Refusal(code, {"problem": problem}), request_id)

    async def _metrics(self, _request_id: str) -> Answer:
        self.sample()
        return Answer(200, telemetry.metrics_text(), (METRICS_TYPE,))
