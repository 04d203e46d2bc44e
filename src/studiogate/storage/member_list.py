"""Pages of members for staff: the newest first, or by what they are and where they come.

Each list is read along an index in the order of its pages. With two filters, one drives and the other is a condition:
a page then ends after ``SCANNED`` rows at the latest, with the place at which the next page continues.
"""

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import MembershipStatus
from studiogate.storage.db.pool import Connection
from studiogate.storage.paging import ListPage, comes_after, list_page
from studiogate.storage.status_lists import SEAT_HOLDING, STATUS_DISPLAY_ORDER

SUSPENDED = "suspended"
STATUSES = (MembershipStatus.ACTIVE.value, MembershipStatus.PAUSED.value, MembershipStatus.PAST_DUE.value, SUSPENDED)
SCANNED = 300


def visits(locations: str) -> str:
    """Return the part of a query after its columns for the visits b of member m at the permitted locations, which a
    placeholder gives (null: all of them)."""
    return f"""
    from bookings b
    where b.studio_id = $1 and b.member_id = m.id and b.status in ({SEAT_HOLDING})
      and b.status = 'checked_in' and b.start_time <= now()
      and ({locations}::uuid[] is null or b.location_id = any({locations}::uuid[]))"""


# One row per member: the membership that tells most about them, and their last visit at a permitted location. $1 is the
# studio, {} the parameter with the permitted locations (null: all of them).
COLUMNS = f"""
    m.id, m.name, m.email, m.phone, m.suspended, m.created_at, held.product, held.status as membership_status,
    held.credits_remaining, held.current_period_end,
    (select max(b.start_time) {visits("{0}")}) as last_visit"""
JOINS = f"""
    left join lateral (
        select p.name as product, s.status, s.credits_remaining, s.current_period_end
        from memberships s join products p on p.studio_id = $1 and p.id = s.product_id
        where s.studio_id = $1 and s.member_id = m.id
        order by array_position(array[{STATUS_DISPLAY_ORDER}], s.status::text) nulls last,
                 s.created_at desc, s.id desc
        limit 1) held on true"""


def comes_to(location: str) -> str:
    """Return the condition that a member has or had a seat at a location, which a placeholder gives. Not "exists":
    PostgreSQL may turn that into a join that reads all bookings of the location before the first member is found."""
    return f"""
    (select true from bookings v
     where v.studio_id = $1 and v.member_id = m.id and v.location_id = {location}::uuid
       and v.status in ({SEAT_HOLDING}) limit 1) is true"""


_ROWS = """
    select d.id as row_id, {member} as member_id, d.created_at from {table} d
    where d.studio_id = $1 and {condition} {beyond}
    order by d.created_at desc, d.id desc limit {scanned}"""
# Each member once: at the newest membership with the status, or the newest booking at the location.
_BY_STATUS = """
    coalesce(d.status, '') <> '' and d.status = $3::text and (
        select true from memberships n where n.studio_id = $1 and n.member_id = d.member_id and n.status = $3::text
          and (n.created_at, n.id) > (d.created_at, d.id) limit 1) is not true"""
_BY_LOCATION = f"""
    d.location_id = $4::uuid and d.status = seated.status and (
        select true from bookings n
        where n.studio_id = $1 and n.member_id = d.member_id and n.location_id = $4::uuid
          and n.status in ({SEAT_HOLDING}) and (n.created_at, n.id) > (d.created_at, d.id)
        limit 1) is not true"""
_EACH_STATUS = f"""
    select each.* from unnest(array[{SEAT_HOLDING}]) seated(status) cross join lateral ({{}}) each
    order by created_at desc, row_id desc limit {{}}"""


def _driver(name: str, later: bool) -> str:
    """Return SQL for the rows along which a list is read, from the start or beyond row $5."""
    table, member, condition = {
        "newest": ("members", "d.id", "d.erased_at is null"),
        "suspended": ("members", "d.id", "d.suspended and d.erased_at is null"),
        "status": ("memberships", "d.member_id", _BY_STATUS),
        "location": ("bookings", "d.member_id", _BY_LOCATION),
    }[name]
    after = f"and {comes_after(table, 'd', '$5::uuid')}" if later else ""
    rows = _ROWS.format(table=table, member=member, condition=condition, beyond=after, scanned=SCANNED)
    return _EACH_STATUS.format(rows, SCANNED) if name == "location" else rows


# Every statement has the same parameters, used or not: $2 limit, $3 status, $4 location, $5 the row before the page,
# $6 the permitted locations.
_GIVEN = "$2::integer > 0 and num_nonnulls($3::text, $4::uuid, $5::uuid, $6::uuid[]) >= 0"


def _page(driver: str, condition: str) -> str:
    return f"""
        select {COLUMNS.format("$6")}, false as similar, found.row_id from ({driver}) found
        join members m on m.studio_id = $1 and m.id = found.member_id {JOINS}
        where m.erased_at is null and {condition} and {_GIVEN}
        order by found.created_at desc, found.row_id desc limit $2"""


def _end(driver: str) -> str:
    """Return SQL for the last row that a page has looked at, if there may be more behind it."""
    return f"""
        select found.row_id from ({driver}) found where {_GIVEN}
        order by found.created_at desc, found.row_id desc offset {SCANNED - 1} limit 1"""


_SHAPES: Mapping[str, tuple[str, str]] = {
    "newest": ("newest", "true"),
    "suspended": ("suspended", "true"),
    "suspended there": ("suspended", comes_to("$4")),
    "status": ("status", "true"),
    "status there": ("status", comes_to("$4")),
    "there": ("location", "true"),
}
# A short page of these is the last one: no row is dropped after it was counted.
COMPLETE = ("newest", SUSPENDED)
PAGES = {
    (shape, later): _page(_driver(driver, later), condition)
    for shape, (driver, condition) in _SHAPES.items()
    for later in (False, True)
}
ENDS = {
    (shape, later): _end(_driver(driver, later)) for shape, (driver, _) in _SHAPES.items() for later in (False, True)
}


class MemberFilters(NamedTuple):
    """``status`` is one of ``STATUSES``; ``location_id`` is where the member has booked."""

    status: str | None = None
    location_id: UUID | None = None

    @property
    def shape(self) -> str:
        if self.status is None:
            return "newest" if self.location_id is None else "there"
        kind = SUSPENDED if self.status == SUSPENDED else "status"
        return kind if self.location_id is None else f"{kind} there"


async def list_members(
    connection: Connection, access: Access, filters: MemberFilters, after: UUID | None, limit: int
) -> ListPage:
    """Return a page of members. Erased ones are left out."""
    key = (filters.shape, after is not None)
    values = (access.studio_id, limit + 1, filters.status, filters.location_id, after, access.location_ids)
    rows = await connection.fetch(PAGES[key], *values)
    if len(rows) > limit or filters.shape in COMPLETE:
        return list_page(rows, limit, "row_id")
    end = await connection.fetchval(ENDS[key], *values)
    return ListPage(rows, None if end is None else str(end))
