"""The invariant of the audit log, as a query for its violations. Operators only: it reads all studios."""

from studiogate.storage.promise import Promise

# Partners are left out: releases before the entries of their bookings may still be writing during an update.
AUDIT_PROMISES = (
    Promise(
        "audit log",
        "what staff changed is in the audit log, by an entry of the same transaction",
        """
        select format('event %s (%s) of studio %s is about a change by staff that has no audit entry', e.id, e.type,
                      e.studio_id)
        from events e
        where e.actor = 'staff' and e.transaction_id is not null and not exists (
            select from audit_log a where a.studio_id = e.studio_id and a.transaction_id = e.transaction_id)""",
    ),
)
