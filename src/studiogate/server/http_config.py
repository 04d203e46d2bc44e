"""The uvicorn configuration that all our processes use."""

import contextlib
from collections.abc import Generator
from typing import Any

import uvicorn

from studiogate.server.http_protocol import protocol_below

IN_FLIGHT_SECONDS = 15  # for requests that are being answered when the listener closes
KEEP_ALIVE_SECONDS = 75  # longer than proxies usually keep idle connections, so that they close first


class QuietServer(uvicorn.Server):
    """Installs no signal handlers: uvicorn's raise the signal again after draining and exit with an error status."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def server_config(app: Any, public_url: str | None = None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=protocol_below(public_url),
        interface="asgi3",
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=IN_FLIGHT_SECONDS,
        backlog=2048,
    )
