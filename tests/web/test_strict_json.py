"""Text that cannot be stored is found by a search of the raw JSON body, which must agree with the decoded text."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain.refusals import Refusal
from studiogate.web.body import MAX_DEPTH, strict_json

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
HALVES = ["\\ud83d", "\\ude00", "\\uDBFF", "\\uDFFF", "\\ud800", "\\udc00"]
PIECES = ["\\u0000", "\\\\u0000", "\\\\", '\\"', "\\n", "\\u00e9", "\\ud7ff", "\\ue000", "a", "\u00e9", *HALVES]


@given(st.lists(st.sampled_from(PIECES), max_size=8), st.booleans())
def test_the_search_finds_what_the_decoded_text_holds(pieces: list[str], as_name: bool) -> None:
    text = f'"{"".join(pieces)}"'
    body = f"{{{text}: 1}}" if as_name else f"[{text}]"
    decoded = json.loads(text)
    assert isinstance(strict_json(body.encode()), Refusal) == bool(UNSTORABLE.search(decoded))


@given(st.lists(st.booleans(), min_size=MAX_DEPTH - 2, max_size=MAX_DEPTH + 2))
def test_the_deepest_nesting_counts(objects: list[bool]) -> None:
    value: object = 1
    for is_object in objects:
        value = {"x": value, "y": []} if is_object else [value, {}]
    # The empty sibling of the innermost value is one level deeper than the container of both.
    assert isinstance(strict_json(json.dumps(value).encode()), Refusal) == (len(objects) + 1 > MAX_DEPTH)
