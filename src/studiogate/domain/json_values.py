"""Serialize JSON values in one notation, and compare them."""

import json

NESTING = (dict, list)


def json_text(value: object, *, sort_keys: bool = False) -> str:
    """Return a value as compact JSON, with non-ASCII characters unescaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys)


def same_json(one: object, other: object) -> bool:
    """Return whether two values are the same JSON, in any order of members. In Python alone, 1 equals True."""
    if isinstance(one, NESTING) or isinstance(other, NESTING):
        return json_text(one, sort_keys=True) == json_text(other, sort_keys=True)
    return type(one) is type(other) and one == other
