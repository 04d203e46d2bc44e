"""Bypass ASGI's messages: read a body that has arrived without waiting, and send the response in a single write
(docs/decisions/0010)."""

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from studiogate.web.response import Header
from studiogate.web.sending import serialize_headers

CLOSE: Header = (b"connection", b"close")


class CycleWriter:
    """Returns the request's body without a wait or a message if all of it has arrived by then, which is nearly always
    the case. Writes the response's head and body at once, where uvicorn's ``send`` would take two messages, check every
    header and write twice. Sending leaves the cycle as uvicorn leaves it after the last message, and drops the
    reference to it: the cycle holds the scope, which holds this object.
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
        cycle.transport.write(b"".join([lines, *serialize_headers(own), b"\r\n", body]))
        cycle.waiting_for_100_continue = False
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()
