"""Mapping files, and how they fit a header."""

import re
from pathlib import Path

import pytest

from studiogate.domain.csv_import.kinds import KINDS, Kind
from studiogate.domain.csv_import.mapping import (
    ColumnMapping,
    WrongMappingError,
    choose_delimiter,
    find_columns,
    parse_mapping,
)
from studiogate.domain.csv_import.records import DELIMITERS, Record, UnreadableFileError
from studiogate.flows.csv_rows import load_mapping, preset_names

MEMBERS = """
source = "ours"
dates = ["DD/MM/YYYY"]
[members]
clear = ["phone"]
shared_email = "first"
[members.columns]
external_id = "No"
first_name = "First"
last_name = ["Surname", "Last"]
email = "Mail"
phone = "Tel"
created_at = "Since"
[members.dates]
created_at = "M/D/YYYY"
[members.values.suspended]
Blocked = true
[members.defaults]
role = "user"
[members.only]
Kind = ["Member", "Guest"]
"""


def mapped(text: str = MEMBERS, kind: str = "members") -> ColumnMapping:
    return parse_mapping(text, "file", KINDS[kind])


def header(*names: str) -> Record:
    return Record(1, list(names))


def test_a_mapping_file() -> None:
    mapping = mapped()
    assert (mapping.source, mapping.shared_email, mapping.repeated) == ("ours", "first", "fault")
    assert mapping.columns["last_name"] == ("Surname", "Last")
    assert mapping.values == {"suspended": {"blocked": True}}
    assert mapping.only == {"Kind": {"member", "guest"}}
    assert [each.text for each in mapping.dates["created_at"]] == ["M/D/YYYY"]
    assert [each.text for each in mapping.dates["membership_end_date"]] == ["DD/MM/YYYY"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[members]", "[members"), "is no TOML"),
        (('source = "ours"', 'source = ""'), "source must be a name"),
        (('source = "ours"', "sauce = 1"), "sauce is not known here"),
        (('source = "ours"', 'delimiter = "|"'), "delimiter must be one of ',', ';', "),
        (('source = "ours"', 'encoding = "latin-9"'), "encoding must be one of 'utf-8'"),
        (('dates = ["DD/MM/YYYY"]', 'dates = ["DD/MM/YYYY", "MM/DD/YYYY"]'), "read 01/02/2026 as different days"),
        (('dates = ["DD/MM/YYYY"]', "dates = [3]"), "must be a text or a list of texts"),
        (('created_at = "M/D/YYYY"', 'created_at = "M/D"'), "must have one year"),
        (('created_at = "M/D/YYYY"', 'phone = "M/D/YYYY"'), "members.dates.phone is no field with a date"),
        (('email = "Mail"', 'e_mail = "Mail"'), "members.columns.e_mail is no field of members"),
        (('email = "Mail"', "email = []"), "members.columns.email must be a text"),
        (('role = "user"', "role = 1.5"), "members.role must be given as a text"),
        (('clear = ["phone"]', 'clear = "phone"'), "members.clear must name fields"),
        (('shared_email = "first"', 'shared_email = "merge"'), "shared_email must be one of 'fault', 'first'"),
        (('Kind = ["Member", "Guest"]', "Kind = []"), "members.only.Kind must be a text"),
    ],
)
def test_faults_of_a_mapping_name_their_place(change: tuple[str, str], message: str) -> None:
    text = MEMBERS.replace(*change)
    assert text != MEMBERS
    with pytest.raises(WrongMappingError) as wrong:
        mapped(text)
    assert message in str(wrong.value)


def test_all_faults_are_listed() -> None:
    with pytest.raises(WrongMappingError) as wrong:
        mapped('source = ""\nx = 1\n[members.columns]\ny = "Y"\n')
    assert len(wrong.value.faults) == 3


def test_a_mapping_without_the_kind() -> None:
    with pytest.raises(WrongMappingError, match=r"has no section \[leads\]: it maps members"):
        mapped(kind="leads")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", preset_names())
def test_presets_are_right(name: str, kind: str) -> None:
    if name != "generic" and kind in {"schedule", "products"}:
        with pytest.raises(WrongMappingError, match="has no section"):
            load_mapping(name, KINDS[kind])
    else:
        assert load_mapping(name, KINDS[kind]).source == name


def test_the_generic_preset_maps_every_field() -> None:
    for kind in KINDS.values():
        assert load_mapping("generic", kind).columns.keys() == kind.fields.keys()


def test_a_header_is_found_without_regard_to_case_and_spaces() -> None:
    columns = find_columns(header("MAIL", " first ", "Last", "kind", "Notes", ""), mapped())
    assert columns.positions == {"email": (0,), "first_name": (1,), "last_name": (2,)}
    assert columns.missing == ("No", "Tel", "Since")
    assert columns.ignored == ("kind", "Notes")
    assert columns.name("email") == "MAIL"
    assert columns.name("phone") == "phone"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("First", "Mail", "mail", "Kind"), "names 'Mail' twice"),
        (("Mail", "Kind"), r"no column for first_name \(First\), last_name \(Surname or Last\)"),
        (("First", "Last", "Kind"), "no column for external_id or email"),
        (("First", "Mail"), "no column for Kind"),
        (("a",) * 1001, "more than 1,000 columns"),
    ],
)
def test_headers_that_do_not_fit(names: tuple[str, ...], message: str) -> None:
    with pytest.raises(UnreadableFileError, match=message):
        find_columns(header(*names), mapped())


def test_duplicates_of_columns_that_are_not_used_do_not_matter() -> None:
    assert find_columns(header("First", "Mail", "Kind", "x", "x"), mapped()).ignored == ("Kind", "x", "x")


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_the_delimiter_is_the_one_that_finds_the_columns(delimiter: str) -> None:
    line = delimiter.join(["No", "First", "Last, or family; name\there", "Mail"])
    headers = {mark: Record(1, line.split(mark)) for mark in DELIMITERS}
    assert choose_delimiter(headers, mapped()) == delimiter


# The guide.

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "import-csv.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["members", "leads"])
def test_the_example_of_the_guide_is_a_mapping(kind: str) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    mapping = parse_mapping(example, "guide", KINDS[kind])
    assert mapping.source == "studioware"


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_guide_names_every_field(kind: Kind) -> None:
    (fields,) = re.findall(rf"^\| `{kind.name}` \| (.*) \|$", GUIDE, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", fields)) == set(kind.fields)
