"""One effect per key: byte-for-byte replays, other parameters, what is stored and for how long."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from copy import copy
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from studiogate.domain.access import Access
from studiogate.flows import housekeeping
from studiogate.flows.bookings import scheduler, staff
from studiogate.storage import idempotency
from studiogate.storage.bookings import lock
from studiogate.storage.db.statement import Statement
from studiogate.storage.idempotency import IdempotencyKey
from tests.support import attendance, booking_studio
from tests.support.booking_studio import BookingStudio, StudioFactory, wire_body
from tests.support.deadlines import LONG
from tests.support.direct_client import DirectResponse, ask
from tests.support.keys import rotate
from tests.support.partner_api import PREFIX, open_partner_api
from tests.support.seed import issue_key

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
HOURS_24 = timedelta(hours=24)


def is_replay(answer: DirectResponse) -> bool:
    return dict(answer.headers).get(b"idempotent-replayed") == b"true"


def assert_replay(answer: DirectResponse, first: DirectResponse) -> None:
    assert is_replay(answer)
    assert not is_replay(first)
    assert (answer.status, answer.body) == (first.status, first.body)


async def a_request(studio: BookingStudio, **columns: Any) -> dict[str, Any]:
    return wire_body(await studio.new_class(**columns), await studio.new_member())


async def bookings(studio: BookingStudio) -> int:
    return len(await studio.rows("bookings"))


# The header.


@pytest.mark.parametrize(
    ("length", "good"), [(None, False), (0, False), (7, False), (8, True), (120, True), (121, False)]
)
async def test_the_header_is_required_on_both_writes(studio: BookingStudio, length: int | None, good: bool) -> None:
    headers = {} if length is None else {"Idempotency-Key": "k" * length}
    body = await a_request(studio)
    booked = await studio.ask("POST", "/bookings", body=body, headers=headers)
    booking = booked.json() if good else await studio.booked(UUID(body["class_id"]), UUID(body["member_id"]))
    cancelled = await studio.ask(
        "DELETE", f"/bookings/{booking['id']}", headers=headers and {"Idempotency-Key": "c" * (length or 0)}
    )
    assert (booked.status, cancelled.status) == ((201, 200) if good else (422, 422))
    if not good:
        for answer in (booked, cancelled):
            assert answer.code == "validation_error"
            assert [fault["loc"] for fault in answer.json()["detail"]] == [["header", "Idempotency-Key"]]


async def test_header_and_body_faults_are_listed_together(studio: BookingStudio) -> None:
    answer = await studio.ask("POST", "/bookings", body={"class_id": "x"}, headers={"Idempotency-Key": "short"})
    places = [fault["loc"] for fault in answer.json()["detail"]]
    assert places == [["header", "Idempotency-Key"], ["body", "class_id"], ["body", "member_id"]]


async def test_a_key_may_hold_any_character_that_a_header_can(studio: BookingStudio) -> None:
    body = await a_request(studio)
    key = "schlüssel/ÿ;=:,'\"\\ {}"
    first = await studio.post(body, key)
    assert first.status == 201, first.body
    assert_replay(await studio.post(body, key), first)


async def test_a_nul_is_refused(studio: BookingStudio) -> None:
    assert (await studio.post(await a_request(studio), "nul\x00nul-nul")).status == 422


# Replays.


async def confirmed(studio: BookingStudio) -> dict[str, Any]:
    return await a_request(studio)


async def waitlisted(studio: BookingStudio) -> dict[str, Any]:
    class_id, _ = await studio.full_class()
    return wire_body(class_id, await studio.new_member(), join_waitlist=True)


async def refused(studio: BookingStudio) -> dict[str, Any]:
    class_id, _ = await studio.full_class()
    return wire_body(class_id, await studio.new_member())


STATUS: dict[Callable[..., Awaitable[dict[str, Any]]], int] = {confirmed: 201, waitlisted: 201, refused: 409}


@pytest.mark.parametrize("kind", STATUS)
async def test_a_booking_is_replayed(studio: BookingStudio, kind: Callable[..., Awaitable[dict[str, Any]]]) -> None:
    body = await kind(studio)
    first = await studio.post(body, "key-0001", headers={"X-Request-Id": "first"})
    assert first.status == STATUS[kind]
    before = await studio.snapshot()
    for number in range(3):
        again = await studio.post(body, "key-0001", headers={"X-Request-Id": f"again-{number}"})
        assert_replay(again, first)
        assert dict(again.headers)[b"x-request-id"] == f"again-{number}".encode()
    assert await studio.snapshot() == before


async def test_a_cancellation_is_replayed(studio: BookingStudio) -> None:
    class_id = await studio.new_class(60, policy={"late_action": "fee_and_forfeit", "late_fee_amount": "3.00"})
    booking = await studio.booked(class_id, await studio.new_member())
    first = await studio.cancel(booking["id"], "cancel-0001", reason="ill")
    assert_replay(await studio.cancel(booking["id"], "cancel-0001", reason="ill"), first)
    assert len(await studio.rows("purchases")) == 1
    refusal = await studio.cancel(booking["id"], "cancel-0002")
    assert refusal.code == "booking_already_cancelled"
    assert_replay(await studio.cancel(booking["id"], "cancel-0002"), refusal)


async def test_a_replay_outlives_what_it_was_about(studio: BookingStudio) -> None:
    """Also after the booking is cancelled, and after the class is edited, cancelled and started."""
    body = await a_request(studio)
    class_id = UUID(body["class_id"])
    first = await studio.post(body, "key-0001")
    receipt = await studio.cancel(first.json()["id"], "cancel-0001")
    assert_replay(await studio.post(body, "key-0001"), first)
    await studio.change("classes", class_id, title="Other", capacity=0, visible=False)
    assert_replay(await studio.post(body, "key-0001"), first)
    await studio.staff(staff.cancel_class, class_id)
    await studio.move(class_id, -60)
    assert_replay(await studio.post(body, "key-0001"), first)
    assert_replay(await studio.cancel(first.json()["id"], "cancel-0001"), receipt)
    assert await bookings(studio) == 1


async def test_a_replay_outlives_a_restart(studio: BookingStudio) -> None:
    body = await a_request(studio)
    first = await studio.post(body, "key-0001")
    async for other in open_partner_api(str(studio.api.app._runtime.settings.database_url)):
        again = await ask(
            other.app, "POST", "/bookings", studio.key, body=body, headers={"Idempotency-Key": "key-0001"}
        )
        assert_replay(again, first)


async def test_a_replay_outlives_a_rotation(studio: BookingStudio) -> None:
    body = await a_request(studio)
    first = await studio.post(body, "key-0001")
    rotated = await rotate(studio.api.connection, studio.key.split("_")[2], timedelta(0))
    studio.api.app.authenticator._cache.clear()
    assert (await studio.post(body, "key-0001")).status == 401
    assert_replay(await studio.post(body, "key-0001", key=rotated.key), first)


async def test_a_refusal_stays_a_refusal(studio: BookingStudio) -> None:
    """The class has seats now, but this key was refused; a new key gets a seat."""
    body = await refused(studio)
    first = await studio.post(body, "key-0001")
    await studio.staff(staff.change_capacity, UUID(body["class_id"]), 5)
    assert_replay(await studio.post(body, "key-0001"), first)
    assert (await studio.post(body, "key-0002")).status == 201


# The same parameters, serialized differently.


async def test_what_is_the_same_request(studio: BookingStudio) -> None:
    body = await a_request(studio)
    first = await studio.post(body, "key-0001")
    class_id, member_id = body["class_id"], body["member_id"]
    dresses = [
        json.dumps({"member_id": member_id, "class_id": class_id}),
        json.dumps(body, indent=4) + "\n",
        json.dumps({**body, "join_waitlist": False, "class_spot_id": None}),
        json.dumps({"class_id": class_id.upper(), "member_id": member_id.upper()}),
        json.dumps({"\u0063lass_id": class_id, "member_id": member_id}).replace("class_id", "\\u0063lass_id"),
    ]
    headers = {"X-Service-Key": studio.key, "Idempotency-Key": "key-0001"}
    for media_type, dress in zip(("application/json", "application/json; charset=utf-8") * 3, dresses, strict=False):
        again = await studio.api.client.post(
            f"{PREFIX}/bookings", content=dress, headers={**headers, "Content-Type": media_type}
        )
        assert (again.status_code, again.content) == (201, first.body), dress
        assert again.headers["idempotent-replayed"] == "true"


async def test_the_same_cancellation(studio: BookingStudio) -> None:
    booking = await studio.booked(await studio.new_class(), await studio.new_member())
    first = await studio.cancel(booking["id"], "cancel-0001", reason="ill")
    assert_replay(await studio.cancel(booking["id"].upper(), "cancel-0001", reason="ill"), first)
    headers = {"X-Service-Key": studio.key, "Idempotency-Key": "cancel-0001"}
    escaped = await studio.api.client.delete(f"{PREFIX}/bookings/{booking['id']}?reason=%69ll", headers=headers)
    assert escaped.content == first.body


# Other parameters.


async def test_an_altered_request(studio: BookingStudio) -> None:
    body = await a_request(studio)
    first = await studio.post(body, "key-0001")
    other_class, other_member = await studio.new_class(), await studio.new_member()
    before = await studio.snapshot()
    altered = [
        {**body, "class_id": str(other_class)},
        {**body, "member_id": str(other_member)},
        {**body, "join_waitlist": True},
        {**body, "class_spot_id": str(uuid4())},
        {**body, "class_id": str(uuid4())},
    ]
    for each in altered:
        answer = await studio.post(each, "key-0001")
        error = answer.json()["error"]
        assert (answer.status, error["type"], error["code"]) == (409, "idempotency_error", "idempotency_key_reused")
        assert (error["retryable"], is_replay(answer)) == (False, False)
    assert await studio.snapshot() == before
    assert_replay(await studio.post(body, "key-0001"), first)


async def test_a_key_of_another_operation(studio: BookingStudio) -> None:
    body = await a_request(studio)
    first = await studio.post(body, "key-0001")
    booking = first.json()
    assert (await studio.cancel(booking["id"], "key-0001")).code == "idempotency_key_reused"
    assert await studio.status(booking) == "confirmed"
    receipt = await studio.cancel(booking["id"], "cancel-0001")
    for other in ({"reason": "ill"}, {"reason": "Ill"}):
        assert (await studio.cancel(booking["id"], "cancel-0001", **other)).code == "idempotency_key_reused"
    assert (await studio.post(body, "cancel-0001")).code == "idempotency_key_reused"
    assert_replay(await studio.cancel(booking["id"], "cancel-0001"), receipt)


async def test_keys_of_two_credentials_never_meet(studio: BookingStudio, studio_factory: StudioFactory) -> None:
    other_key = await issue_key(studio.api.connection, studio.studio)
    body = await a_request(studio)
    first = await studio.post(body, "key-0001")
    other_body = await a_request(studio)
    second = await studio.post(other_body, "key-0001", key=other_key)
    assert (second.status, is_replay(second)) == (201, False)
    refusal = await studio.post(body, "key-0002", key=other_key)
    assert refusal.json()["error"]["details"]["booking_id"] == first.json()["id"]
    elsewhere = await studio_factory.new_studio()
    third = await elsewhere.post(body, "key-0001")
    assert third.status == 404, "the class is another studio's, and so is the key"
    assert_replay(await studio.post(body, "key-0001"), first)


# What is not stored.


async def test_what_is_not_found_or_faulty_leaves_the_key_free(studio: BookingStudio) -> None:
    body = await a_request(studio)
    for answer, status in (
        (await studio.post({**body, "class_id": str(uuid4())}, "key-0001"), 404),
        (await studio.post({**body, "member_id": str(uuid4())}, "key-0001"), 404),
        (await studio.post({**body, "class_id": "x"}, "key-0001"), 422),
        (await studio.cancel(uuid4(), "key-0001"), 404),
        (await studio.post(body, "key-0001", headers={"Content-Type": "text/plain"}), 415),
        (await studio.post(body, "key-0001", headers={"API-Version": "1"}), 400),
        (await studio.post(body, "key-0001", key="sgk_live_nonsense"), 401),
    ):
        assert answer.status == status
    assert await studio.rows("idempotency_keys") == []
    assert (await studio.post(body, "key-0001")).status == 201


async def test_another_conflict_is_not_remembered(studio: BookingStudio) -> None:
    booking = await studio.booked(await studio.new_class(), await studio.new_member())
    await studio.staff(attendance.mark, UUID(booking["id"]), "checked_in")
    assert (await studio.cancel(booking["id"], "cancel-0001")).code == "invalid_transition"
    await studio.staff(attendance.mark, UUID(booking["id"]), "confirmed")
    assert (await studio.cancel(booking["id"], "cancel-0001")).status == 200


async def test_validating_needs_and_keeps_no_key(studio: BookingStudio) -> None:
    body = await a_request(studio)
    answer = await studio.ask("POST", "/bookings/validate", body=body, headers={"Idempotency-Key": "key-0001"})
    assert answer.status == 200
    assert await studio.rows("idempotency_keys") == []


# Checked again before a replay.


async def narrow(studio: BookingStudio, **columns: Any) -> None:
    """Restrict the credential as an operator would, and clear the cache so that the change takes effect at once."""
    for name, value in columns.items():
        await studio.sql(f"update credentials set {name} = $2 where studio_id = $1", value)
    studio.api.app.authenticator._cache.clear()


async def test_a_replay_checks_the_scope_again(studio: BookingStudio) -> None:
    body = await a_request(studio)
    first = await studio.post(body, "key-0001")
    await narrow(studio, scopes=["bookings:read"])
    assert (await studio.post(body, "key-0001")).status == 403
    assert (await studio.cancel(first.json()["id"], "key-0001")).status == 403
    await narrow(studio, scopes=["bookings:write"])
    assert_replay(await studio.post(body, "key-0001"), first)


async def test_a_replay_checks_the_location_again(studio: BookingStudio) -> None:
    body = await a_request(studio)
    first = await studio.post(body, "key-0001")
    receipt = await studio.cancel(first.json()["id"], "cancel-0001")
    refusal = await studio.cancel(first.json()["id"], "cancel-0002")
    await narrow(studio, location_ids=[studio.other_location])
    no_class = await studio.post({**body, "class_id": str(uuid4())}, "key-0009")
    no_booking = await studio.cancel(uuid4(), "cancel-0009")
    for answer, unknown in (
        (await studio.post(body, "key-0001"), no_class),
        (await studio.cancel(first.json()["id"], "cancel-0001"), no_booking),
        (await studio.cancel(first.json()["id"], "cancel-0002"), no_booking),
    ):
        assert (answer.status, answer.body, is_replay(answer)) == (404, unknown.body, False)
    await narrow(studio, location_ids=[studio.location])
    assert_replay(await studio.post(body, "key-0001"), first)
    assert_replay(await studio.cancel(first.json()["id"], "cancel-0001"), receipt)
    assert_replay(await studio.cancel(first.json()["id"], "cancel-0002"), refusal)


async def test_a_revoked_or_expired_key_replays_nothing(studio: BookingStudio) -> None:
    body = await a_request(studio)
    await studio.post(body, "key-0001")
    await narrow(studio, expires_at=await studio.now() - timedelta(seconds=1))
    assert (await studio.post(body, "key-0001")).code == "expired_api_key"
    await narrow(studio, expires_at=None, revoked_at=await studio.now())
    assert (await studio.post(body, "key-0001")).code == "revoked_api_key"


# 24 hours, by the database's clock.


async def age(studio: BookingStudio, by: timedelta) -> None:
    completed = await studio.now() - by
    await studio.sql("update idempotency_keys set completed_at = $2 where studio_id = $1", completed)


async def test_remembered_for_24_hours(studio: BookingStudio) -> None:
    body = await a_request(studio)
    first = await studio.post(body, "key-0001")
    await age(studio, HOURS_24 - timedelta(hours=1))
    assert_replay(await studio.post(body, "key-0001"), first)
    assert (await studio.post({**body, "join_waitlist": True}, "key-0001")).code == "idempotency_key_reused"
    await age(studio, HOURS_24 + timedelta(minutes=1))
    again = await studio.post(body, "key-0001")
    assert (again.code, is_replay(again)) == ("already_booked", False), "a new first result"
    assert_replay(await studio.post(body, "key-0001"), again)


async def test_an_expired_key_is_free_for_other_parameters(studio: BookingStudio) -> None:
    await studio.post(await a_request(studio), "key-0001")
    await age(studio, HOURS_24 + timedelta(minutes=1))
    unknown = await studio.post(wire_body(uuid4(), uuid4()), "key-0001")
    assert unknown.status == 404
    (kept,) = await studio.rows("idempotency_keys")
    assert kept["status"] == 201, "what is not remembered does not touch what was"
    other = await a_request(studio)
    second = await studio.post(other, "key-0001")
    assert second.status == 201
    assert_replay(await studio.post(other, "key-0001"), second)


async def test_the_sweep_forgets_only_what_has_expired(studio: BookingStudio) -> None:
    await studio.post(await a_request(studio), "old-key-0001")
    await age(studio, HOURS_24 + timedelta(minutes=1))
    fresh = await a_request(studio)
    first = await studio.post(fresh, "new-key-0001")
    young = await a_request(studio)
    await studio.post(young, "young-key-0001")
    await studio.sql(
        "update idempotency_keys set completed_at = $2 where studio_id = $1 and key = 'young-key-0001'",
        await studio.now() - HOURS_24 + timedelta(hours=1),  # also young when a later test sweeps
    )
    await housekeeping.forget_expired_keys(studio.database)
    kept = {row["key"] for row in await studio.rows("idempotency_keys")}
    assert kept == {"new-key-0001", "young-key-0001"}
    assert_replay(await studio.post(fresh, "new-key-0001"), first)


# Concurrent requests.


@asynccontextmanager
async def second_connection(studio: BookingStudio) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(str(studio.api.app._runtime.settings.database_url))
    try:
        yield connection
    finally:
        await connection.close()


def partner_access(studio: BookingStudio) -> Access:
    return Access(studio.id, studio.key.split("_")[2], frozenset(), None)


async def waits_for_a_lock(studio: BookingStudio) -> None:
    """Wait until some request is blocked by a lock."""
    statement = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    async with asyncio.timeout(LONG):
        while not await studio.api.connection.fetchval(statement):
            await asyncio.sleep(0.01)


async def test_twins_get_the_same_bytes(studio: BookingStudio) -> None:
    body = await a_request(studio)
    answers = await asyncio.gather(*(studio.post(body, "key-0001") for _ in range(8)))
    assert {answer.status for answer in answers} == {201}
    assert len({answer.body for answer in answers}) == 1
    assert sorted(is_replay(answer) for answer in answers) == [False] + [True] * 7
    assert await bookings(studio) == 1


async def test_twins_with_other_parameters(studio: BookingStudio) -> None:
    bodies = [await a_request(studio) for _ in range(4)]
    answers = await asyncio.gather(*(studio.post(body, "key-0001") for body in bodies))
    assert sorted(answer.status for answer in answers) == [201, 409, 409, 409]
    assert {answer.code for answer in answers} == {None, "idempotency_key_reused"}
    assert await bookings(studio) == 1


async def test_the_second_waits_for_the_first(studio: BookingStudio) -> None:
    """The first request waits for the class's lock; its twin waits for the first request, not for the class."""
    body = await a_request(studio)
    async with second_connection(studio) as connection, connection.transaction():
        await connection.execute("select from classes where id = $1 for update", UUID(body["class_id"]))
        first = asyncio.create_task(studio.post(body, "key-0001"))
        await waits_for_a_lock(studio)
        second = asyncio.create_task(studio.post(body, "key-0001"))
        while not studio.api.app._runtime.bookings.waiting:
            assert not first.done()
            assert not second.done()
            await asyncio.sleep(0.01)
    assert_replay(await second, await first)
    assert (await first).status == 201


