"""Run an ASGI application as Studiogate runs its own: the same event loop, HTTP protocol and socket.

It replaces the API process under the supervisor, so it accepts the same options.
"""

import argparse
import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
import uvloop

from studiogate.server import api_process, http_server, quick_start


def serve(open_app: Callable[[], Any]) -> None:
    """Serve until stopped; ``open_app`` is called inside the event loop, before the first connection is accepted."""
    parser = argparse.ArgumentParser()
    for name in ("--socket", "--lifeline", "--gate"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--buckets")
    # Accepted but unused: root privileges are kept (there is no untrusted input), and nothing waits for a ready signal.
    for name in ("--account", "--ready", "--admin"):
        parser.add_argument(name)
    options = parser.parse_args()
    quick_start.all_is_imported()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(open_app, socket.socket(fileno=options.socket), options.lifeline))


async def _serve(open_app: Callable[[], Any], listening: socket.socket, lifeline: int) -> None:
    api_process.exit_with_supervisor(lifeline)
    await uvicorn.Server(http_server.server_config(open_app())).serve(sockets=[listening])
