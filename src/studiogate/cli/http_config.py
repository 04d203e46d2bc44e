"""uvicorn as every process of ours runs it."""

import contextlib
from collections.abc import Generator
from typing import Any

import uvicorn

from studiogate.cli.bounded_http import protocol_below

IN_FLIGHT_SECONDS = 15  # for requests that are being answered when the listener closes
KEEP_ALIVE_SECONDS = 75  # longer than proxies usually keep idle connections, so that they close first


class QuietServer(uvicorn.Server):
    """Leaves the signals to us: uvicorn would raise them again after draining and end with an error status."""

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
