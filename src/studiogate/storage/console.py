"""What every page of the console shows around its content: the studio, its locations, who is signed in."""

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.time_format import TimeFormat, time_format_of
from studiogate.storage.db.pool import Connection, Record

FRAME = """
    select s.name, s.slug, s.timezone, s.currency, s.primary_color, s.test, s.country,
           s.hour_cycle, s.date_order, a.name as person, a.email,
           (select l.name from studio_logos l where l.studio_id = s.studio_id) as logo,
           not exists (select from bookings b where b.studio_id = s.studio_id) as is_new,
           (select count(*) from staff_roles r where r.account_id = a.id and r.disabled_at is null) as studios
    from studios s, staff_accounts a where s.studio_id = $1 and a.id = $2"""
LOCATIONS = """
    select id, name, timezone, active from locations
    where studio_id = $1 and ($2::uuid[] is null or id = any($2)) order by active desc, is_primary desc, name, id"""
OWN_STUDIOS = """
    select s.studio_id as id, s.name, r.role from staff_roles r join studios s on s.studio_id = r.studio_id
    where r.account_id = $1 and r.disabled_at is null order by s.name, s.studio_id"""


# The studio that is shown to somebody who signs in: the one of the browser's last session, or the only one there is.
MARK = """
    select s.name, s.slug, s.primary_color, l.name as logo
    from studios s left join studio_logos l on l.studio_id = s.studio_id
    where s.studio_id = coalesce($1, (select case when count(*) = 1 then min(o.studio_id::text)::uuid end
                                      from (select studio_id from studios limit 2) o))"""


class FirstRows(NamedTuple):
    """Which rows a new studio has by now; colleagues are staff besides the owner who created it."""

    locations: bool
    rooms: bool
    class_types: bool
    instructors: bool
    products: bool
    rules: bool
    colleagues: bool
    classes: bool
    keys: bool
    members: bool
    bookings: bool


class Place(NamedTuple):
    """A location that the role of the signed-in person permits."""

    id: UUID
    name: str
    timezone: str
    active: bool = True

    @property
    def label(self) -> str:
        return self.name if self.active else f"{self.name} (deactivated)"


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
    country: str
    hour_cycle: str | None
    date_order: str | None
    person: str
    email: str
    logo: str | None  # the name of the file
    is_new: bool  # nobody has booked yet
    studios: int
    places: tuple[Place, ...]

    @property
    def locations(self) -> tuple[Place, ...]:
        """The locations in use. Keys, roles and money may be of one that was deactivated: see ``places``."""
        return tuple(each for each in self.places if each.active)

    @property
    def time_format(self) -> TimeFormat:
        return time_format_of(self.hour_cycle, self.date_order, self.country)

    @property
    def has_zones(self) -> bool:
        """Whether the person's locations, or these and the studio, have different time zones."""
        return len({self.timezone, *(each.timezone for each in self.locations)}) > 1


async def read_frame(connection: Connection, access: Access, account_id: UUID) -> Frame | None:
    row = await connection.fetchrow(FRAME, access.studio_id, account_id)
    if row is None:
        return None
    locations = await connection.fetch(LOCATIONS, access.studio_id, access.location_ids)
    return Frame(**row, places=tuple(Place(*each) for each in locations))


async def read_mark(connection: Connection, studio_id: UUID | None) -> Record | None:
    """Return the name, colour and logo of the studio to which somebody signs in, if it is known."""
    return await connection.fetchrow(MARK, studio_id)


FIRST_ROWS = """
    select exists (select from locations where studio_id = $1), exists (select from rooms where studio_id = $1),
           exists (select from class_types where studio_id = $1), exists (select from instructors where studio_id = $1),
           exists (select from products where studio_id = $1), s.policy <> '{}',
           exists (select from staff_roles where studio_id = $1 offset 1),
           exists (select from classes where studio_id = $1), exists (select from credentials where studio_id = $1),
           exists (select from members where studio_id = $1), exists (select from bookings where studio_id = $1)
    from studios s where s.studio_id = $1"""


async def lock_set_up(connection: Connection) -> None:
    """Let only one transaction at a time set up an empty service."""
    # Any number will do, as long as it is used for nothing else.
    statement = "select pg_advisory_xact_lock(7310000000000001)"
    await connection.execute(statement)


async def read_first_rows(connection: Connection, access: Access) -> FirstRows:
    """Return what a new studio has by now."""
    (row,) = await connection.fetch(FIRST_ROWS, access.studio_id)
    return FirstRows(*row)


async def own_studios(connection: Connection, account_id: UUID) -> list[OwnStudio]:
    return [OwnStudio(*row) for row in await connection.fetch(OWN_STUDIOS, account_id)]
