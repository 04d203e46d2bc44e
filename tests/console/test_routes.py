"""Every route of the console, for every role: who may open it and who may not. A route that is not in the table fails
the test, and so does one whose permission changed without the table."""

from uuid import uuid4

import pytest

from studiogate.console import screens
from studiogate.console.framework.page import Audience, Route
from studiogate.domain.staff import DANGEROUS, PERMISSIONS, Permission, Role
from tests.support.console import Console

pytestmark = pytest.mark.anyio

EVERYBODY = set(Role)
OWNERS = {Role.OWNER}
MANAGERS = {Role.OWNER, Role.MANAGER}
DESK = {Role.OWNER, Role.MANAGER, Role.FRONT_DESK}
TEACHERS = {Role.OWNER, Role.MANAGER, Role.FRONT_DESK, Role.INSTRUCTOR}
DEVELOPERS = {Role.OWNER, Role.DEVELOPER}
# Without a session: the pages on which people sign in.
PUBLIC: set[tuple[str, str]] = {
    ("GET", "/sign-in"),
    ("POST", "/sign-in"),
    ("GET", "/link/{token}"),
    ("POST", "/link/{token}"),
    ("GET", "/forgotten"),
    ("POST", "/forgotten"),
    ("POST", "/resume"),
    ("GET", "/set-up/{token}"),
    ("POST", "/set-up/{token}"),
}
# Who may use a route, once signed in. Routes of a screen are added here with it.
TABLE: dict[tuple[str, str], set[Role]] = {
    ("GET", "/"): EVERYBODY,
    ("GET", "/search"): EVERYBODY,
    ("POST", "/search"): EVERYBODY,
    ("POST", "/sign-out"): EVERYBODY,
    ("POST", "/theme"): EVERYBODY,
    ("POST", "/confirm"): EVERYBODY,
    ("GET", "/account"): EVERYBODY,
    ("POST", "/account/password"): EVERYBODY,
    ("POST", "/account/studio"): EVERYBODY,
    ("POST", "/account/sessions/{session_id}/end"): EVERYBODY,
    ("POST", "/account/sessions/end-others"): EVERYBODY,
    ("POST", "/account/second-factor"): EVERYBODY,
    ("POST", "/account/second-factor/confirm"): EVERYBODY,
    ("POST", "/account/second-factor/remove"): EVERYBODY,
    ("GET", "/welcome"): MANAGERS,
    ("POST", "/welcome/skip"): MANAGERS,
    ("GET", "/settings"): MANAGERS,
    ("GET", "/settings/studio"): MANAGERS,
    ("POST", "/settings/studio"): MANAGERS,
    ("POST", "/settings/studio/logo"): MANAGERS,
    ("POST", "/settings/studio/logo/remove"): MANAGERS,
    ("GET", "/settings/rules"): MANAGERS,
    ("POST", "/settings/rules"): MANAGERS,
    ("POST", "/settings/rules/preview"): MANAGERS,
    ("GET", "/settings/mails"): MANAGERS,
    ("POST", "/settings/mails"): MANAGERS,
    ("GET", "/audit"): OWNERS,
    ("GET", "/audit/export"): OWNERS,
    ("GET", "/staff"): OWNERS,
    ("GET", "/staff/invite"): OWNERS,
    ("POST", "/staff/invite"): OWNERS,
    ("GET", "/staff/{account_id}"): OWNERS,
    ("GET", "/staff/{account_id}/role"): OWNERS,
    ("POST", "/staff/{account_id}/role"): OWNERS,
    ("GET", "/staff/{account_id}/disable"): OWNERS,
    ("POST", "/staff/{account_id}/disable"): OWNERS,
    ("POST", "/staff/{account_id}/enable"): OWNERS,
    ("POST", "/staff/{account_id}/end-sessions"): OWNERS,
    ("POST", "/staff/{account_id}/invitation"): OWNERS,
    ("POST", "/staff/{account_id}/reset-link"): OWNERS,
    ("POST", "/staff/{account_id}/sessions/{session_id}/end"): OWNERS,
    ("GET", "/import"): MANAGERS,
    ("POST", "/import/preview"): MANAGERS,
    ("GET", "/import/{token}"): MANAGERS,
    ("POST", "/import/{token}/apply"): MANAGERS,
    ("GET", "/schedule"): TEACHERS,
    ("GET", "/schedule/classes/new"): MANAGERS,
    ("GET", "/schedule/classes/{class_id}"): TEACHERS,
    ("GET", "/schedule/classes/{class_id}/cancel"): MANAGERS,
    ("GET", "/schedule/classes/{class_id}/edit"): MANAGERS,
    ("GET", "/schedule/classes/{class_id}/move"): MANAGERS,
    ("GET", "/schedule/closures"): TEACHERS,
    ("GET", "/schedule/closures/new"): MANAGERS,
    ("GET", "/schedule/closures/{closure_id}/remove"): MANAGERS,
    ("GET", "/schedule/copy"): MANAGERS,
    ("GET", "/schedule/series"): TEACHERS,
    ("GET", "/schedule/series/new"): MANAGERS,
    ("GET", "/schedule/series/{series_id}"): MANAGERS,
    ("GET", "/schedule/series/{series_id}/end"): MANAGERS,
    ("POST", "/schedule/classes"): MANAGERS,
    ("POST", "/schedule/classes/check"): MANAGERS,
    ("POST", "/schedule/classes/{class_id}"): MANAGERS,
    ("POST", "/schedule/classes/{class_id}/cancel"): MANAGERS,
    ("POST", "/schedule/closures"): MANAGERS,
    ("POST", "/schedule/closures/{closure_id}/remove"): MANAGERS,
    ("POST", "/schedule/copy"): MANAGERS,
    ("POST", "/schedule/series"): MANAGERS,
    ("POST", "/schedule/series/{series_id}"): MANAGERS,
    ("POST", "/schedule/series/{series_id}/end"): MANAGERS,
    ("GET", "/members"): DESK,
    ("GET", "/members/search"): DESK,
    ("POST", "/members/search"): DESK,
    ("GET", "/members/export"): DESK,
    ("POST", "/members/export"): DESK,
    ("GET", "/members/new"): DESK,
    ("POST", "/members/new"): DESK,
    ("GET", "/members/{member_id}"): DESK,
    ("GET", "/members/{member_id}/bookings"): DESK,
    ("GET", "/members/{member_id}/credits"): DESK,
    ("GET", "/members/{member_id}/purchases"): DESK,
    ("GET", "/members/{member_id}/history"): OWNERS,
    ("GET", "/members/{member_id}/forms"): DESK,
    ("GET", "/members/{member_id}/forms/{submission_id}"): DESK,
    ("POST", "/members/{member_id}/forms/{submission_id}/files/{upload_id}"): DESK,
    ("GET", "/members/{member_id}/form-link"): DESK,
    ("POST", "/members/{member_id}/form-link"): DESK,
    ("GET", "/members/{member_id}/change"): DESK,
    ("POST", "/members/{member_id}/change"): DESK,
    ("GET", "/members/{member_id}/note"): DESK,
    ("POST", "/members/{member_id}/note"): DESK,
    ("GET", "/members/{member_id}/suspend"): DESK,
    ("POST", "/members/{member_id}/suspend"): DESK,
    ("POST", "/members/{member_id}/unsuspend"): DESK,
    ("GET", "/members/{member_id}/sell"): DESK,
    ("POST", "/members/{member_id}/sell"): DESK,
    ("GET", "/members/{member_id}/book"): DESK,
    ("POST", "/members/{member_id}/book"): DESK,
    ("GET", "/members/{member_id}/merge"): DESK,
    ("POST", "/members/{member_id}/merge"): DESK,
    ("GET", "/members/{member_id}/merge/{other_id}"): DESK,
    ("POST", "/members/{member_id}/merge/{other_id}"): DESK,
    ("GET", "/members/{member_id}/export"): DESK,
    ("POST", "/members/{member_id}/export"): DESK,
    ("GET", "/members/{member_id}/erase"): MANAGERS,
    ("POST", "/members/{member_id}/erase"): MANAGERS,
    ("GET", "/memberships/{membership_id}/pause"): DESK,
    ("GET", "/memberships/{membership_id}/cancel"): DESK,
    ("GET", "/memberships/{membership_id}/credits"): DESK,
    ("POST", "/memberships/{membership_id}/pause"): DESK,
    ("POST", "/memberships/{membership_id}/resume"): DESK,
    ("POST", "/memberships/{membership_id}/cancel"): DESK,
    ("POST", "/memberships/{membership_id}/uncancel"): DESK,
    ("POST", "/memberships/{membership_id}/renewal"): DESK,
    ("POST", "/memberships/{membership_id}/credits"): DESK,
    ("GET", "/forms"): DESK,
    ("GET", "/forms/inbox"): DESK,
    ("POST", "/forms/{form_id}/export"): DESK,
    ("GET", "/forms/{form_id}"): DESK,
    ("GET", "/forms/{form_id}/links"): DESK,
    ("POST", "/forms/{form_id}/links"): DESK,
    ("GET", "/forms/submissions/{submission_id}"): DESK,
    ("POST", "/forms/submissions/{submission_id}/confirm"): DESK,
    ("POST", "/forms/submissions/{submission_id}/reject"): DESK,
    ("POST", "/forms/submissions/{submission_id}/spam"): DESK,
    ("GET", "/forms/submissions/{submission_id}/member"): DESK,
    ("POST", "/forms/submissions/{submission_id}/member"): DESK,
    ("POST", "/forms/submissions/{submission_id}/files/{upload_id}"): DESK,
    ("GET", "/forms/new"): MANAGERS,
    ("POST", "/forms/new"): MANAGERS,
    ("GET", "/forms/{form_id}/edit"): MANAGERS,
    ("POST", "/forms/{form_id}/draft"): MANAGERS,
    ("POST", "/forms/{form_id}/publish"): MANAGERS,
    ("GET", "/forms/{form_id}/copy"): MANAGERS,
    ("POST", "/forms/{form_id}/copy"): MANAGERS,
    ("GET", "/forms/{form_id}/archive"): MANAGERS,
    ("POST", "/forms/{form_id}/archive"): MANAGERS,
    ("POST", "/forms/{form_id}/reopen"): MANAGERS,
    ("GET", "/forms/{form_id}/discard"): MANAGERS,
    ("POST", "/forms/{form_id}/discard"): MANAGERS,
    ("GET", "/sales"): DESK,
    ("GET", "/sales/fees"): DESK,
    ("GET", "/sales/renewals"): DESK,
    ("POST", "/sales/export"): DESK,
    ("GET", "/sales/purchases/{purchase_id}"): DESK,
    ("GET", "/sales/purchases/{purchase_id}/paid"): DESK,
    ("GET", "/sales/purchases/{purchase_id}/paid-by"): DESK,
    ("POST", "/sales/purchases/{purchase_id}/paid-by"): DESK,
    ("GET", "/sales/purchases/{purchase_id}/refund"): DESK,
    ("GET", "/sales/purchases/{purchase_id}/waive"): DESK,
    ("POST", "/sales/purchases/{purchase_id}/paid"): DESK,
    ("POST", "/sales/purchases/{purchase_id}/failed"): DESK,
    ("POST", "/sales/purchases/{purchase_id}/refund"): DESK,
    ("POST", "/sales/purchases/{purchase_id}/waive"): DESK,
    ("GET", "/sales/sums"): DESK,
    ("GET", "/leads"): DESK,
    ("GET", "/leads/list"): DESK,
    ("GET", "/leads/{lead_id}"): DESK,
    ("POST", "/leads/{lead_id}/move"): DESK,
    ("GET", "/leads/{lead_id}/note"): DESK,
    ("POST", "/leads/{lead_id}/note"): DESK,
    ("GET", "/leads/{lead_id}/convert"): DESK,
    ("POST", "/leads/{lead_id}/convert"): DESK,
    ("GET", "/insights"): MANAGERS,
    ("GET", "/today"): TEACHERS,
    ("GET", "/live"): TEACHERS,
    ("GET", "/live/changes"): TEACHERS,
    ("GET", "/classes/{class_id}"): TEACHERS,
    ("GET", "/classes/{class_id}/roster"): TEACHERS,
    ("GET", "/classes/{class_id}/spots/{spot_id}"): DESK,
    ("GET", "/classes/{class_id}/walk-in"): DESK,
    ("POST", "/classes/{class_id}/walk-in"): DESK,
    ("POST", "/classes/{class_id}/walk-in/find"): DESK,
    ("POST", "/classes/{class_id}/walk-in/member"): DESK,
    ("GET", "/classes/{class_id}/waiver"): DESK,
    ("POST", "/classes/{class_id}/waiver"): DESK,
    ("POST", "/bookings/{booking_id}/attendance"): TEACHERS,
    ("GET", "/bookings/{booking_id}"): TEACHERS,
    ("POST", "/bookings/{booking_id}/spot"): DESK,
    ("GET", "/bookings/{booking_id}/cancel"): DESK,
    ("POST", "/bookings/{booking_id}/cancel"): DESK,
    ("POST", "/bookings/{booking_id}/uncancel"): DESK,
    ("GET", "/bookings/{booking_id}/check-in"): TEACHERS,
    ("POST", "/bookings/{booking_id}/check-in"): TEACHERS,
    ("POST", "/bookings/{booking_id}/move"): DESK,
    ("POST", "/waitlist/{entry_id}/promote"): DESK,
    ("GET", "/partners/keys"): DEVELOPERS,
    ("GET", "/partners/keys/new"): DEVELOPERS,
    ("POST", "/partners/keys/new"): DEVELOPERS,
    ("GET", "/partners/keys/{key}"): DEVELOPERS,
    ("GET", "/partners/keys/{key}/use.csv"): DEVELOPERS,
    ("GET", "/partners/keys/{key}/change"): DEVELOPERS,
    ("POST", "/partners/keys/{key}/change"): DEVELOPERS,
    ("GET", "/partners/keys/{key}/rotate"): DEVELOPERS,
    ("POST", "/partners/keys/{key}/rotate"): DEVELOPERS,
    ("GET", "/partners/keys/{key}/revoke"): DEVELOPERS,
    ("POST", "/partners/keys/{key}/revoke"): DEVELOPERS,
    ("GET", "/partners/requests"): DEVELOPERS,
    ("GET", "/partners/requests/{request_id}"): DEVELOPERS,
    ("GET", "/settings/locations"): MANAGERS,
    ("GET", "/settings/locations/new"): MANAGERS,
    ("POST", "/settings/locations/new"): MANAGERS,
    ("GET", "/settings/locations/{location_id}"): MANAGERS,
    ("GET", "/settings/locations/{location_id}/change"): MANAGERS,
    ("POST", "/settings/locations/{location_id}/change"): MANAGERS,
    ("GET", "/settings/locations/{location_id}/deactivate"): MANAGERS,
    ("POST", "/settings/locations/{location_id}/deactivate"): MANAGERS,
    ("POST", "/settings/locations/{location_id}/activate"): MANAGERS,
    ("GET", "/settings/locations/{location_id}/room"): MANAGERS,
    ("POST", "/settings/locations/{location_id}/room"): MANAGERS,
    ("GET", "/settings/locations/rooms/{room_id}"): MANAGERS,
    ("GET", "/settings/locations/rooms/{room_id}/change"): MANAGERS,
    ("POST", "/settings/locations/rooms/{room_id}/change"): MANAGERS,
    ("GET", "/settings/locations/rooms/{room_id}/deactivate"): MANAGERS,
    ("POST", "/settings/locations/rooms/{room_id}/deactivate"): MANAGERS,
    ("POST", "/settings/locations/rooms/{room_id}/activate"): MANAGERS,
    ("GET", "/settings/locations/rooms/{room_id}/spots"): MANAGERS,
    ("POST", "/settings/locations/rooms/{room_id}/spots"): MANAGERS,
    ("GET", "/settings/class-types"): MANAGERS,
    ("GET", "/settings/class-types/new"): MANAGERS,
    ("POST", "/settings/class-types/new"): MANAGERS,
    ("GET", "/settings/class-types/{class_type_id}"): MANAGERS,
    ("GET", "/settings/class-types/{class_type_id}/change"): MANAGERS,
    ("POST", "/settings/class-types/{class_type_id}/change"): MANAGERS,
    ("GET", "/settings/class-types/{class_type_id}/deactivate"): MANAGERS,
    ("POST", "/settings/class-types/{class_type_id}/deactivate"): MANAGERS,
    ("POST", "/settings/class-types/{class_type_id}/activate"): MANAGERS,
    ("POST", "/settings/class-types/{class_type_id}/picture"): MANAGERS,
    ("POST", "/settings/class-types/{class_type_id}/remove-picture"): MANAGERS,
    ("GET", "/settings/instructors"): MANAGERS,
    ("GET", "/settings/instructors/new"): MANAGERS,
    ("POST", "/settings/instructors/new"): MANAGERS,
    ("GET", "/settings/instructors/{instructor_id}"): MANAGERS,
    ("GET", "/settings/instructors/{instructor_id}/change"): MANAGERS,
    ("POST", "/settings/instructors/{instructor_id}/change"): MANAGERS,
    ("GET", "/settings/instructors/{instructor_id}/deactivate"): MANAGERS,
    ("POST", "/settings/instructors/{instructor_id}/deactivate"): MANAGERS,
    ("POST", "/settings/instructors/{instructor_id}/activate"): MANAGERS,
    ("POST", "/settings/instructors/{instructor_id}/picture"): MANAGERS,
    ("POST", "/settings/instructors/{instructor_id}/remove-picture"): MANAGERS,
    ("GET", "/settings/products"): MANAGERS,
    ("GET", "/settings/products/new"): MANAGERS,
    ("POST", "/settings/products/new"): MANAGERS,
    ("GET", "/settings/products/{product_id}"): MANAGERS,
    ("GET", "/settings/products/{product_id}/change"): MANAGERS,
    ("POST", "/settings/products/{product_id}/change"): MANAGERS,
    ("GET", "/settings/products/{product_id}/retire"): MANAGERS,
    ("POST", "/settings/products/{product_id}/retire"): MANAGERS,
    ("GET", "/settings/products/{product_id}/price"): MANAGERS,
    ("POST", "/settings/products/{product_id}/price"): MANAGERS,
    ("POST", "/settings/products/{product_id}/sell-again"): MANAGERS,
    ("GET", "/settings/products/prices/{price_id}/replace"): MANAGERS,
    ("POST", "/settings/products/prices/{price_id}/replace"): MANAGERS,
    ("GET", "/settings/products/prices/{price_id}/retire"): MANAGERS,
    ("POST", "/settings/products/prices/{price_id}/retire"): MANAGERS,
    ("POST", "/settings/products/prices/{price_id}/default"): MANAGERS,
    ("GET", "/partners/events"): MANAGERS | DEVELOPERS,
    ("GET", "/partners/events/{event_id}"): MANAGERS | DEVELOPERS,
    ("GET", "/partners/webhooks"): DEVELOPERS,
    ("GET", "/partners/webhooks/new"): DEVELOPERS,
    ("POST", "/partners/webhooks/new"): DEVELOPERS,
    ("GET", "/partners/webhooks/{endpoint_id}"): DEVELOPERS,
    ("GET", "/partners/webhooks/{endpoint_id}/change"): DEVELOPERS,
    ("POST", "/partners/webhooks/{endpoint_id}/change"): DEVELOPERS,
    ("GET", "/partners/webhooks/{endpoint_id}/rotate"): DEVELOPERS,
    ("POST", "/partners/webhooks/{endpoint_id}/rotate"): DEVELOPERS,
    ("GET", "/partners/webhooks/{endpoint_id}/recover"): DEVELOPERS,
    ("POST", "/partners/webhooks/{endpoint_id}/recover"): DEVELOPERS,
    ("GET", "/partners/webhooks/{endpoint_id}/delete"): DEVELOPERS,
    ("POST", "/partners/webhooks/{endpoint_id}/delete"): DEVELOPERS,
    ("POST", "/partners/webhooks/{endpoint_id}/on"): DEVELOPERS,
    ("POST", "/partners/webhooks/{endpoint_id}/off"): DEVELOPERS,
    ("POST", "/partners/webhooks/{endpoint_id}/test"): DEVELOPERS,
    ("GET", "/partners/webhooks/{endpoint_id}/deliveries/{delivery_id}"): DEVELOPERS,
    ("POST", "/partners/webhooks/{endpoint_id}/deliveries/{delivery_id}/resend"): DEVELOPERS,
}
ROUTES = {(route.method, route.path): route for route in screens.routes()}


