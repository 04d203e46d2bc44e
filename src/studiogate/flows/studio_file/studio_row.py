"""The studio's own row in an import: what the file says about it, compared with what is stored."""

import json
from dataclasses import replace
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.fields.readers import Setting
from studiogate.domain.money import is_currency
from studiogate.domain.studio_file.rows import GIVEN, STALE, Fault, Faults, RowReader, place_of
from studiogate.domain.studio_file.sections import STUDIO
from studiogate.flows.studio_file import record
from studiogate.flows.studio_file.outcome import Counts
from studiogate.storage import studio
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file import apply, checks, own_row
from studiogate.storage.studio_file.diff import RowChange

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
        """Return whether the row is about the studio of the access."""
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
        """Return the members that the file gives."""
        mask = self._values.get(GIVEN, 0)
        return {name: value for name, value in self._values.items() if mask & STUDIO.bit(name)}

    async def check(self, connection: Connection, access: Access, *, overwrite: bool) -> None:
        """Check the row against the stored ones, now that it is locked."""
        self._stored = await own_row.read(connection, access)
        if self.setting != self._setting_now():
            raise apply.ConflictError("its own row")
        given = self._given()
        if "slug" in given and await own_row.slug_taken(connection, access, given["slug"]):
            self._faults.add(Fault("studio.slug", "is the slug of another studio"))
        if not await checks.waiver_known(connection, access, given.get("policy", "{}")):
            self._faults.add(Fault("studio.policy.waiver_form_id", "is no form of this file or this studio"))
        if self._stored is not None and not overwrite and self.change(access) is not None:
            seen = self._values.get("revision")
            if seen is not None and self._stored["revision"] > seen:
                self._faults.add(Fault(STUDIO.name, STALE))

    def change(self, access: Access) -> RowChange | None:
        """Return what the file changes in the row."""
        given = {name: value for name, value in self._given().items() if name in own_row.COLUMNS}
        given |= {name: json.loads(given[name]) for name in own_row.DOCUMENTS if name in given}
        return record.studio_change(access, self._stored, given)

    def changes_policy(self, access: Access) -> bool:
        """Return whether the file changes the policy of a stored studio, which its classes inherit."""
        change = self.change(access)
        return self.exists and change is not None and "policy" in change.fields

    async def apply(self, connection: Connection, access: Access) -> Counts:
        """Insert or change the row."""
        if not self.exists:
            await own_row.insert(connection, access, self._values)
            await self._apply_logo(connection, access)
            return Counts(created=1)
        changed = await own_row.change(connection, access, self._given())
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
