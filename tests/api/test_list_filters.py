"""Filters and orders of lists, and the parameter that a 404 names."""

from uuid import uuid4

import pytest

from studiogate.api.app import ROUTES
from studiogate.api.framework.operations import ListEnvelope
from tests.support.direct_client import ask
from tests.support.partner_api import PartnerApi
from tests.support.seed import Studio, insert, issue_key

pytestmark = pytest.mark.anyio
LISTS = [route for route in ROUTES if isinstance(route.response_model, type)]
LISTS = [route for route in LISTS if issubclass(route.response_model, ListEnvelope)]
UNPAGED = {  # by the specification: one call returns all rows of a small studio
    "/locations",
    "/rooms",
    "/class-types",
    "/instructors",
    "/forms",
    "/members/{member_id}/memberships",
    "/classes/{class_id}/spots",
    "/webhook-endpoints",
}
CHANGING = {
    "/classes",
    "/bookings",
    "/waitlist",
    "/members",
    "/members/{member_id}/memberships",
    "/leads",
    "/purchases",
    "/forms/{form_id}/submissions",
    "/locations",
    "/rooms",
    "/class-types",
    "/instructors",
    "/products",
}


async def ids(api: PartnerApi, key: str, path: str, **query: object) -> list[str]:
    answer = await ask(api.app, "GET", path, key, query=query)
    assert answer.status == 200, answer.body
    return [row["id"] for row in answer.json()["data"]]


@pytest.mark.parametrize("path", sorted(route.path for route in LISTS))
def test_every_list_is_paged_and_those_that_change_can_be_followed(path: str) -> None:
    (route,) = [each for each in LISTS if each.path == path]
    known = {field.alias: field for field in route.dependant.query_params}
    assert known["limit"].get_default() == (200 if path in UNPAGED else 50)
    assert known["cursor"].get_default() is None
    assert ("updated_after" in known) is (path in CHANGING)
    assert ("email" in known) is (path in {"/members", "/leads"})


async def test_classes_by_type_and_instructor(shared_api: PartnerApi, key: str, studios: list[Studio]) -> None:
    studio, foreign = studios[0], studios[1]
    everything = await ids(shared_api, key, "/classes")
    own = {"class_type_id": studio.first("class_type"), "instructor_id": studio.first("instructor")}
    for name, row_id in own.items():
        assert await ids(shared_api, key, "/classes", **{name: row_id}) == everything
        assert await ids(shared_api, key, "/classes", **{name: row_id}, limit=1) == everything[:1]
        assert await ids(shared_api, key, "/classes", **{name: row_id}, cursor=everything[0]) == everything[1:]
        for other in (uuid4(), foreign.first(name.removesuffix("_id"))):
            assert await ids(shared_api, key, "/classes", **{name: other}) == []
            assert await ids(shared_api, key, "/classes", **{**own, name: other}) == []
    assert await ids(shared_api, key, "/classes", **own) == everything
    idle = studio.ids["instructor"][1]
    assert await ids(shared_api, key, "/classes", instructor_id=idle) == []
    place = studio.first("location")
    at_place = await ids(shared_api, key, "/classes", location_id=place)
    assert await ids(shared_api, key, "/classes", location_id=place, **own) == at_place
    restricted = await issue_key(shared_api.connection, studio, locations=[place])
    assert await ids(shared_api, restricted, "/classes", **own) == at_place != everything


async def test_spots_are_ordered_by_their_place(shared_api: PartnerApi, key: str, studios: list[Studio]) -> None:
    """From the front row to the back, then by label; spots without coordinates are last."""
    studio, connection = studios[0], shared_api.connection
    own = {"studio_id": studio.studio_id}
    room = await insert(connection, "rooms", **own, location_id=studio.first("location"), name="grid", capacity=9)
    grid = [(1.0, 2.0, "c"), (None, None, "z"), (0.0, 5.0, "a"), (1.0, 2.0, "b"), (1.0, 1.0, "d"), (None, None, "y")]
    for y, x, label in grid:
        await insert(connection, "room_spots", **own, room_id=room, label=label, x=x, y=y)
    row = await connection.fetchrow("select * from classes where id = $1", studio.first("class"))
    assert row is not None
    times = {name: row[name] for name in ("start_time", "end_time")}
    modes = {"room_id": room, "spot_selection_mode": "optional", "location_id": studio.first("location")}
    class_id = await insert(connection, "classes", **own, title="grid", capacity=9, **times, **modes)
    try:
        path = f"/classes/{class_id}/spots"
        answer = await ask(shared_api.app, "GET", path, key)
        assert [spot["label"] for spot in answer.json()["data"]] == ["a", "d", "b", "c", "y", "z"]
        everything = await ids(shared_api, key, path)
        walked: list[str] = []
        while len(walked) < 6:
            cursor = {"cursor": walked[-1]} if walked else {}
            walked += await ids(shared_api, key, path, limit=2, **cursor)
        assert walked == everything
    finally:
        await connection.execute("delete from classes where id = $1", class_id)
        await connection.execute("delete from room_spots where room_id = $1", room)
        await connection.execute("delete from rooms where id = $1", room)


GETS = [route for route in ROUTES if "GET" in (route.methods or ()) and route.path.count("{") == 1]


@pytest.mark.parametrize("path", sorted(route.path for route in GETS))
async def test_a_404_names_the_parameter_of_the_path(shared_api: PartnerApi, key: str, path: str) -> None:
    name = path.partition("{")[2].partition("}")[0]
    answer = await ask(shared_api.app, "GET", path.format(**{name: uuid4()}), key)
    assert (answer.status, answer.json()["error"]["param"]) == (404, name)


@pytest.mark.parametrize("path", ["/rooms", "/classes"])
async def test_a_404_names_the_filter(shared_api: PartnerApi, key: str, path: str) -> None:
    answer = await ask(shared_api.app, "GET", path, key, query={"location_id": uuid4()})
    assert (answer.status, answer.json()["error"]["param"]) == (404, "location_id")


@pytest.mark.parametrize(
    ("method", "path"),
    [("PATCH", "/leads/{lead_id}"), ("DELETE", "/bookings/{booking_id}"), ("PUT", "/forms/{form_id}")],
)
async def test_a_404_of_a_write_names_it_too(shared_api: PartnerApi, key: str, method: str, path: str) -> None:
    name = path.partition("{")[2].partition("}")[0]
    body = {"PATCH": {"status": "qualified"}, "PUT": {"title": "x"}}.get(method)
    headers = {"Idempotency-Key": "nothing-there"}
    answer = await ask(shared_api.app, method, path.format(**{name: uuid4()}), key, body=body, headers=headers)
    assert (answer.status, answer.json()["error"]["param"]) == (404, name)
