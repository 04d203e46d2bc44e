"""What an import did, or would do, and why not: its outcome, its changes, and their entries in the audit log.

There is one entry for the import and one per row. The import that creates a studio leaves a single one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from studiogate.domain.access import Access
from studiogate.domain.audit import changed_fields
from studiogate.domain.json_values import same_json
from studiogate.domain.studio_file.rows import Fault, Faults
from studiogate.domain.studio_file.sections import STUDIO
from studiogate.storage import audit
from studiogate.storage.audit import Entry, Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file import apply, diff
from studiogate.storage.studio_file.diff import RowChange
from studiogate.storage.studio_file.table_types import Table

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
