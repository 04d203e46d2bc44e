"""All processes use one secret key: it is checked at start-up, reported by the doctor, and can be replaced without a
moment in which stored secrets cannot be decrypted."""

import asyncio
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from studiogate import settings as configuration
from studiogate.api.app import PartnerApp
from studiogate.cli import doctor
from studiogate.cli import secrets as command
from studiogate.cli.commands import Call
from studiogate.cli.context import CommandError
from studiogate.cli.prepare import check_database
from studiogate.cli.secrets import check_key
from studiogate.domain.access import operator_access
from studiogate.domain.encryption import FINGERPRINT_BYTES, Sealer, SealError, fingerprint
from studiogate.domain.staff.tokens import totp_purpose
from studiogate.flows.webhooks import purpose_of
from studiogate.runtime import Runtime
from studiogate.settings import Settings
from studiogate.storage import secret_key
from tests.support.seed import issue_key, seed_studio

pytestmark = pytest.mark.anyio

KEYS = ["A" * 43 + "=", "B" * 42 + "A="]
SEALED = """
    select studio_id, id, secret, previous_secret, earlier_secrets, updated_at from webhook_endpoints
    where url = 'https://example.com/hook' order by id"""


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return configuration.load(database_url=database_url, data_dir=tmp_path, rate_limit=0)


class SealingPartner:
    """A partner with a webhook endpoint, and a process that runs throughout the test."""

    def __init__(self, settings: Settings, connection: Any, client: httpx2.AsyncClient, key: str) -> None:
        self.settings, self.connection, self.client, self.key = settings, connection, client, key

    async def create(self, idempotency_key: str) -> httpx2.Response:
        body = {"url": "https://example.com/hook", "event_types": ["booking.created"]}
        headers = {"X-Service-Key": self.key, "Idempotency-Key": idempotency_key}
        return await self.client.post("/partner/v1/webhook-endpoints", json=body, headers=headers)

    def keys(self) -> list[bytes]:
        return configuration.known_secret_keys(self.settings)

    async def readable(self, keys: list[bytes]) -> bool:
        """Return whether these keys suffice to decrypt every endpoint's secret."""
        sealer = Sealer(lambda: keys)
        for row in await self.connection.fetch(SEALED):
            secrets = [row["secret"], row["previous_secret"], *row["earlier_secrets"]]
            for each in filter(None, secrets):
                sealer.open(each, purpose_of(operator_access(row["studio_id"]), row["id"]))
        return True

    async def rotate(self, **options: bool) -> None:
        call = Call(as_json=False, data=self.settings.data_dir)
        given = {"prepare": False, "lost": False, "links": False, **options}
        await asyncio.to_thread(lambda: command.rotate(call, **given))


@pytest.fixture
async def partner(
    settings: Settings, connection: Any, monkeypatch: pytest.MonkeyPatch, resolves: None
) -> AsyncIterator[SealingPartner]:
    monkeypatch.setenv("STUDIOGATE_DATABASE_URL", str(settings.database_url))
    await check_key(connection, settings)
    runtime = Runtime.open(settings)
    key = await issue_key(connection, await seed_studio(connection))
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(PartnerApp(runtime)), base_url="http://api.test"
    ) as client:
        yield SealingPartner(settings, connection, client, key)
    await runtime.close()


