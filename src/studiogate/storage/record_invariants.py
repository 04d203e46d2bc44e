"""The invariants of series, staff, people, the audit log, and the events that mirrors of a studio rely on, each as a
query for its violations. Operators only: they read all studios."""

from collections.abc import Iterable
from zoneinfo import ZoneInfo

from studiogate.domain.audit import MASK
from studiogate.domain.fields.people import MEMBERS
from studiogate.domain.retention import AUDIT_DAYS
from studiogate.domain.schedule.series import local_instant
from studiogate.storage.audit import IDS, TABLES
from studiogate.storage.class_availability import COUNTS
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import json_rows
from studiogate.storage.doctor import Invariant
from studiogate.storage.events import SUBJECTS
from studiogate.storage.resources import AVAILABLE_COUNT
from studiogate.storage.status_lists import ATTENDABLE, CHANGEABLE, UNLIMITED_ROLE

_ERASED = [
    (each.name, "null" if each.erased_value is None else f"'{each.erased_value}'")
    for each in MEMBERS.fields
    if each.personal
]
# When the classes of series start, by the clocks of their locations. The instants are computed here and given to
# statements as rows. PostgreSQL has rules of its own for time zones, which may be older or newer than ours: it would
# call a class wrong that starts when it should.

# ``start`` has the instant of a local time on a day; ``{0}`` is the parameter.
STARTS = "json_to_recordset({0}::json) as start(timezone text, day date, at time, instant timestamptz)"

# The days and local times of the classes c of series s at locations l for which a condition holds.
WANTED = """
    select distinct l.timezone, c.series_date as day, s.local_start as at
    from classes c
    join class_series s on s.studio_id = c.studio_id and s.id = c.series_id
    join locations l on l.studio_id = s.studio_id and l.id = s.location_id
    where {0}"""


def start_rows(wanted: Iterable[Record]) -> str:
    """Return the rows of ``STARTS`` for what ``WANTED`` found."""
    return json_rows(
        {
            "timezone": zone,
            "day": day.isoformat(),
            "at": at.isoformat(),
            "instant": local_instant(day, at, ZoneInfo(zone)),
        }
        for zone, day, at in wanted
    )


# The local date d of a series s is one of its pattern's; weeks are counted from the Monday of the first date's week.
# The rule is ``domain.schedule.series.dates``; a test keeps the two in agreement.
IN_PATTERN = """
    ({0} >= s.first_date and (s.last_date is null or {0} <= s.last_date)
     and extract(isodow from {0})::integer = any(s.weekdays)
     and ({0} - date_trunc('week', s.first_date)::date) / 7 % s.every_weeks = 0)"""

# The class c agrees with its series s; ``start`` (``STARTS``) is when it is to start.
AGREES = f"""
    {IN_PATTERN.format("c.series_date")}
    and c.start_time = start.instant
    and c.end_time - c.start_time = s.minutes * interval '1 minute'
    and (c.title, c.description, c.class_type_id, c.location_id, c.room_id, c.instructor_id, c.capacity,
         c.allow_waitlist, c.spot_selection_mode, c.visible, c.policy) is not distinct from
        (s.title, s.description, s.class_type_id, s.location_id, s.room_id, s.instructor_id, s.capacity,
         s.allow_waitlist, s.spot_selection_mode, s.visible, s.policy)"""
FOLLOWING = "c.status = 'scheduled' and not c.detached and c.start_time > clock_timestamp()"
WANTED_STARTS = WANTED.format(FOLLOWING)


async def _starts(connection: Connection) -> str:
    return start_rows(await connection.fetch(WANTED_STARTS))


