"""uvicorn's HTTP protocol with limits per connection, and with errors in our format for input that is not HTTP.

uvicorn parses everything it reads, so a client that pipelines requests without reading the responses makes it hold any
number of them; httptools keeps any number of header lines. Here the parser is fed in slices that end where a head or a
body ends: parsing stops at ``MAX_QUEUED`` requests, and a head is measured exactly, even if it arrives in one
packet.
"""

import sys
from asyncio import Transport
from typing import Any

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from studiogate import telemetry
from studiogate.api.framework.errors import COMMON, refused, with_absolute_doc_url
from studiogate.domain.refusals import Code, Refusal
from studiogate.server import http_timeouts
from studiogate.server.http_timeouts import TimedProtocol
from studiogate.server.single_write import CLOSE, CycleWriter
from studiogate.web.request import SINGLE_WRITER
from studiogate.web.response import Header
from studiogate.web.sending import head

MAX_HEAD = 64 * 1024  # request line, header lines and the empty line
MAX_QUEUED = 16  # pipelined requests that wait on one connection
MAX_AHEAD = 128 * 1024  # bytes of such requests
CHUNKED_SLICE = 64  # minimum bytes per slice: chunks full of empty lines must not be parsed line by line
END_OF_HEAD = b"\r\n\r\n"
UNKNOWN = -1
# If the parser does not know the method, the path is not known either, so all methods are listed.
EVERY_METHOD: Header = (b"allow", b"DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT")


