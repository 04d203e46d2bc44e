"""Both front ends at one address: hosted pages below ``/f/`` and ``/logo/``, the partner API everywhere else."""

from studiogate.api.app import PartnerApp
from studiogate.hosted.app import PREFIXES, HostedApp
from studiogate.runtime import Runtime
from studiogate.web.limits import Buckets
from studiogate.web.request import Receive, Scope, Send


class FrontEnds:
    def __init__(self, runtime: Runtime, buckets: Buckets | None = None) -> None:
        shared = buckets or Buckets()
        self.partners = PartnerApp(runtime, shared)
        self.visitors = HostedApp(runtime, shared)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visited = scope["type"] == "http" and scope["path"].startswith(PREFIXES)
        await (self.visitors if visited else self.partners)(scope, receive, send)
