"""The invariants of accounts and roles, each as a query for its violations. Operators only: they read all studios."""

from studiogate.domain.audit import DAYS_KEPT
from studiogate.storage.invariant_type import Invariant
from studiogate.storage.status_lists import UNLIMITED_ROLE

STAFF_PROMISES = (
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
        where r.created_at > now() - interval '{DAYS_KEPT - 1} days' and not exists (
            select from audit_log l where l.studio_id = r.studio_id and l.subject_id = r.account_id
            and l.subject_type = 'staff_role' and l.occurred_at >= r.created_at)""",
    ),
)
