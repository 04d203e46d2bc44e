"""docs/studio-file.md describes every field of every section: its type, whether a new row needs it, its values."""

import re
from pathlib import Path

import pytest

import studiogate
from studiogate.domain.bookings.policy import Policy
from studiogate.domain.fields import Section
from studiogate.domain.fields.readers import SHAPES
from studiogate.domain.studio_file.rows import SECTIONS, STUDIO

PAGE = (Path(studiogate.__file__).parents[2] / "docs" / "studio-file.md").read_text()
TITLES = {
    **{f"### `{section.name}`": section for section in (STUDIO, *SECTIONS)},
    **{f"#### `{outer.name}[].{each.name}`": each for outer in SECTIONS for each in outer.nested},
}


def table(title: str) -> dict[str, list[str]]:
    """Return the cells of the table below a heading, by field."""
    below = PAGE.split(title + "\n", 1)[1]
    rows = [line for line in re.split(r"\n#+ ", below)[0].splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
    return {row[0].strip("`"): row[1:] for row in cells}


@pytest.mark.parametrize("title", TITLES)
def test_every_field_is_described(title: str) -> None:
    section: Section = TITLES[title]
    described = table(title)
    assert list(described) == [".".join(section.place(member.name)) for member in section.fields]
    for member in section.fields:
        type_, new_row, values, *_ = described[".".join(section.place(member.name))]
        assert (new_row == "required") == member.required, member.name
        shape = SHAPES[member.read]
        for value in shape.get("enum", ()):
            assert f"`{value}`" in values
        assert type_, member.name


def test_every_policy_field_is_described() -> None:
    below = PAGE.split("## Policy", 1)[1]
    assert [name for name in Policy.__annotations__ if f"`{name}`" not in below] == []
