"""Lists in which operators look up ids. Each is declared once; filters that are not given do not apply.

``$1`` is the studio, followed by the filters in their order and the limit. Newest or next rows come first, so a
limited list shows the most likely candidates.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection, Record


class OperatorList(NamedTuple):
    """``columns`` maps displayed names to SQL; ``filters`` maps names to conditions, with {} for the parameter."""

    kind: str
    columns: Mapping[str, str]
    source: str
    order: str
    filters: Mapping[str, str] = {}


NAME = {"id": "t.id", "name": "t.name"}
OF_MEMBER = "t.member_id = {}::uuid"
OF_CLASS = "t.class_id = {}::uuid"
MEMBER = "(select m.name from members m where m.studio_id = t.studio_id and m.id = t.member_id)"
PRODUCT = "(select p.name from products p where p.studio_id = t.studio_id and p.id = t.product_id)"
CLASS = "(select c.title from classes c where c.studio_id = t.studio_id and c.id = t.class_id)"
CLASS_START = "(select c.start_time from classes c where c.studio_id = t.studio_id and c.id = t.class_id)"
LOCATION = "(select l.name from locations l where l.studio_id = t.studio_id and l.id = t.location_id)"
ROOM = "(select r.name from rooms r where r.studio_id = t.studio_id and r.id = t.room_id)"
# Weekdays as `--on` takes them.
DAYS_OF_WEEK = """(
    select string_agg((array['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'])[day], ',' order by day)
    from unnest(t.weekdays) day)"""
TIMEZONE = "(select s.timezone from studios s where s.studio_id = t.studio_id)"
# The studio's calendar day, as bounds on the instant so that an index can be used.
ON_DATE = (
    "t.start_time >= ({0}::date::timestamp at time zone " + TIMEZONE + ")"
    " and t.start_time < (({0}::date + 1)::timestamp at time zone " + TIMEZONE + ")"
)
LIKE_PERSON = "strpos(folded(concat_ws(' ', t.first_name, t.last_name, t.email, t.phone, t.id)), folded({}::text)) > 0"

LISTS = {
    each.kind: each
    for each in (
        OperatorList("location", {**NAME, "city": "t.city", "active": "t.active"}, "locations t", "t.name, t.id"),
        OperatorList(
            "room",
            {**NAME, "location": LOCATION, "capacity": "t.capacity", "active": "t.active"},
            "rooms t",
            "t.name, t.id",
        ),
        OperatorList(
            "spot",
            {"id": "t.id", "label": "t.label", "room": ROOM, "room_id": "t.room_id"},
            "room_spots t",
            "t.room_id, t.label, t.id",
            {"room": "t.room_id = {}::uuid"},
        ),
        OperatorList("class_type", {**NAME, "active": "t.active"}, "class_types t", "t.name, t.id"),
        OperatorList("instructor", {**NAME, "active": "t.active"}, "instructors t", "t.name, t.id"),
        OperatorList(
            "class",
            {
                "id": "t.id",
                "title": "t.title",
                "start_time": "t.start_time",
                "location": LOCATION,
                "status": "t.status",
                "booked": "t.booked_count",
                "capacity": "t.capacity",
                "waiting": "t.waitlist_count",
            },
            "classes t",
            "t.start_time, t.id",
            {"date": ON_DATE, "start": "t.start_time >= {}::timestamptz"},
        ),
        OperatorList(
            "series",
            {
                "id": "t.id",
                "title": "t.title",
                "location": LOCATION,
                "weekdays": DAYS_OF_WEEK,
                "at": "to_char(t.local_start, 'HH24:MI')",
                "minutes": "t.minutes",
                "every_weeks": "t.every_weeks",
                "from": "t.first_date",
                "until": "t.last_date",
            },
            "class_series t",
            "t.last_date is not null, t.title, t.id",
        ),
        OperatorList(
            "closure",
            {
                "id": "t.id",
                "location": LOCATION,
                "from": "t.first_date",
                "until": "t.last_date",
                "mode": "t.mode",
                "reason": "t.reason",
            },
            "closures t",
            "t.first_date desc, t.id",
        ),
        OperatorList(
            "member",
            {**NAME, "email": "t.email", "phone": "t.phone", "suspended": "t.suspended"},
            "members t",
            "t.last_name, t.first_name, t.id",
            {"text": LIKE_PERSON},
        ),
        OperatorList(
            "booking",
            {"id": "t.id", "member": MEMBER, "class": CLASS, "start_time": "t.start_time", "status": "t.status"},
            "bookings t",
            "t.start_time desc, t.id",
            {"class": OF_CLASS, "member": OF_MEMBER, "date": ON_DATE},
        ),
        OperatorList(
            "waitlist",
            {
                "id": "t.id",
                "position": "t.position",
                "member": MEMBER,
                "class": CLASS,
                "start_time": CLASS_START,
                "status": "t.status",
            },
            "waitlist_entries t",
            "t.created_at desc, t.id",
            {"class": OF_CLASS, "member": OF_MEMBER},
        ),
        OperatorList(
            "membership",
            {
                "id": "t.id",
                "member": MEMBER,
                "product": PRODUCT,
                "status": "t.status",
                "credits": "t.credits_remaining",
                "period_end": "t.current_period_end",
            },
            "memberships t",
            "t.started_at desc nulls last, t.id",
            {"member": OF_MEMBER},
        ),
        OperatorList(
            "purchase",
            {
                "id": "t.id",
                "member": MEMBER,
                "product": "t.product_key",
                "amount": "t.amount_total",
                "currency": "t.currency",
                "status": "t.status",
                "created_at": "t.created_at",
            },
            "purchases t",
            "t.created_at desc, t.id",
            {"member": OF_MEMBER},
        ),
        OperatorList(
            "fee",
            {
                "id": "t.id",
                "member": MEMBER,
                "fee": "t.product_key",
                "amount": "t.amount_total",
                "currency": "t.currency",
                "status": "t.status",
                "created_at": "t.created_at",
            },
            "(select * from purchases where product_type = 'fee') t",
            "t.created_at desc, t.id",
            {"member": OF_MEMBER},
        ),
        OperatorList(
            "price",
            {
                "id": "t.id",
                "product": PRODUCT,
                "amount": "t.amount",
                "currency": "t.currency",
                "interval": 't."interval"',
                "default": 't."default"',
                "active": "t.active",
            },
            "prices t",
            't.active desc, t."default" desc, t.created_at, t.id',
            {"product": "t.product_id = {}::uuid"},
        ),
        OperatorList(
            "lead",
            {
                "id": "t.id",
                "name": "btrim(t.first_name || ' ' || t.last_name)",
                "email": "t.email",
                "status": "t.status",
                "created_at": "t.created_at",
            },
            "leads t",
            "t.created_at desc, t.id",
            {"text": LIKE_PERSON},
        ),
        OperatorList(
            "form",
            {"id": "t.id", "title": "t.title", "slug": "t.slug", "status": "t.status", "version": "t.version"},
            "forms t",
            "t.title, t.id",
        ),
        OperatorList(
            "submission",
            {
                "id": "t.id",
                "form": "(select f.title from forms f where f.studio_id = t.studio_id and f.id = t.form_id)",
                "name": "t.submitter_name",
                "email": "t.submitter_email",
                "status": "t.status",
                "created_at": "t.created_at",
            },
            "form_submissions t",
            "t.created_at desc, t.id",
            {"form": "t.form_id = {}::uuid", "member": OF_MEMBER},
        ),
        OperatorList(
            "product",
            {**NAME, "key": "t.key", "type": "t.product_type", "active": "t.active"},
            "products t",
            "t.name, t.id",
        ),
    )
}

STUDIOS = """
    select slug, name, studio_id as id, timezone, currency, test from studios
    where $1::text is null or slug > $1 order by slug limit $2"""


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
    return await connection.fetch(STUDIOS, after, limit)


# The table of each kind of row that a command takes by its id.
TABLES = {
    "booking": "bookings",
    "class": "classes",
    "class type": "class_types",
    "closure": "closures",
    "form": "forms",
    "instructor": "instructors",
    "lead": "leads",
    "location": "locations",
    "member": "members",
    "membership": "memberships",
    "price": "prices",
    "product": "products",
    "purchase": "purchases",
    "room": "rooms",
    "series": "class_series",
    "submission": "form_submissions",
    "waitlist entry": "waitlist_entries",
    "webhook": "webhook_endpoints",
}
OWNERS = {kind: f"select studio_id from {table} where id = $1" for kind, table in TABLES.items()}


async def studios_of(connection: Connection, kind: str, row_id: UUID) -> list[UUID]:
    """Return the studios that have a row of this kind with this id. Ids are unique per studio, so there can be more
    than one. Operators only."""
    return [row["studio_id"] for row in await connection.fetch(OWNERS[kind], row_id)]
