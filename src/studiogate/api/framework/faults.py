"""Messages for the faults in a 422: our wording for pydantic's, and the nearest known name for an unknown one."""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

UNKNOWN = "extra_forbidden"
REPEATED = "repeated"
REPLACED = "\ufffd"  # stands for bytes that are not UTF-8
# Comparing takes more than linear time in the length, and the name is the caller's own text.
MAX_LENGTH_COMPARED = 40
MAX_COMPARED = 20
NEAR_ENOUGH = 0.5
_TEXTS = {
    "dict_type": "Input should be a JSON object",
    "model_type": "Input should be a JSON object",
    "model_attributes_type": "Input should be a JSON object",
    "list_type": "Input should be a JSON array",
}


def worded(fault: Mapping[str, Any]) -> str:
    """Return the message of a fault in terms of characters, entries and fields."""
    kind = fault["type"]
    if kind in ("too_short", "too_long") and "ctx" in fault:
        return _length(kind, fault)
    return _TEXTS.get(kind) or str(fault["msg"])


def _length(kind: str, fault: Mapping[str, Any]) -> str:
    at_least, bound = ("at least", "min_length") if kind == "too_short" else ("at most", "max_length")
    count = fault["ctx"][bound]
    one, several = ("character", "characters") if isinstance(fault.get("input"), str) else ("entry", "entries")
    return f"Input should have {at_least} {count} {one if count == 1 else several}"


def unknown_parameters(given: Iterable[str], known: Sequence[str]) -> list[dict[str, Any]]:
    """Return one fault per query parameter that the operation does not know."""
    strangers = [name for name in given if name not in known]
    faults = [{"type": UNKNOWN, "loc": ("query", name), "msg": ""} for name in strangers]
    return with_nearest(faults, "parameter", known)


def repeated_parameters(repeated: Iterable[str], known: Collection[str]) -> list[dict[str, object]]:
    """Return one fault per query parameter that is given more than once, of those that the operation knows."""
    names = [name for name in repeated if name in known]
    return [{"type": REPEATED, "loc": ("query", name), "msg": "Parameter is given more than once"} for name in names]


def repeated_headers(repeated: Collection[bytes], single: Iterable[str]) -> list[dict[str, object]]:
    """Return one fault per header that is given more than once, of the ``single`` ones, which have one value."""
    names = [name for name in single if name.lower().encode() in repeated]
    return [{"type": REPEATED, "loc": ("header", name), "msg": "Header is given more than once"} for name in names]


def unreadable_parameters(query: Mapping[str, str], known: Iterable[str]) -> list[dict[str, object]]:
    """Return one fault per parameter of a query that is not UTF-8, of those with bytes that could not be decoded."""
    unreadable = [name for name in known if REPLACED in query.get(name, "")]
    return [{"type": "string_unicode", "loc": ("query", name), "msg": "Input should be UTF-8"} for name in unreadable]


def with_nearest(faults: Iterable[dict[str, Any]], noun: str, known: Collection[str]) -> list[dict[str, Any]]:
    """Return the faults, with the nearest known name added to the first few about an unknown one."""
    named, result = 0, []
    for fault in faults:
        if fault["type"] == UNKNOWN and len(fault["loc"]) == 2:
            named += 1
            hint = ""
            if named <= MAX_COMPARED:
                near = nearest(str(fault["loc"][1]), known)
                hint = f": known are {', '.join(known)}" if known else ": none is known here"
                hint = hint if near is None else f": did you mean {near}?"
            fault = {**fault, "msg": f"Unknown {noun}{hint}"}
        result.append(fault)
    return result


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the most similar known name, ignoring case, hyphens and underscores, or None if none is similar."""
    wanted = _folded(name[:MAX_LENGTH_COMPARED])
    likeness = {each: difflib.SequenceMatcher(None, wanted, _folded(each), autojunk=False).ratio() for each in known}
    best = max(likeness, key=likeness.__getitem__, default=None)
    return best if best is not None and likeness[best] >= NEAR_ENOUGH else None


def _folded(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
