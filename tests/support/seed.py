"""Small, complete studios for tests, inserted directly into the database.

Every text contains the studio's canary, so that data of another studio in a response can be found by searching for it.
"""

import json
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from studiogate import clock
from studiogate.domain.access import Scope
from studiogate.flows import keys

NOON = datetime(2030, 6, 3, 12, tzinfo=UTC)


@dataclass
class Studio:
    """The ids of one seeded studio. ``ids`` has a list per kind; index 0 is at the first location, 1 at the second."""

    studio_id: UUID
    slug: str
    canary: str
    ids: dict[str, list[UUID]] = field(default_factory=dict)

    def first(self, kind: str) -> UUID:
        return self.ids[kind][0]


async def insert(connection: Any, table: str, **columns: Any) -> UUID:
    """Insert one row, generating its ``id`` and encoding JSON columns; return the id."""
    row_id: UUID = columns.setdefault("id", uuid4())
    values = [
        json.dumps(value) if isinstance(value, dict | list) and column in JSON else value
        for column, value in columns.items()
    ]
    names = ", ".join(f'"{column}"' for column in columns)
    places = ", ".join(f"${number}" for number in range(1, len(columns) + 1))
    await connection.execute(f"insert into {table} ({names}) values ({places})", *values)
    return row_id


JSON = {"policy", "metadata", "fields", "settings", "data", "consents"}


async def new_key(database_url: str) -> str:
    """Return a key with all scopes of a new studio in this database."""
    connection = await asyncpg.connect(database_url)
    try:
        return await issue_key(connection, await seed_studio(connection))
    finally:
        await connection.close()


async def issue_key(
    connection: asyncpg.Connection, studio: Studio, *scopes: str, locations: list[UUID] | None = None, **options: Any
) -> str:
    """Issue a key of the studio, with all scopes by default."""
    wanted = keys.KeyRequest("test", list(scopes) or [each.value for each in Scope], locations, **options)
    return (await keys.create(connection, studio.slug, wanted)).key


async def logged_request(connection: Any, studio_id: UUID, credential_id: str, **columns: Any) -> UUID:
    """Put an entry into the request log: a booking that was made, unless the columns say otherwise."""
    values = {
        "occurred_at": clock.now(),
        "method": "POST",
        "route": "/partner/v1/bookings",
        "status": 201,
        "milliseconds": 3.2,
        "bytes": 70,
        "request_id": f"req_{uuid4().hex}",
    }
    own = {"studio_id": studio_id, "credential_id": credential_id}
    return await insert(connection, "request_log", **own, **(values | columns))


async def seed_studio(connection: asyncpg.Connection, name: str = "north", *, test: bool = False) -> Studio:
    """Seed two locations with rows of every kind in both, rows without a location, all kinds of people and forms."""
    studio_id = uuid4()
    studio = Studio(studio_id, name, f"canary-{name}-{studio_id.hex[:12]}")
    await connection.execute(
        "insert into studios (studio_id, name, slug, timezone, currency, country, test, logo_url, primary_color)"
        " values ($1, $2, $3, 'America/New_York', 'USD', 'US', $4, $5, $6)",
        studio_id,
        studio.canary,
        name,
        test,
        f"https://example.com/{studio.canary}.png",
        "#336699",
    )
    await _seed_schedule(connection, studio)
    await _seed_catalog(connection, studio)
    await _seed_people(connection, studio)
    await _seed_bookings(connection, studio)
    await _seed_forms(connection, studio)
    await _seed_events(connection, studio)
    return studio


async def _add(connection: Any, studio: Studio, kind: str, table: str, **columns: Any) -> UUID:
    row_id = await insert(connection, table, studio_id=studio.studio_id, **columns)
    studio.ids.setdefault(kind, []).append(row_id)
    return row_id


async def seed_series(connection: Any, studio: Studio) -> None:
    """Add a series that has ended and a closure in the past: housekeeping has nothing to do with them."""
    c = studio.canary
    first, last = date(2020, 1, 6), date(2020, 1, 20)
    ended = {"weekdays": [1], "local_start": time(9), "minutes": 60, "first_date": first, "last_date": last}
    await _add(
        connection,
        studio,
        "series",
        "class_series",
        title=f"{c} series",
        location_id=studio.first("location"),
        capacity=10,
        generated_until=last,
        **ended,
    )
    closed = {"location_id": studio.first("location"), "first_date": first, "last_date": last, "mode": "skip"}
    await _add(connection, studio, "closure", "closures", reason=c, **closed)


async def _seed_schedule(connection: Any, studio: Studio) -> None:
    c = studio.canary
    for number in range(2):
        location = await _add(
            connection,
            studio,
            "location",
            "locations",
            name=f"{c} location {number}",
            city=c,
            state=c,
            timezone="America/New_York",
            is_primary=number == 0,
        )
        room = await _add(connection, studio, "room", "rooms", location_id=location, name=f"{c} room", capacity=10)
        await _add(connection, studio, "spot", "room_spots", room_id=room, label=f"{c} A1", x=1.0, y=1.0)
        await _add(connection, studio, "spot", "room_spots", room_id=room, label=f"{c} A2", x=2.0, y=1.0)
    class_type = await _add(connection, studio, "class_type", "class_types", name=f"{c} type", description=c)
    for active in (True, False):
        await _add(
            connection, studio, "instructor", "instructors", name=f"{c} instructor", tagline=c, tags=[c], active=active
        )
    places = [*zip(studio.ids["location"], studio.ids["room"], strict=True), (None, None)]
    for number, (place, own_room) in enumerate(places):
        await _add(
            connection,
            studio,
            "class",
            "classes",
            title=f"{c} class {number}",
            description=c,
            class_type_id=class_type,
            location_id=place,
            room_id=own_room,
            instructor_id=studio.first("instructor"),
            start_time=NOON + timedelta(hours=number),
            end_time=NOON + timedelta(hours=number + 1),
            capacity=10,
            spot_selection_mode="optional" if own_room else None,
        )


