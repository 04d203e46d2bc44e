"""Every refusal: its shape, the order of checks, and the headers that every response carries."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from studiogate import clock
from studiogate.api.app import ROUTES, PartnerApp
from studiogate.api.framework.errors import RETRYABLE, STATUS, refused
from studiogate.domain.keys import new_credential_id, new_key
from studiogate.domain.refusals import Code, Refusal
from studiogate.storage.db.pool import Database, DatabaseUnavailableError, OverloadedError, TransactionConflictError
from tests.support.asgi import AsgiResponse, ask, assert_common, assert_refused, post
from tests.support.keys import revoke
from tests.support.partner_api import PartnerApi, open_partner_api
from tests.support.seed import Studio, issue_key, seed_studio

pytestmark = pytest.mark.anyio

UNKNOWN = "01234567-89ab-4cde-8f01-23456789abcd"
JSON = ("content-type", "application/json")
WRONG_VERSION = ("API-Version", "2001-01-01")


@dataclass
class Keys:
    every: str
    studio_only: str
    expired: str
    revoked: str
    unknown: str


@pytest.fixture(scope="module")
async def some(shared_api: PartnerApi, studios: list[Studio], key: str) -> Keys:
    connection, studio = shared_api.connection, studios[0]
    expired = await issue_key(connection, studio, expires_at=clock.now() - timedelta(seconds=1))
    revoked = await issue_key(connection, studio)
    await revoke(connection, revoked.split("_")[2])
    narrow = await issue_key(connection, studio, "studio:read")
    return Keys(key, narrow, expired, revoked, new_key(new_credential_id(), test=False))


def test_every_code_has_a_status_and_a_message() -> None:
    assert set(STATUS) == set(Code)
    assert {status for _kind, status in STATUS.values()} <= {
        400,
        401,
        403,
        404,
        405,
        408,
        409,
        413,
        415,
        422,
        429,
        500,
        503,
    }


@pytest.mark.parametrize("code", [code for code in Code if code is not Code.VALIDATION_ERROR])
def test_every_code_has_the_same_shape(code: Code) -> None:
    answer = refused(Refusal(code, {"a": 1}), "req_1")
    error = json.loads(answer.body)["error"]
    assert error["code"] == code.value
    assert error["details"] == {"a": 1}
    names = [name for name, _ in answer.headers]
    assert (b"www-authenticate" in names) is (answer.status == 401)
    assert (b"retry-after" in names) is (code in RETRYABLE)


# Authentication


@pytest.mark.parametrize(
    ("which", "code"),
    [
        ("unknown", "invalid_api_key"),
        ("expired", "expired_api_key"),
        ("revoked", "revoked_api_key"),
    ],
)
async def test_keys_that_open_nothing(shared_api: PartnerApi, some: Keys, which: str, code: str) -> None:
    assert_refused(await ask(shared_api.app, "GET", "/studio", key=getattr(some, which)), code)


@pytest.mark.parametrize("headers", [[], [("x-service-key", "")]])
async def test_no_key(shared_api: PartnerApi, studios: list[Studio], headers: list[tuple[str, str]]) -> None:
    assert_refused(await ask(shared_api.app, "GET", "/studio", headers=headers), "missing_api_key")


@pytest.mark.parametrize("which", ["expired", "revoked"])
async def test_expiry_and_revocation_are_revealed_to_holders_only(
    shared_api: PartnerApi, some: Keys, which: str
) -> None:
    """The same credential with another secret: nothing reveals that it was ever issued."""
    forged = new_key(getattr(some, which).split("_")[2], test=False)
    assert_refused(await ask(shared_api.app, "GET", "/studio", key=forged), "invalid_api_key")


# Every path and method


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/",
        "/studio/",
        "/classes/",
        f"/classes/{UNKNOWN}/",
        "//classes",
        f"/classes//{UNKNOWN}",
        "/Classes",
        "/classes/x/y/z",
        "/.",
        "/..",
        "/studio/..",
        "/studio%2F",
        "/%00",
        "/classes\\",
        "/openapi.json/",
        "/studio;a=b",
    ],
)
async def test_unknown_paths(shared_api: PartnerApi, some: Keys, path: str) -> None:
    """A trailing slash is another path: 404, never a redirect."""
    response = await ask(
        shared_api.app, "GET", ("" if not path.startswith("//") else "//partner/v1") + path, key=some.every
    )
    assert_refused(response, "not_found")
    assert response.header("location") is None


@pytest.mark.parametrize(
    "path", ["/", "/partner", "/partner/v1", "/partner/v2/studio", "/docs", "/livez/", "/favicon.ico"]
)
async def test_unknown_paths_outside_the_prefix(shared_api: PartnerApi, path: str) -> None:
    assert_refused(await ask(shared_api.app, "GET", "/" + path if path != "/" else "///"), "not_found")


async def test_unknown_paths_need_a_key(shared_api: PartnerApi) -> None:
    """A caller without a key does not even learn which paths exist."""
    responses = [
        await ask(shared_api.app, "GET", path, headers=[("x-request-id", "a")]) for path in ("/studio", "/nothing")
    ]
    assert [each.status for each in responses] == [401, 401]
    assert responses[0].body == responses[1].body


TEMPLATES = sorted({route.path for route in ROUTES})
ALL_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "QUERY", "get", "BREW"]


@pytest.mark.parametrize("declared", TEMPLATES)
async def test_wrong_methods(shared_api: PartnerApi, some: Keys, declared: str) -> None:
    """A method that a path does not support gets a 405 that names the supported ones."""
    path = "/".join(UNKNOWN if part.startswith("{") else part for part in declared.split("/"))
    response = await ask(shared_api.app, "OPTIONS", path)
    assert response.status == 204
    assert response.body == b""
    allow = (response.header("allow") or "").split(", ")
    assert allow == sorted({*allow})
    taken = {method for route in ROUTES if route.path == declared for method in route.methods or ()}
    assert set(allow) == taken | {"OPTIONS"} | ({"HEAD"} if "GET" in taken else set())
    for method in ALL_METHODS:
        if method not in allow:
            response = await ask(shared_api.app, method, path, key=some.every)
            if method == "HEAD":
                assert (response.status, response.body) == (405, b"")
                continue
            assert_refused(response, "method_not_allowed")
            assert response.header("allow") == ", ".join(allow)


@pytest.mark.parametrize("path", ["//livez", "//readyz", "//metrics", "/openapi.json"])
async def test_public_pages_take_get_only(shared_api: PartnerApi, path: str) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        response = await ask(shared_api.app, method, path)
        assert_refused(response, "method_not_allowed")
        assert response.header("allow") == "GET, HEAD, OPTIONS"
    options = await ask(shared_api.app, "OPTIONS", path)
    assert (options.status, options.header("allow")) == (204, "GET, HEAD, OPTIONS")
    got, head = [await ask(shared_api.app, method, path) for method in ("GET", "HEAD")]
    assert got.status == head.status == 200
    assert head.body == b""
    assert head.header("content-type") == got.header("content-type")
    assert got.header("x-content-type-options") == "nosniff"
    assert got.header("api-version") == "2026-08-02"
    assert got.header("x-request-id")


@pytest.mark.parametrize("path", ["/studio", "/classes", "/classes?limit=0", f"/classes/{UNKNOWN}", "/nothing"])
async def test_head_is_get_without_a_body(shared_api: PartnerApi, some: Keys, path: str) -> None:
    own_id = [("x-request-id", "same")]
    got, head = [await ask(shared_api.app, method, path, key=some.every, headers=own_id) for method in ("GET", "HEAD")]
    assert got.body
    assert head.body == b""
    assert (head.status, head.headers) == (got.status, got.headers)


async def test_no_cors_anywhere(shared_api: PartnerApi, some: Keys) -> None:
    """The key must stay on a server, so the API never permits cross-origin requests by browsers."""
    preflight = [("origin", "https://evil.example"), ("access-control-request-method", "GET")]
    for method, path in (("OPTIONS", "/studio"), ("GET", "/studio"), ("GET", "/nothing"), ("GET", "//livez")):
        response = await ask(shared_api.app, method, path, key=some.every, headers=preflight)
        assert not [name for name, _ in response.headers if name.startswith("access-control")]


# The fixed order of checks: 401, 429, 403, 415/400, 422, replay, 404, 409


@pytest.fixture(scope="module")
async def spent(shared_api: PartnerApi, studios: list[Studio]) -> tuple[PartnerApp, str]:
    """An application with rate limits, and a key without any booking scope whose burst is used up."""
    narrow = await issue_key(shared_api.connection, studios[0], "studio:read", rate_limit=1)
    runtime = shared_api.app._runtime
    settings = runtime.settings.model_copy(update={"rate_limit": 1000})
    app = PartnerApp(replace(runtime, settings=settings))
    for _ in range(2):
        assert (await ask(app, "GET", "/studio", key=narrow)).status == 200
    return app, narrow


EVERYTHING_WRONG = [
    ("GET", "/bookings?limit=0&cursor=x", [WRONG_VERSION]),
    ("GET", "/bookings/not-an-id", [WRONG_VERSION]),
    ("POST", "/bookings?limit=0", [("content-type", "text/plain"), WRONG_VERSION]),
    ("POST", "/bookings", [JSON, ("idempotency-key", "x")]),
    ("DELETE", "/bookings/not-an-id", []),
    ("PUT", "/bookings", []),
    ("GET", "/nothing", []),
]


@pytest.mark.parametrize(("method", "path", "headers"), EVERYTHING_WRONG)
async def test_a_missing_key_comes_first(
    shared_api: PartnerApi, some: Keys, method: str, path: str, headers: list[tuple[str, str]]
) -> None:
    response = await ask(shared_api.app, method, path, headers=headers, body=b"{")
    assert_refused(response, "missing_api_key")
    response = await ask(shared_api.app, method, path, key=some.revoked, headers=headers, body=b"{")
    assert_refused(response, "revoked_api_key")


@pytest.mark.parametrize(("method", "path", "headers"), EVERYTHING_WRONG)
async def test_the_rate_comes_second(
    spent: tuple[PartnerApp, str],
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    headers: list[tuple[str, str]],
) -> None:
    now = clock.monotonic()
    monkeypatch.setattr(clock, "monotonic", lambda: now)
    app, narrow = spent
    for _ in range(2):
        await ask(app, "GET", "/studio", key=narrow)
    assert_refused(await ask(app, method, path, key=narrow, headers=headers, body=b"{"), "rate_limited")


@pytest.mark.parametrize(("method", "path", "headers"), EVERYTHING_WRONG[:5])
async def test_the_scope_comes_third(
    shared_api: PartnerApi, some: Keys, method: str, path: str, headers: list[tuple[str, str]]
) -> None:
    response = await ask(shared_api.app, method, path, key=some.studio_only, headers=headers, body=b"{")
    error = assert_refused(response, "insufficient_scope")
    assert error["details"]["required_scope"].startswith("bookings:")


BODY = {"class_id": UNKNOWN, "member_id": UNKNOWN}


@pytest.mark.parametrize(
    ("code", "headers", "body"),
    [
        ("unsupported_api_version", [WRONG_VERSION, ("content-type", "text/plain")], b"{"),
        ("unsupported_media_type", [], b"{"),
        ("unsupported_media_type", [("content-type", "text/plain")], b"x" * (1024 * 1024 + 1)),
        ("body_too_large", [JSON, ("content-length", str(1024 * 1024 + 1))], b"{"),
        ("body_too_large", [JSON], b"{" * (1024 * 1024 + 1)),
        ("invalid_json", [JSON], b"{"),
        ("invalid_json", [JSON, ("idempotency-key", "short")], b'{"class_id":1,"class_id":2}'),
        ("validation_error", [JSON], b"{}"),
        ("validation_error", [JSON, ("idempotency-key", "short")], json.dumps(BODY).encode()),
        ("not_found", [JSON, ("idempotency-key", "long enough")], json.dumps(BODY).encode()),
    ],
)
async def test_media_type_and_syntax_come_before_values(
    shared_api: PartnerApi, some: Keys, code: str, headers: list[tuple[str, str]], body: bytes
) -> None:
    response = await ask(shared_api.app, "POST", "/bookings", key=some.every, headers=headers, body=body)
    assert_refused(response, code)


async def test_a_bad_cursor_comes_before_other_faults(shared_api: PartnerApi, some: Keys) -> None:
    response = await ask(shared_api.app, "GET", "/bookings?limit=0&cursor=x&class_id=1", key=some.every)
    assert_refused(response, "invalid_cursor", param="cursor")


async def test_values_come_before_existence(shared_api: PartnerApi, some: Keys) -> None:
    response = await ask(shared_api.app, "GET", f"/classes/{UNKNOWN}/spots?limit=0", key=some.every)
    assert_refused(response, "validation_error", param="limit")
    response = await ask(shared_api.app, "DELETE", f"/bookings/{UNKNOWN}", key=some.every)
    assert_refused(response, "validation_error", param="Idempotency-Key")


Post = Callable[..., Awaitable[AsgiResponse]]


async def _book(api: PartnerApi, key: str, idempotency_key: str, **body: Any) -> AsgiResponse:
    sent = {name: str(value) if name.endswith("_id") else value for name, value in body.items()}
    return await post(api.app, "/bookings", key, sent, ("idempotency-key", idempotency_key))


@pytest.fixture
async def booked(database_url: str) -> AsyncIterator[tuple[Post, Studio]]:
    """A separate studio, where member 2 has booked class 0 with the key `first-booking`."""
    async for api in open_partner_api(database_url, rate_limit=0):
        studio = await seed_studio(api.connection)
        key = await issue_key(api.connection, studio)

        book = partial(_book, api, key)
        first = await book("first-booking", class_id=studio.ids["class"][0], member_id=studio.ids["member"][2])
        assert first.status == 201, first.body
        yield book, studio


async def test_values_then_replay_then_existence_then_state(booked: tuple[Post, Studio]) -> None:
    book, studio = booked
    class_id, member_id = studio.ids["class"][0], studio.ids["member"][2]
    # An invalid body under a used key: the faults are reported, not the key.
    assert_refused(await book("first-booking", class_id="x", member_id=member_id), "validation_error", param="class_id")
    # The same key for a class that does not exist: the key is reported, not the class.
    assert_refused(await book("first-booking", class_id=UNKNOWN, member_id=member_id), "idempotency_key_reused")
    # The same request again: the first answer, not "already booked".
    again = await book("first-booking", class_id=class_id, member_id=member_id)
    assert (again.status, again.header("idempotent-replayed")) == (201, "true")
    # A new key: now it is "already booked". An unknown member is reported before the state of the class.
    error = assert_refused(await book("second-booking", class_id=class_id, member_id=member_id), "already_booked")
    assert error["details"]["reasons"][0] == "already_booked"
    assert_refused(await book("third-booking", class_id=class_id, member_id=uuid4()), "not_found")
    # A refused booking is stored as a first result too: the same bytes, marked as a replay.
    first, second = [await book("second-booking", class_id=class_id, member_id=member_id) for _ in range(2)]
    assert first.body == second.body
    assert first.header("idempotent-replayed") == "true"
    assert first.status == 409


# 422


async def test_all_faults_at_once(shared_api: PartnerApi, some: Keys) -> None:
    response = await ask(
        shared_api.app,
        "GET",
        "/classes?limit=201&status=gone&starts_after=x&location_id=1&updated_after=",
        key=some.every,
    )
    assert_refused(response, "validation_error")
    faults = {fault["loc"][1] for fault in response.json()["detail"]}
    assert faults == {"limit", "status", "starts_after", "location_id", "updated_after"}
    assert {fault["loc"][0] for fault in response.json()["detail"]} == {"query"}
    response = await post(shared_api.app, "/bookings", some.every, {"class_id": 1, "joinWaitlist": True})
    faults = {tuple(fault["loc"]) for fault in response.json()["detail"]}
    assert faults == {
        ("header", "Idempotency-Key"),
        ("body", "class_id"),
        ("body", "member_id"),
        ("body", "joinWaitlist"),
    }


async def test_an_unknown_status_names_the_allowed_ones(shared_api: PartnerApi, some: Keys) -> None:
    response = await ask(shared_api.app, "GET", "/bookings?status=gone", key=some.every)
    assert_refused(response, "validation_error", param="status")
    for name in ("waitlisted", "confirmed", "checked_in", "no_show", "cancelled"):
        assert name in response.json()["detail"][0]["msg"]


SECRETS = ["sam@secret.example", "+12125550199", "s3cr3t-value"]


@pytest.mark.parametrize("secret", SECRETS)
async def test_values_are_never_echoed(shared_api: PartnerApi, some: Keys, secret: str) -> None:
    quoted = secret.replace("+", "%2B")
    targets = [
        f"/bookings/{quoted}",
        f"/bookings?class_id={quoted}",
        f"/bookings?status={quoted}",
        f"/bookings?cursor={quoted}",
        f"/classes?starts_after={quoted}",
        f"/members?email={quoted}@@",
        f"/products?active={quoted}",
        f"/products?limit={quoted}",
    ]
    responses = [await ask(shared_api.app, "GET", target, key=some.every) for target in targets]
    wrong = [
        {"class_id": secret, "member_id": [secret], "join_waitlist": secret, "class_spot_id": {"a": secret}},
        secret,
    ]
    responses += [await post(shared_api.app, "/bookings", some.every, body) for body in wrong]
    responses.append(await post(shared_api.app, "/bookings", some.every, b'{"class_id":"' + secret.encode()))
    responses.append(await ask(shared_api.app, "GET", "/studio", key=some.every, headers=[("api-version", secret)]))
    responses.append(await ask(shared_api.app, "GET", "/studio", key=secret))
    for answer in responses:
        assert 400 <= answer.status < 500
        assert secret not in answer.body.decode()
        assert not [value for _name, value in answer.headers if secret in value]


# Request ids and versions


@pytest.mark.parametrize("own", ["a", "A.b_c-9", "x" * 128, "0", "-", "..."])
async def test_a_callers_request_id_is_kept(shared_api: PartnerApi, some: Keys, own: str) -> None:
    for path, key in (("/studio", some.every), ("/nothing", some.every), ("/studio", None), ("//livez", None)):
        response = await ask(shared_api.app, "GET", path, key=key, headers=[("X-Request-Id", own)])
        assert response.header("x-request-id") == own
        if response.status >= 400:
            assert response.json()["error"]["request_id"] == own


@pytest.mark.parametrize(
    "own", ["", "x" * 129, "a b", "a/b", "é", "a\nb", "a\x00", '"', "a,b", "٣", "a" * 100_000, "a\n"]
)
async def test_an_unfit_request_id_is_replaced(shared_api: PartnerApi, some: Keys, own: str) -> None:
    response = await ask(shared_api.app, "GET", "/nothing", key=some.every, headers=[("x-request-id", own.encode())])
    assert_refused(response, "not_found")
    assert (response.header("x-request-id") or "").startswith("req_")


async def test_request_ids_differ(shared_api: PartnerApi, some: Keys) -> None:
    request_ids = {
        (await ask(shared_api.app, "GET", "/studio", key=some.every)).header("x-request-id") for _ in range(20)
    }
    assert len(request_ids) == 20


@pytest.mark.parametrize("version", ["2026-08-01", "", "1", "2026-08-02-", "v1", "2026-08-02,2026-08-02", "é"])
async def test_unknown_versions(shared_api: PartnerApi, some: Keys, version: str) -> None:
    response = await ask(shared_api.app, "GET", "/studio", key=some.every, headers=[("api-version", version.encode())])
    error = assert_refused(response, "unsupported_api_version", param="API-Version")
    assert error["details"] == {"supported": ["2026-08-02"]}


async def test_the_version_that_is_served(shared_api: PartnerApi, some: Keys) -> None:
    response = await ask(shared_api.app, "GET", "/studio", key=some.every, headers=[("API-Version", "2026-08-02")])
    assert response.status == 200
    assert response.header("content-type") == "application/json"
    assert_common(response)


# Failures of the service


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OverloadedError("secret"), "overloaded"),
        (TransactionConflictError("secret"), "overloaded"),
        (DatabaseUnavailableError("secret"), "database_unavailable"),
        (RuntimeError("secret"), "internal_error"),
        (KeyError("secret"), "internal_error"),
    ],
)
async def test_our_own_failures(
    shared_api: PartnerApi, some: Keys, monkeypatch: pytest.MonkeyPatch, error: Exception, code: str
) -> None:
    """Failures have the same shape, and reveal nothing about their cause."""

    async def fail(_key: object) -> object:
        raise error

    monkeypatch.setattr(shared_api.app.authenticator, "authenticate", fail)
    response = await ask(shared_api.app, "GET", "/studio", key=some.every)
    assert_refused(response, code)
    assert "secret" not in response.body.decode()


async def test_a_request_that_would_time_out_is_shed_before_its_key_is_checked(
    shared_api: PartnerApi, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Load is shed before the key is checked. Health checks still answer."""

    def refuse(_database: Database) -> None:
        raise OverloadedError

    monkeypatch.setattr(Database, "shed_if_overloaded", refuse)
    for sent in (key, None):
        response = await ask(shared_api.app, "GET", "/studio", key=sent)
        assert_refused(response, Code.OVERLOADED)
        assert (response.status, response.header("retry-after")) == (503, "1")
    assert (await ask(shared_api.app, "GET", "//livez")).status == 200
    assert (await ask(shared_api.app, "GET", "//readyz")).status == 200
