"""Events with exact ``previous_attributes``: the wire rows before a change, the wire rows after it, and the difference.

This is the way to announce any update whose changed fields are not known beforehand::

    before = await event_changes.snapshot(connection, access, EventType.MEMBER_UPDATED, [member_id])
    ...  # change the rows
    await event_changes.emit_changes(connection, access, EventType.MEMBER_UPDATED, before)

Both calls must run in the transaction of the change, and the rows must be locked before the first one; otherwise
another writer's change could appear in the difference. Rows that readers see unchanged produce no event, so a flow may
take a snapshot of everything that it might change. New rows produce none either: emit their ``.created`` event with
``events.emit``. ``flows.changes.changing`` does the same as a context manager.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.json_values import same_json
from studiogate.storage.db.pool import Connection
from studiogate.storage.events import Change, emit, subject_of
from studiogate.storage.paging import Resource

Snapshot = Mapping[UUID, Mapping[str, Any]]
"""The resources by their ids, as GET returns them to a reader that may see all of them."""

# Changes with every write, so it carries no information.
NEVER_ANNOUNCED = frozenset({"updated_at"})


@cache
def _rows(resource: Resource) -> str:
    alias = resource.alias
    return f"""
        select {alias}.id, (select row_to_json(w)::text from (select {resource.columns}) w) as wire
        from {resource.table} {alias} {resource.joins}
        where {alias}.studio_id = $1 and {alias}.id = any($2::uuid[])"""


async def snapshot(connection: Connection, access: Access, type_: EventType, row_ids: Sequence[UUID]) -> Snapshot:
    """Read the resources that events of this type are about; ids that do not exist are left out."""
    return {row_id: json.loads(wire) for row_id, wire in (await _wires(connection, access, type_, row_ids)).items()}


async def _wires(connection: Connection, access: Access, type_: EventType, row_ids: Sequence[UUID]) -> dict[UUID, str]:
    rows = await connection.fetch(_rows(subject_of(type_).resource), access.studio_id, list(row_ids))
    found = {row["id"]: row["wire"] for row in rows}
    return {row_id: found[row_id] for row_id in dict.fromkeys(row_ids) if row_id in found}


def previous_attributes(before: Mapping[str, object], after: Mapping[str, object]) -> dict[str, object]:
    """Return the fields whose values differ, with the values they had before."""
    return {
        name: value
        for name, value in before.items()
        if name not in NEVER_ANNOUNCED and (name not in after or not same_json(after[name], value))
    }


async def emit_changes(
    connection: Connection, access: Access, type_: EventType, before: Snapshot, merged_id: UUID | None = None
) -> list[UUID]:
    """Emit one event per row of the snapshot that changed since it was taken; return the ids of these rows. A row into
    which another one was merged counts as changed."""
    after = await _wires(connection, access, type_, list(before))
    changes = _compared((row_id, before[row_id], now) for row_id, now in after.items())
    changes = [each._replace(merged_id=merged_id) for each in changes if each.previous_attributes or merged_id]
    await emit(connection, access, type_, *changes)
    return [change.row_id for change in changes]


def differences(rows: Iterable[tuple[UUID, Mapping[str, object], str]]) -> list[Change]:
    """Return the changes among rows that are given as (id, resource before, resource now as JSON)."""
    return [change for change in _compared(rows) if change.previous_attributes]


def _compared(rows: Iterable[tuple[UUID, Mapping[str, object], str]]) -> list[Change]:
    return [Change(row_id, previous_attributes(before, json.loads(now)), now) for row_id, before, now in rows]
