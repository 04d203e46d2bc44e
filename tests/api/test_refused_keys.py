"""Wrong keys do not cost one statement per request, and a new key still works in time."""

from datetime import timedelta

import pytest

from studiogate import telemetry
from studiogate.api.framework import auth
from studiogate.domain import keys
from studiogate.flows import keys as key_flow
from tests.support.asgi import ask
from tests.support.partner_api import Door
from tests.support.seed import issue_key, seed_studio

pytestmark = pytest.mark.anyio


def lookups() -> float:
    return telemetry.KEY_LOOKUPS._value.get()  # type: ignore[no-any-return]


async def test_a_wrong_key_is_looked_up_once(door: Door) -> None:
    key = await issue_key(door.connection, await seed_studio(door.connection))
    await door.connection.execute("update credential_secrets set secret_hash = sha256('another')")
    before = lookups()
    statuses = [(await ask(door.app, "GET", "/studio", key=key)).status for _ in range(40)]
    assert set(statuses) == {401, 429}
    assert lookups() - before == 1


async def test_it_is_looked_up_again_after_a_moment(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    key = await issue_key(door.connection, await seed_studio(door.connection))
    own = key.split("_")[2]
    kept = await door.connection.fetchval("select secret_hash from credential_secrets where credential_id = $1", own)
    await door.connection.execute("update credential_secrets set secret_hash = sha256('another')")
    assert (await ask(door.app, "GET", "/studio", key=key)).status == 401
    await door.connection.execute("update credential_secrets set secret_hash = $1 where credential_id = $2", kept, own)
    assert (await ask(door.app, "GET", "/studio", key=key)).status == 401
    assert auth.REFUSED_SECONDS <= 5, "the contract's limit for a change to take effect"
    monkeypatch.setattr(auth, "REFUSED_SECONDS", 0.0)
    assert (await ask(door.app, "GET", "/studio", key=key)).status == 200


async def test_a_rotated_key_works_at_once(door: Door) -> None:
    studio = await seed_studio(door.connection)
    key = await issue_key(door.connection, studio)
    assert (await ask(door.app, "GET", "/studio", key=key)).status == 200
    parsed = keys.parse(key)
    assert parsed is not None
    rotated = await key_flow.rotate(door.connection, parsed.credential_id, timedelta(hours=24))
    assert (await ask(door.app, "GET", "/studio", key=rotated.key)).status == 200


async def test_what_is_remembered_is_bounded(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "CACHE_SIZE", 3)
    authenticator = door.app.authenticator
    for number in range(10):
        authenticator._note_refused(f"id{number}", 0.0)
    assert len(authenticator._refused) <= 3
