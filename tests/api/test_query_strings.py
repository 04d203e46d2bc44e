"""Query strings are read as the standard library reads them, also on the short way for those without escapes."""

from urllib.parse import parse_qsl

from hypothesis import example, given
from hypothesis import strategies as st

from studiogate.api.requests import Request


async def nothing() -> dict[str, object]:
    raise AssertionError("there is no body to read")


@given(st.text(alphabet="ab=&;%+2f0é?/ ", max_size=20))
@example("limit=1&limit=2")
@example("a&b=&=c&&d==e")
@example("a=%00&b=+")
def test_every_query_string(text: str) -> None:
    encoded = text.encode("latin-1")
    scope = {"method": "GET", "path": "/", "headers": [], "query_string": encoded}
    expected = dict(parse_qsl(encoded.decode("latin-1"), keep_blank_values=True, errors="replace"))
    assert Request(scope, nothing).query == expected
