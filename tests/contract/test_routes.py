"""The routes are exactly those of the specification (4.2 to 4.9) and the contract's additions: no more, no fewer."""

import re
from typing import NamedTuple

import pytest
from fastapi.routing import APIRoute

from studiogate.api.app import ROUTES, WORDS
from studiogate.api.framework.route import LeanRoute


class Row(NamedTuple):
    method: str
    path: str
    scope: str | None
    success: int = 200


SPECIFICATION = {
    Row("GET", "/studio", "studio:read"),
    Row("GET", "/locations", "studio:read"),
    Row("GET", "/locations/{location_id}", "studio:read"),
    Row("GET", "/rooms", "schedule:read"),
    Row("GET", "/rooms/{room_id}", "schedule:read"),
    Row("GET", "/class-types", "schedule:read"),
    Row("GET", "/class-types/{class_type_id}", "schedule:read"),
    Row("GET", "/instructors", "schedule:read"),
    Row("GET", "/instructors/{instructor_id}", "schedule:read"),
    Row("GET", "/classes", "schedule:read"),
    Row("GET", "/classes/{class_id}", "schedule:read"),
    Row("GET", "/products", "catalog:read"),
    Row("GET", "/products/{product_id}", "catalog:read"),
    Row("GET", "/forms", "forms:read"),
    Row("GET", "/forms/{form_id}", "forms:read"),
    # The specification says "not shown" for the scope of the two form writes; the contract (3) defines it.
    Row("POST", "/forms", "forms:write", 201),
    Row("PUT", "/forms/{form_id}", "forms:write"),
    Row("GET", "/forms/{form_id}/submissions", "form_submissions:read"),
    Row("POST", "/forms/{form_id}/submissions", "form_submissions:write", 201),
    Row("GET", "/forms/{form_id}/submissions/{submission_id}", "form_submissions:read"),
    Row("GET", "/leads", "leads:read"),
    Row("POST", "/leads", "leads:write", 201),
    Row("GET", "/leads/{lead_id}", "leads:read"),
    Row("POST", "/leads/{lead_id}/update", "leads:write"),
    Row("PATCH", "/leads/{lead_id}", "leads:write"),
    Row("GET", "/members", "members:read"),
    Row("POST", "/members", "members:write", 201),
    Row("GET", "/members/{member_id}", "members:read"),
    Row("GET", "/members/{member_id}/memberships", "members:read"),
    Row("GET", "/memberships/{membership_id}", "members:read"),
    Row("GET", "/bookings", "bookings:read"),
    Row("POST", "/bookings", "bookings:write", 201),
    Row("GET", "/bookings/{booking_id}", "bookings:read"),
    Row("DELETE", "/bookings/{booking_id}", "bookings:cancel"),
    Row("GET", "/waitlist", "bookings:read"),
    Row("GET", "/waitlist/{waitlist_id}", "bookings:read"),
    Row("GET", "/purchases", "purchases:read"),
    Row("GET", "/purchases/{purchase_id}", "purchases:read"),
}
ADDITIONS = {
    Row("GET", "/key", None),
    Row("GET", "/classes/{class_id}/spots", "schedule:read"),
    Row("POST", "/bookings/validate", "bookings:read"),
    Row("GET", "/bookings/{booking_id}/cancellation", "bookings:read"),
    Row("GET", "/bookings/{booking_id}/cancellation-preview", "bookings:read"),
    Row("POST", "/forms/{form_id}/uploads", "form_submissions:write", 201),
    Row("GET", "/forms/{form_id}/submissions/{submission_id}/files/{upload_id}", "form_submissions:read"),
    Row("GET", "/events", "events:read"),
    Row("GET", "/events/{event_id}", "events:read"),
    Row("POST", "/events/{event_id}/redeliver", "webhooks:manage", 202),
    Row("GET", "/webhook-endpoints", "webhooks:manage"),
    Row("POST", "/webhook-endpoints", "webhooks:manage", 201),
    Row("GET", "/webhook-endpoints/{endpoint_id}", "webhooks:manage"),
    Row("PATCH", "/webhook-endpoints/{endpoint_id}", "webhooks:manage"),
    Row("DELETE", "/webhook-endpoints/{endpoint_id}", "webhooks:manage", 204),
    Row("POST", "/webhook-endpoints/{endpoint_id}/test", "webhooks:manage", 202),
    Row("POST", "/webhook-endpoints/{endpoint_id}/rotate-secret", "webhooks:manage"),
    Row("GET", "/webhook-endpoints/{endpoint_id}/deliveries", "webhooks:manage"),
    Row("POST", "/webhook-endpoints/{endpoint_id}/replay", "webhooks:manage", 202),
}
TABLE = SPECIFICATION | ADDITIONS

# Remove a line when its route is implemented: the test below requires it.
NOT_YET_BUILT: set[tuple[str, str]] = set()

Place = tuple[str, str]


def place(method: str, path: str) -> Place:
    """Return method and path, without the implementation's names of path parameters."""
    return method, re.sub(r"\{\w+\}", "{}", path)


BY_PLACE = {place(row.method, row.path): row for row in TABLE}
BUILT = [(method, route) for route in ROUTES for method in sorted(route.methods or ())]


def test_the_table_has_no_row_twice() -> None:
    assert len(BY_PLACE) == len(TABLE)
    assert set(BY_PLACE) >= NOT_YET_BUILT


def test_no_route_is_declared_twice() -> None:
    places = [place(method, route.path) for method, route in BUILT]
    assert sorted(set(places)) == sorted(places)


def test_every_route_is_in_the_table() -> None:
    assert {place(method, route.path) for method, route in BUILT} - set(BY_PLACE) == set()


def test_every_row_is_built_or_known_to_be_missing() -> None:
    built = {place(method, route.path) for method, route in BUILT}
    assert set(BY_PLACE) - built - NOT_YET_BUILT == set(), "in the contract, but neither built nor listed as missing"


def test_nothing_built_is_still_listed_as_missing() -> None:
    built = {place(method, route.path) for method, route in BUILT}
    assert built & NOT_YET_BUILT == set(), "built: take it out of NOT_YET_BUILT"


@pytest.mark.parametrize(("method", "route"), BUILT, ids=lambda each: getattr(each, "path", each))
def test_scope_and_success_are_the_table_s(method: str, route: LeanRoute) -> None:
    row = BY_PLACE[place(method, route.path)]
    assert route.scope == row.scope
    assert (route.status_code or 200) == row.success
    if row in SPECIFICATION:
        assert route.path == row.path, "the specification names its path ids"


def test_every_word_uses_the_lean_route_only() -> None:
    """A plain FastAPI route would never be served, and would never be checked for its scope."""
    for word in WORDS:
        for route in word.routes.routes:
            assert isinstance(route, APIRoute)
            assert isinstance(route, LeanRoute), route.path
