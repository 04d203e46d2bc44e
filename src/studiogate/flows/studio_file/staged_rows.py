"""Stage the rows of a studio file in the database: each row is checked, then they are written in batches."""

import hashlib
import secrets
from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from studiogate.domain.fields import Section, Values
from studiogate.domain.fields.readers import Setting
from studiogate.domain.studio_file.faults import Fault, Faults, place_of
from studiogate.domain.studio_file.parser import Element
from studiogate.domain.studio_file.rows import RowReader
from studiogate.domain.studio_file.sections import EVERY_SECTION, EXTERNAL_IDS, FILES, VERSIONS
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file import stage
from studiogate.storage.studio_file.table_types import Table
from studiogate.storage.studio_file.tables import OUTER, TABLE_OF_SECTION, TABLES

BATCH = 2_000
# What identifies the rows of sections without ids.
KEYS = {VERSIONS.name: ("form_id", "version"), EXTERNAL_IDS.name: ("source", "kind", "external_id")}
OWN_VALUES = frozenset({*KEYS, FILES.name})


class StagedRows:
    """The rows read so far. They are checked one by one and written in batches."""

    def __init__(self, setting: Setting, faults: Faults) -> None:
        self._readers = {name: RowReader(section, setting) for name, section in EVERY_SECTION.items()}
        self.faults = faults
        self._rows: dict[str, list[tuple[int, str, Values]]] = defaultdict(list)
        self._staged: set[str] = set()
        self._faulty: list[tuple[str, Any]] = []
        self._number = 0
        self._waiting = 0

    @property
    def full(self) -> bool:
        return self._waiting >= BATCH

    @property
    def tables(self) -> Sequence[Table]:
        """The tables that the file has rows for, with those of nested rows. Nothing needs to be done for the others."""
        nested = {each.name for name in self._staged for each in EVERY_SECTION[name].nested}
        return [table for table in TABLES if table.title in self._staged | nested]

    def add(self, element: Element) -> None:
        reader = self._readers[element.section]
        values = self._add(element.section, reader, element.place, element.value, {})
        for section in reader.section.nested if isinstance(element.value, dict) else ():
            self._add_nested(section, element, values.get("id"))

    def fault(self, fault: Fault) -> None:
        """Add a fault that reading the file found; it is listed at the position reached so far."""
        self._number += 1
        self.faults.add(Fault(fault.place, fault.message, self._number))

    async def flush(self, connection: Connection) -> None:
        for name, rows in self._rows.items():
            await stage.stage(connection, TABLE_OF_SECTION[name], rows)
        self._staged.update(self._rows)
        if self._faulty:
            await stage.stage_faulty(connection, self._faulty)
        self._rows.clear()
        self._faulty.clear()
        self._waiting = 0

    def _add_nested(self, section: Section, outer: Element, outer_id: object) -> None:
        given = outer.value.get(section.name)
        if given is None:
            return
        if not isinstance(given, list):
            self.fault(Fault(f"{outer.place}.{section.name}", "must be an array"))
            return
        for index, row in enumerate(given):
            place = f"{outer.place}.{section.name}[{index}]"
            self._add(section.name, self._readers[section.name], place, row, {OUTER[section.name]: outer_id})

    def _add(self, section: str, reader: RowReader, place: str, row: object, more: Values) -> Values:
        self._number += 1
        self._waiting += 1
        values, wrong = reader.read(row)
        for loc, message in wrong:
            self.faults.add(Fault(place_of(place, loc), message, self._number))
        values |= more
        if section in OWN_VALUES and not wrong:
            values |= _own_values(section, values)
        if not wrong and None not in more.values():
            self._rows[section].append((self._number, place, values))
        elif "id" in values:
            self._faulty.append((TABLE_OF_SECTION[section].name, values["id"]))
        return values


def _own_values(section: str, values: Values) -> Values:
    """Return what a row has besides the file's values: an id computed from its key, a name for a stored file."""
    if section in KEYS:
        # Not for security: the database computes the same for the stored rows.
        key = "/".join(str(values[name]) for name in KEYS[section])
        return {"id": UUID(bytes=hashlib.md5(key.encode(), usedforsecurity=False).digest())}
    return {"stored_name": secrets.token_hex(16)} if section == FILES.name else {}
