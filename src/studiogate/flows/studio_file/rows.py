"""Read the rows of an import: each is checked, then they are staged in the database in batches. The studio's own row is
compared with the stored one. The outcome is what the import did, or would do, and why not.

Of an import, the audit log has one entry for the whole and one per row. The import that creates a studio leaves a
single one."""

import hashlib
import json
import secrets
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.audit import changed_fields
from studiogate.domain.fields import Section, Values
from studiogate.domain.fields.forms import FILES, VERSIONS
from studiogate.domain.fields.people import EXTERNAL_IDS
from studiogate.domain.fields.readers import Setting
from studiogate.domain.json_values import same_json
from studiogate.domain.money import is_currency
from studiogate.domain.studio_file.parser import Element
from studiogate.domain.studio_file.rows import EVERY_SECTION, GIVEN, STALE, STUDIO, Fault, Faults, RowReader, place_of
from studiogate.storage import audit, studio
from studiogate.storage.audit import Entry, Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file import apply, checks, diff, stage
from studiogate.storage.studio_file.diff import RowChange
from studiogate.storage.studio_file.table_types import Table
from studiogate.storage.studio_file.tables import OUTER, TABLE_OF_SECTION, TABLES

Progress = Callable[[str, int, int], None]
# Above this number of written rows in a table, its statistics are brought up to date.
MANY_ROWS = 100


@dataclass(frozen=True, slots=True)
class Counts:
    created: int = 0
    updated: int = 0
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an import did to each section, or why it did nothing. ``faults`` and ``warnings`` are the first ones of
    ``fault_count`` and ``warning_count``. ``effects`` counts what followed from the changes."""

    sections: dict[str, Counts] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    fault_count: int = 0
    warnings: list[Fault] = field(default_factory=list)
    warning_count: int = 0
    effects: dict[str, int] = field(default_factory=dict)

    def wrote_much(self, section: str) -> bool:
        counts = self.sections.get(section, Counts())
        return counts.created + counts.updated >= MANY_ROWS


def refused(faults: Faults, warnings: Faults) -> Outcome:
    return Outcome(
        faults=faults.listed(), fault_count=faults.count, warnings=warnings.listed(), warning_count=warnings.count
    )


def silent(_step: str, _done: int, _total: int) -> None:
    """Report no progress."""


def studio_change(
    access: Access, stored: Mapping[str, object] | None, wanted: Mapping[str, object]
) -> RowChange | None:
    """Return what the file changes in the studio's own row, or None. ``wanted`` has the given columns by name."""
    old = stored or {}
    fields = {
        name: [old.get(name), wanted[name]]
        for name in apply.STUDIO_COLUMNS
        if name in wanted and not same_json(old.get(name), wanted[name])
    }
    if stored is not None and not fields:
        return None
    return RowChange(STUDIO.name, STUDIO.name, access.studio_id, stored is None, fields)


async def record_rows(
    connection: Connection, access: Access, studio: RowChange | None, tables: Sequence[Table]
) -> None:
    """Write an audit entry per changed row. Must run before the rows are written."""
    if studio is not None:
        old, new = ({name: values[side] for name, values in studio.fields.items()} for side in (0, 1))
        action = "studio.create" if studio.created else "studio.change"
        await audit.add(
            connection, access, Entry(action, Subject("studio", studio.id), changed_fields("studio", old, new))
        )
    for table in tables:
        await diff.record(connection, access, table)


async def record_import(connection: Connection, access: Access, sections: Mapping[str, Counts]) -> None:
    """Write the entry of the import itself: how many rows of each section it created and updated."""
    changes = {
        name: {"created": counts.created, "updated": counts.updated}
        for name, counts in sections.items()
        if counts.created or counts.updated
    }
    if changes:
        await audit.add(connection, access, Entry("studio.import", Subject("studio", access.studio_id), changes))


BATCH = 2_000
# What identifies the rows of sections without ids.
KEYS = {VERSIONS.name: ("form_id", "version"), EXTERNAL_IDS.name: ("source", "kind", "external_id")}


class StagedRows:
    """The rows read so far. They are checked one by one and written in batches."""

    def __init__(self, setting: Setting, faults: Faults) -> None:
        self._readers = {name: RowReader(section, setting) for name, section in EVERY_SECTION.items()}
        self.faults = faults
        self._rows: dict[str, list[tuple[int, str, Values]]] = defaultdict(list)
        self._staged: set[str] = set()
        self._faulty: list[tuple[str, UUID | str]] = []
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
        if not wrong:
            if section in KEYS:
                # Not for security: the database computes the same id for the stored rows.
                key = "/".join(str(values[name]) for name in KEYS[section])
                values["id"] = UUID(bytes=hashlib.md5(key.encode(), usedforsecurity=False).digest())
            elif section == FILES.name:
                values["stored_name"] = secrets.token_hex(16)
        if not wrong and None not in more.values():
            self._rows[section].append((self._number, place, values))
        elif "id" in values:
            self._faulty.append((TABLE_OF_SECTION[section].name, values["id"]))
        return values


