"""uvicorn's HTTP parser with bounds on the request head, with our errors for what is not HTTP, and with a way to send
an answer in one piece.

httptools itself would keep any number of header lines and wait for them for ever; uvicorn would refuse in plain text.
"""

import sys
from asyncio import TimerHandle, Transport
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from studiogate import telemetry
from studiogate.api.errors import Header, refused
from studiogate.api.requests import IN_ONE_PIECE
from studiogate.api.sending import ON_EVERY_BODY, head, spell
from studiogate.domain.refusals import Code, Refusal

MAXIMUM_HEAD = 64 * 1024
HEAD_SECONDS = 10.0
# Of a method that the parser does not know, nobody can say what the path would take instead.
EVERY_METHOD: Header = (b"allow", b"DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT")

CLOSE: Header = (b"connection", b"close")


class BoundedProtocol(HttpToolsProtocol):
    """Counts what arrives before the headers are complete, and ends the connection when that is too much or takes too
    long. Between requests uvicorn's own keep-alive is in charge.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_bytes = 0
        self._in_head = True
        self._ends_a_message = False
        self._patience: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as uvicorn does
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_waiting()
        scope, before = self.scope, self.cycle
        super().on_headers_complete()
        if self.cycle is not before:  # the application has not begun: its task has only been made
            extensions: Any = {IN_ONE_PIECE: _InOnePiece(self.cycle)}
            scope["extensions"] = extensions

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._expect_head()
        self._ends_a_message = True

    def _expect_head(self) -> None:
        self._head_bytes = 0
        self._in_head = True

    def data_received(self, data: bytes) -> None:
        self._ends_a_message = False
        super().data_received(data)
        # What ended a message was its body, but for the beginning of a head that came along with it.
        if not self._in_head or self._ends_a_message or self.transport.is_closing():
            return
        self._head_bytes += len(data)
        self._wait_for_head()
        if self._head_bytes > MAXIMUM_HEAD:
            self.send_400_response("The headers are too large.")

    def _wait_for_head(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def send_400_response(self, msg: str) -> None:
        """In the shape of every other error: whoever sent this may still read the answer as HTTP."""
        request_id = telemetry.request_id(None)
        if isinstance(sys.exc_info()[1], httptools.HttpParserInvalidMethodError):
            answer = refused(Refusal(Code.METHOD_NOT_ALLOWED), request_id, EVERY_METHOD)
        else:
            answer = refused(Refusal(Code.INVALID_HTTP, {"problem": msg}), request_id)
        own = (*answer.headers, (b"x-request-id", request_id.encode()), _length(answer.body), CLOSE)
        self.transport.write(head(answer.status, own, ON_EVERY_BODY) + b"\r\n" + answer.body)
        self.transport.close()


def _length(body: bytes) -> Header:
    return b"content-length", str(len(body)).encode()


class _InOnePiece:
    """The request's body without a wait and a message, where all of it is there by the time it is asked for: nearly
    always. And the answer's head and body in one write, where uvicorn's ``send`` would take two messages, look at every
    header and write twice. That leaves the exchange as uvicorn leaves it after the last message, and lets go of it: the
    exchange holds the scope, which holds this.
    """

    __slots__ = ("_cycle",)

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle: RequestResponseCycle | None = cycle

    def received(self) -> bytes | None:
        cycle = self._cycle
        if cycle is None or cycle.more_body or cycle.disconnected:
            return None
        body, cycle.body = cycle.body, bytearray()  # the cycle outlives its request: it must not keep what was sent
        return bytes(body)

    async def send(self, lines: bytes, body: bytes) -> None:
        cycle, self._cycle = self._cycle, None
        if cycle is None:
            raise RuntimeError("the request has been answered")
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if cycle.disconnected:
            return
        own = cycle.default_headers if cycle.keep_alive else [*cycle.default_headers, CLOSE]
        cycle.transport.write(b"".join([lines, *spell(own), b"\r\n", body]))
        cycle.waiting_for_100_continue = False
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()
