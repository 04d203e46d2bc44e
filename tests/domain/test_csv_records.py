"""How the bytes of a CSV file become rows and cells."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain.csv_import import records
from studiogate.domain.csv_import.records import (
    DELIMITERS,
    Record,
    RecordReader,
    UnreadableFileError,
    find_encoding,
    read_lines,
)

TEXT = "name;café\nZoë;“ok”\n"


def rows(text: str, delimiter: str = ",") -> list[tuple[int, list[str] | str]]:
    found = RecordReader(text.split("\n") if text else [], delimiter)
    return [(each.line, each.fault or each.cells) for each in found]


def lines_of(data: bytes) -> tuple[str, list[str]]:
    file = io.BytesIO(data)
    codec = find_encoding(file.read)
    file.seek(0)
    return codec, list(read_lines(file.read, codec))


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_encoding_and_line_end(codec: str, end: str) -> None:
    text = TEXT if codec != "utf-16-be" else TEXT.replace("“ok”", "ok")
    _, lines = lines_of(text.replace("\n", end).encode(codec))
    assert lines == text.splitlines()


def test_big_endian_byte_order_mark() -> None:
    assert lines_of(b"\xfe\xff" + TEXT.encode("utf-16-be"))[1] == TEXT.splitlines()


def test_a_broken_utf_8_file_is_not_read_as_windows_1252() -> None:
    data = "Zoë\n".encode() * 50_000 + b"Zo\xeb\n"
    with pytest.raises(UnreadableFileError, match="UTF-8 up to line 50001"):
        lines_of(data)


def test_a_byte_that_the_encoding_does_not_have() -> None:
    with pytest.raises(UnreadableFileError, match="not Windows-1252 near line 1"):
        lines_of(b"caf\xe9 \x81\n")


def test_a_truncated_utf_16_file() -> None:
    with pytest.raises(UnreadableFileError, match="not UTF-16"):
        lines_of("a;b\nc;d".encode("utf-16")[:-1])


def test_a_line_is_never_held_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO(b"a," + b"x" * (5 * records.MAX_ROW) + b"\nb,c\n")
    longest, last = list(read_lines(data.read, "utf-8"))
    assert records.MAX_ROW < len(longest) <= records.MAX_ROW + records.CHUNK + 1
    assert last == "b,c"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a,b", [(1, ["a", "b"])]),
        ("a,b\n\n  \nc,", [(1, ["a", "b"]), (4, ["c", ""])]),
        ('"a,b","c""d",""', [(1, ["a,b", 'c"d', ""])]),
        ('x,"a\nb\n\nc",y\nz', [(1, ["x", "a\nb\n\nc", "y"]), (5, ["z"])]),
        ('5" tall,"b"', [(1, ['5" tall', "b"])]),
        ('"a"b,c\nd,e', [(1, records.AFTER_QUOTE), (2, ["d", "e"])]),
        ('"a\nb"c,d\ne', [(1, records.NOT_CLOSED), (2, ['b"c', "d"]), (3, ["e"])]),
        ('a,"open\nb,c\nd,e', [(1, records.NOT_CLOSED), (2, ["b", "c"]), (3, ["d", "e"])]),
        ('"a""\nb,c', [(1, records.NOT_CLOSED), (2, ["b", "c"])]),
        ('"a""\nb",c', [(1, ['a"\nb', "c"])]),
        (',"","\n"', [(1, ["", "", "\n"])]),
    ],
)
def test_rows_and_cells(text: str, expected: list[tuple[int, list[str] | str]]) -> None:
    assert rows(text) == expected


def test_an_open_quotation_mark_swallows_no_later_row() -> None:
    text = "\n".join(['a,"open', *(f"{number},x" for number in range(3 * records.LINES_PER_ROW)), 'b,"open', "c,d"])
    found = rows(text)
    assert len(found) == 3 * records.LINES_PER_ROW + 3
    assert [line for line, cells in found if cells == records.NOT_CLOSED] == [1, 3 * records.LINES_PER_ROW + 2]


def test_over_long_rows_are_faults_of_their_own() -> None:
    long = "x" * (records.MAX_ROW + 1)
    assert rows(f"a,b\n{long}\nc,d") == [(1, ["a", "b"]), (2, records.TOO_LONG), (3, ["c", "d"])]
    piece = "x" * (records.MAX_ROW - 10)
    assert rows(f'"{piece}\n{piece}\nc"\nd')[0] == (1, records.NOT_CLOSED)


@given(
    st.lists(st.lists(st.text(st.characters(exclude_characters="\r\0", codec="utf-8"), max_size=8), min_size=1)),
    st.sampled_from(DELIMITERS),
)
def test_what_the_standard_library_writes_is_read_back(table: list[list[str]], delimiter: str) -> None:
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(table)
    found: list[Record] = list(RecordReader(written.getvalue().split("\n"), delimiter))
    assert [each.cells for each in found] == table
    assert not any(each.fault for each in found)


@given(st.text('ab,"\n', max_size=60))
def test_every_line_with_text_belongs_to_exactly_one_row(text: str) -> None:
    found = list(RecordReader(text.split("\n"), ","))
    starts = [each.line for each in found]
    assert starts == sorted(set(starts))
    covered = [line for line, content in enumerate(text.split("\n"), 1) if content.strip()]
    assert set(starts) <= set(covered)
    assert not covered or starts[0] == covered[0]