OF_THE_STUDIO = ("currency", "country", "timezone")
# Placeholder for a studio whose id cannot be read: its rows are checked one by one and never against others.
NO_STUDIO = "00000000-0000-0000-0000-000000000000"


def id_in(row: object) -> UUID:
    """Return the id that the file gives the studio, or that of no studio if it cannot be read."""
    values, _ = RowReader(STUDIO, Setting()).read(row)
    return UUID(values.get("id", NO_STUDIO))


class StudioRow:
    """``exists`` is whether the studio is stored."""

    def __init__(self, row: object, stored: dict[str, Any] | None, faults: Faults) -> None:
        self._stored = stored
        self._values: dict[str, Any] = {}
        self._faults = faults
        if row is not None:
            self._read(row)
        self.setting = self._setting_now()

    @property
    def exists(self) -> bool:
        return self._stored is not None

    @property
    def identified(self) -> bool:
        return "id" in self._values

    def is_of(self, access: Access) -> bool:
        return self.identified and UUID(self._values["id"]) == access.studio_id

    def _read(self, row: object) -> None:
        own = row.get("currency") if isinstance(row, dict) else None
        known = replace(self._setting_now(), currency=str(own)) if is_currency(own) else self._setting_now()
        self._values, faults = RowReader(STUDIO, known).read(row)
        if not self.exists and self._values:
            needed = [each.name for each in STUDIO.fields if each.required and each.name != "id"]
            absent = [name for name in needed if not self._values[GIVEN] & STUDIO.bit(name)]
            faults += [((name,), "is required") for name in absent]
        for loc, message in faults:
            self._faults.add(Fault(place_of(STUDIO.name, loc), message))

    def _setting_now(self) -> Setting:
        """Return what other rows depend on: what the file does not give is as stored."""
        stored = {name: self._stored[name] for name in OF_THE_STUDIO} if self._stored else {}
        return Setting(**stored | {name: value for name, value in self._given().items() if name in OF_THE_STUDIO})

    def _given(self) -> dict[str, Any]:
        mask = self._values.get(GIVEN, 0)
        return {name: value for name, value in self._values.items() if mask & STUDIO.bit(name)}

    async def check(self, connection: Connection, access: Access, *, overwrite: bool) -> None:
        """Check the row against the stored ones, now that it is locked."""
        self._stored = await apply.read_studio(connection, access)
        if self.setting != self._setting_now():
            raise apply.ConflictError("its own row")
        given = self._given()
        if "slug" in given and await apply.slug_taken(connection, access, given["slug"]):
            self._faults.add(Fault("studio.slug", "is the slug of another studio"))
        if not await checks.waiver_known(connection, access, given.get("policy", "{}")):
            self._faults.add(Fault("studio.policy.waiver_form_id", "is no form of this file or this studio"))
        if self._stored is not None and not overwrite and self.change(access) is not None:
            seen = self._values.get("revision")
            if seen is not None and self._stored["revision"] > seen:
                self._faults.add(Fault(STUDIO.name, STALE))

    def change(self, access: Access) -> RowChange | None:
        given = {name: value for name, value in self._given().items() if name in apply.STUDIO_COLUMNS}
        given |= {name: json.loads(given[name]) for name in apply.DOCUMENTS if name in given}
        return studio_change(access, self._stored, given)

    def changes_policy(self, access: Access) -> bool:
        """Return whether the file changes the policy of a stored studio, which its classes inherit."""
        change = self.change(access)
        return self.exists and change is not None and "policy" in change.fields

    async def apply(self, connection: Connection, access: Access) -> Counts:
        if not self.exists:
            await apply.insert_studio(connection, access, self._values)
            await self._apply_logo(connection, access)
            return Counts(created=1)
        changed = await apply.change_studio(connection, access, self._given())
        return Counts(updated=1) if await self._apply_logo(connection, access) or changed else Counts(unchanged=1)

    async def _apply_logo(self, connection: Connection, access: Access) -> bool:
        """Store or remove the logo, if the file gives one or null; return whether that changed anything."""
        given = self._given()
        logo = given.get("logo")
        if "logo" not in given or await studio.logo_name(connection, access) == (logo and logo.name):
            return False
        if logo is None:
            return await studio.remove_logo(connection, access)
        await studio.write_logo(connection, access, logo)
        return True
