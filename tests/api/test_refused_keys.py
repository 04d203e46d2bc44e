"""Neither wrong keys nor a crowd cost one lookup per request, and a new key still works in time."""

import asyncio
from datetime import timedelta

import pytest

from studiogate import telemetry
from studiogate.api.framework import auth
from studiogate.domain import keys
from tests.support.asgi import ask
from tests.support.deadlines import LONG
from tests.support.keys import rotate
from tests.support.partner_api import PartnerApi
from tests.support.seed import issue_key, seed_studio

pytestmark = pytest.mark.anyio


def lookups() -> float:
    return telemetry.KEY_LOOKUPS._value.get()  # type: ignore[no-any-return]


async def test_a_wrong_key_is_looked_up_once(api: PartnerApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "REFUSED_SECONDS", LONG)
    key = await issue_key(api.connection, await seed_studio(api.connection))
    await api.connection.execute("update credential_secrets set secret_hash = sha256('another')")
    before = lookups()
    statuses = [(await ask(api.app, "GET", "/studio", key=key)).status for _ in range(40)]
    assert set(statuses) == {401, 429}
    assert lookups() - before == 1


async def test_it_is_looked_up_again_after_a_moment(api: PartnerApi, monkeypatch: pytest.MonkeyPatch) -> None:
    assert auth.REFUSED_SECONDS <= 5, "the contract's limit for a change to take effect"
    monkeypatch.setattr(auth, "REFUSED_SECONDS", LONG)
    key = await issue_key(api.connection, await seed_studio(api.connection))
    own = key.split("_")[2]
    kept = await api.connection.fetchval("select secret_hash from credential_secrets where credential_id = $1", own)
    await api.connection.execute("update credential_secrets set secret_hash = sha256('another')")
    assert (await ask(api.app, "GET", "/studio", key=key)).status == 401
    await api.connection.execute("update credential_secrets set secret_hash = $1 where credential_id = $2", kept, own)
    assert (await ask(api.app, "GET", "/studio", key=key)).status == 401
    monkeypatch.setattr(auth, "REFUSED_SECONDS", 0.0)
    assert (await ask(api.app, "GET", "/studio", key=key)).status == 200


async def test_a_rotated_key_works_at_once(api: PartnerApi) -> None:
    studio = await seed_studio(api.connection)
    key = await issue_key(api.connection, studio)
    assert (await ask(api.app, "GET", "/studio", key=key)).status == 200
    parsed = keys.parse(key)
    assert parsed is not None
    rotated = await rotate(api.connection, parsed.credential_id, timedelta(hours=24))
    assert (await ask(api.app, "GET", "/studio", key=rotated.key)).status == 200


async def test_a_crowd_shares_one_lookup(api: PartnerApi, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CACHE_SECONDS", "REFRESH_SECONDS"):
        monkeypatch.setattr(auth, name, LONG)
    key = await issue_key(api.connection, await seed_studio(api.connection))
    before = lookups()
    answers = await asyncio.gather(*(ask(api.app, "GET", "/studio", key=key) for _ in range(50)))
    assert {each.status for each in answers} == {200}
    assert lookups() - before == 1


async def test_a_secret_that_is_newer_than_the_shared_lookup_works(
    api: PartnerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await issue_key(api.connection, await seed_studio(api.connection))
    parsed = keys.parse(key)
    assert parsed is not None
    authenticator, has_read, may_end = api.app.authenticator, asyncio.Event(), asyncio.Event()
    look_up = authenticator._look_up

    async def delayed(credential_id: str) -> keys.Credential | None:
        found = await look_up(credential_id)
        has_read.set()
        await may_end.wait()
        return found

    monkeypatch.setattr(authenticator, "_look_up", delayed)
    first = asyncio.create_task(authenticator.authenticate(key.encode()))
    await has_read.wait()
    rotated = await rotate(api.connection, parsed.credential_id, timedelta(hours=24))
    authenticator._cache.clear()  # what the first lookup read, which would expire by itself
    second = asyncio.create_task(authenticator.authenticate(rotated.key.encode()))
    await asyncio.sleep(0)  # it joins the lookup
    may_end.set()
    assert isinstance(await first, keys.Credential)
    assert isinstance(await second, keys.Credential)


async def test_what_is_remembered_is_bounded(api: PartnerApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "CACHE_SIZE", 3)
    authenticator = api.app.authenticator
    for number in range(10):
        authenticator._note_refused(f"id{number}", 0.0)
    assert len(authenticator._refused) <= 3