async def _seed_catalog(connection: Any, studio: Studio) -> None:
    c, locations = studio.canary, studio.ids["location"]
    for number, location in enumerate([*locations, None]):
        product = await _add(
            connection,
            studio,
            "product",
            "products",
            key=f"{c}-{number}",
            name=f"{c} product",
            product_type="package",
            credits_granted=10,
        )
        price = await _add(
            connection,
            studio,
            "price",
            "prices",
            product_id=product,
            amount=18000,
            currency="USD",
            price_type="one_time",
        )
        await connection.execute("update prices set amount = 180.00 where id = $1", price)
        if location:
            await connection.execute(
                "insert into product_locations values ($1, $2, $3)", studio.studio_id, product, location
            )
            await connection.execute(
                "insert into price_locations values ($1, $2, $3)", studio.studio_id, price, location
            )


async def _seed_people(connection: Any, studio: Studio) -> None:
    c = studio.canary
    for number in range(3):
        member = await _add(
            connection,
            studio,
            "member",
            "members",
            first_name=f"{c}",
            last_name=f"member {number}",
            email=f"member{number}@{c}.example",
            phone="+12125550100",
            staff_notes=f"secret {c}",
        )
        await _add(
            connection,
            studio,
            "membership",
            "memberships",
            member_id=member,
            product_id=studio.ids["product"][2],
            status="active",
            credits_granted=10,
            credits_remaining=10,
            started_at=NOON - timedelta(days=5000),
        )
        await _add(
            connection,
            studio,
            "lead",
            "leads",
            email=f"lead{number}@{c}.example",
            first_name=c,
            source=c,
            metadata={"note": c},
            staff_notes=f"secret {c}",
        )
    for location in [*studio.ids["location"], None]:
        await _add(
            connection,
            studio,
            "purchase",
            "purchases",
            member_id=studio.first("member"),
            product_key=c,
            product_type="package",
            status="completed",
            location_id=location,
        )


async def _seed_bookings(connection: Any, studio: Studio) -> None:
    members = studio.ids["member"]
    for number, class_id in enumerate(studio.ids["class"]):
        location = studio.ids["location"][number] if number < 2 else None
        times = {"start_time": NOON + timedelta(hours=number), "end_time": NOON + timedelta(hours=number + 1)}
        await _add(
            connection,
            studio,
            "booking",
            "bookings",
            class_id=class_id,
            member_id=members[0],
            location_id=location,
            status="confirmed",
            booking_source=studio.canary,
            **times,
        )
        waiting = await _add(
            connection,
            studio,
            "waitlisted_booking",
            "bookings",
            class_id=class_id,
            member_id=members[1],
            location_id=location,
            status="waitlisted",
            booking_source=studio.canary,
            **times,
        )
        await _add(
            connection,
            studio,
            "waitlist",
            "waitlist_entries",
            class_id=class_id,
            member_id=members[1],
            booking_id=waiting,
            location_id=location,
            position=1,
            status="waiting",
        )
        await connection.execute("update classes set booked_count = 1, waitlist_count = 1 where id = $1", class_id)


async def _seed_forms(connection: Any, studio: Studio) -> None:
    c = studio.canary
    for status in ("published", "draft", "archived"):
        form = await _add(
            connection,
            studio,
            "form",
            "forms",
            title=f"{c} {status}",
            slug=f"form-{status}",
            description=c,
            fields=[{"key": "q", "label": c, "type": "text"}],
            settings={"confirmation_message": c},
            status=status,
        )
        await connection.execute(
            "insert into form_versions (studio_id, form_id, version, fields) values ($1, $2, 1, '[]')",
            studio.studio_id,
            form,
        )
        await _add(
            connection,
            studio,
            "submission",
            "form_submissions",
            form_id=form,
            form_version=1,
            submitter_name=c,
            submitter_email=f"lead0@{c}.example",
            data={"q": c},
            lead_id=studio.first("lead"),
        )


async def _seed_events(connection: Any, studio: Studio) -> None:
    """Add an event, endpoint, delivery and attempt per location and for none; its key sees that location only."""
    for number, location in enumerate([*studio.ids["location"], None]):
        place = "none" if location is None else str(number)
        about = {"id": str(studio.ids["booking"][number]), "note": f"{studio.canary} place-{place}"}
        event = await _add(
            connection,
            studio,
            "event",
            "events",
            sequence=number + 1,
            type="booking.created",
            subject=studio.ids["booking"][number],
            scopes=["bookings:read"],
            place=location or UUID(int=0),
            object=json.dumps(about),
            previous_attributes="{}",
        )
        key = await issue_key(connection, studio, locations=[location] if location else None)
        endpoint = await _add(
            connection,
            studio,
            "endpoint",
            "webhook_endpoints",
            credential_id=key.split("_")[2],
            url=f"https://{studio.canary}.example/place-{place}",
            event_types=["*"],
            secret=b"sealed",
        )
        delivery = await _add(
            connection,
            studio,
            "delivery",
            "webhook_deliveries",
            endpoint_id=endpoint,
            event_id=event,
            event_type="booking.created",
            status="succeeded",
            attempts=1,
        )
        await connection.execute(
            "insert into webhook_attempts (studio_id, delivery_id, number, attempted_at, duration_ms, status, response)"
            " values ($1, $2, 1, now(), 5, 200, $3)",
            studio.studio_id,
            delivery,
            about["note"],
        )
    await connection.execute("insert into event_heads values ($1, 3)", studio.studio_id)
