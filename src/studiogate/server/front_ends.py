"""All front ends at one address: hosted pages below ``/f/`` and ``/logo/``, the console below ``/console``, the partner
API everywhere else."""

from studiogate.api.app import PartnerApp
from studiogate.console.app import ConsoleApp
from studiogate.hosted.app import PREFIXES, HostedApp
from studiogate.runtime import Runtime
from studiogate.web.body import Receive
from studiogate.web.limits import Buckets
from studiogate.web.request import READS, Scope, Send

CONSOLE = "/console"


class FrontEnds:
    def __init__(self, runtime: Runtime, buckets: Buckets | None = None) -> None:
        shared = buckets or Buckets()
        self._bookings = runtime.bookings
        self.partners = PartnerApp(runtime, shared)
        self.visitors = HostedApp(runtime, shared)
        self.staff = ConsoleApp(runtime, shared)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        if path and scope["method"] in READS:
            self._bookings.reads += 1
        if path.startswith(PREFIXES):
            await self.visitors(scope, receive, send)
        elif path == CONSOLE or path.startswith(CONSOLE + "/"):
            await self.staff(scope, receive, send)
        else:
            await self.partners(scope, receive, send)
