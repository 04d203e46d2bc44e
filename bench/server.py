"""Runs an ASGI application the way Studiogate runs its own: the same loop, the same HTTP, the same socket.

Takes the place of the API process below the supervisor, so it takes the same options.
"""

import argparse
import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
import uvloop

from studiogate.cli import api_process, http_config, quick_start


def serve(open_app: Callable[[], Any]) -> None:
    """``open_app`` is called inside the loop, before the first connection is taken."""
    parser = argparse.ArgumentParser()
    for name in ("--socket", "--lifeline", "--gate"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--buckets")
    # Taken and not used: root is not given up (nobody else's input gets here), and nobody waits to be told.
    for name in ("--account", "--ready", "--admin"):
        parser.add_argument(name)
    options = parser.parse_args()
    quick_start.all_is_imported()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(open_app, socket.socket(fileno=options.socket), options.lifeline))


async def _serve(open_app: Callable[[], Any], listening: socket.socket, lifeline: int) -> None:
    api_process.leave_with_the_supervisor(lifeline)
    await uvicorn.Server(http_config.server_config(open_app())).serve(sockets=[listening])
