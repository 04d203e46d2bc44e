"""What every page of the console shows around its content: the studio, its locations, who is signed in."""

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection

FRAME = """
    select s.name, s.slug, s.timezone, s.currency, s.primary_color, s.test, a.name as person, a.email,
           (select count(*) from staff_roles r where r.account_id = a.id and r.disabled_at is null) as studios
    from studios s, staff_accounts a where s.studio_id = $1 and a.id = $2"""
LOCATIONS = """
    select id, name, timezone from locations
    where studio_id = $1 and active and ($2::uuid[] is null or id = any($2)) order by is_primary desc, name, id"""
OWN_STUDIOS = """
    select s.studio_id as id, s.name, r.role from staff_roles r join studios s on s.studio_id = r.studio_id
    where r.account_id = $1 and r.disabled_at is null order by s.name, s.studio_id"""


class FirstRows(NamedTuple):
    locations: int
    classes: int
    members: int
    staff: int
    keys: int


class Place(NamedTuple):
    """A location at which the signed-in person works."""

    id: UUID
    name: str
    timezone: str


class OwnStudio(NamedTuple):
    id: UUID
    name: str
    role: str


@dataclass(frozen=True, slots=True)
class Frame:
    """The studio and the person, as a page names them, and the locations that the person's role permits."""

    name: str
    slug: str
    timezone: str
    currency: str
    primary_color: str | None
    test: bool
    person: str
    email: str
    studios: int
    locations: tuple[Place, ...]


async def read_frame(connection: Connection, access: Access, account_id: UUID) -> Frame | None:
    row = await connection.fetchrow(FRAME, access.studio_id, account_id)
    if row is None:
        return None
    permitted = None if access.location_ids is None else list(access.location_ids)
    locations = await connection.fetch(LOCATIONS, access.studio_id, permitted)
    return Frame(**row, locations=tuple(Place(*each) for each in locations))


async def lock_set_up(connection: Connection) -> None:
    """Let only one transaction at a time set up an empty service."""
    # Any number will do, as long as it is used for nothing else.
    statement = "select pg_advisory_xact_lock(7310000000000001)"
    await connection.execute(statement)


async def count_first_rows(connection: Connection, access: Access) -> FirstRows:
    """Return what a new studio has by now. Counts stop at a hundred."""
    statement = """
        select (select count(*) from (select from locations where studio_id = $1 limit 100) l),
               (select count(*) from (select from classes where studio_id = $1 limit 100) c),
               (select count(*) from (select from members where studio_id = $1 limit 100) m),
               (select count(*) from (select from staff_roles where studio_id = $1 limit 100) r),
               (select count(*) from (select from credentials where studio_id = $1 limit 100) k)"""
    row = await connection.fetchrow(statement, access.studio_id)
    if row is None:
        raise AssertionError("a row of counts is always there")
    return FirstRows(*row)


async def own_studios(connection: Connection, account_id: UUID) -> list[OwnStudio]:
    return [OwnStudio(*row) for row in await connection.fetch(OWN_STUDIOS, account_id)]
