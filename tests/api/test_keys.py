"""Keys in the API: what is stored, how keys rotate and expire, and how soon a change takes effect."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from studiogate import clock
from studiogate.api.framework import auth
from studiogate.domain import keys as domain
from studiogate.domain.access import Access, operator_access
from studiogate.domain.instants import instant_text
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows import keys
from studiogate.storage import keys as storage
from studiogate.storage import studio as studio_storage
from tests.support.asgi import AsgiResponse, ask, assert_refused, post
from tests.support.deadlines import LONG
from tests.support.held_locks import until_blocked
from tests.support.keys import revoke, rotate
from tests.support.partner_api import PartnerApi, open_partner_api
from tests.support.seed import Studio, issue_key, seed_studio

pytestmark = pytest.mark.anyio


@dataclass
class Time:
    """The process's clocks, advanced by the test; they stand still otherwise."""

    ahead: float = 0.0


@pytest.fixture
def time_(monkeypatch: pytest.MonkeyPatch) -> Time:
    moved, started, now = Time(), clock.monotonic(), clock.now()
    monkeypatch.setattr(clock, "monotonic", lambda: started + moved.ahead)
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(seconds=moved.ahead))
    return moved


@dataclass
class ApiStudio:
    api: PartnerApi
    studio: Studio

    @property
    def operator(self) -> Access:
        return operator_access(self.studio.studio_id, "ada")

    async def key(self, *scopes: str, **options: Any) -> str:
        return await issue_key(self.api.connection, self.studio, *scopes, **options)

    async def studio_with(self, key: str) -> AsgiResponse:
        return await ask(self.api.app, "GET", "/studio", key=key)


