"""Decide which stored row a row of a CSV file is about.

The external id decides where it is known. Otherwise a row is matched by its email (a product by its key), but two
people are never merged because they share an email, as families do: the row is reported instead. Of people whom the
studio has merged, the row of the one who was kept decides, and the others are skipped."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from studiogate.domain.csv_import.kinds import EXTERNAL_ID, Kind
from studiogate.domain.csv_import.mapping import ColumnMapping
from studiogate.domain.csv_import.translate import DERIVED, Translated

# Spreadsheets execute a cell that begins like a formula. The reasons quote what the input contains, so such cells get
# an apostrophe in front of them.

HEADER = ("line", "external_id", "verdict", "id", "column", "reason")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_SPECIAL = re.compile(r'[,"\r\n]')


class RowVerdict(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    FAULT = "fault"


def csv_line(cells: Sequence[object]) -> str:
    """Return one line of a CSV file, quoted where needed and safe to open in a spreadsheet."""
    texts = ("" if cell is None else str(cell) for cell in cells)
    safe = ("'" + text if text.startswith(_FORMULA) else text for text in texts)
    return ",".join('"' + text.replace('"', '""') + '"' if _SPECIAL.search(text) else text for text in safe) + "\r\n"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the file and the studio say about one row.

    ``known_id``: the stored row of its external id; ``known_exists``: whether that row is still there;
    ``known_own_id``: that row's own external id, which is another one if two people were merged. ``owner_id``: the
    stored row with its key, ``owner_name`` that person's first name, ``owner_external_id`` an external id of the same
    source. ``first_line``: where the file has the external id first; ``key_rows`` and ``key_line``: how many rows of
    the file have the key, and where the first is. ``member_id`` and ``email_member_id``: the member by external id and
    by email."""

    known_id: str | None = None
    known_exists: bool = False
    known_own_id: str | None = None
    owner_id: str | None = None
    owner_name: str | None = None
    owner_external_id: str | None = None
    first_line: int | None = None
    key_rows: int = 0
    key_line: int | None = None
    member_id: str | None = None
    email_member_id: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Either a verdict with its reason, or the row to import: its fields, and its id unless it is new."""

    verdict: RowVerdict | None = None
    field: str = ""
    reason: str = ""
    row_id: str | None = None
    values: dict[str, Any] | None = None


def _fault(field: str, reason: str) -> Decision:
    return Decision(RowVerdict.FAULT, field, reason)


def decide(row: Translated, facts: Facts, mapping: ColumnMapping) -> Decision:
    kind = mapping.kind
    if row.external_id is not None and facts.first_line not in (None, row.line):
        derived = row.external_id.startswith(DERIVED)
        reason = f"is the same row as line {facts.first_line}" if derived else f"is also in line {facts.first_line}"
        verdict = RowVerdict.SKIPPED if mapping.repeated == "skip" else RowVerdict.FAULT
        return Decision(verdict, "" if derived else EXTERNAL_ID, reason)
    if facts.known_id is not None and not facts.known_exists:
        return Decision(
            RowVerdict.SKIPPED, EXTERNAL_ID, f"the {kind.noun} was removed or erased after an earlier import"
        )
    if facts.known_own_id not in (None, row.external_id):
        reason = f"the {kind.noun} was merged with {facts.known_own_id}, whose row decides"
        return Decision(RowVerdict.SKIPPED, EXTERNAL_ID, reason)
    shared = _shared(row, facts, mapping)
    if shared is not None:
        return shared
    row_id = facts.known_id or facts.owner_id
    values = {**row.values} if row_id else {**row.defaults, **row.values}
    if kind.name == "memberships":
        wrong = _member_fault(row, facts, values)
        if wrong is not None:
            return wrong
    return Decision(row_id=row_id, values=values) if row_id else _new(row, kind, values)


def _shared(row: Translated, facts: Facts, mapping: ColumnMapping) -> Decision | None:
    """Return what becomes of a row whose key belongs to somebody else, in the file or in the studio."""
    key = mapping.kind.key
    if key is None or row.key is None:
        return None
    own = facts.known_id is not None and facts.owner_id == facts.known_id
    if facts.owner_id is not None and not own and not _same(row, facts, mapping.kind):
        whose = f"the {mapping.kind.noun} {facts.owner_id} of the studio"
    elif facts.key_rows > 1 and not own and (mapping.shared_email == "fault" or facts.key_line != row.line):
        others = facts.key_rows - 1
        whose = f"line {facts.key_line}" if facts.key_line != row.line else f"{others} other row{'s' * (others > 1)}"
    else:
        return None
    reason = f"is shared with {whose}"
    if key != "email" or mapping.shared_email == "fault":
        return _fault(key, f"{reason}: a {mapping.kind.noun} needs {'an email' if key == 'email' else 'a key'} alone")
    return _without_email(row, facts, mapping, reason)


def _same(row: Translated, facts: Facts, kind: Kind) -> bool:
    """Return whether the stored row with this key is the one that the row is about."""
    if facts.known_id is not None or facts.owner_external_id not in (None, row.external_id):
        return False
    if kind.key != "email":
        return True
    given = str(row.values.get("first_name") or row.defaults.get("first_name") or "").strip().casefold()
    return not given or not facts.owner_name or given == facts.owner_name.strip().casefold()


def _without_email(row: Translated, facts: Facts, mapping: ColumnMapping, reason: str) -> Decision:
    """Import a family's further members without the email. A lead requires one."""
    if mapping.kind.name == "leads":
        return Decision(RowVerdict.SKIPPED, "email", reason)
    if row.external_id is None:
        return _fault("email", f"{reason}, and the row has no external id")
    values = {name: value for name, value in row.values.items() if name != "email"}
    decided = Decision(row_id=facts.known_id, values=values)
    if not facts.known_id:
        decided = _new(row, mapping.kind, {**row.defaults, **values})
    return decided if decided.verdict else replace(decided, field="email", reason=f"{reason}, and left out")


def _member_fault(row: Translated, facts: Facts, values: dict[str, object]) -> Decision | None:
    """Fill in the member, by the external id first: the email may be a family's. Return a fault if neither is known."""
    found = facts.member_id or facts.email_member_id
    if found is None and (row.member or row.member_email):
        field = "member" if row.member else "member_email"
        return _fault(field, "is no member of the studio: import the members first, with the same mapping")
    if found is None and facts.known_id is None:
        return _fault("member", "is required")
    if found is not None:
        values["member_id"] = found
    return None


def _new(row: Translated, kind: Kind, values: dict[str, object]) -> Decision:
    if kind.name in {"members", "leads"} and not (values.get("first_name") or values.get("last_name")):
        if kind.name == "members":
            return _fault("first_name", "is required for a new member")
    elif kind.name in {"members", "leads"}:
        values = {"first_name": "", "last_name": "", **values}
    if kind.name == "members" and row.external_id is None and not values.get("email"):
        return _fault("email", "is required for a row without an external id: it could not be found again")
    missing = [name for name in kind.required if values.get(name) is None]
    if missing:
        named = {filled: name for name, filled in kind.references.items()}
        return _fault(named.get(missing[0], missing[0]), f"is required for a new {kind.noun}")
    return Decision(values=values)
