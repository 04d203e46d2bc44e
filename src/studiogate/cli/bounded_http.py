"""uvicorn's HTTP parser with bounds on the request head: httptools itself would keep any number of header lines, and
wait for them for ever.
"""

from asyncio import TimerHandle, Transport
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAXIMUM_HEAD = 64 * 1024
HEAD_SECONDS = 10.0


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
        if self._in_head and not self._ends_a_message and not self.transport.is_closing():
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
