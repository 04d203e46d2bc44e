"""What a page reads of a visitor's request."""

import pytest

from studiogate.web.body import Message
from studiogate.web.request import Request

SCOPE = {"type": "http", "method": "GET", "path": "/f/demo/intro", "headers": []}


async def receive() -> Message:
    raise AssertionError("a query is not read from the body")


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        (b"embed=1&goal=rest", {"embed": "1", "goal": "rest"}),
        (b"embed=&goal=rest", {"goal": "rest"}),
        (b"embed=1&embed=", {"embed": "1"}),
        (b"goal=a%20b+c", {"goal": "a b c"}),
        (b"", {}),
    ],
)
def test_empty_fields_of_a_query_count_as_absent(query: bytes, fields: dict[str, str]) -> None:
    assert Request({**SCOPE, "query_string": query}, receive).filled == fields