@pytest.fixture(scope="module")
async def fresh_api(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[PartnerApi]:
    async for api in open_partner_api(new_database(), rate_limit=0):
        yield api


@pytest.fixture
async def api_studio(fresh_api: PartnerApi) -> ApiStudio:
    """A separate studio, and an API that has not seen any key yet."""
    fresh_api.app.authenticator = auth.Authenticator(fresh_api.app._runtime.database)
    return ApiStudio(fresh_api, await seed_studio(fresh_api.connection, f"studio-{uuid4()}"))


def credential_id(key: str) -> str:
    return key.split("_")[2]


# The audit log


async def test_every_action_on_a_key_is_in_the_audit_log(api_studio: ApiStudio) -> None:
    connection, access = api_studio.api.connection, api_studio.operator
    location, *_ = await studio_storage.location_ids(connection, access)
    expires = datetime(2031, 5, 1, 12, tzinfo=UTC)
    wanted = keys.KeyRequest(" App ", ["studio:read"], [location], expires, 50)
    issued = await keys.issue(connection, access, wanted)
    plain = await keys.issue(connection, access, keys.KeyRequest("Plain", ["studio:read"]))
    assert isinstance(issued, keys.IssuedKey)
    assert isinstance(plain, keys.IssuedKey)
    rotated = await rotate(connection, issued.id, timedelta(hours=1), "ada")
    assert rotated.old_key_expires_at is not None
    for _ in range(2):
        await revoke(connection, issued.id, "ada")
    query = """
        select action, changes::text as changes, actor_name, channel from audit_log
        where studio_id = $1 and subject_id = $1 and action like 'key.%' order by occurred_at, id"""
    found = [tuple(row) for row in await connection.fetch(query, api_studio.studio.studio_id)]
    assert [(action, json.loads(changes)) for action, changes, *_ in found] == [
        (
            "key.create",
            {
                "key": [None, issued.id],
                "name": [None, "App"],
                "scopes": [None, ["studio:read"]],
                "location_ids": [None, [str(location)]],
                "expires_at": [None, "2031-05-01T12:00:00+00:00"],
                "rate_limit": [None, 50],
            },
        ),
        ("key.create", {"key": [None, plain.id], "name": [None, "Plain"], "scopes": [None, ["studio:read"]]}),
        (
            "key.rotate",
            {
                "key": [issued.id, issued.id],
                "old_key_expires_at": [None, instant_text(rotated.old_key_expires_at)],
            },
        ),
        ("key.revoke", {"key": [issued.id, None]}),
    ]
    assert {each[2:] for each in found} == {("ada", "command")}


# What is stored


async def test_the_database_holds_no_secret(api_studio: ApiStudio) -> None:
    """Neither key nor secret occurs in any column of any table, as text or as bytes."""
    connection = api_studio.api.connection
    key = await api_studio.key()
    rotated = (await rotate(connection, credential_id(key), timedelta(hours=1))).key
    for each in (key, rotated):
        assert (await api_studio.studio_with(each)).status == 200
    await api_studio.api.app.authenticator.flush_last_use()
    body = {"class_id": str(api_studio.studio.first("class")), "member_id": str(api_studio.studio.ids["member"][2])}
    assert (await post(api_studio.api.app, "/bookings", key, body, ("idempotency-key", "first-one"))).status == 201
    tables = await connection.fetch("select tablename from pg_tables where schemaname = 'public'")
    everything = ""
    for table in tables:
        rows = await connection.fetch(f'select row_to_json(t)::text as row from "{table["tablename"]}" t')
        everything += "\n".join(row["row"] for row in rows)
    assert credential_id(key) in everything
    assert str(api_studio.studio.studio_id) in everything
    for each in (key, rotated):
        secret = each.split("_")[3]
        for serialized in (each, secret, secret[:43], secret[:43].encode().hex(), secret[:20]):
            assert serialized not in everything
    hashes = await connection.fetch("select secret_hash from credential_secrets")
    assert domain.secret_hash(key.split("_")[3][:43]) in {row["secret_hash"] for row in hashes}


async def test_keys_do_not_stay_in_memory(api_studio: ApiStudio) -> None:
    key = await api_studio.key()
    await api_studio.studio_with(key)
    authenticator = api_studio.api.app.authenticator
    assert key.split("_")[3][:43] not in repr([authenticator._cache, authenticator._parsed, authenticator._used])


@pytest.mark.parametrize("test", [True, False])
async def test_test_studios_have_test_keys(api_studio: ApiStudio, test: bool) -> None:
    studio = await seed_studio(api_studio.api.connection, f"other-{uuid4()}", test=test)
    key = await issue_key(api_studio.api.connection, studio)
    kind = "sgk_test_" if test else "sgk_live_"
    assert key.startswith(kind)
    rotated = await rotate(api_studio.api.connection, credential_id(key), timedelta(0))
    assert rotated.key.startswith(kind)


# A mistyped key


async def test_a_mistyped_key_asks_no_database(api_studio: ApiStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    key = await api_studio.key()
    asked = []

    async def find(_connection: object, credential_id: str) -> None:
        asked.append(credential_id)

    monkeypatch.setattr(storage, "find_credential", find)
    for place in range(len(key)):
        for letter in "0A_":
            if key[place] != letter:
                mistyped = key[:place] + letter + key[place + 1 :]
                assert_refused(await api_studio.studio_with(mistyped), "invalid_api_key")
    assert asked == []
    assert_refused(await api_studio.studio_with(key), "invalid_api_key")
    assert asked == [credential_id(key)]


# Expiry, revocation, narrowing


async def test_expiry(api_studio: ApiStudio, time_: Time) -> None:
    """A key expires exactly on time, even while its credential is still cached."""
    key = await api_studio.key(expires_at=clock.now() + timedelta(seconds=60))
    assert (await api_studio.studio_with(key)).status == 200
    time_.ahead = 59
    assert (await api_studio.studio_with(key)).status == 200
    time_.ahead = 60.5
    assert_refused(await api_studio.studio_with(key), "expired_api_key")


async def test_revocation_is_felt_within_5_seconds(api_studio: ApiStudio, time_: Time) -> None:
    key = await api_studio.key()
    assert (await api_studio.studio_with(key)).status == 200
    await revoke(api_studio.api.connection, credential_id(key))
    time_.ahead = 5.0
    assert_refused(await api_studio.studio_with(key), "revoked_api_key")


async def test_a_busy_key_is_looked_up_again_all_the_same(api_studio: ApiStudio, time_: Time) -> None:
    """Continuous requests do not keep an outdated credential in the cache."""
    key = await api_studio.key()
    assert (await api_studio.studio_with(key)).status == 200
    await revoke(api_studio.api.connection, credential_id(key))
    answers = []
    for step in range(25):
        time_.ahead = step * 0.2
        answers.append((await api_studio.studio_with(key)).status)
    assert answers[-1] == 401
    assert answers == sorted(answers)


async def test_narrowing_is_felt_within_5_seconds(api_studio: ApiStudio, time_: Time) -> None:
    key = await api_studio.key()
    connection, first = api_studio.api.connection, api_studio.studio.first("location")
    assert len((await ask(api_studio.api.app, "GET", "/locations", key=key)).json()["data"]) == 2
    await connection.execute("update credentials set location_ids = $2 where id = $1", credential_id(key), [first])
    time_.ahead = 5.0
    seen = await ask(api_studio.api.app, "GET", "/locations", key=key)
    assert [each["id"] for each in seen.json()["data"]] == [str(first)]
    await connection.execute("update credentials set scopes = array['schedule:read'] where id = $1", credential_id(key))
    time_.ahead = 10.0
    assert_refused(await ask(api_studio.api.app, "GET", "/locations", key=key), "insufficient_scope")
    assert (await ask(api_studio.api.app, "GET", "/classes", key=key)).status == 200


async def test_a_credential_is_read_once_in_a_while(
    api_studio: ApiStudio, time_: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the cache, a request takes one statement instead of two."""
    key = await api_studio.key()
    asked = []
    find = storage.find_credential

    async def counted(connection: Any, credential_id: str) -> Any:
        asked.append(credential_id)
        return await find(connection, credential_id)

    monkeypatch.setattr(storage, "find_credential", counted)
    for step in range(100):
        time_.ahead = step * 0.1
        assert (await api_studio.studio_with(key)).status == 200
    assert 4 <= len(asked) <= 6


async def test_no_request_waits_for_the_lookup_of_a_busy_key(api_studio: ApiStudio, time_: Time) -> None:
    key = await api_studio.key()
    assert (await api_studio.studio_with(key)).status == 200
    await revoke(api_studio.api.connection, credential_id(key))
    authenticator, database = api_studio.api.app.authenticator, api_studio.api.app._runtime.database
    held = [await database.acquire() for _ in range(database.use[0])]
    time_.ahead = auth.REFRESH_SECONDS
    for _ in range(3):
        assert isinstance(await authenticator.authenticate(key.encode()), domain.Credential)
    (lookup,) = authenticator._lookups.values()
    for connection in held:
        database.release(connection)
    await lookup
    assert_refused(await api_studio.studio_with(key), "revoked_api_key")


async def test_a_deleted_credential_is_unknown(api_studio: ApiStudio, time_: Time) -> None:
    key = await api_studio.key()
    assert (await api_studio.studio_with(key)).status == 200
    await api_studio.api.connection.execute(
        "delete from credential_secrets where credential_id = $1", credential_id(key)
    )
    await api_studio.api.connection.execute("delete from credentials where id = $1", credential_id(key))
    time_.ahead = 5.0
    assert_refused(await api_studio.studio_with(key), "invalid_api_key")


async def test_the_cache_has_a_size(api_studio: ApiStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "CACHE_SIZE", 3)
    made = [await api_studio.key("studio:read") for _ in range(10)]
    for key in made * 2:
        assert (await api_studio.studio_with(key)).status == 200
    authenticator = api_studio.api.app.authenticator
    assert len(authenticator._cache) <= 3
    assert len(authenticator._parsed) <= 3
    # Credentials that do not exist are not cached at all.
    for _ in range(5):
        unknown = domain.new_key(domain.new_credential_id(), test=False)
        assert_refused(await api_studio.studio_with(unknown), "invalid_api_key")
    assert len(authenticator._cache) <= 3


# Rotation


@pytest.mark.parametrize("overlap", [timedelta(0), timedelta(hours=24), timedelta(days=7)])
async def test_rotation(api_studio: ApiStudio, time_: Time, overlap: timedelta) -> None:
    old = await api_studio.key()
    new = (await rotate(api_studio.api.connection, credential_id(old), overlap)).key
    assert credential_id(new) == credential_id(old)
    assert new != old
    if overlap:
        time_.ahead = overlap.total_seconds() - 30
        assert {(await api_studio.studio_with(key)).status for key in (old, new)} == {200}
    time_.ahead = overlap.total_seconds() + LONG  # the overlap is counted by the clock of PostgreSQL, which goes on
    assert (await api_studio.studio_with(new)).status == 200
    assert_refused(await api_studio.studio_with(old), "expired_api_key")


async def test_a_rotated_key_works_at_once(api_studio: ApiStudio) -> None:
    """Also in a process that has just looked up the credential."""
    old = await api_studio.key()
    assert (await api_studio.studio_with(old)).status == 200
    new = (await rotate(api_studio.api.connection, credential_id(old), timedelta(hours=1))).key
    assert {(await api_studio.studio_with(key)).status for key in (new, old)} == {200}


@pytest.mark.parametrize("overlap", [timedelta(days=8), timedelta(days=7, seconds=1), timedelta(seconds=-1)])
async def test_overlaps_out_of_bounds(api_studio: ApiStudio, overlap: timedelta) -> None:
    key = await api_studio.key()
    refusal = await keys.rotate_key(api_studio.api.connection, api_studio.operator, credential_id(key), overlap)
    assert isinstance(refusal, Refusal)
    assert [(each.loc, each.msg) for each in refusal.faults] == [(("overlap",), "must be between 0 and 7d")]
    left = "select count(*) from credential_secrets where credential_id = $1"
    assert await api_studio.api.connection.fetchval(left, credential_id(key)) == 1


async def test_rotating_again_does_not_prolong_the_oldest(api_studio: ApiStudio, time_: Time) -> None:
    first = await api_studio.key()
    connection, id_ = api_studio.api.connection, credential_id(first)
    second = (await rotate(connection, id_, timedelta(hours=1))).key
    third = (await rotate(connection, id_, timedelta(days=7))).key
    time_.ahead = 2 * 3600
    assert_refused(await api_studio.studio_with(first), "expired_api_key")
    assert {(await api_studio.studio_with(key)).status for key in (second, third)} == {200}


async def test_rotation_does_not_outlive_expiry_or_revocation(api_studio: ApiStudio, time_: Time) -> None:
    connection = api_studio.api.connection
    key = await api_studio.key(expires_at=clock.now() + timedelta(hours=1))
    new = (await rotate(connection, credential_id(key), timedelta(days=7))).key
    time_.ahead = 2 * 3600
    for each in (key, new):
        assert_refused(await api_studio.studio_with(each), "expired_api_key")
    key = await api_studio.key()
    new = (await rotate(connection, credential_id(key), timedelta(days=7))).key
    await revoke(connection, credential_id(key))
    for each in (key, new):
        assert_refused(await api_studio.studio_with(each), "revoked_api_key")
    again = await keys.rotate_key(connection, api_studio.operator, credential_id(key), timedelta(0))
    assert again == keys.REVOKED


async def test_unknown_credentials(api_studio: ApiStudio) -> None:
    connection, access = api_studio.api.connection, api_studio.operator
    for done in (
        await keys.rotate_key(connection, access, "AAAAAAAA", timedelta(0)),
        await keys.revoke_key(connection, access, "'; --"),
    ):
        assert isinstance(done, Refusal)
        assert done.code is Code.NOT_FOUND


async def test_idempotency_survives_rotation(api_studio: ApiStudio, time_: Time) -> None:
    """The namespace is the credential, not the secret: a retry with the new key is a replay."""
    old = await api_studio.key()
    new = (await rotate(api_studio.api.connection, credential_id(old), timedelta(0))).key
    body = {"class_id": str(api_studio.studio.first("class")), "member_id": str(api_studio.studio.ids["member"][2])}
    first = await post(api_studio.api.app, "/bookings", new, body, ("idempotency-key", "same-key-1"))
    assert first.status == 201
    newer = (await rotate(api_studio.api.connection, credential_id(old), timedelta(hours=1))).key
    time_.ahead = 5.0
    for key in (new, newer):
        again = await post(api_studio.api.app, "/bookings", key, body, ("idempotency-key", "same-key-1"))
        assert (again.status, again.body) == (201, first.body)
        assert again.header("idempotent-replayed") == "true"
    # Another credential of the same studio: another namespace.
    stranger = await post(
        api_studio.api.app, "/bookings", await api_studio.key(), body, ("idempotency-key", "same-key-1")
    )
    assert_refused(stranger, "already_booked")
    assert stranger.header("idempotent-replayed") is None


async def test_a_replay_needs_its_scope_again(api_studio: ApiStudio, time_: Time) -> None:
    key = await api_studio.key()
    body = {"class_id": str(api_studio.studio.first("class")), "member_id": str(api_studio.studio.ids["member"][2])}
    asked = (api_studio.api.app, "/bookings", key, body, ("idempotency-key", "same-key-1"))
    assert (await post(*asked)).status == 201
    connection, id_ = api_studio.api.connection, credential_id(key)
    await connection.execute(
        "update credentials set location_ids = $2 where id = $1", id_, [api_studio.studio.ids["location"][1]]
    )
    time_.ahead = 5.0
    assert_refused(await post(*asked), "not_found")
    await connection.execute("update credentials set scopes = array['bookings:read'] where id = $1", id_)
    time_.ahead = 10.0
    assert_refused(await post(*asked), "insufficient_scope")
    await revoke(connection, id_)
    time_.ahead = 15.0
    assert_refused(await post(*asked), "revoked_api_key")


# Last use


async def test_last_use_is_noted_once_for_many_requests(api_studio: ApiStudio) -> None:
    connection = api_studio.api.connection
    await connection.execute("create table noted (id text)")
    await connection.execute(
        "create function note() returns trigger language plpgsql as"
        " $$ begin insert into noted values (new.id); return new; end $$"
    )
    await connection.execute("create trigger note before update on credentials for each row execute function note()")
    used, unused = await api_studio.key(), await api_studio.key()
    refused = await api_studio.key(expires_at=clock.now() - timedelta(seconds=1))
    for _ in range(50):
        await api_studio.studio_with(used)
    await api_studio.studio_with(refused)
    await api_studio.studio_with(domain.new_key(credential_id(unused), test=False))
    assert await connection.fetchval("select count(*) from noted") == 0
    authenticator = api_studio.api.app.authenticator
    await authenticator.flush_last_use()
    await authenticator.flush_last_use()
    noted = [row["id"] for row in await connection.fetch("select id from noted")]
    await connection.execute("drop trigger note on credentials; drop table noted; drop function note()")
    assert noted == [credential_id(used)]
    last = {row["id"]: row["last_used_at"] for row in await storage.list_credentials(connection, None)}
    assert abs(clock.now() - last[credential_id(used)]) < timedelta(seconds=60)
    assert last[credential_id(unused)] is None
    assert last[credential_id(refused)] is None


async def test_last_use_never_goes_back(api_studio: ApiStudio) -> None:
    key = await api_studio.key()
    connection, id_ = api_studio.api.connection, credential_id(key)
    later = clock.now() + timedelta(days=1)
    database = api_studio.api.app._runtime.database
    await keys.record_use(database, {id_: later})
    await keys.record_use(database, {id_: clock.now()})
    kept = await storage.list_credentials(connection, api_studio.studio.studio_id)
    assert {row["id"]: row["last_used_at"] for row in kept}[id_] == later


async def test_processes_that_note_the_same_keys_lock_them_in_one_order(api_studio: ApiStudio) -> None:
    """Whoever waits for the first key holds no other: two processes would otherwise wait for each other."""
    holder, database = api_studio.api.connection, api_studio.api.app._runtime.database
    first, second = sorted([credential_id(await api_studio.key()) for _ in range(2)])
    now = clock.now()
    async with holder.transaction():
        await holder.execute("select from credentials where id = $1 for no key update", first)
        noting = asyncio.create_task(keys.record_use(database, {second: now, first: now}))
        await until_blocked(holder, noting)
        async with database.connection() as other:
            await other.execute("select from credentials where id = $1 for no key update nowait", second)
    await noting
    kept = await storage.list_credentials(holder, api_studio.studio.studio_id)
    assert {row["last_used_at"] for row in kept if row["id"] in (first, second)} == {now}


async def test_listing_shows_no_secret(api_studio: ApiStudio) -> None:
    key = await api_studio.key()
    rows = [dict(row) for row in await storage.list_credentials(api_studio.api.connection, None)]
    shown = json.dumps(rows, default=str)
    assert credential_id(key) in shown
    assert key.split("_")[3][:43] not in shown
    assert "hash" not in shown
