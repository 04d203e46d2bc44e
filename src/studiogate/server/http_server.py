"""The uvicorn servers of our processes, and the application of the admin port: health and metrics."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Generator, Sequence
from typing import Any

import uvicorn

from studiogate import telemetry
from studiogate.api.framework.errors import COMMON, refused, with_absolute_doc_url
from studiogate.api.health import Health
from studiogate.domain.refusals import Code, Refusal
from studiogate.server.http_protocol import protocol_below
from studiogate.web.body import Receive
from studiogate.web.request import READS, Request, Scope, Send
from studiogate.web.response import Answer
from studiogate.web.sending import send_answer

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


class AdminApp:
    """Serves health and metrics. Probes arrive every few seconds, so they are not logged."""

    def __init__(self, health: Health, public_url: str | None = None) -> None:
        self._pages = health.pages
        self._public_url = public_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        request_id = telemetry.request_id(request.headers.get(b"x-request-id"))
        answer = with_absolute_doc_url(await self._answer(request, request_id), self._public_url)
        await send_answer(request, answer, [(b"x-request-id", request_id.encode())], COMMON, send)

    async def _answer(self, request: Request, request_id: str) -> Answer:
        page = self._pages.get(request.path)
        if page is None:
            return refused(Refusal(Code.NOT_FOUND), request_id)
        if request.method not in READS:
            return refused(Refusal(Code.METHOD_NOT_ALLOWED), request_id, (b"allow", b"GET, HEAD"))
        return await page(request_id)


class StartingApp(AdminApp):
    """Answers all requests of a process that is starting: it lives, and everything else is 503."""

    async def _answer(self, request: Request, request_id: str) -> Answer:
        return await self._pages["/livez" if request.path == "/livez" else "/readyz"](request_id)


@contextlib.asynccontextmanager
async def health_on(admin: socket.socket | None, health: Health, public_url: str | None) -> AsyncIterator[None]:
    """Serve health and metrics on the admin port, if there is one, while the block runs."""
    async with _serving(AdminApp(health, public_url), [admin] if admin else [], public_url):
        yield


@contextlib.asynccontextmanager
async def starting_on(sockets: Sequence[socket.socket], health: Health, public_url: str | None) -> AsyncIterator[None]:
    """Answer for a process that is starting while the block runs; the sockets stay open."""
    health.starting = True
    async with _serving(StartingApp(health, public_url), [each.dup() for each in sockets], public_url):
        yield
    health.starting = False


@contextlib.asynccontextmanager
async def _serving(app: AdminApp, sockets: list[socket.socket], public_url: str | None) -> AsyncIterator[None]:
    if not sockets:
        yield
        return
    server = QuietServer(server_config(app, public_url))
    serving = asyncio.create_task(server.serve(sockets=sockets))
    try:
        yield
    finally:
        server.should_exit = True
        await serving
