"""Lists in which operators look up ids. Each is declared once; filters that are not given do not apply.

``$1`` is the studio, followed by the filters in their order and the limit. Newest or next rows come first, so a
limited list shows the most likely candidates.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage import audit
from studiogate.storage.db.pool import Connection, Record


class OperatorList(NamedTuple):
    """``columns`` maps displayed names to SQL; ``filters`` maps names to conditions, with {} for the parameter."""

    columns: Mapping[str, str]
    source: str
    order: str
    filters: Mapping[str, str]


TIMEZONE = "(select s.timezone from studios s where s.studio_id = t.studio_id)"
# The studio's calendar day, as bounds on the instant so that an index can be used.
ON_DATE = (
    "t.start_time >= ({0}::date::timestamp at time zone " + TIMEZONE + ")"
    " and t.start_time < (({0}::date + 1)::timestamp at time zone " + TIMEZONE + ")"
)
LIKE_PERSON = "strpos(folded(concat_ws(' ', t.first_name, t.last_name, t.email, t.phone, t.id)), folded({}::text)) > 0"
OF_MEMBER = {"member": "t.member_id = {}::uuid"}
OF_CLASS = {"class": "t.class_id = {}::uuid"}

# What is shown under another name than that of a column of the row.
SHOWN = {
    "member": "(select m.name from members m where m.studio_id = t.studio_id and m.id = t.member_id)",
    "product": "(select p.name from products p where p.studio_id = t.studio_id and p.id = t.product_id)",
    "class": "(select c.title from classes c where c.studio_id = t.studio_id and c.id = t.class_id)",
    "location": "(select l.name from locations l where l.studio_id = t.studio_id and l.id = t.location_id)",
    "room": "(select r.name from rooms r where r.studio_id = t.studio_id and r.id = t.room_id)",
    "form": "(select f.title from forms f where f.studio_id = t.studio_id and f.id = t.form_id)",
    "booked": "t.booked_count",
    "waiting": "t.waitlist_count",
    "at": "to_char(t.local_start, 'HH24:MI')",
    "from": "t.first_date",
    "until": "t.last_date",
    "credits": "t.credits_remaining",
    "period_end": "t.current_period_end",
    "fee": "t.product_key",
    "amount": "t.amount_total",
    "type": "t.product_type",
    # As `--on` takes them.
    "weekdays": """(
        select string_agg((array['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'])[day], ',' order by day)
        from unnest(t.weekdays) day)""",
}


def _list(columns: str, source: str, order: str, filters: Mapping[str, str] = {}, **otherwise: str) -> OperatorList:
    """Return a list by the names of its columns after the id, which are the row's own unless ``SHOWN`` or ``otherwise``
    say more."""
    stated = SHOWN | otherwise
    named = {name: stated.get(name, f't."{name}"') for name in ("id", *columns.split())}
    return OperatorList(named, source, order, filters)


LISTS = {
    "location": _list("name city active", "locations t", "t.name, t.id"),
    "room": _list("name location capacity active", "rooms t", "t.name, t.id"),
    "spot": _list("label room room_id", "room_spots t", "t.room_id, t.label, t.id", {"room": "t.room_id = {}::uuid"}),
    "class_type": _list("name active", "class_types t", "t.name, t.id"),
    "instructor": _list("name active", "instructors t", "t.name, t.id"),
    "class": _list(
        "title start_time location status booked capacity waiting",
        "classes t",
        "t.start_time, t.id",
        {"date": ON_DATE, "start": "t.start_time >= {}::timestamptz"},
    ),
    "series": _list(
        "title location weekdays at minutes every_weeks from until",
        "class_series t",
        "t.last_date is not null, t.title, t.id",
    ),
    "closure": _list("location from until mode reason", "closures t", "t.first_date desc, t.id"),
    "member": _list(
        "name email phone suspended", "members t", "t.last_name, t.first_name, t.id", {"text": LIKE_PERSON}
    ),
    "booking": _list(
        "member class start_time status",
        "bookings t",
        "t.start_time desc, t.id",
        {**OF_CLASS, **OF_MEMBER, "date": ON_DATE},
    ),
    "waitlist": _list(
        "position member class start_time status",
        "waitlist_entries t",
        "t.created_at desc, t.id",
        {**OF_CLASS, **OF_MEMBER},
        start_time="(select c.start_time from classes c where c.studio_id = t.studio_id and c.id = t.class_id)",
    ),
    "membership": _list(
        "member product status credits period_end", "memberships t", "t.started_at desc nulls last, t.id", OF_MEMBER
    ),
    "purchase": _list(
        "member product amount currency status paid_by created_at",
        "purchases t",
        "t.created_at desc, t.id",
        OF_MEMBER,
        product="t.product_key",
    ),
    "fee": _list(
        "member fee amount currency status created_at",
        "(select * from purchases where product_type = 'fee') t",
        "t.created_at desc, t.id",
        OF_MEMBER,
    ),
    "price": _list(
        "product amount currency interval default active",
        "prices t",
        't.active desc, t."default" desc, t.created_at, t.id',
        {"product": "t.product_id = {}::uuid"},
        amount="t.amount",
    ),
    "lead": _list(
        "name email status created_at",
        "leads t",
        "t.created_at desc, t.id",
        {"text": LIKE_PERSON},
        name="btrim(t.first_name || ' ' || t.last_name)",
    ),
    "form": _list("title slug status version", "forms t", "t.title, t.id"),
    "submission": _list(
        "form name email status created_at",
        "form_submissions t",
        "t.created_at desc, t.id",
        {"form": "t.form_id = {}::uuid", **OF_MEMBER},
        name="t.submitter_name",
        email="t.submitter_email",
    ),
    "product": _list("name key type active", "products t", "t.name, t.id"),
}

OWNERS = {
    kind: f"select studio_id from {table} where id = $1"
    for kind, table in {**audit.TABLES, "webhook": "webhook_endpoints"}.items()
}


async def listed(
    connection: Connection, access: Access, kind: str, given: Mapping[str, Any], limit: int
) -> Sequence[Record]:
    """Return the rows of a list that meet the filters in ``given``, at most ``limit``."""
    wanted = LISTS[kind]
    conditions = ["t.studio_id = $1"]
    values = [access.studio_id]
    for filter_name, value in given.items():
        values.append(value)
        conditions.append(wanted.filters[filter_name].format(f"${len(values)}"))
    shown = ", ".join(f'{sql} as "{column}"' for column, sql in wanted.columns.items())
    statement = f"select {shown} from {wanted.source} where {' and '.join(conditions)} order by {wanted.order}"
    return await connection.fetch(f"{statement} limit ${len(values) + 1}", *values, limit)


async def studios(connection: Connection, after: str | None, limit: int) -> Sequence[Record]:
    """Return the studios, ordered by slug. Operators only."""
    statement = """
        select slug, name, studio_id as id, timezone, currency, test from studios
        where $1::text is null or slug > $1 order by slug limit $2"""
    return await connection.fetch(statement, after, limit)


async def studios_of(connection: Connection, kind: str, row_id: UUID) -> list[UUID]:
    """Return the studios that have a row of this kind with this id, which is unique per studio. Operators only."""
    return [row["studio_id"] for row in await connection.fetch(OWNERS[kind.replace(" ", "_")], row_id)]
