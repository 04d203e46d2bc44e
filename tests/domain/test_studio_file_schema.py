"""The published schema of studio files, compared with the importer's own reader."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import studiogate
from studiogate.domain.fields.readers import Setting
from studiogate.domain.studio_file.rows import EVERY_SECTION, SECTIONS, STUDIO, RowReader, studio_file_schema
from tests.support.demo_rows import MOMENTS, studio_at
from tests.support.studio_files import small_studio, uid, with_history

SCHEMA = studio_file_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SETTING = Setting("USD", "US", "America/New_York")
READERS = {name: RowReader(section, SETTING) for name, section in {**EVERY_SECTION, "studio": STUDIO}.items()}
PUBLISHED = Path(studiogate.__file__).parents[2] / "docs" / "studio-file.schema.json"
FULL = with_history(small_studio())

# Values of every kind, right and wrong.
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([2**31, 1.5, "", "x", "USD", "US", "2026-01-01T00:00:00Z", "2026-01-01", "15.00", "1e3", uid("a")]),
    st.sampled_from(["confirmed", "active", "waiting", "package", "new", "draft", "Europe/Berlin", "a@example.com"]),
    st.lists(st.sampled_from([uid("a"), "x", 3]), max_size=2),
    st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 1), max_size=2),
)


def rows_of(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return all rows with their sections, the nested ones included."""
    rows = [("studio", document["studio"])]
    for section in SECTIONS:
        for row in document.get(section.name) or ():
            rows.append((section.name, row))
            rows += [(nested.name, each) for nested in section.nested for each in row.get(nested.name) or ()]
    return rows


def schema_of(section: str) -> dict[str, Any]:
    found: dict[str, Any] = SCHEMA["properties"]
    if section == "studio":
        return dict(found["studio"])
    for outer in SECTIONS:
        if outer.name == section:
            return dict(found[section]["items"])
        if section in {each.name for each in outer.nested}:
            return dict(found[outer.name]["items"]["properties"][section]["items"])
    raise LookupError(section)


def accepts(section: str, row: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(schema_of(section)).is_valid(row))


def reads(section: str, row: Any) -> bool:
    """Return whether the importer reads the row without a fault."""
    own = EVERY_SECTION.get(section, STUDIO)
    flat = {k: v for k, v in row.items() if k not in {each.name for each in own.nested}}
    return not READERS[section].read(flat)[1]


def test_the_published_schema_is_the_importers() -> None:
    assert json.loads(PUBLISHED.read_text()) == SCHEMA, (
        "run `studiogate import --schema > docs/studio-file.schema.json`"
    )
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("document", [lambda: FULL, lambda: studio_at(MOMENTS[0])], ids=["full", "demo"])
def test_whole_files_are_valid(document: Callable[[], dict[str, Any]]) -> None:
    VALIDATOR.validate(document())


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_what_the_importer_reads_the_schema_accepts(data: st.DataObject) -> None:
    """The schema never refuses a row that can be imported, and the importer refuses what the schema does."""
    section, row = data.draw(st.sampled_from(rows_of(FULL)))
    names = [member.name for member in EVERY_SECTION.get(section, STUDIO).fields]
    changed = {**row, **data.draw(st.dictionaries(st.sampled_from([*names, "surprise"]), VALUES, max_size=3))}
    if reads(section, changed):
        assert accepts(section, changed)
    if not accepts(section, changed):
        assert not reads(section, changed)


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_what_the_schema_refuses_nobody_imports(data: st.DataObject) -> None:
    """A value of a wrong type is refused by both, for every member of every section."""
    section, row = data.draw(st.sampled_from(rows_of(FULL)))
    own = EVERY_SECTION.get(section, STUDIO)
    member = data.draw(st.sampled_from(own.fields))
    wrong = data.draw(st.sampled_from([[[]], {"a": []}, True, 1.25, -5, "\x00", ["x", 5]]))
    shape, *outer = schema_of(section), *own.place(member.name)[:-1]
    for name in own.place(member.name):
        shape = shape["properties"][name]
    inner = {member.name: wrong}
    changed = {**row, **({outer[0]: inner} if outer else inner)}
    if jsonschema.Draft202012Validator(shape).is_valid(wrong):
        return
    assert not accepts(section, changed)
    assert not reads(section, changed)


@pytest.mark.parametrize(("section", "row"), rows_of(FULL), ids=lambda each: each if isinstance(each, str) else "row")
def test_every_member_has_a_shape(section: str, row: dict[str, Any]) -> None:
    """Each row is accepted as it is, without any optional member, and refused without its id or with a stranger."""
    own = EVERY_SECTION.get(section, STUDIO)
    assert accepts(section, row)
    assert reads(section, row)
    for member in own.fields:
        without = {name: value for name, value in row.items() if name != member.name}
        assert accepts(section, without) == reads(section, without) == (member.name != "id"), member.name
        if member.name not in row or not member.required:
            continue
        assert not accepts(section, {**row, member.name: None})
        assert not reads(section, {**row, member.name: None})
    assert not accepts(section, {**row, "surprise": 1})
