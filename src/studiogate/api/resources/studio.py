"""GET /studio and /locations."""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field

from studiogate.api.framework.operations import LISTING, READING, Instant, Uuid, Wire, described, list_of, operation
from studiogate.api.framework.params import LIMIT_WHERE_ALL_FIT, Cursor, Limit, PathId, UpdatedAfter
from studiogate.api.framework.route import Caller, LeanRoute, needs
from studiogate.domain.access import Scope
from studiogate.domain.paging import PageRequest
from studiogate.storage import studio as storage
from studiogate.storage.paging import read_one
from studiogate.web.public_address import known_address
from studiogate.web.response import Answer

Reader = Annotated[Caller, needs(Scope.STUDIO_READ)]
routes = APIRouter(route_class=LeanRoute, tags=["studio"])


class Studio(Wire):
    """The studio that the key belongs to."""

    id: Uuid = Field(examples=["0b3f2a77-5a3c-5c1e-9d3e-6b1f6f0f7a01"])
    object: Literal["studio"] = "studio"
    name: str = described("The studio's name, as its members know it.", "Northside Movement")
    slug: str = described("The studio's part of the addresses of its public pages.", "northside")
    timezone: str = described("IANA timezone. Show times to people in it.", "America/New_York")
    logo_url: str | None = described(
        "The absolute URL of the stored logo, which changes with the image, else as in the studio file.",
        "https://studio.example/logo/northside/5f0c2e9a1b7d4c38.png",
    )
    primary_color: str | None = described("The studio's colour, as `#rrggbb`.", "#2f5d50")


class Address(Wire):
    """Where to find a location, in addition to its `city` and `state`."""

    line1: str | None = described("Street and number.", "155 Bedford Avenue")
    line2: str | None = described("What else finds it: a floor, a building.", "2nd floor")
    postal_code: str | None = described("The postal code, in the country's own form.", "11211")
    country: str | None = described("ISO 3166-1 alpha-2.", "US")


class Location(Wire):
    """A place where the studio holds classes."""

    id: Uuid = Field(examples=["5e0c7a3e-8f5b-5f0e-8a43-0d6d0f6f1c11"])
    object: Literal["location"] = "location"
    name: str = described("The location's name.", "Williamsburg")
    city: str = described("The city; may be empty.", "Brooklyn")
    state: str = described("The state or region; may be empty.", "NY")
    timezone: str = described("IANA timezone of this location.", "America/New_York")
    active: bool = described("False once the studio no longer uses the location.", True)
    is_primary: bool = described("Whether this is the studio's main location.", True)
    address: Address | None = Field(description="Null if no part of it is known; see also `city` and `state`.")
    latitude: float | None = described("WGS 84, -90 to 90.", 40.7172)
    longitude: float | None = described("WGS 84, -180 to 180.", -73.9582)
    phone: str | None = described("E.164.", "+17185550142")
    updated_at: Instant = Field(examples=["2026-10-01T00:00:00+00:00"])


@routes.get("/studio", **operation("Read the studio", Studio))
async def read_studio(caller: Reader) -> Answer:
    """The studio that the key belongs to. Its timezone is here: do not infer it from your server."""
    return caller.found(await caller.read(storage.read_studio, known_address(caller.runtime.settings)))


@routes.get("/locations", **operation("List locations, active and inactive", list_of(Location), *LISTING))
async def list_locations(
    caller: Reader, updated_after: UpdatedAfter = None, cursor: Cursor = None, limit: Limit = LIMIT_WHERE_ALL_FIT
) -> Answer:
    """A restricted key sees only its permitted locations."""
    return caller.listed(await caller.read(storage.list_locations, PageRequest(cursor, limit), updated_after))


@routes.get("/locations/{location_id}", **operation("Read a location", Location, *READING))
async def read_location(caller: Reader, location_id: PathId) -> Answer:
    """A location of another studio, or one that the key may not see, is 404."""
    return caller.found(await caller.read(read_one, storage.LOCATION, location_id))
