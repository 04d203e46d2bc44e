"""Read content/: the demo studio's places, products, timetable, people and forms."""

import json
from functools import cache
from importlib import resources
from typing import Any


def read_file(file: str) -> Any:
    """Return the content of a file in content/."""
    return json.loads((resources.files("studiogate.demo") / "content" / file).read_text("utf-8"))


@cache
def sections(file: str) -> Any:
    """Return the content of a file in content/ with tuples for its lists, read once."""
    return _frozen(read_file(file))


def _frozen(value: object) -> object:
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return {name: _frozen(each) for name, each in value.items()} if isinstance(value, dict) else value
