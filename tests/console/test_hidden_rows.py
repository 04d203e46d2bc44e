"""Rows of another studio, and of a location that a person may not see, answer exactly as rows that do not exist do:
every route with an id is asked, by every role that may open it, for real rows and for unknown ones, and the answers are
compared byte by byte."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, time
from typing import Any
from uuid import UUID, uuid4

import pytest
from httpx2 import Response

from studiogate.console import screens
from studiogate.console.framework.page import Route
from studiogate.domain.access import operator_access
from studiogate.domain.staff import Grant, Role
from studiogate.flows.staff import roles
from studiogate.flows.staff.roles import Invitation
from tests.console.test_routes import TABLE
from tests.support.console import ORIGIN, Console
from tests.support.seed import insert, issue_key, logged_request, seed_series, seed_studio
from tests.support.staff_people import done

pytestmark = pytest.mark.anyio

# The kind of row that a parameter names; those at a location are hidden from people of other locations.
KINDS = {
    "class_id": "class",
    "series_id": "series",
    "closure_id": "closure",
    "booking_id": "booking",
    "entry_id": "waitlist",
    "purchase_id": "purchase",
    "lead_id": "lead",
    "member_id": "member",
    "other_id": "member",
    "membership_id": "membership",
    "form_id": "form",
    "submission_id": "submission",
    "upload_id": "upload",
    "session_id": "session",
    "account_id": "account",
    "key": "key",
    "request_id": "request",
    "spot_id": "spot",
    "location_id": "location",
    "room_id": "room",
    "class_type_id": "class_type",
    "instructor_id": "instructor",
    "product_id": "product",
    "price_id": "price",
    "event_id": "event",
    "endpoint_id": "endpoint",
    "delivery_id": "delivery",
}
AT_A_LOCATION = {
    "class",
    "series",
    "closure",
    "booking",
    "waitlist",
    "purchase",
    "location",
    "room",
    "product",
    "price",
}
# Sent with every form: valid values, so that as many forms as possible get as far as reading the row.
FIELDS = {
    "definition": "{}",
    "revision": "0",
    "word": "erase",
    "reason": "A reason",
    "name": "A name",
    "title": "A title",
    "text": "A note",
    "email": "somebody@example.com",
    "mark": "check_in",
    "when": "now",
    "mode": "only_this",
    "credits": "1",
    "amount": "1.00",
    "from_date": "2031-01-06",
    "last_date": "2031-01-06",
    "starts_at": "2031-01-06T09:00",
    "ends_at": "2031-01-06T10:00",
}
# Forms of rows that the person may see, which name rows that they may not: the field, and the kind of row in it.
NAMED_IN_FORMS = [
    ("/members/{member}/book", "class_id", "class"),
    ("/members/{member}/sell", "offer", "product"),
    ("/members/{member}/form-link", "form_id", "form"),
    ("/bookings/{booking}/move", "class_id", "class"),
    ("/classes/{class}/walk-in", "member", "member"),
    ("/schedule/classes", "location", "location"),
    ("/schedule/closures", "location", "location"),
    ("/schedule/series", "location", "location"),
]
# A file that waits to be imported is no row: tests/console/test_import.py asks for those of others.
OF_ROWS = [route for route in screens.routes() if "{" in route.path and "{token}" not in route.path]
ROUTES = [route for route in OF_ROWS if (route.method, route.path) in TABLE]


@dataclass(frozen=True)
class Asked:
    """One request: a route with an id for each of its parameters."""

    route: Route
    ids: Mapping[str, UUID]

    @property
    def path(self) -> str:
        return "/console" + self.route.path.format_map(self.ids)


def parameters(route: Route) -> list[str]:
    return [each[1:-1] for each in route.segments if each.startswith("{")]


def test_every_parameter_is_known() -> None:
    assert {name for route in ROUTES for name in parameters(route)} == set(KINDS)


async def other_studio(console: Console) -> Mapping[str, UUID]:
    """Fill another studio, and return a row of each kind."""
    connection = console.studio.api.connection
    studio = await seed_studio(connection, f"other-{uuid4().hex[:8]}")
    await seed_series(connection, studio)
    rows = {kind: ids[0] for kind, ids in studio.ids.items()}
    invitation = Invitation(f"{uuid4().hex}@example.com", Grant(Role.OWNER))
    invited = done(await roles.invite(connection, operator_access(studio.studio_id), invitation))
    colleague = await console.people.hire(Role.OWNER)
    await console.people.session(colleague)
    session = "select id from staff_sessions where account_id = $1"
    somebody_elses = await console.people.value(session, colleague.account_id)
    key: Any = (await issue_key(connection, studio)).split("_")[2]  # no uuid
    return rows | {
        "upload": rows["submission"],
        "session": somebody_elses,
        "account": invited.account_id,
        "key": key,
        "request": await logged_request(connection, studio.studio_id, key),
        "spot": await insert(connection, "room_spots", studio_id=studio.studio_id, room_id=rows["room"], label="H1"),
    }


async def other_location(console: Console) -> Mapping[str, UUID]:
    """Fill the other location of the studio, and return a row of each kind that is at a location."""
    studio, place = console.studio, console.studio.other_location
    class_id = await studio.new_class(capacity=1, location_id=place, room_id=None)
    booking = await studio.booked(class_id, await studio.new_member())
    waiting = await studio.waits(class_id, await studio.new_member())
    days = {"first_date": date(2020, 1, 6), "last_date": date(2020, 1, 20)}
    weekly = {
        "weekdays": [1],
        "local_start": time(9),
        "minutes": 60,
        "capacity": 10,
        "generated_until": days["last_date"],
    }
    purchase = {"product_key": "fee", "product_type": "fee", "status": "pending", "amount_total": 5, "currency": "USD"}
    product = await studio.new_product(locations=(place,))
    price = {"product_id": product, "amount": 5, "currency": "USD", "price_type": "one_time"}
    return {
        "location": place,
        "room": await studio.add("rooms", location_id=place, name="Attic", capacity=5),
        "product": product,
        "price": await studio.add("prices", **price),
        "class": class_id,
        "booking": UUID(booking["id"]),
        "waitlist": UUID((await studio.entry(waiting))["id"]),
        "series": await studio.add("class_series", title="Weekly", location_id=place, **days, **weekly),
        "closure": await studio.add("closures", reason="Closed", location_id=place, mode="skip", **days),
        "lead": await studio.add("leads", email=f"{uuid4()}@example.com"),
        "purchase": await studio.add("purchases", member_id=UUID(booking["member_id"]), location_id=place, **purchase),
    }


async def answer(person: Console, csrf: str, asked: Asked) -> tuple[int, str, str]:
    if asked.route.method == "GET":
        response = await person.get(asked.path)
    else:
        response = await send(person, csrf, asked.path)
    return comparable(response, *asked.ids.values())


async def send(person: Console, csrf: str, path: str, **fields: str) -> Response:
    data = {**FIELDS, **fields, "csrf": csrf, "idempotency": "0" * 32}
    return await person.client.post(path, data=data, headers={"Origin": ORIGIN})


def comparable(response: Response, *ids: UUID) -> tuple[int, str, str]:
    """Return the status, the location and the page, without the ids of the request and what is random in every page."""
    page, location = response.text, response.headers.get("location", "")
    for row_id in ids:
        page, location = page.replace(str(row_id), "ID"), location.replace(str(row_id), "ID")
    page = re.sub(r'(name="(?:csrf|idempotency|kept)" value|nonce)="[^"]*"', r"\1=X", page)
    page = re.sub(r"req_[0-9A-Za-z]+", "REQ", page)
    assert response.status_code < 500, page
    return response.status_code, location, page


def differences(found: tuple[int, str, str], expected: tuple[int, str, str]) -> list[str]:
    lines = zip(found[2].splitlines(), expected[2].splitlines(), strict=False)
    return [f"{found[:2]}, not {expected[:2]}", *(f"{one}, not {other}" for one, other in lines if one != other)]


async def assert_hidden(person: Console, role: Role, rows: Mapping[str, UUID], kinds: set[str]) -> int:
    """Assert that these rows are answered as unknown ones are; return how many requests were tried."""
    csrf, tried = await person.csrf(), 0
    for route in ROUTES:
        names = parameters(route)
        if role not in TABLE[route.method, route.path] or not {KINDS[name] for name in names} & kinds:
            continue
        unknown = {name: uuid4() for name in names}
        real = {name: rows[KINDS[name]] if KINDS[name] in rows else unknown[name] for name in names}
        expected = await answer(person, csrf, Asked(route, unknown))
        found = await answer(person, csrf, Asked(route, real))
        if found != expected:
            pytest.fail(f"{role} {route.method} {route.path}: {differences(found, expected)}")
        tried += 1
    return tried


@pytest.mark.parametrize("role", Role)
async def test_rows_of_another_studio_do_not_exist(console: Console, role: Role) -> None:
    person = await console.as_role(role)
    assert await assert_hidden(person, role, await other_studio(console), set(KINDS.values())) > 0


@pytest.mark.parametrize("role", [Role.MANAGER, Role.FRONT_DESK, Role.INSTRUCTOR])
async def test_rows_of_another_location_do_not_exist(console: Console, role: Role) -> None:
    person = await console.as_role(role, console.studio.location)
    assert await assert_hidden(person, role, await other_location(console), AT_A_LOCATION) > 0


@pytest.mark.parametrize("where", ["studio", "location"])
async def test_hidden_rows_named_in_forms_do_not_exist(console: Console, where: str) -> None:
    studio = console.studio
    limited = [studio.location] if where == "location" else []
    person = await console.as_role(Role.MANAGER, *limited)
    rows = dict(await (other_location(console) if limited else other_studio(console)))
    rows.setdefault("location", studio.other_location)
    member, class_id = await studio.new_member(), await studio.new_class()
    booking = (await studio.booked(class_id, await studio.new_member()))["id"]
    csrf = await person.csrf()
    for template, field, kind in NAMED_IN_FORMS:
        if kind in rows:
            path = "/console" + template.format_map({"member": member, "class": class_id, "booking": booking})
            unknown = uuid4()
            expected = comparable(await send(person, csrf, path, **{field: str(unknown)}), unknown)
            found = comparable(await send(person, csrf, path, **{field: str(rows[kind])}), rows[kind])
            if found != expected:
                pytest.fail(f"{template} {field}: {differences(found, expected)}")


async def test_the_rows_are_there(console: Console) -> None:
    """Whoever may see the other location gets other answers for its rows: the comparison above can fail."""
    rows = await other_location(console)
    csrf, seen = await console.csrf(), set()
    for route in ROUTES:
        names = parameters(route)
        if route.method == "GET" and {KINDS[name] for name in names} <= set(rows):
            ids = {name: rows[KINDS[name]] for name in names}
            status, _, _ = await answer(console, csrf, Asked(route, ids))
            if status == 200:
                seen |= {KINDS[name] for name in names}
    assert seen >= {"class", "series", "booking", "purchase", "location", "room", "product", "price"}