@pytest.fixture
def resolves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip DNS lookups."""
    monkeypatch.setattr("studiogate.flows.resolver.Resolver.permitted", _permitted)


async def _permitted(*_: object) -> list[object]:
    return []


# The check


async def test_the_first_start_writes_the_fingerprint(settings: Settings, connection: Any) -> None:
    assert await secret_key.key_fingerprint(connection) is None
    await check_database(settings, str(settings.database_url))
    key = configuration.known_secret_keys(settings)[0]
    written = await secret_key.key_fingerprint(connection)
    assert written == fingerprint(key)
    assert len(written) == FINGERPRINT_BYTES
    assert written not in key
    await check_database(settings, str(settings.database_url))


@pytest.mark.parametrize("own_key", [None, KEYS[0]])
async def test_another_key_does_not_start(
    settings: Settings, connection: Any, tmp_path_factory: pytest.TempPathFactory, own_key: str | None
) -> None:
    await check_database(settings, str(settings.database_url))
    elsewhere = tmp_path_factory.mktemp("another-machine")
    other = configuration.load(database_url=settings.database_url, data_dir=elsewhere, secret_key=own_key)
    with pytest.raises(CommandError) as raised:
        await check_database(other, str(settings.database_url))
    assert "STUDIOGATE_SECRET_KEY" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert list(elsewhere.iterdir()) == [], "a key that is wrong from the start would only confuse"
    findings = await doctor._examine(other, str(settings.database_url))
    assert {each.subject: each.level for each in findings}["secret key"] == "fault"
    findings = await doctor._examine(settings, str(settings.database_url))
    assert {each.subject: each.level for each in findings}["secret key"] == "ok"


# Rotation


async def test_a_rotation_seals_everything_anew(partner: SealingPartner) -> None:
    made = await partner.create("made-before-rotation")
    assert made.status_code == 201, made.text
    old = partner.keys()
    before = await partner.connection.fetch(SEALED)
    await partner.rotate()
    assert len(partner.keys()) == 1
    assert partner.keys() != old
    assert stat.S_IMODE((partner.settings.data_dir / "secrets.key").stat().st_mode) == 0o600
    assert await partner.readable(partner.keys())
    with pytest.raises(Exception, match="another key"):
        await partner.readable(old)
    after = await partner.connection.fetch(SEALED)
    assert [row["updated_at"] for row in after] == [row["updated_at"] for row in before], "no change for partners"
    assert await secret_key.key_fingerprint(partner.connection) == fingerprint(partner.keys()[0])
    again = await partner.create("made-before-rotation")
    assert (again.status_code, again.content) == (201, made.content), "the running process opens it with the new key"
    assert again.headers["idempotent-replayed"] == "true"


async def test_replaced_secrets_are_sealed_anew(partner: SealingPartner) -> None:
    endpoint_id = (await partner.create("rotated-endpoint")).json()["id"]
    for _ in range(3):
        answer = await partner.client.post(
            f"/partner/v1/webhook-endpoints/{endpoint_id}/rotate-secret", headers={"X-Service-Key": partner.key}
        )
        assert answer.status_code == 200
    before = (await partner.connection.fetch(SEALED))[0]["earlier_secrets"]
    assert len(before) == 2
    await partner.rotate()
    assert await partner.readable(partner.keys())
    after = (await partner.connection.fetch(SEALED))[0]["earlier_secrets"]
    assert len(after) == 2
    assert not set(after) & set(before)


async def test_a_running_process_seals_with_the_new_key(partner: SealingPartner) -> None:
    assert (await partner.create("first-endpoint")).status_code == 201
    await partner.rotate()
    assert (await partner.create("second-endpoint")).status_code == 201
    assert await partner.readable(partner.keys())


async def test_a_change_of_an_endpoint_still_shows(partner: SealingPartner) -> None:
    endpoint_id = (await partner.create("to-be-changed")).json()["id"]
    before = (await partner.connection.fetch(SEALED))[0]["updated_at"]
    answer = await partner.client.patch(
        f"/partner/v1/webhook-endpoints/{endpoint_id}", json={"enabled": False}, headers={"X-Service-Key": partner.key}
    )
    assert answer.status_code == 200
    assert (await partner.connection.fetch(SEALED))[0]["updated_at"] > before


@pytest.mark.parametrize("moment", ["before the commit", "after the commit"])
async def test_a_crash_in_the_middle_loses_nothing(
    partner: SealingPartner, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    assert (await partner.create("an-endpoint")).status_code == 201
    old = partner.keys()

    def die(*_: object, **__: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        if moment == "before the commit":
            patched.setattr(secret_key, "replace_fingerprint", die)
        else:
            patched.setattr(command, "_written", die)
        with pytest.raises(SystemExit):
            await partner.rotate()
    assert partner.keys()[:1] == old
    assert len(partner.keys()) == 2
    assert await partner.readable(partner.keys())
    await check_key(partner.connection, partner.settings)
    assert (await partner.create("another-endpoint")).status_code == 201
    next_key = partner.keys()[1]
    await partner.rotate()
    assert partner.keys() == [next_key]
    assert await partner.readable(partner.keys())


async def test_a_prepared_key_is_the_next_one(partner: SealingPartner) -> None:
    assert (await partner.create("an-endpoint")).status_code == 201
    await partner.rotate(prepare=True)
    prepared = partner.keys()
    assert len(prepared) == 2
    assert await partner.readable(prepared[:1])
    await partner.rotate(prepare=True)
    assert partner.keys() == prepared
    await partner.rotate()
    assert partner.keys() == prepared[1:]
    assert await partner.readable(prepared[1:])


async def test_keys_in_the_environment(partner: SealingPartner, monkeypatch: pytest.MonkeyPatch) -> None:
    await partner.connection.execute("delete from deployment")
    monkeypatch.setenv("STUDIOGATE_SECRET_KEY", KEYS[0])
    await check_key(partner.connection, configuration.load())
    with pytest.raises(CommandError, match="OLD,NEW"):
        await partner.rotate()
    monkeypatch.setenv("STUDIOGATE_SECRET_KEY", ",".join(KEYS))
    await partner.rotate()
    monkeypatch.setenv("STUDIOGATE_SECRET_KEY", KEYS[1])
    await check_key(partner.connection, configuration.load())
    monkeypatch.setenv("STUDIOGATE_SECRET_KEY", KEYS[0])
    with pytest.raises(CommandError):
        await check_key(partner.connection, configuration.load())


async def test_a_lost_key_is_given_up_by_command_only(partner: SealingPartner) -> None:
    assert (await partner.create("an-endpoint")).status_code == 201
    (partner.settings.data_dir / "secrets.key").unlink()
    with pytest.raises(CommandError, match="--lost"):
        await partner.rotate()
    await partner.rotate(lost=True)
    await check_key(partner.connection, partner.settings)


def test_a_replaced_file_leaves_nothing_else(tmp_path: Path) -> None:
    settings = configuration.load(data_dir=tmp_path)
    configuration.secret_keys(settings)
    owner = (tmp_path / "secrets.key").stat().st_uid
    configuration.write_secret_keys(settings, [b"x" * 32])
    assert (tmp_path / "secrets.key").stat().st_uid == owner
    assert [path.name for path in tmp_path.iterdir()] == ["secrets.key"]


async def _second_factor(partner: SealingPartner) -> UUID:
    """Create an account with a second factor whose secret is "factor"."""
    account_id = uuid4()
    sealed = Sealer(partner.keys).seal(b"factor", totp_purpose(account_id))
    await partner.connection.execute(
        "insert into staff_accounts (id, email, totp_secret) values ($1, 'a@example.com', $2)", account_id, sealed
    )
    return account_id


async def test_second_factors_are_sealed_anew(partner: SealingPartner) -> None:
    account_id, old = await _second_factor(partner), partner.keys()
    await partner.rotate()
    sealed = await partner.connection.fetchval("select totp_secret from staff_accounts")
    assert Sealer(partner.keys).open(sealed, totp_purpose(account_id)) == b"factor"
    with pytest.raises(SealError):
        Sealer(lambda: old).open(sealed, totp_purpose(account_id))


async def test_a_second_factor_that_no_key_opens_is_kept_and_reported(
    partner: SealingPartner, capsys: pytest.CaptureFixture[str]
) -> None:
    """It must not be dropped: the account would then need its password alone."""
    await _second_factor(partner)
    before = await partner.connection.fetchval("select totp_secret from staff_accounts")
    (partner.settings.data_dir / configuration.KEY_FILE).unlink()
    await partner.rotate(lost=True)
    assert await partner.connection.fetchval("select totp_secret from staff_accounts") == before
    assert "staff second-factor EMAIL --remove" in capsys.readouterr().out
