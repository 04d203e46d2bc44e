"""What an HTTP front end answers with."""

import json
from collections.abc import AsyncGenerator, Sequence
from typing import BinaryIO, NamedTuple

Header = tuple[bytes, bytes]


class OpenFile(NamedTuple):
    """A file that is streamed as the body."""

    stream: BinaryIO
    size: int


class Answer(NamedTuple):
    """A response, without the headers that every response has."""

    status: int
    body: bytes
    headers: Sequence[Header] = ()
    file: OpenFile | None = None
    # Server-sent events, which are sent as they come.
    events: AsyncGenerator[bytes, None] | None = None
    # Not with a secret in it: what a caller chooses beside it could tell it apart by the compressed size.
    may_compress: bool = True


def as_json(status: int, value: object, *headers: Header) -> Answer:
    return Answer(status, json.dumps(value).encode(), ((b"content-type", b"application/json"), *headers))


def see_other(location: str) -> Answer:
    return Answer(303, b"", ((b"location", location.encode("ascii")),))