def path_of(route: Route) -> str:
    """A path of the route with ids that do not exist: who may not see it must not learn that either."""
    segments = [str(uuid4()) if each.startswith("{") else each for each in route.segments]
    return "/console/" + "/".join(segments)


def test_every_route_is_in_the_table() -> None:
    assert set(ROUTES) == {*TABLE, *PUBLIC}
    assert len(ROUTES) == len(screens.routes()), "declared twice"
    assert not set(TABLE) & PUBLIC


def test_the_table_says_what_the_permissions_say() -> None:
    """The table is written by hand: it must agree with the declared permission of each route."""
    for place, route in ROUTES.items():
        if place in PUBLIC:
            assert route.needs is Audience.ANYBODY, place
        elif isinstance(route.needs, Permission):
            assert {role for role in Role if route.needs in PERMISSIONS[role]} == TABLE[place], place
        else:
            assert route.needs is Audience.SIGNED_IN, place
            assert TABLE[place] == EVERYBODY, place


@pytest.mark.parametrize("role", Role)
async def test_a_role_opens_its_routes_and_no_others(console: Console, role: Role) -> None:
    person = await console.as_role(role)
    csrf = await person.csrf()
    for place, roles in TABLE.items():
        if place == ("POST", "/sign-out"):
            continue  # it would end the session; tests/console/test_sign_in.py does it
        answer = await _ask(person, ROUTES[place], csrf)
        if role in roles:
            assert answer.status_code != 403, (role, place)
            assert answer.status_code < 500, (role, place)
        else:
            assert answer.status_code == 403, (role, place)
            assert "Your role does not permit this." in answer.text


async def test_nobody_opens_a_page_without_a_session(console: Console) -> None:
    nobody = console.anonymous()
    for place in TABLE:
        answer = await _ask(nobody, ROUTES[place], "")
        if place[0] == "GET":
            assert answer.status_code == 303, place
            assert answer.headers["location"].startswith("/console/sign-in")
        else:
            assert answer.status_code == 401, place


async def test_dangerous_routes_ask_for_the_password(console: Console) -> None:
    person = await console.as_role(Role.OWNER)
    assert person.person is not None
    await console.people.sql(
        "update staff_sessions set password_at = password_at - interval '1 hour' where account_id = $1",
        person.person.account_id,
    )
    csrf = await person.csrf()
    for place, route in ROUTES.items():
        if route.method == "POST" and route.needs in DANGEROUS:
            answer = await _ask(person, route, csrf)
            assert answer.status_code == 403, place
            assert "password" in answer.text


async def _ask(person: Console, route: Route, csrf: str):  # type: ignore[no-untyped-def]
    if route.method == "GET":
        return await person.get(path_of(route))
    data = {"csrf": csrf, "idempotency": uuid4().hex, "word": "erase"}
    return await person.client.post(path_of(route), data=data, headers={"Origin": "http://console.test"})
