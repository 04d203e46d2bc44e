"""The only parser for ids: the 36-character hyphenated form, in lower case once parsed.

``uuid.UUID()`` also accepts braces, ``urn:uuid:`` and missing hyphens, and PostgreSQL accepts further forms. Every
layer that receives an id as text (API, hosted pages, commands, studio files, cursors) parses it here."""

import re

ID_PATTERN = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
# fullmatch instead of the anchors: "$" also matches before a final line feed.
_matches = re.compile(ID_PATTERN[1:-1], re.ASCII).fullmatch


def parse_id(value: object) -> str | None:
    return value.lower() if isinstance(value, str) and _matches(value) else None


def lower_ids(value: object) -> object:
    """Return a value or a list with its ids in lower case and everything else unchanged."""
    if isinstance(value, list):
        return [parse_id(each) or each for each in value]
    return parse_id(value) or value
