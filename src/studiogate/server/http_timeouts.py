"""uvicorn's HTTP protocol with a timer on every state in which a connection waits for its client.

head            from its first byte (or the connection's start) to its end  ``HEAD_SECONDS``
body            the application reads it, with its own timers               ``studiogate.web.request``
rest of a body  that is still arriving after its answer                     ``REST_SECONDS``
idle            between requests                                            uvicorn's ``timeout_keep_alive``
blocked write   answers that the client does not read                       ``WRITE_SECONDS``
"""

from asyncio import TimerHandle
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0
REST_SECONDS = 10.0
WRITE_SECONDS = 20.0
WRITE_PROGRESS = 8 * 1024  # bytes that a client has to read in that time


class TimedProtocol(HttpToolsProtocol):
    """Closes connections that make no progress. ``_final_bytes`` is what to send after the pending responses, before
    the connection is closed; None while it is to stay open."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._final_bytes: bytes | None = None
        self._client_timer: TimerHandle | None = None
        self._write_watch: TimerHandle | None = None
        self._unsent = 0

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_watching()
        self._stop_keep_alive_timer()  # uvicorn does so only if there was no error
        super().connection_lost(exc)

    def shutdown(self) -> None:
        super().shutdown()
        if self.transport.is_closing():
            self._watch_writes()

    @property
    def _answers_are_due(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    # What the client sends

    def _wait(self, seconds: float) -> None:
        """Start the timer for the rest of what the client has begun to send."""
        if self._client_timer is None:
            self._client_timer = self.loop.call_later(seconds, self._client_timed_out, seconds)

    def _stop_waiting(self) -> None:
        if self._client_timer is not None:
            self._client_timer.cancel()
            self._client_timer = None

    def _client_timed_out(self, seconds: float) -> None:
        self._client_timer = None
        if self.flow.read_paused:  # the client may have sent it: it has not been read
            self._wait(seconds)
        elif not self._answers_are_due:
            self._close()
        elif self._final_bytes is None:
            self._final_bytes = b""

    def _stop_keep_alive_timer(self) -> None:
        """Stop uvicorn's timer. Only this file uses a private method of uvicorn."""
        self._unset_keepalive_if_required()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._watch_writes()

    # What the client reads

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_writes()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._stop_watching()

    def _watch_writes(self) -> None:
        """Check progress until the write buffer is empty; a closing connection would otherwise wait for it forever."""
        self._stop_watching()
        self._unsent = self.transport.get_write_buffer_size()
        if self._unsent:
            self._write_watch = self.loop.call_later(WRITE_SECONDS, self._check_writes)

    def _stop_watching(self) -> None:
        if self._write_watch is not None:
            self._write_watch.cancel()
            self._write_watch = None

    def _check_writes(self) -> None:
        if self._unsent - self.transport.get_write_buffer_size() < WRITE_PROGRESS:
            self.transport.abort()
        else:
            self._watch_writes()

    # Closing

    def _finish(self) -> None:
        """Send the final bytes and close the connection."""
        if self._final_bytes:
            self.transport.write(self._final_bytes)
        self._close()

    def _close(self) -> None:
        self.transport.close()
        self._watch_writes()