SERIES = (
    Invariant(
        "series",
        "every class to come of a series agrees with it, unless it was changed by itself",
        f"""
        select format('class %s of studio %s: does not agree with its series %s: change it back, or change the series',
                      c.id, c.studio_id, s.id)
        from classes c
        join class_series s on s.studio_id = c.studio_id and s.id = c.series_id
        join locations l on l.studio_id = s.studio_id and l.id = s.location_id
        join {STARTS.format("$1")} on (start.timezone, start.day, start.at) = (l.timezone, c.series_date, s.local_start)
        where {FOLLOWING} and not ({AGREES})""",
        facts=_starts,
    ),
    Invariant(
        "classes of series",
        "every day of a series has its class, as far ahead as they were created",
        f"""
        select format('series %s of studio %s: there is no class on %s: is the worker running?', s.id, s.studio_id,
                      d.day)
        from class_series s
        join locations l on l.studio_id = s.studio_id and l.id = s.location_id
        cross join lateral (
            select g::date as day from generate_series(
                greatest(s.first_date, current_date), least(s.generated_until, s.last_date), interval '1 day') g) d
        where {IN_PATTERN.format("d.day")}
          and ((d.day + s.local_start) at time zone l.timezone) > clock_timestamp()
          and not exists (select from classes c
                          where c.studio_id = s.studio_id and c.series_id = s.id and c.series_date = d.day)
          and not exists (select from closures o
                          where o.studio_id = s.studio_id and (o.location_id is null or o.location_id = s.location_id)
                            and d.day between o.first_date and o.last_date)""",
        level="warning",
    ),
)

STAFF = (
    Invariant(
        "staff roles",
        "a role is limited to locations of its own studio, and neither owners nor developers are limited",
        f"""
        select format('account %s in studio %s: role %s, locations %s', r.account_id, r.studio_id, r.role,
                      r.location_ids)
        from staff_roles r
        where r.location_ids is not null and (r.role in ({UNLIMITED_ROLE}) or not r.location_ids <@ array(
            select l.id from locations l where l.studio_id = r.studio_id))""",
    ),
    Invariant(
        "staff sessions",
        "a disabled account has no open session, and no session works in a studio without a role there",
        """
        select format('session %s of account %s in studio %s', s.id, s.account_id, s.chosen_studio_id)
        from staff_sessions s join staff_accounts a on a.id = s.account_id
        left join staff_roles r on r.studio_id = s.chosen_studio_id and r.account_id = s.account_id
        where s.ended_at is null
          and (a.disabled_at is not null or r.account_id is null or r.disabled_at is not null)""",
    ),
    Invariant(
        "staff audit",
        "the audit log has an entry for every role that was given within the time that it covers",
        f"""
        select format('account %s in studio %s: role %s since %s', r.account_id, r.studio_id, r.role, r.created_at)
        from staff_roles r
        where r.created_at > now() - interval '{AUDIT_DAYS - 1} days' and not exists (
            select from audit_log l where l.studio_id = r.studio_id and l.subject_id = r.account_id
            and l.subject_type = 'staff_role' and l.occurred_at >= r.created_at)""",
    ),
)

PEOPLE = (
    Invariant(
        "erased people",
        "an erased member has no name, contact, notes or answers, and nothing ahead",
        f"""
        select format('member %s of studio %s was erased and still has %s', m.id, m.studio_id, h.what)
        from members m cross join lateral (
            select 'a name, contact or notes' as what
            where {" or ".join(f"m.{name} is distinct from {value}" for name, value in _ERASED)} or not m.suspended
            union all select 'answers' from form_submissions n
            where n.studio_id = m.studio_id and n.member_id = m.id
              and (n.submitter_name is not null or n.data <> '{{}}' or n.consents <> '[]')
            union all select 'a membership' from memberships s
            where s.studio_id = m.studio_id and s.member_id = m.id and s.status in ({CHANGEABLE})
            union all select 'a booking ahead' from bookings b
            where b.studio_id = m.studio_id and b.member_id = m.id and b.status in ({ATTENDABLE})
              and b.start_time > clock_timestamp()) h
        where m.erased_at is not null""",
    ),
    # An import brings erased members along, and the audit log stays where it was written.
    Invariant(
        "erasures",
        "every erasure is in the audit log, or came with an import",
        f"""
        select format('member %s of studio %s was erased at %s without an audit entry', m.id, m.studio_id, m.erased_at)
        from members m
        where m.erased_at > clock_timestamp() - interval '{AUDIT_DAYS - 1} days' and not exists (
            select from audit_log a
            where a.studio_id = m.studio_id and (a.subject_id = m.id and a.action = 'member.erase'
                or a.subject_id = m.studio_id and a.action = 'studio.import' and a.occurred_at > m.erased_at))""",
    ),
    Invariant(
        "merged people",
        "a member that was merged into another one is gone",
        """
        select format('member %s of studio %s was merged into %s and still exists', p.id, p.studio_id, p.member_id)
        from merged_people p join members m on m.studio_id = p.studio_id and m.id = p.id
        where p.kind = 'member'""",
    ),
)

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
AUDIT = (
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
