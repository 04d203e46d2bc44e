"""The invariants of the events that mirrors of a studio rely on. Operators only: they read all studios."""

from studiogate.storage.class_availability import COUNTS
from studiogate.storage.doctor import Invariant
from studiogate.storage.events import SUBJECTS
from studiogate.storage.resources import AVAILABLE_COUNT

# What only staff and imports change, so that the last event says what there is.
_SUBJECTS = ("product", "studio", "location", "room", "class_type", "instructor")


def _rows(kind: str) -> str:
    resource = SUBJECTS[kind].resource
    alias = resource.alias
    return f"""
        select '{kind}' as kind, {alias}.studio_id, {alias}.id, (select to_jsonb(w) from (select {resource.columns}) w)
        from {resource.table} {alias}"""


_COUNTED = ", ".join(AVAILABLE_COUNT if name == "available_count" else f"c.{name}" for name in COUNTS)
INVARIANTS = (
    # Releases add fields to resources, which earlier events do not have.
    Invariant(
        "announced changes",
        "the last event about a place, a product or an instructor says what there is",
        f"""
        select format('%s %s of studio %s was changed without an event', r.kind, r.id, r.studio_id)
        from (select distinct on (v.studio_id, v.subject) v.studio_id, v.subject, v.object::jsonb as object
              from events v where split_part(v.type, '.', 1) in ({", ".join(f"'{kind}'" for kind in _SUBJECTS)})
              order by v.studio_id, v.subject, v.created_at desc, v.id desc) last
        join ({" union all ".join(map(_rows, _SUBJECTS))}) r(kind, studio_id, id, wire)
            on r.studio_id = last.studio_id and r.id = last.subject
        where exists (select from jsonb_each(last.object - 'updated_at') field
                      where r.wire ? field.key and r.wire -> field.key <> field.value)""",
    ),
    Invariant(
        "announced counts",
        "once all events are numbered, the counts of a class are as they were announced, or about to be",
        f"""
        select format('class %s of studio %s has other counts than were announced', c.id, c.studio_id)
        from class_availability a join classes c on c.studio_id = a.studio_id and c.id = a.class_id
        join event_heads h on h.studio_id = a.studio_id and h.compared = h.sequence
        where a.announced_at is not null and a.due_at is null
          and ({", ".join(f"a.{name}" for name in COUNTS)}) is distinct from ({_COUNTED})
          and not exists (select from events v where v.studio_id = a.studio_id and v.sequence is null)""",
    ),
)
