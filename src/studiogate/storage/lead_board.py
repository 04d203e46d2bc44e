"""The board of leads for staff: a page of each status, the newest first, with how many leads each status has."""

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.leads import LeadStatus
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.paging import ListPage, comes_after, list_page

MAX_SOURCES = 20

# The form is the one that was sent last. $1 studio, $2 limit, $3 source or form or null, $4 status, $5 the lead before.
_FORM = "metadata -> 'form_submissions' -> -1 ->> 'form_id'"
_CARD = f"""
    select e.id, e.first_name, e.last_name, e.email, e.phone, e.status, coalesce(e.source, '') as source, e.created_at,
           f.title as form, e.staff_notes <> '' as has_notes
    from ({{}}) e
    left join forms f on f.studio_id = $1 and f.id::text = e.{_FORM}
    order by e.created_at desc, e.id desc"""
_ROWS = """
    select l.* from leads l where l.studio_id = $1 and l.status = $4::text {} {}
    order by l.created_at desc, l.id desc limit $2"""
_KINDS = {"": "", "source": "and coalesce(l.source, '') = $3::text", "form": f"and l.{_FORM} = $3::text"}
_BEYOND = f"and {comes_after('leads', 'l', '$5::uuid')}"
_GIVEN = "{} and num_nonnulls($3::text, $5::uuid) >= 0"
PAGES = {
    (kind, later): _CARD.format(_ROWS.format(condition, _GIVEN.format(_BEYOND if later else "and true")))
    for kind, condition in _KINDS.items()
    for later in (False, True)
}
COUNTS = {
    kind: f"""
        select l.status, count(*) from leads l where l.studio_id = $1 and num_nonnulls($2::text) >= 0
        {condition.replace("$3", "$2")} group by l.status"""
    for kind, condition in _KINDS.items()
}
# Each source once, by one look at the index per source.
SOURCES = f"""
    with recursive found(source, number) as (
        (select coalesce(source, ''), 1 from leads where studio_id = $1 order by coalesce(source, '') limit 1)
        union all
        select following.source, found.number + 1 from found cross join lateral (
            select coalesce(l.source, '') as source from leads l
            where l.studio_id = $1 and coalesce(l.source, '') > found.source
            order by coalesce(l.source, '') limit 1) following
        where found.number < {MAX_SOURCES})
    select source from found where source <> '' order by source"""
ONE = """
    select e.id, e.first_name, e.last_name, e.email, e.phone, e.status, coalesce(e.source, '') as source, e.created_at,
           e.updated_at, e.staff_notes, m.id as member_id, e.metadata ->> 'utm' as campaign,
           btrim(e.first_name || ' ' || e.last_name) as name
    from leads e left join members m on m.studio_id = $1 and m.email = e.email
    where e.studio_id = $1 and e.id = $2"""
FORMS = """
    select f.id as form_id, f.title, s.created_at from (
        select each ->> 'form_id' as form_id, (each ->> 'submitted_at')::timestamptz as created_at
        from leads e cross join lateral json_array_elements((e.metadata -> 'form_submissions')::json) each
        where e.studio_id = $1 and e.id = $2 and jsonb_typeof(e.metadata -> 'form_submissions') = 'array') s
    join forms f on f.studio_id = $1 and f.id::text = s.form_id
    order by s.created_at desc"""


class Origin(NamedTuple):
    """Where leads come from that are shown: a source, or the form that they sent last; without a kind, all."""

    kind: str = ""
    value: str | None = None


class StatusColumn(NamedTuple):
    """The leads of a status: a page of them, and how many there are."""

    status: LeadStatus
    number: int
    page: ListPage


async def read_board(connection: Connection, access: Access, origin: Origin, per_column: int) -> list[StatusColumn]:
    rows = await connection.fetch(COUNTS[origin.kind], access.studio_id, origin.value)
    counts: Mapping[str, int] = {row["status"]: row["count"] for row in rows}
    return [
        StatusColumn(each, counts.get(each, 0), await read_column(connection, access, each, origin, (None, per_column)))
        for each in LeadStatus
    ]


async def read_column(
    connection: Connection, access: Access, status: LeadStatus, origin: Origin, place: tuple[UUID | None, int]
) -> ListPage:
    """Return a page of the leads of a status; ``place`` is the lead before it, and how many it has."""
    after, limit = place
    values = (access.studio_id, limit + 1, origin.value, status.value, after)
    return list_page(await connection.fetch(PAGES[origin.kind, after is not None], *values), limit)


async def sources(connection: Connection, access: Access) -> list[str]:
    return [row["source"] for row in await connection.fetch(SOURCES, access.studio_id)]


async def read_lead(connection: Connection, access: Access, lead_id: UUID) -> Record | None:
    return await connection.fetchrow(ONE, access.studio_id, lead_id)


async def forms_of(connection: Connection, access: Access, lead_id: UUID) -> list[Record]:
    return await connection.fetch(FORMS, access.studio_id, lead_id)
