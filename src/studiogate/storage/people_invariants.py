"""The invariants of erased and merged people, each as a query for its violations. Operators only."""

from studiogate.domain.audit import DAYS_KEPT
from studiogate.domain.fields.people import MEMBERS
from studiogate.storage.invariant_type import Invariant
from studiogate.storage.status_lists import ATTENDABLE, CHANGEABLE

_ERASED = [
    (each.name, "null" if each.erased_value is None else f"'{each.erased_value}'")
    for each in MEMBERS.fields
    if each.personal
]
PEOPLE_PROMISES = (
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
        where m.erased_at > clock_timestamp() - interval '{DAYS_KEPT - 1} days' and not exists (
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
