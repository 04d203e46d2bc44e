"""Submissions, versions of forms and history must fit the rows that they are about. Every check selects its faults."""

from studiogate.storage.status_lists import OPEN_ENTRY

VERSION_UNKNOWN = """
    select c.n, c.place || '.form_version', 'is no version of the form in this file or this studio'
    from change_form_submissions c
    where not c.existing
        and not exists (select from form_versions v where v.studio_id = $1 and v.form_id = c.form_id
                        and v.version = c.form_version)
        and not exists (select from stage_form_versions v where v.form_id = c.form_id and v.version = c.form_version)
        and not exists (select from change_forms f where f.id = c.form_id and not f.existing
                        and f.version = c.form_version)
        and (exists (select from forms f where f.studio_id = $1 and f.id = c.form_id)
             or exists (select from stage_forms f where f.id = c.form_id))"""

# The form's next version would otherwise meet one that came from a file.
VERSION_AHEAD = """
    select c.n, c.place || '.version', 'is ahead of the form, which has version ' || f.version
    from change_form_versions c join (
        select id, version from change_forms where not existing
        union all select id, version from forms where studio_id = $1) f on f.id = c.form_id
    where c.version > f.version"""

ENTRY_OF_BOOKING = f"""
    select c.n, c.place || '.status', 'does not fit its booking, which is ' || b.status
    from change_waitlist_entries c join change_bookings b on b.id = c.booking_id
    where (c.status in ({OPEN_ENTRY})) <> (b.status = 'waitlisted')
       or (c.status = 'converted') <> (c.promoted_at is not null)"""

PROMOTED_WITHOUT_ENTRY = """
    select b.n, b.place || '.promoted_at', 'is not null, but the booking has no converted entry in the waitlist'
    from change_bookings b where not b.existing and b.promoted_at is not null
        and not exists (select from change_waitlist_entries c where c.booking_id = b.id and c.status = 'converted')"""

CREDIT_WITHOUT_LINE = """
    select b.n, b.place || '.credits_taken',
           format('is %s, but the ledger has %s lines for it', b.credits_taken, coalesce(l.lines, 0))
    from change_bookings b left join (
        select booking_id, count(*) as lines from change_credit_ledger where delta = -1 group by booking_id
    ) l on l.booking_id = b.id
    where not b.existing and coalesce(l.lines, 0) <> b.credits_taken"""

RECEIPT_OF_LIVE = """
    select c.n, c.place || '.booking_id', 'is a booking that is not cancelled'
    from change_booking_cancellations c join change_bookings b on b.id = c.booking_id where b.status <> 'cancelled'"""

FEE_WITHOUT_RECEIPT = """
    select u.n, u.place || '.booking_id', 'is set, but no cancellation names this purchase'
    from change_purchases u where not u.existing and u.booking_id is not null
        and not exists (select from change_booking_cancellations c where c.purchase_id = u.id)"""


def _twice(table: str, column: str) -> str:
    return f"""
        select n, place || '.{column}', 'is the {column} of ' || first || ' too'
        from (select n, place, first_value(place) over w as first, row_number() over w as number
              from change_{table} window w as (partition by {column} order by n)) d where number > 1"""


# History is checked where it is loaded: in an existing studio the tables of its changes are emptied first.
HISTORY_CHECKS = (
    VERSION_UNKNOWN,
    VERSION_AHEAD,
    ENTRY_OF_BOOKING,
    PROMOTED_WITHOUT_ENTRY,
    CREDIT_WITHOUT_LINE,
    RECEIPT_OF_LIVE,
    FEE_WITHOUT_RECEIPT,
    _twice("waitlist_entries", "booking_id"),
    _twice("booking_cancellations", "booking_id"),
)