async def test_a_first_that_failed_leaves_the_place_to_the_second(studio: BookingStudio) -> None:
    body = await a_request(studio)
    async with second_connection(studio) as connection:
        running = connection.transaction()
        await running.start()
        assert await idempotency.claim(connection, partner_access(studio), "key-0001") is None
        second = asyncio.create_task(studio.post(body, "key-0001"))
        await waits_for_a_lock(studio)
        await running.rollback()
    answer = await second
    assert (answer.status, is_replay(answer)) == (201, False)


@pytest.fixture
def short_waits(studio: BookingStudio) -> Iterator[None]:
    """Let the service give up soon when it waits for a lock."""
    session, usual = studio.database._session, studio.database._session["lock_timeout"]
    session["lock_timeout"] = "300ms"
    studio.database.distrust()  # open connections have the limit that they were opened with
    yield
    session["lock_timeout"] = usual
    studio.database.distrust()


@pytest.mark.usefixtures("short_waits")
async def test_a_first_that_still_runs(studio: BookingStudio) -> None:
    body = await a_request(studio)
    async with second_connection(studio) as connection, connection.transaction():
        assert await idempotency.claim(connection, partner_access(studio), "key-0001") is None
        other, answer = await asyncio.gather(studio.post(body, "key-0002"), studio.post(body, "key-0001"))
        assert other.status == 201, "other keys do not wait"
        error = answer.json()["error"]
        assert (answer.status, error["type"], error["code"]) == (409, "idempotency_error", "idempotency_in_progress")
        assert error["retryable"] is True
        assert int(dict(answer.headers)[b"retry-after"]) >= 1
        await idempotency.remember(connection, partner_access(studio), IdempotencyKey("key-0001", b"other"), 201, b"{}")
    assert (await studio.post(body, "key-0001")).code == "idempotency_key_reused"


