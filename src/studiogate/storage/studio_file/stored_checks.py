"""Checks of what a file may not change in stored rows: schedules in use, prices that were sold, people who are gone.

Every check selects its faults."""

from studiogate.domain.catalog import AGREED, SOLD
from studiogate.domain.fields import ERASED_DOMAIN
from studiogate.storage.studio_file.table_types import Table
from studiogate.storage.studio_file.tables import CLASS_TYPES, INSTRUCTORS, LOCATIONS, ROOMS

# Series, closures and deactivated rows: what staff cannot do either is a fault.

SERIES_MOVED = """
    select c.n, c.place || m.member, 'cannot change: end the series and give a new one with a new id'
    from change_class_series c join class_series s on s.studio_id = $1 and s.id = c.id
    cross join lateral (values ('.location_id', c.location_id <> s.location_id),
                               ('.first_date', c.first_date <> s.first_date)) m(member, moved)
    where m.moved"""

# The stored classes to come on the days of a new or changed closure. Days are those of the location, or of the studio.
_ON_CLOSED_DAYS = """
    from change_closures c
    join studios o on o.studio_id = $1
    join classes k on k.studio_id = $1 and k.status = 'scheduled' and k.start_time > now()
        and k.start_time > c.first_date - interval '2 days' and k.start_time < c.last_date + interval '3 days'
        and k.location_id is not distinct from coalesce(c.location_id, k.location_id)
    left join locations l on l.studio_id = $1 and l.id = k.location_id
    where c.mode = '{0}'
        and (k.start_time at time zone coalesce(l.timezone, o.timezone))::date between c.first_date and c.last_date
    group by c.n, c.place"""
CLOSURE_CANCELS = f"""
    select c.n, c.place || '.mode', format('%s classes are scheduled on these days: close them with '
                                           '`studiogate closure create`, which cancels the classes', count(*))
    {_ON_CLOSED_DAYS.format("cancel")}"""
CLOSURE_SKIPS = f"""
    select c.n, c.place || '.mode', format('%s classes are scheduled on these days and take place', count(*))
    {_ON_CLOSED_DAYS.format("skip")}"""

# The table of each row that series and classes refer to, and the column by which they do.
USED = ((LOCATIONS, "location_id"), (ROOMS, "room_id"), (CLASS_TYPES, "class_type_id"), (INSTRUCTORS, "instructor_id"))


def _used_by_series(table: Table, column: str) -> str:
    return f"""
        select c.n, c.place || '.active', format('%s series that have not ended use it: end or change them', count(*))
        from {table.change} c
        join {table.name} t on t.studio_id = $1 and t.id = c.id and t.active
        join (select {column} as used, last_date from class_series
              where studio_id = $1 and id not in (select id from change_class_series)
              union all select {column}, last_date from change_class_series) s on s.used = c.id
        where not c.active and (s.last_date is null or s.last_date >= current_date) group by c.n, c.place"""


def _used_by_classes(table: Table, column: str) -> str:
    return f"""
        select c.n, c.place || '.active', format('%s scheduled classes use it', count(*))
        from {table.change} c
        join {table.name} t on t.studio_id = $1 and t.id = c.id and t.active
        join classes k on k.studio_id = $1 and k.{column} = c.id and k.status = 'scheduled' and k.start_time > now()
        where not c.active group by c.n, c.place"""


SCHEDULE_CHECKS = (SERIES_MOVED, CLOSURE_CANCELS, *(_used_by_series(*used) for used in USED))
SCHEDULE_WARNINGS = (CLOSURE_SKIPS, *(_used_by_classes(*used) for used in USED))


# A price that has been sold keeps what was agreed on.

# A sale and a membership refer to their price; a purchase without a membership records only what was paid.
_IS_SOLD = """
    exists (select from sales o where o.studio_id = $1 and o.price_id = p.id)
    or exists (select from memberships o where o.studio_id = $1 and o.price_id = p.id)
    or exists (select from purchases o where o.studio_id = $1 and o.product_id = p.product_id
               and o.currency = p.currency and o.amount_total = p.amount * o.quantity)"""


