"""Query strings and forms are parsed as the standard library parses them, but for forms with incomplete escapes."""

import re
from urllib.parse import parse_qsl

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from studiogate.web import body
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


@given(st.text(alphabet="ab=&;%+2f0C3A9\n\r?/ ", max_size=20))
@example("a=%\n%%41")
@example("a=%\r\n%41%")
@example("%41=%zz")
@example("a=%C3%A9&b=%C3&c=%0A%3D")
def test_every_form_without_incomplete_escapes(text: str) -> None:
    if re.search("%(?![0-9A-Fa-f]{2})", text):
        with pytest.raises(body.IncompleteEscapeError):
            body.form_pairs(text.encode(), 100)
    else:
        pairs = parse_qsl(text, keep_blank_values=True, errors="replace")
        assert body.form_pairs(text.encode(), 100) == pairs


def test_only_so_many_parameters_are_read() -> None:
    for text in ("a=1&" * 2_000, "%61=1&" * 2_000):
        assert len(body.query_pairs(text.encode())) == body.MAX_PARAMETERS
    scope = {"method": "GET", "path": "/", "headers": [], "query_string": b"&".join(b"%d" % n for n in range(2_000))}
    assert len(Request(scope, nothing).query) == body.MAX_PARAMETERS
