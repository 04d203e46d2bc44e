"""Classes in the demo studio for browser tests: they start soon, and the test says who is in them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID, uuid4

import asyncpg
import httpx2
import pytest

from studiogate import demo
from studiogate.domain.access import Scope
from studiogate.flows import keys
from tests.support.databases import run
from tests.support.desk import Desk

NAMES = (
    "Ada Moss", "Ben Fischer", "Carla Rossi", "Dele Martin", "Elliot Marsh", "Fatima Zahra", "Goran Petrov",
    "Hanna Lind", "Ines Duarte", "James Abara", "Kofi Boateng", "Lucía Gómez", "Marta Dvořák", "Noor Haddad",
    "Oskar Nilsson",
    "Priya Nair", "Quentin Roux", "Rosa Klein", "Sofia Varga", "Tomás Ortega", "Uma Patel", "Viktor Hahn",
)  # fmt: skip

NEW_CLASS = """
    insert into classes (studio_id, id, title, location_id, room_id, instructor_id, start_time, end_time, capacity,
                         policy, class_type_id)
    select $1, $2, $3, r.location_id, r.id,
           (select id from instructors where studio_id = $1 and active order by name limit 1),
           now() + $4 * interval '1 minute', now() + ($4 + 50) * interval '1 minute', $5, $6::text::jsonb, null
    from rooms r join locations l on l.studio_id = $1 and l.id = r.location_id
    where r.studio_id = $1 and l.is_primary order by r.name limit 1"""
NEW_MEMBER = "insert into members (studio_id, id, first_name, last_name, email) values ($1, $2, $3, $4, $5)"
NEW_MEMBERSHIP = """
    insert into memberships (studio_id, id, member_id, product_id, status, started_at, credits_granted,
                             credits_remaining)
    select $1, gen_random_uuid(), $2, (select id from products where studio_id = $1 and key = $3), 'active', now(),
           $4, $4"""
NEW_PRODUCT = """
    with made as (insert into products (studio_id, id, key, name, product_type, credits_granted)
                  values ($1, gen_random_uuid(), 'desk-ten', 'Desk 10-pack', 'package', 10)
                  on conflict do nothing returning id)
    insert into prices (studio_id, id, product_id, amount, currency, price_type, "default")
    select $1, gen_random_uuid(), id, 120, 'USD', 'one_time', true from made"""
PLACE = """
    select l.id as location, (c.start_time at time zone l.timezone)::date::text as day
    from classes c join locations l on l.studio_id = c.studio_id and l.id = c.location_id
    where c.studio_id = $1 and c.id = $2"""


@dataclass
class DeskClass:
    """A class of the demo studio, and what partners do with it."""

    desk: Desk
    id: UUID
    key: str

    @property
    def day(self) -> str:
        """The local date."""
        return str(self._place()["day"])

    @property
    def url(self) -> str:
        """The address of Today with this class open."""
        place = self._place()
        return self.desk.url(f"/today?day={place['day']}&location={place['location']}&class={self.id}")

    @property
    def page_url(self) -> str:
        return self.desk.url(f"/classes/{self.id}")

    def new_member(self, name: str, credits_: int | None = 10) -> UUID:
        """Add a member; with 0 credits, without a membership."""
        first, _, last = name.partition(" ")
        member_id = uuid4()
        self.desk.sql(NEW_MEMBER, self.desk.studio_id, member_id, first, last, f"{member_id.hex}@desk.example")
        if credits_ != 0:
            self.desk.sql(NEW_MEMBERSHIP, self.desk.studio_id, member_id, "desk-ten", credits_)
        return member_id

    def book(self, name: str, *, waits: bool = False, credits_: int | None = 10) -> str:
        """Book for a new member as a partner does, over the API; return the booking's id."""
        member_id = self.new_member(name, credits_)
        body = {"class_id": str(self.id), "member_id": str(member_id), "join_waitlist": waits}
        made = self._api("POST", "/bookings", body)
        return str(made["id"])

    def cancel(self, booking_id: str) -> None:
        self._api("DELETE", f"/bookings/{booking_id}", None)

    def statuses(self) -> dict[str, int]:
        rows = self.desk.sql(
            "select status, count(*) as count from bookings where studio_id = $1 and class_id = $2 group by 1",
            self.desk.studio_id,
            self.id,
        )
        return {row["status"]: row["count"] for row in rows}

    def _place(self) -> Mapping[str, object]:
        (place,) = self.desk.sql(PLACE, self.desk.studio_id, self.id)
        return dict(place)

    def _api(self, method: str, path: str, body: object) -> dict[str, object]:
        headers = {"X-Service-Key": self.key, "Idempotency-Key": uuid4().hex}
        url = f"{self.desk.origin}/partner/v1{path}"
        answer = httpx2.request(method, url, headers=headers, json=body)
        assert answer.is_success, answer.text
        found: dict[str, object] = answer.json()
        return found


def new_class(
    desk: Desk,
    title: str = "The Long Ride",
    *,
    minutes: int = 12,
    capacity: int = 24,
    people: int = 0,
    **policy: object,
) -> DeskClass:
    """Add a class that starts in some minutes, at the primary location, with the first of NAMES booked by a partner."""
    desk.sql(NEW_PRODUCT, desk.studio_id)
    rules = {"require_entitlement": True, "allow_overlapping": True, "booking_closes_minutes_before": 0, **policy}
    class_id = uuid4()
    desk.sql(NEW_CLASS, desk.studio_id, class_id, title, minutes, capacity, json.dumps(rules))
    made = DeskClass(desk, class_id, run(_key(desk)))
    for name in NAMES[:people]:
        made.book(name)
    return made


async def _key(desk: Desk) -> str:
    connection = await asyncpg.connect(desk.site.database_url)
    try:
        wanted = keys.KeyRequest("CityPass", [scope.value for scope in Scope], None)
        return (await keys.create(connection, demo.SLUG, wanted)).key
    finally:
        await connection.close()


@pytest.fixture(scope="module")
def ride(desk_site: Desk) -> DeskClass:
    """A class for the tests of a file, with one person in it."""
    return new_class(desk_site, people=1)
