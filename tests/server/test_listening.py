"""The listening socket."""

import contextlib
import socket

from studiogate.server.supervisor import UNSENT_BYTES, listen

ANSWER = b"x" * 65_536


def taken_by_the_kernel(listening: socket.socket) -> int:
    """Return how many bytes of a response the kernel buffers for a client that reads nothing."""
    with socket.create_connection(listening.getsockname()), listening.accept()[0] as connection:
        connection.setblocking(False)
        taken = 0
        with contextlib.suppress(BlockingIOError):
            while taken < 64 * 1024 * 1024:
                taken += connection.send(ANSWER)
        return taken


def test_little_is_taken_for_a_client_that_does_not_read() -> None:
    with listen("127.0.0.1", 0) as listening:
        bounded = taken_by_the_kernel(listening)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 0xFFFFFFF)
        unbounded = taken_by_the_kernel(listening)
    assert bounded < unbounded
    assert bounded < 16 * UNSENT_BYTES
