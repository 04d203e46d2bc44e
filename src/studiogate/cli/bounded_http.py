"""uvicorn's HTTP parser with a bound on the request head: httptools itself would keep any number of header lines."""

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAXIMUM_HEAD = 64 * 1024


class BoundedProtocol(HttpToolsProtocol):
    """Counts what arrives before the headers are complete, and ends the connection when that is too much."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_bytes = 0
        self._in_head = True

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._expect_head()

    def _expect_head(self) -> None:
        self._head_bytes = 0
        self._in_head = True

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MAXIMUM_HEAD:
                self.send_400_response("The headers are too large.")
