"""Everything that is stored about one person, section by section, as JSON."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage import people
from studiogate.storage.db.pool import Connection

# Each row as it is stored, without the studio's id; $2 is the member, $3 the email or null, $4 the leads and $5 the
# submissions.
_ROW = "to_jsonb({alias}) - 'studio_id'"
_CLASS = """
    jsonb_build_object('class_title', c.title, 'location', (
        select l.name from locations l where l.studio_id = $1 and l.id = c.location_id))"""
_MAIL = """
    jsonb_build_object('kind', a.kind, 'recipient', coalesce(a.recipient, $3), 'booking_id', a.booking_id,
                       'form_id', a.form_id, 'status', a.status, 'created_at', a.created_at, 'sent_at', a.sent_at)"""
_SUBMITTED = "n.id = any($5::uuid[])"

SECTIONS: Mapping[str, str] = {
    "member": f"select {_ROW.format(alias='m')} as row from members m where m.studio_id = $1 and m.id = $2",
    "leads": f"""
        select {_ROW.format(alias="e")} as row from leads e
        where e.studio_id = $1 and e.id = any($4::uuid[]) order by e.created_at, e.id""",
    "memberships": f"""
        select {_ROW.format(alias="s")} || jsonb_build_object('product', p.name) as row
        from memberships s join products p on p.studio_id = $1 and p.id = s.product_id
        where s.studio_id = $1 and s.member_id = $2 order by s.created_at, s.id""",
    "credit_ledger": f"""
        select {_ROW.format(alias="l")} as row from memberships s
        join credit_ledger l on l.studio_id = $1 and l.membership_id = s.id
        where s.studio_id = $1 and s.member_id = $2 order by l.created_at, l.id""",
    "purchases": f"""
        select {_ROW.format(alias="u")} as row from purchases u
        where u.studio_id = $1 and u.member_id = $2 order by u.created_at, u.id""",
    "bookings": f"""
        select {_ROW.format(alias="b")} || {_CLASS} as row
        from bookings b join classes c on c.studio_id = $1 and c.id = b.class_id
        where b.studio_id = $1 and b.member_id = $2 order by b.start_time, b.id""",
    "waitlist_entries": f"""
        select {_ROW.format(alias="w")} || {_CLASS} as row
        from waitlist_entries w join classes c on c.studio_id = $1 and c.id = w.class_id
        where w.studio_id = $1 and w.member_id = $2 order by w.created_at, w.id""",
    "cancellations": """
        select k.receipt::jsonb as row
        from bookings b join booking_cancellations k on k.studio_id = $1 and k.booking_id = b.id
        where b.studio_id = $1 and b.member_id = $2 order by k.cancelled_at, k.id""",
    "submissions": f"""
        select {_ROW.format(alias="n")} - 'page_key' || jsonb_build_object('form', f.title, 'fields', v.fields) as row
        from form_submissions n join forms f on f.studio_id = $1 and f.id = n.form_id
        join form_versions v on v.studio_id = $1 and v.form_id = n.form_id and v.version = n.form_version
        where n.studio_id = $1 and {_SUBMITTED} order by n.created_at, n.id""",
    "files": f"""
        select jsonb_build_object('id', u.id, 'submission_id', u.submission_id, 'field_key', u.field_key,
                                  'filename', u.filename, 'content_type', u.content_type, 'size', u.size,
                                  'stored_name', u.stored_name) as row
        from form_submissions n join form_uploads u on u.studio_id = $1 and u.submission_id = n.id
        where n.studio_id = $1 and {_SUBMITTED} order by u.created_at, u.id""",
    "mails": f"""
        select {_MAIL} as row from (
            select a.* from form_submissions n join mails a on a.studio_id = $1 and a.submission_id = n.id
            where n.studio_id = $1 and {_SUBMITTED} and a.recipient = n.submitter_email
            union all
            select a.* from mails a where a.studio_id = $1 and a.member_id = $2) a
        order by a.created_at, a.id""",
    "changes_by_the_studio": """
        select jsonb_build_object('at', g.occurred_at, 'action', g.action, 'fields', (
            select jsonb_agg(name order by name) from jsonb_object_keys(g.changes) name)) as row
        from audit_log g where g.studio_id = $1 and g.subject_id = $2 order by g.occurred_at, g.id""",
    "ids_in_other_systems": """
        select jsonb_build_object('source', x.source, 'kind', x.kind, 'external_id', x.external_id) as row
        from external_ids x
        where x.studio_id = $1 and x.row_id = any(array[$2::uuid] || $4::uuid[]) and x.kind in ('members', 'leads')
        order by x.source, x.kind, x.external_id""",
}
# Every statement has the same parameters, used or not.
QUERIES = {
    name: f"""
        select row::text from ({statement}) found
        where $2::uuid is not null or $3::text is null or $4::uuid[] is null or $5::uuid[] is null"""
    for name, statement in SECTIONS.items()
}


class Person(NamedTuple):
    """The data of a person by section, and the studio that has it. ``taken_at`` is when it was read."""

    studio: str
    taken_at: str
    sections: dict[str, list[dict[str, Any]]]


async def read_person(connection: Connection, access: Access, member_id: UUID, email: str | None) -> Person:
    """Read everything about a member. The member must be locked; other rows are read in one transaction."""
    sections = {}
    leads, submissions = await people.leads_and_submissions(connection, access, member_id, email)
    for name, query in QUERIES.items():
        rows = await connection.fetch(query, access.studio_id, member_id, email, leads, submissions)
        sections[name] = [json.loads(row["row"]) for row in rows]
    statement = "select name, to_jsonb(clock_timestamp()) #>> '{}' as now from studios where studio_id = $1"
    (studio,) = await connection.fetch(statement, access.studio_id)
    return Person(studio["name"], studio["now"], sections)
