"""Reading a studio file: any bytes yield elements or faults, and a large file is never in memory as a whole."""

import io
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain.studio_file import parser
from studiogate.domain.studio_file.parser import BrokenFileError, Element, read_elements, read_studio
from studiogate.domain.studio_file.rows import Fault
from tests.support.studio_files import small_studio


def dribble(data: bytes, size: int) -> Callable[[int], bytes]:
    """Return a reader that returns at most ``size`` bytes per call, however many are requested."""
    file = io.BytesIO(data)
    return lambda wanted: file.read(min(size, wanted))


def read(data: bytes, size: int = 1 << 20) -> tuple[list[str], list[str]]:
    """Return the places of elements and of faults; the last fault of a broken file is the line where it breaks."""
    elements: list[str] = []
    faults: list[str] = []
    try:
        for each in read_elements(dribble(data, size)):
            (elements if isinstance(each, Element) else faults).append(each.place)
    except BrokenFileError as broken:
        faults.append(broken.place)
    return elements, faults


BROKEN = [
    b"",
    b"   \n ",
    b"[]",
    b"null",
    b"7",
    b'"studio"',
    b"{",
    b'{"studio"',
    b'{"studio":',
    b'{"studio": {"id": 5',
    b'{"studio": {"id": "5',
    b'{"members": [{"id": 1}',
    b'{"members": [{"id": 1},',
    b'{"members": [{"id": 1},]}',
    b'{"members": [{"id": 1} {"id": 2}]}',
    b'{"members": [}]',
    b'{"members": [1, 2}',
    b"{'studio': {}}",
    b'{"studio": {} "members": []}',
    b'{"studio": {},}',
    b'{"studio": {}} {}',
    b'{"studio": {}}]',
    b"{studio: {}}",
    b'{"studio": {"a": 01}}',
    b'{"studio": {"a": "\n"}}',
    b'{"studio": {"a": "\x00"}}',
    b'{"studio": {"a": "\\x"}}',
    b'{"studio": undefined}',
    b'{"studio": {"name": "\xff"}}',
    b'{"studio": {"name": "\xed\xa0\x80"}}',
    '{"studio": {}}'.encode("utf-16"),
    '{"studio": {"name": "é"}}'.encode("latin-1"),
    b'{"studio": ' + b"[" * 100_000,
    b'{"studio": ' + b'{"a":' * 100_000,
    b"PK\x03\x04 not a studio file",
]


@pytest.mark.parametrize("data", BROKEN)
@pytest.mark.parametrize("size", [1 << 20, 3])
def test_what_is_no_json_is_a_fault_with_a_line(data: bytes, size: int) -> None:
    _elements, faults = read(data, size)
    assert faults[-1].startswith("line ")


REFUSED = [
    (b'{"studio": {"id": 1, "id": 2}}', ["studio"]),
    (b'{"members": [{"a": {"b": 1, "b": 1}}]}', ["members[0]"]),
    (b'{"members": [{"a": NaN}]}', ["members[0]"]),
    (b'{"members": [{"a": -Infinity}]}', ["members[0]"]),
    (b'{"members": [{"a": 1e999}]}', ["members[0]"]),
    (b'{"members": [{"a": ' + b"9" * 5000 + b"}]}", ["members[0]"]),
    (b'{"members": [{"a": "\\u0000"}]}', ["members[0]"]),
    (b'{"members": [{"\\u0000": 1}]}', ["members[0]"]),
    (b'{"members": [{"a": ["\\ud800"]}]}', ["members[0]"]),
    (b'{"members": [{"a": "\\udc00\\ud800"}]}', ["members[0]"]),
    (b'{"members": {"id": 1}}', ["members"]),
    (b'{"members": 5}', ["members"]),
    (b'{"memberz": [1, {"a": NaN}]}', ["memberz"]),
    (b'{"memberz": {"a": [1]}}', ["memberz"]),
    (b'{"members": [], "members": []}', ["members"]),
    (b'{"studio": {}, "studio": {}}', ["studio"]),
    (b'{"": [1]}', ['""']),
]


@pytest.mark.parametrize(("data", "places"), REFUSED)
@pytest.mark.parametrize("size", [1 << 20, 2])
def test_json_that_is_not_allowed_is_a_fault_and_the_reading_goes_on(data: bytes, places: list[str], size: int) -> None:
    elements, faults = read(data[:-1] + b', "leads": [{}]}', size)
    assert faults == places
    assert elements[-1] == "leads[0]"


def test_the_line_of_a_broken_file() -> None:
    lines = json.dumps({"members": [{"id": n} for n in range(9)]}, indent=1).split("\n")
    lines[18] = lines[18].replace(":", "=")
    for size in (5, 1 << 20):
        assert read("\n".join(lines).encode(), size)[1] == ["line 19"]


def test_null_sections_a_byte_order_mark_and_pairs_of_surrogates_are_fine() -> None:
    data = b'\xef\xbb\xbf{"members": null, "leads": [{"a": "\\ud83d\\ude00"}], "forms": []}\n\n'
    assert read(data) == (["leads[0]"], [])


@pytest.mark.parametrize("size", [1, 2, 7, 100, 1 << 20])
@pytest.mark.parametrize("indent", [None, 3])
def test_every_way_to_cut_the_bytes_gives_the_same_elements(size: int, indent: int | None) -> None:
    document = small_studio()
    data = json.dumps(document, indent=indent, ensure_ascii=False).encode()
    found: dict[str, list[object]] = {}
    for each in read_elements(dribble(data, size)):
        assert isinstance(each, Element)
        found.setdefault(each.section, []).append(each.value)
    assert found == {name: value if isinstance(value, list) else [value] for name, value in document.items()}


def test_the_studio_is_found_wherever_it_stands() -> None:
    document = small_studio()
    studio = document.pop("studio")
    last = json.dumps({**document, "studio": studio}).encode()
    assert read_studio(dribble(last, 1000)) == studio
    assert read_studio(dribble(b"{}", 1000)) is None


def test_one_missing_quote_does_not_read_the_file_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "MAX_VALUE", 1 << 20)
    asked = 0

    def endless(wanted: int) -> bytes:
        nonlocal asked
        asked += wanted
        return b'{"members": [{"id": "' if asked == wanted else b"x" * wanted

    with pytest.raises(BrokenFileError, match="longer than"):
        list(read_elements(endless))
    assert asked < 8 << 20


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    read(data)
    read(b'{"members": [' + data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_json(value: object) -> None:
    data = json.dumps({"members": [value], "leads": value}).encode()
    for each in read_elements(dribble(data, 11)):
        assert isinstance(each, Element | Fault)
