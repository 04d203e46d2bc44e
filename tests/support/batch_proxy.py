"""A proxy in front of PostgreSQL that strikes inside a batch: at one message of the transaction of a batch."""

import asyncio
from collections.abc import Callable

from tests.support.postgres_proxy import Decide, Proxy

# Only the statement with which a batch begins claims keys without waiting.
BEGINS_A_BATCH = b"pg_try_advisory_xact_lock"
Act = Callable[[int], str]
"""Does something to the process behind a client's port; returns the moment of the cut, "before" or "after"."""


class BatchProxy(Proxy):
    """``strike`` names the message: 0 is the execution of the first statement of a batch, the last one is COMMIT."""

    def __init__(self, database_url: str) -> None:
        super().__init__(database_url)
        self._number = 0
        self._act: Act | None = None
        self._struck = asyncio.Event()
        self.at_commit = False
        """Whether the last strike was at the end of the transaction."""

    def strike(self, number: int, act: Act) -> asyncio.Event:
        """Act once, in the next batch, at the message of this number, or at its end if it has fewer; the event says
        when."""
        self._number, self._act, self._struck = number, act, asyncio.Event()
        return self._struck

    def watch(self, client: asyncio.StreamWriter) -> Decide:
        port: int = client.get_extra_info("peername")[1]
        batches: set[bytes] = set()  # the names of the prepared statements that begin a batch
        reached: list[int] = []  # messages of the batch in progress

        def decide(kind: bytes, body: bytes) -> str | None:
            name = body.split(b"\0", 2)[0 if kind == b"P" else 1] if kind in (b"P", b"B") else b""
            if kind == b"P" and BEGINS_A_BATCH in body:
                batches.add(name)
            if kind == b"B" and name in batches:
                reached[:] = [-1]
            if not reached:
                return None
            reached[0] += 1
            return self._decide(port, kind, reached)

        return decide

    def _decide(self, port: int, kind: bytes, reached: list[int]) -> str | None:
        is_end, number = kind == b"Q", reached[0]
        if is_end:
            reached.clear()
        if self._act is None or (number < self._number and not is_end):
            return None
        act, self._act, self.at_commit = self._act, None, is_end
        self._struck.set()
        return act(port)