async def test_a_class_that_stays_locked(studio: BookingStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    """A 503 leaves nothing behind: the same key has its one effect afterwards."""
    body = await a_request(studio)
    async with second_connection(studio) as connection, connection.transaction():
        await connection.execute("select from classes where id = $1 for update", UUID(body["class_id"]))
        with monkeypatch.context() as patch:
            patch.setattr(scheduler, "MAX_WAIT_SECONDS", 0.5)
            answer = await studio.post(body, "key-0001")
    assert (answer.status, answer.code) == (503, "overloaded")
    assert answer.json()["error"]["retryable"] is True
    assert int(dict(answer.headers)[b"retry-after"]) >= 1
    assert await studio.rows("idempotency_keys") == []
    again = await studio.post(body, "key-0001")
    assert (again.status, is_replay(again), await bookings(studio)) == (201, False, 1)


@pytest.mark.parametrize("sweeps_early", [True, False])
async def test_the_sweep_does_not_forget_a_key_that_is_claimed_anew(studio: BookingStudio, sweeps_early: bool) -> None:
    """An expired key is used again: its new result must be kept, whenever the sweep runs. It waits for nobody."""
    body = await a_request(studio)
    await studio.post(body, "key-0001")
    await age(studio, HOURS_24 + timedelta(minutes=1))
    async with second_connection(studio) as connection:
        async with connection.transaction():
            assert await idempotency.claim(connection, partner_access(studio), "key-0001") is None
            if sweeps_early:
                assert await housekeeping.forget_expired_keys(studio.database) == 1
            await idempotency.remember(
                connection, partner_access(studio), IdempotencyKey("key-0001", b"new"), 201, b"new"
            )
            assert await housekeeping.forget_expired_keys(studio.database) == 0
        assert await housekeeping.forget_expired_keys(studio.database) == 0
    (kept,) = await studio.rows("idempotency_keys")
    assert (kept["fingerprint"], kept["body"]) == (b"new", b"new")


class Blind:
    """A claim whose first execution misses all rows, like one that began just before the first request committed."""

    def __init__(self, statement: Statement) -> None:
        self.is_blind, self._sees, self._misses = True, statement, copy(statement)
        self._misses._text, replaced = re.subn(r"k\.key = \S+", r"\g<0> and false", statement._text, count=1)
        assert replaced

    async def row(self, connection: Any, **values: Any) -> Any:
        (row,) = await self.rows(connection, **values)
        return row

    async def rows(self, connection: Any, **values: Any) -> Any:
        was_blind, self.is_blind = self.is_blind, False
        return await (self._misses if was_blind else self._sees).rows(connection, **values)


def once_blind(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> Blind:
    statement = getattr(owner, name)
    blind = Blind(statement._sees if isinstance(statement, Blind) else statement)
    monkeypatch.setattr(owner, name, blind)
    return blind


async def left_behind(studio: BookingStudio) -> list[Any]:
    """Return the rows that a write leaves; of events only the ids, because they are numbered later."""
    events = sorted(row["id"] for row in await studio.rows("events"))
    return [events, *[await studio.rows(table) for table in ("bookings", "credit_ledger", "idempotency_keys")]]


async def test_a_first_result_that_a_new_effect_missed(studio: BookingStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    """Storing the result fails because the key is taken: all is rolled back, and the request starts over."""
    body = await a_request(studio)
    first = await studio.post(body, "key-0001")
    await studio.cancel(first.json()["id"], "cancel-0001")
    before = await left_behind(studio)
    blind = once_blind(monkeypatch, lock, "LOCK_BATCH")
    assert_replay(await studio.post(body, "key-0001"), first)
    assert not blind.is_blind
    assert await left_behind(studio) == before


async def test_a_first_result_that_a_refusal_missed(studio: BookingStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    body = await a_request(studio)
    first = await studio.post(body, "key-0001")
    blind = once_blind(monkeypatch, lock, "LOCK_BATCH")  # booked already
    assert_replay(await studio.post(body, "key-0001"), first)
    assert not blind.is_blind
    cancelled = await studio.cancel(first.json()["id"], "cancel-0001")
    blind = once_blind(monkeypatch, lock, "LOCK_BATCH")  # cancelled already
    assert_replay(await studio.cancel(first.json()["id"], "cancel-0001"), cancelled)
    assert not blind.is_blind


async def test_a_first_result_that_an_unstored_refusal_missed(
    studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a refusal that is not stored is returned, the first result is looked up once more."""
    booking = await studio.booked(await studio.new_class(), await studio.new_member())
    cancelled = await studio.cancel(booking["id"], "cancel-0001")
    await studio.sql("update bookings set status = 'no_show' where studio_id = $1")
    blind = once_blind(monkeypatch, lock, "LOCK_BATCH")
    assert_replay(await studio.cancel(booking["id"], "cancel-0001"), cancelled)
    assert not blind.is_blind
    await studio.sql("update bookings set status = 'cancelled' where studio_id = $1")


async def test_a_first_result_that_a_new_cancellation_missed(
    studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    class_id = await studio.new_class()
    booking_id = await studio.imported_booking(class_id, await studio.new_member())
    cancelled = await studio.cancel(booking_id, "cancel-0001")
    await studio.sql("delete from booking_cancellations where studio_id = $1")
    await studio.sql("update bookings set status = 'confirmed' where studio_id = $1")
    await studio.sql("update classes set booked_count = booked_count + 1 where studio_id = $1")
    before = await left_behind(studio)
    blind = once_blind(monkeypatch, lock, "LOCK_BATCH")
    assert_replay(await studio.cancel(booking_id, "cancel-0001"), cancelled)
    assert not blind.is_blind
    assert await left_behind(studio) == before
    assert await studio.counts(class_id) == (1, 0)
    await studio.sql("update classes set booked_count = 0 where studio_id = $1")
    await studio.sql("update bookings set status = 'cancelled' where studio_id = $1")


async def test_a_first_result_that_a_plain_claim_missed(studio: BookingStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for a write that does not make the claim itself."""

    async def create() -> DirectResponse:
        body = {"email": "sam@example.com", "first_name": "Sam"}
        return await studio.ask("POST", "/leads", body=body, headers={"Idempotency-Key": "lead-0001"})

    first = await create()
    await studio.sql("delete from leads where studio_id = $1")
    blind = once_blind(monkeypatch, idempotency, "CLAIM")
    assert_replay(await create(), first)
    assert (blind.is_blind, await studio.rows("leads")) == (False, [])


async def test_twins_of_a_cancellation(studio: BookingStudio) -> None:
    class_id = await studio.new_class(60, policy={"late_action": "fee", "late_fee_amount": "3.00"})
    booking = await studio.booked(class_id, await studio.new_member())
    twins = [studio.cancel(booking["id"], "cancel-0001") for _ in range(4)]
    others = [studio.cancel(booking["id"]) for _ in range(4)]
    answers = await asyncio.gather(*twins, *others)
    assert len({answer.body for answer in answers[:4]}) == 1
    assert sum(answer.status == 200 and not is_replay(answer) for answer in answers) == 1
    assert {answer.code for answer in answers} <= {None, "booking_already_cancelled"}
    assert len(await studio.rows("purchases")) == 1
    assert await studio.counts(class_id) == (0, 0)
