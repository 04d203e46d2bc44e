"""Responses in the README and the guides have all fields of their resource, or say that they leave some out."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.specification import MUTATION_RESULT, RESOURCES

ROOT = Path(__file__).parents[2]
OMITTED = "…"


def _examples() -> Iterator[Any]:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs/guides").glob("*.md"))):
        for number, block in enumerate(re.findall(r"```json\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)):
            try:
                value = json.loads(block)
            except ValueError:
                continue  # it names what it leaves out by an ellipsis
            for each in _resources(value):
                yield pytest.param(each, id=f"{page.stem} {number} {each['object']}")


def _resources(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if str(value.get("object")) in RESOURCES and OMITTED not in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _resources(each)


@pytest.mark.parametrize("shown", list(_examples()))
def test_an_example_has_every_field(shown: dict[str, Any]) -> None:
    fields = MUTATION_RESULT if "created" in shown else RESOURCES[shown["object"]]
    assert set(shown) == {"object", *fields}
