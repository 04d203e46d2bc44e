"""Translate one row of a CSV file into the fields of a studio-file row."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from studiogate.domain.bookings.states import MembershipStatus
from studiogate.domain.csv_import import formats
from studiogate.domain.csv_import.cells import CellReader, Directory, check, class_times
from studiogate.domain.csv_import.formats import WrongCellError
from studiogate.domain.csv_import.kinds import EXTERNAL_ID, PRICE_FIELDS
from studiogate.domain.csv_import.mapping import ColumnMapping, Columns
from studiogate.domain.csv_import.records import Record
from studiogate.domain.fields.readers import email

MAX_EXTERNAL_ID = 200
# Marks an external id that was derived from the row itself, because its file has none.
DERIVED = "derived:"
# What makes a row the same row again, for kinds whose rows often have no id of their own.
NATURAL = {
    "memberships": ("member", "member_email", "product_id", "started_at"),
    "schedule": ("title", "location_id", "room_id", "start_time"),
}


@dataclass(slots=True)
class Translated:
    """A row in the studio file's terms. ``values`` are fields that the row gives, ``defaults`` those that only a new
    row gets. ``faults`` are (column, message)."""

    line: int
    external_id: str | None = None
    key: str | None = None
    member: str | None = None
    member_email: str | None = None
    values: dict[str, Any] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    skipped: str | None = None
    faults: list[tuple[str, str]] = field(default_factory=list)


class Translator:
    """Translates the rows of one file; what all of them share is computed once."""

    def __init__(self, columns: Columns, mapping: ColumnMapping, directory: Directory, now: datetime) -> None:
        self._now = now
        self._columns = columns
        self._mapping = mapping
        self._kind = mapping.kind
        self._directory = directory
        # Amounts are read with the row's currency, so that comes first.
        self._positions = sorted(columns.positions.items(), key=lambda column: column[0] != "currency")
        filled = {*columns.positions, *mapping.defaults} - {EXTERNAL_ID}
        self._cells = {name: CellReader(name, mapping, directory) for name in filled}

    def translate(self, record: Record) -> Translated:
        row = Translated(record.line)
        row.faults += [("", message) for message in self._broken(record)]
        if row.faults:
            return row
        row.skipped = self._skipped(record.cells)
        if row.skipped is None:
            # An empty text means that the cells of the field are empty.
            texts = {
                name: next((text for position in positions if (text := record.cells[position].strip())), "")
                for name, positions in self._positions
            }
            row.external_id = self._external_id(row, texts.pop(EXTERNAL_ID, None))
            self._read(row, texts)
            self._finish(row)
        return row

    def _broken(self, record: Record) -> Iterator[str]:
        wanted = len(self._columns.names)
        if record.fault:
            yield record.fault
        elif len(record.cells) < wanted or any(cell.strip() for cell in record.cells[wanted:]):
            yield f"has {len(record.cells)} cells, but the header has {wanted}"
        elif "\0" in "".join(record.cells):
            yield "contains a NUL character: save the file again as UTF-8"

    def _skipped(self, cells: list[str]) -> str | None:
        if not any(cell.strip() for cell in cells):
            return "the row is empty"
        for wanted, columns in ((True, self._columns.chosen), (False, self._columns.left_out)):
            for position, texts in columns.items():
                if (cells[position].strip().casefold() in texts) is not wanted:
                    return f"{self._columns.names[position]} is {formats.shown(cells[position])}"
        return None

    def _external_id(self, row: Translated, text: str | None) -> str | None:
        if not text:
            return None
        if len(text) > MAX_EXTERNAL_ID or text.startswith(DERIVED):
            row.faults.append((self._columns.name(EXTERNAL_ID), f"must have at most {MAX_EXTERNAL_ID} characters"))
            return None
        return text

    def _read(self, row: Translated, texts: Mapping[str, str]) -> None:
        given = {name: text for name, text in texts.items() if text}
        for name in self._mapping.clear & texts.keys() - given.keys():
            row.values[name] = None
        # The currency of the row may be a default.
        for name, value in self._mapping.defaults.items():
            if name not in given:
                self._read_into(row, row.defaults, name, value)
        for name, text in given.items():
            self._read_into(row, row.values, name, text)

    def _read_into(self, row: Translated, values: dict[str, object], name: str, given: object) -> None:
        currency = row.values.get("currency") or row.defaults.get("currency")
        try:
            values[name] = self._cells[name].read(given, currency)
        except WrongCellError as wrong:
            row.faults.append((self._columns.name(name), str(wrong)))

    # What several fields mean together.

    def _finish(self, row: Translated) -> None:
        if "first_name" in self._kind.fields:
            _split_name(row.values)
        self._resolve(row)
        if self._kind.name == "schedule" and not row.faults:
            self._class_times(row)
        if self._kind.name == "products":
            self._price(row)
        if self._kind.name == "memberships":
            _cancel(row.values, self._now)
        row.member, row.member_email = row.values.pop("member", None), self._member_email(row)
        row.key = row.values.get(self._kind.key) if self._kind.key else None
        if row.external_id is None and self._kind.name in NATURAL and not row.faults:
            together = {**row.defaults, **row.values, "member": row.member, "member_email": row.member_email}
            parts = [str(together.get(name) or "") for name in NATURAL[self._kind.name]]
            row.external_id = DERIVED + hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _resolve(self, row: Translated) -> None:
        """Replace the names of other rows by their ids; the location comes first, because rooms belong to one."""
        for values in (row.values, row.defaults):
            for name in sorted(self._kind.references.keys() & values.keys(), key=lambda name: name != "location"):
                text = values.pop(name)
                filled = self._kind.references[name]
                try:
                    location = row.values.get("location_id") or row.defaults.get("location_id")
                    values[filled] = self._directory.find(name, str(text), location).id if text is not None else None
                except WrongCellError as wrong:
                    row.faults.append((self._columns.name(name), str(wrong)))

    def _class_times(self, row: Translated) -> None:
        zone = self._directory.zone_of(row.values.get("location_id") or row.defaults.get("location_id"))
        together = {**row.defaults, **row.values}
        for values in (row.values, row.defaults):
            for name in ("date", "start_time", "end_time", "duration_minutes"):
                values.pop(name, None)
        try:
            row.values |= class_times(together, self._mapping.dates, zone)
        except WrongCellError as wrong:
            row.faults.append((self._columns.name("start_time"), str(wrong)))

    def _price(self, row: Translated) -> None:
        given = {name: row.values.pop(name) for name in PRICE_FIELDS if name in row.values}
        defaults = {name: row.defaults.pop(name) for name in PRICE_FIELDS if name in row.defaults}
        if "amount" in given and given["amount"] is not None:
            price = {"price_type": "recurring" if given.get("interval") else "one_time", **defaults, **given}
            row.values["prices"] = [price]
        if "key" not in row.values and row.external_id is not None:
            row.defaults.setdefault("key", row.external_id)

    def _member_email(self, row: Translated) -> str | None:
        if (text := row.values.pop("member_email", None)) is None:
            return None
        try:
            return str(check(email, text, self._directory.setting))
        except WrongCellError as wrong:
            row.faults.append((self._columns.name("member_email"), str(wrong)))
            return None


def _cancel(values: dict[str, object], now: datetime) -> None:
    """Apply the date of a cancellation to a membership whose row says nothing else about its status: it was cancelled
    then or, if the date lies ahead, will be."""
    date = values.get("cancelled_at")
    if date is None or values.get("status") is not None:
        return
    if datetime.fromisoformat(str(date)) <= now:
        values["status"] = MembershipStatus.CANCELLED.value
        values.setdefault("ended_at", date)
    else:
        values.setdefault("cancel_at", values.pop("cancelled_at"))


def _split_name(values: dict[str, object]) -> None:
    """Split a full name at its last space, unless the row also has a first or a last name."""
    name = values.pop("name", None)
    if name is not None and not {"first_name", "last_name"} & values.keys():
        first, _, last = str(name).rpartition(" ")
        values["first_name"], values["last_name"] = (first.strip(), last) if first.strip() else (last, "")
