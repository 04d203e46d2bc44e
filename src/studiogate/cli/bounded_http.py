"""uvicorn's HTTP parser with a bound on the request head, and with our errors for what is not HTTP.

httptools itself would keep any number of header lines, and uvicorn would refuse in plain text.
"""

import sys
from http import HTTPStatus
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from studiogate import telemetry
from studiogate.api.app import JSON, ON_EVERY_ANSWER
from studiogate.api.errors import Answer, Header, refused
from studiogate.domain.refusals import Code, Refusal

MAXIMUM_HEAD = 64 * 1024
# Of a method that the parser does not know, nobody can say what the path would take instead.
EVERY_METHOD: Header = (b"allow", b"DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT")


class BoundedProtocol(HttpToolsProtocol):
    """Counts what arrives before the headers are complete, and ends the connection when that is too much."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_bytes = 0
        self._in_head = True
        self._message_ended = False

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._expect_head()
        self._message_ended = True

    def _expect_head(self) -> None:
        self._head_bytes = 0
        self._in_head = True

    def data_received(self, data: bytes) -> None:
        self._message_ended = False
        super().data_received(data)
        # A piece in which a message ended is mostly that message's body: it says nothing about the next head.
        if not self._in_head or self._message_ended or self.transport.is_closing():
            return
        self._head_bytes += len(data)
        if self._head_bytes > MAXIMUM_HEAD:
            self.send_400_response("The headers are too large.")

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