class BoundedProtocol(TimedProtocol):
    public_url: str | None = None

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)
        self._unparsed = b""
        self._in_head = True
        self._head_bytes = 0
        self._tail = b""  # the last bytes of an incomplete head
        self._body_left: int | None = UNKNOWN  # None: it is chunked
        self._body_bytes = 0
        self._framing_bytes = 0  # of a chunked body, since the last byte of its content was parsed
        self._feeds_body = False
        self._began_in_body = False  # the slice that ended a chunked body contained the start of this head
        self._ahead = 0
        self._last_of_drain: RequestResponseCycle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as uvicorn does
        super().connection_made(transport)
        self.flow = _BoundedFlow(transport, self)
        self._wait(http_timeouts.HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._unparsed = b""
        for cycle, _ in self.pipeline:
            cycle.disconnected = True
        self.pipeline.clear()
        super().connection_lost(exc)

    # Slicing

    @property
    def may_read(self) -> bool:
        return not self._unparsed and self._may_parse

    @property
    def _may_parse(self) -> bool:
        if self._final_bytes is not None or self.transport.is_closing():
            return False
        queued = len(self.pipeline)
        return not queued or (queued < MAX_QUEUED and self._ahead < MAX_AHEAD)

    def data_received(self, data: bytes) -> None:
        self._stop_keep_alive_timer()
        self._unparsed = self._unparsed + data if self._unparsed else data
        self._parse()

    def _parse(self) -> None:
        """Feed the parser until everything is parsed or enough requests wait; in the latter case, stop reading."""
        data, self._unparsed, start = self._unparsed, b"", 0
        while start < len(data) and self._may_parse:
            end = self._end_of_slice(data, start)
            self._feed(data if end - start == len(data) else memoryview(data)[start:end])
            start = end
        if self._final_bytes is not None or self.transport.is_closing():
            return
        if start < len(data):
            self._unparsed = data[start:]
            self.flow.pause_reading()
        elif self._in_head:
            if self._head_bytes:
                self._wait(http_timeouts.HEAD_SECONDS)
            elif not self._answers_are_due and self.timeout_keep_alive_task is None:
                # Start the timer for the next request where uvicorn does not: after the rest of a body.
                seconds, ended = self.timeout_keep_alive, self.timeout_keep_alive_handler
                self.timeout_keep_alive_task = self.loop.call_later(seconds, ended)

    def _end_of_slice(self, data: bytes, start: int) -> int:
        """Return where the current head or body ends, or the end of the data if it is incomplete."""
        if self._in_head:
            if self._tail:
                split = (self._tail + data[start : start + 3]).find(END_OF_HEAD)
                if split >= 0:
                    return start + split + len(END_OF_HEAD) - len(self._tail)
            end = data.find(END_OF_HEAD, start)
        else:
            if self._body_left == UNKNOWN:
                self._body_left = _length_of_body(self.headers)
            if self._body_left:
                return min(len(data), start + self._body_left)
            if self._body_left == 0:
                return len(data)
            end = data.find(END_OF_HEAD, start + CHUNKED_SLICE)
        return len(data) if end < 0 else end + len(END_OF_HEAD)

    def _feed(self, piece: bytes | memoryview) -> None:
        if self.pipeline:
            self._ahead += len(piece)
        if self._in_head:
            self._head_bytes += len(piece)
            if self._head_bytes > MAX_HEAD:
                self.send_400_response("The headers are too large.")
            else:
                super().data_received(piece)  # type: ignore[arg-type]  # the parser takes any buffer
        else:
            self._feed_body(piece)
        self._tail = (self._tail + bytes(piece[-3:]))[-3:] if self._in_head and self._head_bytes else b""

    def _feed_body(self, piece: bytes | memoryview) -> None:
        before = self._body_bytes
        if self._body_left is not None:
            self._body_left -= len(piece)
        self._feeds_body = True
        super().data_received(piece)  # type: ignore[arg-type]  # the parser takes any buffer
        self._feeds_body = False
        # Trailers and chunk extensions: the parser keeps the former as headers.
        self._framing_bytes = self._framing_bytes + len(piece) if self._body_bytes == before else 0
        if self._framing_bytes > MAX_HEAD and self._final_bytes is None:
            self.send_400_response("The trailers are too large.")

    # Parser callbacks

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._began_in_body = self._feeds_body
        if self._feeds_body:
            self._head_bytes = 1

    def on_headers_complete(self) -> None:
        if self._began_in_body:
            size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
            if size > MAX_HEAD:
                raise ValueError("the headers are too large")  # the parser turns it into its own error
        self._in_head = False
        self._body_left, self._body_bytes, self._framing_bytes = UNKNOWN, 0, 0
        self._stop_waiting()
        scope, before = self.scope, self.cycle
        super().on_headers_complete()
        if self.cycle is not before:  # the application has not started: its task has only been created
            extensions: Any = {SINGLE_WRITER: CycleWriter(self.cycle)}
            scope["extensions"] = extensions
            if getattr(self.server_state, "draining", False):
                self._close_after(self.cycle)

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_head = True
        self._head_bytes = 0
        self._stop_waiting()

    def _close_after(self, cycle: RequestResponseCycle) -> None:
        """While the process drains, send clients elsewhere by closing connections after the last pipelined request."""
        if not cycle.keep_alive:
            return
        if self._last_of_drain is not None and not self._last_of_drain.response_started:
            self._last_of_drain.keep_alive = True
        cycle.keep_alive = False
        self._last_of_drain = cycle

    def on_response_complete(self) -> None:
        if self._final_bytes is not None and not self.pipeline and not self.transport.is_closing():
            self.server_state.total_requests += 1
            self._finish()
            return
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_writes()
            return
        if not self.pipeline:
            self._ahead = 0
        if self._unparsed:
            self._parse()
        self.flow.resume_reading()
        if not self._in_head and not self._answers_are_due:
            self._wait(http_timeouts.REST_SECONDS)

    # Input that is not HTTP

    def send_400_response(self, msg: str) -> None:
        """Send an error in the format of every other error, after the responses to earlier requests."""
        request_id = telemetry.request_id(None)
        if isinstance(sys.exc_info()[1], httptools.HttpParserInvalidMethodError):
            answer = refused(Refusal(Code.METHOD_NOT_ALLOWED), request_id, EVERY_METHOD)
        else:
            answer = refused(Refusal(Code.INVALID_HTTP, {"problem": msg}), request_id)
        answer = with_absolute_doc_url(answer, self.public_url)
        length = (b"content-length", str(len(answer.body)).encode())
        own = (*answer.headers, (b"x-request-id", request_id.encode()), length, CLOSE)
        self._final_bytes = head(answer.status, own, COMMON.of_bodies) + b"\r\n" + answer.body
        if not self._in_head and not self._answers_are_due:
            self._final_bytes = b""  # the rest of a body whose request has been answered
        if not self._in_head and self.pipeline:
            self.pipeline.popleft()  # its body cannot be read
        elif not (self._in_head and self._answers_are_due):
            self._finish()


def protocol_below(public_url: str | None) -> type[BoundedProtocol]:
    """Return a protocol class whose errors link to pages below this address; uvicorn passes no options to it."""

    class PublicProtocol(BoundedProtocol):
        pass

    PublicProtocol.public_url = public_url
    return PublicProtocol


class _BoundedFlow(FlowControl):
    """Resumes reading only if the protocol has room: applications request it without knowing about that."""

    def __init__(self, transport: Transport, protocol: BoundedProtocol) -> None:
        super().__init__(transport)
        self._protocol = protocol

    def resume_reading(self) -> None:
        if self.read_paused and self._protocol.may_read:
            super().resume_reading()


def _length_of_body(headers: list[Header]) -> int | None:
    """Return the body's length according to headers that the parser has accepted, or None if it is chunked."""
    for name, value in headers:
        if name == b"content-length":
            return int(value)
        if name == b"transfer-encoding":
            return None
    return 0
