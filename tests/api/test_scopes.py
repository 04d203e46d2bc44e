"""Every route requires exactly its scope, and no route is served without a key."""

import re
from typing import Any
from uuid import uuid4

import pytest
from fastapi import APIRouter

from studiogate.api.app import ROUTES
from studiogate.api.framework.route import Caller, LeanRoute, needs
from studiogate.domain import keys
from studiogate.domain.access import Scope
from tests.support.direct_client import DirectResponse, ask
from tests.support.partner_api import PartnerApi
from tests.support.seed import Studio, issue_key

pytestmark = pytest.mark.anyio

BUILT = [(method, route) for route in ROUTES for method in sorted(route.methods or ())]
NAMES = [f"{method} {route.path}" for method, route in BUILT]
every_route = pytest.mark.parametrize(("method", "route"), BUILT, ids=NAMES)


@pytest.fixture(scope="module")
async def only(shared_api: PartnerApi, studios: list[Studio]) -> dict[str, str]:
    """One key per scope, with only that scope."""
    return {scope.value: await issue_key(shared_api.connection, studios[0], scope.value) for scope in Scope}


@pytest.fixture(scope="module")
async def all_but(shared_api: PartnerApi, studios: list[Studio]) -> dict[str, str]:
    """One key per scope, with every other scope."""
    return {
        scope.value: await issue_key(
            shared_api.connection, studios[0], *(other.value for other in Scope if other != scope)
        )
        for scope in Scope
    }


def concrete(route: LeanRoute) -> str:
    return re.sub(r"\{\w+\}", lambda _: str(uuid4()), route.path)


async def request(api: PartnerApi, method: str, route: LeanRoute, key: str | None) -> DirectResponse:
    """Send a well-formed request for a row that does not exist, with a body that no write accepts."""
    body: dict[str, Any] | None = {} if method in ("POST", "PUT", "PATCH") else None
    return await ask(api.app, method, concrete(route), key, body=body, headers={"Idempotency-Key": f"scopes-{uuid4()}"})


def assert_denied(answer: DirectResponse, scope: str) -> None:
    assert answer.status == 403
    error = answer.json()["error"]
    assert (error["type"], error["code"]) == ("permission_error", "insufficient_scope")
    assert error["details"] == {"required_scope": scope}


@every_route
async def test_a_key_with_one_scope(
    shared_api: PartnerApi, only: dict[str, str], method: str, route: LeanRoute
) -> None:
    for scope, key in only.items():
        answer = await request(shared_api, method, route, key)
        if route.scope in (scope, None):
            assert answer.status not in (401, 403), scope
            assert answer.status < 500
        else:
            assert_denied(answer, route.scope)


@every_route
async def test_a_key_with_all_scopes_but_one(
    shared_api: PartnerApi, all_but: dict[str, str], method: str, route: LeanRoute
) -> None:
    for scope, key in all_but.items():
        answer = await request(shared_api, method, route, key)
        if scope == route.scope:
            assert_denied(answer, route.scope)
        else:
            assert answer.status not in (401, 403), scope


@every_route
async def test_no_key(shared_api: PartnerApi, method: str, route: LeanRoute) -> None:
    answer = await request(shared_api, method, route, None)
    assert (answer.status, answer.code) == (401, "missing_api_key")
    assert dict(answer.headers)[b"www-authenticate"] == b'ApiKey realm="partner"'


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE"])
@pytest.mark.parametrize("path", ["/nothing", "/", "/studio/", "/classes/not-a-uuid", "/studio/x/y/z", "/openapi"])
async def test_no_key_where_nothing_is(shared_api: PartnerApi, key: str, method: str, path: str) -> None:
    without = await ask(shared_api.app, method, path)
    assert without.status == 401
    assert (await ask(shared_api.app, method, path, key)).status != 401


async def test_a_wrong_key_says_no_more_than_none(shared_api: PartnerApi, key: str) -> None:
    """A well-formed key with a wrong secret and one with an unknown credential get the same bytes."""
    guessed = keys.new_key(key.split("_")[2], test=False)
    nobody_s = keys.new_key("zzzzzzzz", test=False)
    wrong = [guessed, nobody_s, key[:-1] + ("A" if key[-1] != "A" else "B"), "sgk_live_nothing", "x" * 5000]
    answers = [await ask(shared_api.app, "GET", "/studio", each) for each in wrong]
    assert {(answer.status, answer.code) for answer in answers} == {(401, "invalid_api_key")}
    assert len({answer.raw for answer in answers}) == 1


async def test_drafts_need_the_form_manager_s_scope(
    shared_api: PartnerApi, only: dict[str, str], all_but: dict[str, str]
) -> None:
    drafts = {"include_drafts": "true"}
    assert_denied(await ask(shared_api.app, "GET", "/forms", only["forms:read"], query=drafts), "forms:write")
    assert_denied(await ask(shared_api.app, "GET", "/forms", all_but["forms:write"], query=drafts), "forms:write")
    assert_denied(await ask(shared_api.app, "GET", "/forms", only["forms:write"], query=drafts), "forms:read")
    assert (await ask(shared_api.app, "GET", "/forms", all_but["leads:read"], query=drafts)).status == 200
    for faulty in ({"limit": "0"}, {"cursor": "x"}):
        response = await ask(shared_api.app, "GET", "/forms", only["forms:read"], query={**drafts, **faulty})
        assert_denied(response, "forms:write")


async def test_a_form_that_is_not_published_needs_it_too(
    shared_api: PartnerApi, studios: list[Studio], only: dict[str, str], key: str
) -> None:
    for form_id, expected in zip(studios[0].ids["form"], (200, 404, 404), strict=True):
        assert (await ask(shared_api.app, "GET", f"/forms/{form_id}", only["forms:read"])).status == expected
        assert (await ask(shared_api.app, "GET", f"/forms/{form_id}", key)).status == 200


async def test_a_new_route_denies_by_default() -> None:
    """A route without a scope in its signature is rejected at import, and so is one with two."""
    routes = APIRouter(route_class=LeanRoute)

    async def nothing_asked() -> None: ...

    async def two_asked(one: Caller = needs(Scope.LEADS_READ), two: Caller = needs(Scope.LEADS_WRITE)) -> None: ...  # noqa: B008

    for endpoint in (nothing_asked, two_asked):
        with pytest.raises(TypeError, match="exactly one scope"):
            routes.get("/new", response_model=None)(endpoint)
    assert routes.routes == []
