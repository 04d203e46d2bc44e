"""The audit log: snapshots of the rows that a change is about, the entries, and their list."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access, Actor
from studiogate.domain.audit import changed_fields
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import Statement, new_id
from studiogate.storage.paging import comes_after

# The table of each kind of subject; its rows are compared before and after a change.
TABLES: Mapping[str, str] = {
    "studio": "studios",
    "location": "locations",
    "room": "rooms",
    "class_type": "class_types",
    "instructor": "instructors",
    "class": "classes",
    "series": "class_series",
    "closure": "closures",
    "product": "products",
    "price": "prices",
    "member": "members",
    "membership": "memberships",
    "purchase": "purchases",
    "booking": "bookings",
    "waitlist_entry": "waitlist_entries",
    "form": "forms",
    "submission": "form_submissions",
    "lead": "leads",
    "webhook_endpoint": "webhook_endpoints",
    "staff_role": "staff_roles",
}
# A studio's row has no id of its own, and a role is identified by its account.
IDS = {"studio": "studio_id", "staff_role": "account_id"}


def limit_ids(owner: str, limit: str, row: str) -> str:
    """Return SQL for the ids of what a product or a price is limited to; ``row`` is its own id."""
    return (
        f"array(select o.{limit}_id from {owner}_{limit}s o where o.studio_id = $1 and o.{owner}_id = {row} order by 1)"
    )


# What a row has in other tables, as one more object.
MORE = {
    "product": f"""jsonb_build_object('location_ids', {limit_ids("product", "location", "t.id")},
                                      'class_type_ids', {limit_ids("product", "class_type", "t.id")})""",
    "room": """jsonb_build_object('spots', array(
        select jsonb_build_object('label', p.label, 'x', p.x, 'y', p.y) from room_spots p
        where p.studio_id = $1 and p.room_id = t.id order by p.created_at, p.id))""",
    "price": f"jsonb_build_object('location_ids', {limit_ids('price', 'location', 't.id')})",
}
ROWS: Mapping[str, str] = {
    kind: f"""
        select (to_jsonb(t) || {MORE.get(kind, "'{}'")})::text
        from {table} t where t.studio_id = $1 and t.{IDS.get(kind, "id")} = $2"""
    for kind, table in TABLES.items()
}
# Who acted, for people: the name of the account, else its email, as the entry has it. a: the entry, p: the account.
ACTOR = "coalesce(nullif(p.name, ''), a.actor_name)"
_COLUMNS = "studio_id, id, channel, account_id, actor_name, address, action, subject_type, subject_id, changes"
INSERT = Statement(f"""
    insert into audit_log ({_COLUMNS}, reason)
    values (:studio, :id, :channel, :account_id, :actor_name, :address, :action, :kind, :subject, :changes, :reason)""")

INSERT_MANY = Statement(f"""
    insert into audit_log ({_COLUMNS})
    select :studio, e.id, :channel, :account_id, :actor_name, :address, e.action, e.kind, e.subject, e.changes::jsonb
    from unnest(:ids::uuid[], :actions::text[], :kinds::text[], :subjects::uuid[], :changes::text[])
        e(id, action, kind, subject, changes)""")
# {0}: the entries, in order.
INSERT_SELECTED = f"""
    insert into audit_log ({_COLUMNS})
    select $1, gen_random_uuid(), $2, $3, $4, $5, e.action, $6, e.subject, e.changes::jsonb
    from ({{0}}) e(number, subject, action, changes) order by e.number"""


class Subject(NamedTuple):
    kind: str
    id: UUID


class Entry(NamedTuple):
    action: str
    subject: Subject
    changes: Mapping[str, object]
    reason: str | None = None


class _Who(NamedTuple):
    """Whoever acts: staff, or a key."""

    channel: str
    account_id: UUID | None
    actor_name: str
    address: str | None


def _who(access: Access) -> _Who:
    staff = access.staff
    if staff is None:
        return _Who(access.actor.value, None, access.credential_id, access.address)
    return _Who(staff.channel.value, staff.account_id, staff.name, staff.address)


async def snapshot(connection: Connection, access: Access, subject: Subject) -> dict[str, object] | None:
    """Return the subject's row as it is now, or None if there is none."""
    text = await connection.fetchval(ROWS[subject.kind], access.studio_id, subject.id)
    return None if text is None else dict(json.loads(text))


async def add(connection: Connection, access: Access, entry: Entry) -> None:
    """Write an entry with the access that made the change. Must run inside the change's transaction."""
    await INSERT.rows(
        connection,
        studio=access.studio_id,
        id=new_id(),
        **_who(access)._asdict(),
        action=entry.action,
        kind=entry.subject.kind,
        subject=entry.subject.id,
        changes=json.dumps(entry.changes),
        reason=entry.reason,
    )


async def add_many(connection: Connection, access: Access, entries: Sequence[Entry]) -> None:
    """Write many entries of one change, as ``add`` does."""
    await INSERT_MANY.rows(
        connection,
        studio=access.studio_id,
        ids=[new_id() for _ in entries],
        **_who(access)._asdict(),
        actions=[entry.action for entry in entries],
        kinds=[entry.subject.kind for entry in entries],
        subjects=[entry.subject.id for entry in entries],
        changes=[json.dumps(entry.changes) for entry in entries],
    )


async def add_selected(connection: Connection, access: Access, kind: str, entries: str) -> None:
    """Write the entries of one change that a query selects: number, subject, action and changes, the latter as JSON.
    In the query, $1 is the studio."""
    await connection.execute(INSERT_SELECTED.format(entries), access.studio_id, *_who(access), kind)


def changes_by_key(
    access: Access, kind: str, before: Mapping[str, object] | None, after: Mapping[str, object]
) -> dict[str, object] | None:
    """Return the fields that differ, or None if staff make the change: their flows record the whole action."""
    return changed_fields(kind, before, after) if access.actor is Actor.PARTNER else None


def recorded_for_keys(action: str, kind: str, changed: str) -> str:
    """Return the part of a statement with named parameters (``:studio``) that writes the entries of what keys change.

    ``changed`` names the part with the rows' id and event_id, which becomes the id of the entry; with the key
    (credential_id) and the address of each; and with ``changes_by_key``, as jsonb.
    """
    return f"""
        insert into audit_log (studio_id, id, channel, actor_name, address, action, subject_type, subject_id, changes)
        select :studio, event_id, '{Actor.PARTNER.value}', credential_id, address, '{action}', '{kind}', id, changes
        from {changed} where changes is not null"""


async def list_entries(
    connection: Connection, access: Access, subject_id: UUID | None, before: UUID | None, limit: int
) -> list[Record]:
    """Return the newest entries, of one subject or of all; ``before`` is the last entry of the previous page."""
    statement = f"""
        select id, occurred_at, channel, actor_name, address, action, subject_type, subject_id,
               changes::text as changes, reason
        from audit_log a
        where studio_id = $1 and ($2::uuid is null or subject_id = $2)
          and ($3::uuid is null or {comes_after("audit_log", "a", "$3", "occurred_at")})
        order by occurred_at desc, id desc limit $4"""
    return await connection.fetch(statement, access.studio_id, subject_id, before, limit)
