"""uvicorn's HTTP parser with bounds on the request head, and with our errors for what is not HTTP.

httptools itself would keep any number of header lines and wait for them for ever; uvicorn would refuse in plain text.
"""

import sys
from asyncio import TimerHandle, Transport
from http import HTTPStatus
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from studiogate import telemetry
from studiogate.api.app import JSON, ON_EVERY_ANSWER
from studiogate.api.errors import Answer, Header, refused
from studiogate.domain.refusals import Code, Refusal

MAXIMUM_HEAD = 64 * 1024
HEAD_SECONDS = 10.0
# Of a method that the parser does not know, nobody can say what the path would take instead.
EVERY_METHOD: Header = (b"allow", b"DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT")


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
        super().on_headers_complete()

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
        self.transport.write(_response(answer, request_id))
        self.transport.close()


def _response(answer: Answer, request_id: str) -> bytes:
    own: list[Header] = [
        *answer.headers,
        *ON_EVERY_ANSWER,
        JSON,
        (b"x-request-id", request_id.encode()),
        (b"content-length", str(len(answer.body)).encode()),
        (b"connection", b"close"),
    ]
    status = HTTPStatus(answer.status)
    lines = [f"HTTP/1.1 {status} {status.phrase}".encode(), *(name + b": " + value for name, value in own)]
    return b"\r\n".join([*lines, b"", answer.body])
