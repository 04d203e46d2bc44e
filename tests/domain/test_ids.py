"""The only parser for ids."""

import re
from pathlib import Path

import pytest

import studiogate
from studiogate.domain.ids import parse_id

ID = "0192f0c1-a2b3-7c4d-8e5f-60718293a4b5"
NOT_IDS = [
    "",
    "x" * 36,
    "a" * 36,
    "-" * 36,
    ID[:-1],
    ID + "0",
    ID + "\n",
    " " + ID[1:],
    ID.replace("-", ""),
    "{" + ID + "}",
    "urn:uuid:" + ID,
    ID.replace("0", "\u0660"),
    ID.replace("-", "\u2010"),
    ID[:8] + ID[9:23] + "--" + ID[24:],
    None,
    36,
    [ID],
]


@pytest.mark.parametrize("text", [ID, ID.upper(), ID.title()])
def test_the_hyphenated_form_is_parsed_into_lower_case(text: str) -> None:
    assert parse_id(text) == ID


@pytest.mark.parametrize("value", NOT_IDS)
def test_every_other_form_is_rejected(value: object) -> None:
    assert parse_id(value) is None


def test_no_other_module_has_a_pattern_for_ids() -> None:
    source = Path(studiogate.__file__).parent
    pattern = re.compile(r"\[0-9a-fA-F\]\{8\}|\{36\}|== 36")
    assert [path.name for path in source.rglob("*.py") if pattern.search(path.read_text())] == ["ids.py"]
