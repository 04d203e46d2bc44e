"""The invariants of the audit log, as queries for their violations. Operators only: they read all studios."""

from studiogate.domain.audit import MASK
from studiogate.storage.audit import IDS, TABLES
from studiogate.storage.invariant_type import Invariant

# What only staff change, without an event, by kind of subject: whole rows, or the columns that nobody else changes.
_WHOLE_ROWS = ("studio", "location", "room", "class_type", "instructor", "product", "price", "closure")
_COLUMNS = {"member": ("suspended", "staff_notes"), "submission": ("status",)}
_KINDS = ", ".join(f"'{kind}'" for kind in (*_WHOLE_ROWS, *_COLUMNS))


def _audited_rows(kind: str) -> str:
    """Return SQL for the rows of a kind, each with its columns as one object."""
    named = ", ".join(f"'{column}', t.{column}" for column in _COLUMNS.get(kind, ()))
    columns = f"jsonb_build_object({named})" if named else "to_jsonb(t)"
    row_id = f"t.{IDS.get(kind, 'id')}"
    return f"select '{kind}' as kind, t.studio_id, {row_id} as id, {columns} as columns from {TABLES[kind]} t"


# Partners are left out: releases before the entries of their bookings may still be writing during an update.
AUDIT_PROMISES = (
    Invariant(
        "audit log",
        "what staff changed is in the audit log, by an entry of the same transaction",
        """
        select format('event %s (%s) of studio %s is about a change by staff that has no audit entry', e.id, e.type,
                      e.studio_id)
        from events e
        where e.actor = 'staff' and e.transaction_id is not null and not exists (
            select from audit_log a where a.studio_id = e.studio_id and a.transaction_id = e.transaction_id)""",
    ),
    # Of a personal value, the log only says whether there is one. Entries about the keys of a studio change no row.
    # A price is a number in most entries, and text in those of imports.
    Invariant(
        "audited values",
        "what has no events (rooms, catalog, suspensions, notes, submissions, …) is as the audit log last says",
        f"""
        select format('%s %s of studio %s: %s was changed without an audit entry', r.kind, r.id, r.studio_id, last.name)
        from (
            select distinct on (a.studio_id, a.subject_type, a.subject_id, field.key)
                   a.studio_id, a.subject_type, a.subject_id, field.key as name, field.value -> 1 as value
            from audit_log a cross join lateral jsonb_each(a.changes) field
            where a.subject_type in ({_KINDS}) and a.action like a.subject_type || '.%'
              and jsonb_typeof(field.value) = 'array'
            order by a.studio_id, a.subject_type, a.subject_id, field.key, a.occurred_at desc, a.id desc) last
        join ({" union all ".join(_audited_rows(kind) for kind in (*_WHOLE_ROWS, *_COLUMNS))}) r
            on r.kind = last.subject_type and r.studio_id = last.studio_id and r.id = last.subject_id
        cross join lateral (
            select nullif(nullif(nullif(r.columns ->> last.name, ''), '[]'), '{{}}') as stored,
                   last.value #>> '{{}}' as said) v
        where r.columns ? last.name and case v.said when '{MASK}' then v.stored is null
            else v.stored is distinct from v.said and r.columns -> last.name is distinct from last.value end""",
    ),
)
