"""Query strings are parsed as the standard library parses them, also on the fast path for those without escapes."""

from urllib.parse import parse_qsl

from hypothesis import example, given
from hypothesis import strategies as st

from studiogate.web.request import Request


async def nothing() -> dict[str, object]:
    raise AssertionError("there is no body to read")


@given(st.text(alphabet="ab=&;%+2f0C3A9\n\r?/ ", max_size=20))
@example("limit=1&limit=2")
@example("limit=1&%6cimit=2&b")
@example("&&limit=1&")
@example("a&b=&=c&&d==e")
@example("a=%00&b=+")
@example("a=%C3%A9&b=%C3&c=%0A%3D&d=%\n=")
def test_every_query_string(text: str) -> None:
    encoded = text.encode()
    scope = {"method": "GET", "path": "/", "headers": [], "query_string": encoded}
    pairs = parse_qsl(text, keep_blank_values=True, errors="replace")
    names = [name for name, _ in pairs]
    request = Request(scope, nothing)
    assert request.query == dict(pairs)
    assert sorted(request.repeated_parameters) == sorted({name for name in names if names.count(name) > 1})


def test_raw_characters_are_utf_8() -> None:
    scope = {"method": "GET", "path": "/", "headers": [], "query_string": "a=\u00e9&b=\u00e9%20".encode()}
    assert Request(scope, nothing).query == {"a": "\u00e9", "b": "\u00e9 "}