def _changed(name: str) -> str:
    place = "id" if name == "product_id" else name
    return f"""
        select c.n, c.place || '.{place}', '{SOLD}' from change_prices c
        join prices p on p.studio_id = $1 and p.id = c.id
        where c."{name}" is distinct from p."{name}" and ({_IS_SOLD})"""


CATALOG_CHECKS = tuple(_changed(name) for name in AGREED)


# What was sold, renewed or charged stays with its member and its product.

_PAYS = """
    (exists (select from sales s where s.studio_id = $1 and s.purchase_id = c.id)
     or exists (select from renewals r where r.studio_id = $1 and r.purchase_id = c.id))"""

PURCHASE_MOVED = f"""
    select c.n, c.place || m.member, 'cannot change: ' || m.reason
    from change_purchases c join purchases p on p.studio_id = $1 and p.id = c.id
    cross join lateral (values
        ('.member_id', 'the purchase is the fee of a booking',
         c.member_id is distinct from p.member_id and p.booking_id is not null),
        ('.member_id', 'the purchase pays for a membership', c.member_id is distinct from p.member_id and {_PAYS}),
        ('.product_id', 'the purchase pays for a membership', c.product_id is distinct from p.product_id and {_PAYS}))
        m(member, reason, moved)
    where m.moved"""

SOLD_PRODUCT = """
    select c.n, c.place || '.product_id', 'cannot change: the membership was sold with its product'
    from change_memberships c join memberships m on m.studio_id = $1 and m.id = c.id
    where c.product_id <> m.product_id
        and exists (select from sales s where s.studio_id = $1 and s.membership_id = c.id)"""

PAYMENT_CHECKS = (PURCHASE_MOVED, SOLD_PRODUCT)


# A person who was erased stays erased, and a duplicate that was merged stays merged: no file brings them back.
# These are faults with ``--overwrite`` too: a file that is older than an erasure holds
# what had to be erased.

_LEAVE_OUT = "leave the row out"


def _erased(table: str, erased: str) -> str:
    return f"""
        select c.n, c.place, 'was erased: {_LEAVE_OUT}' from change_{table} c
        join {table} t on t.studio_id = $1 and t.id = c.id where {erased}"""


def _of_erased_member(table: str) -> str:
    return f"""
        select c.n, c.place, 'belongs to a member who was erased: {_LEAVE_OUT}' from change_{table} c
        join members m on m.studio_id = $1 and m.id = c.member_id where m.erased_at is not null"""


EXTERNAL_IDS = f"""
    select c.n, c.place, 'belongs to a member who was erased: {_LEAVE_OUT}' from change_external_ids c
    join members m on m.studio_id = $1 and m.id = c.row_id
    where m.erased_at is not null and c.external_id not like 'erased:%'"""


def _merged(table: str, kind: str) -> str:
    return f"""
        select c.n, c.place, format('was merged into the member %s: {_LEAVE_OUT}', p.member_id) from change_{table} c
        join merged_people p on p.studio_id = $1 and p.id = c.id and p.kind = '{kind}' where not c.existing"""


def _address(column: str) -> str:
    return f"{column} = t.id::text || '@{ERASED_DOMAIN}'"


FILES = f"""
    select c.n, c.place, 'belongs to a submission that was erased: {_LEAVE_OUT}' from change_form_uploads c
    join form_submissions t on t.studio_id = $1 and t.id = c.submission_id where {_address("t.submitter_email")}"""

PEOPLE_CHECKS = (
    _erased("members", "t.erased_at is not null"),
    _erased("leads", _address("t.email")),
    _erased("form_submissions", _address("t.submitter_email")),
    FILES,
    _of_erased_member("memberships"),
    _of_erased_member("bookings"),
    EXTERNAL_IDS,
    _merged("members", "member"),
    _merged("leads", "lead"),
)
