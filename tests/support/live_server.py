"""The partner API behind the real server, on a loopback port."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from studiogate import settings
from studiogate.api.app import PartnerApp
from studiogate.runtime import Runtime
from studiogate.server.http_protocol import BoundedProtocol
from tests.support.deadlines import LONG


@contextmanager
def serving(database_url: str, **overrides: object) -> Iterator[int]:
    """Run a server as the API process starts it, in its own thread, and yield its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    server: list[uvicorn.Server] = []

    async def serve() -> None:
        runtime = Runtime.open(settings.load(database_url=database_url, **overrides))
        config = uvicorn.Config(
            PartnerApp(runtime),
            http=BoundedProtocol,
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=1,
            timeout_keep_alive=int(LONG),
        )
        server.append(uvicorn.Server(config))
        await server[0].serve(sockets=[listening])
        await runtime.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    deadline = time.monotonic() + LONG
    while not (server and server[0].started) and time.monotonic() < deadline:
        time.sleep(0.01)
    try:
        yield listening.getsockname()[1]
    finally:
        server[0].should_exit = True
        thread.join(LONG)
        listening.close()
