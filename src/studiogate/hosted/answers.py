"""Responses of the hosted pages."""

import json
from typing import Any, NamedTuple, TypeAlias

Header: TypeAlias = tuple[bytes, bytes]


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: tuple[Header, ...] = ()


def as_json(status: int, value: Any, *headers: Header) -> Answer:
    return Answer(status, json.dumps(value).encode(), ((b"content-type", b"application/json"), *headers))


def see_other(location: str) -> Answer:
    return Answer(303, b"", ((b"location", location.encode("ascii")),))
