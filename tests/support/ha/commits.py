"""Cut the connection to the database exactly at COMMIT, for every kind of write, and resolve the unknown outcome."""

from collections.abc import Awaitable, Callable
from functools import partial

from tests.support.ha.deployment import Deployment
from tests.support.ha.load import FormClient
from tests.support.races.client import Request, booking, cancellation

MOMENTS = ("before", "after")  # COMMIT is executed
TRIES = 20
Try = Callable[[], Awaitable[bool]]
"""Makes one write with a cut at its COMMIT, resolves it, and returns whether its outcome was unknown at first."""


class Cuts:
    """The connection is cut at the next COMMIT of the first machine. That may be one of its own, such as the request
    log's; then the write is answered at once, and another one is tried."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        machine = deployment.api[0]
        self._bookings = FormClient(machine.port, deployment.studio.service_key, deployment.studio.history)
        self._others = FormClient(machine.port, deployment.partner.service_key, deployment.partner.history)
        self.unknown: dict[str, int] = {}

    async def all(self, times: int) -> None:
        partner = self._deployment.partner
        for moment in MOMENTS:
            await self._times(times, f"bookings, {moment}", moment, self._book)
            await self._times(times, f"cancellations, {moment}", moment, self._cancel)
            for name, new in (
                ("leads", partner.lead),
                ("members", partner.member),
                ("submissions", partner.submission),
                ("uploads", partner.upload),
                ("webhook endpoints", partner.endpoint),
            ):
                await self._times(times, f"{name}, {moment}", moment, partial(self._resolved_by, new))
            await self._times(times, f"staff, {moment}", moment, self._staff, b"COMMIT;")
        self._bookings.close()
        self._others.close()

    async def _times(self, times: int, name: str, moment: str, attempt: Try, word: bytes = b"commit") -> None:
        proxy = self._deployment.proxy
        proxy.once = True
        self.unknown[name] = 0
        for _ in range(times * TRIES):
            self._cut = (moment, word)
            self.unknown[name] += await attempt()
            proxy.cut_at = None
            if self.unknown[name] == times:
                return

    async def _resolved(self, client: FormClient, request: Request) -> bool:
        self._deployment.proxy.cut_at = self._cut
        first = await client.send(request)
        if not first.known:
            await client.settle(request)
        return not first.known

    async def _resolved_by(self, new: Callable[[], Request]) -> bool:
        return await self._resolved(self._others, new())

    async def _book(self) -> bool:
        studio = self._deployment.studio
        (class_id,), (member_id,) = await studio.add_classes(1, 5), await studio.add_members(1)
        return await self._resolved(self._bookings, booking(class_id, member_id))

    async def _cancel(self) -> bool:
        studio = self._deployment.studio
        (class_id,), (member_id,) = await studio.add_classes(1, 5), await studio.add_members(1)
        made = await self._bookings.settle(booking(class_id, member_id))
        return await self._resolved(self._bookings, cancellation(made.json["id"]))

    async def _staff(self) -> bool:
        manager = self._deployment.manager
        before = manager.refused
        self._deployment.proxy.cut_at = self._cut
        await manager.add_member()
        return manager.refused > before
