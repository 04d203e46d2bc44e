"""When POST /leads locks the email of a person: together with its key, and never while it waits for the key."""

import asyncio
from dataclasses import replace

import pytest

from studiogate.domain.access import Access
from studiogate.storage import idempotency, people
from studiogate.storage.idempotency import IdempotencyKey
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio
from tests.support.direct_client import DirectResponse
from tests.support.held_locks import somebody_waits

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
EMAIL = "sam@example.com"
TRY = f"select {people.EMAIL_LOCK.format(studio='$1', email='$2')}".replace("pg_advisory", "pg_try_advisory")


def partner_of(studio: BookingStudio) -> Access:
    return replace(studio.access, credential_id=studio.key.split("_")[2])


async def create(studio: BookingStudio, key: str | None) -> DirectResponse:
    headers = {} if key is None else {"Idempotency-Key": key}
    return await studio.ask("POST", "/leads", body={"email": EMAIL}, headers=headers)


@pytest.mark.parametrize("key", ["key-0001", None])
async def test_a_lead_waits_for_its_email(studio: BookingStudio, key: str | None) -> None:
    async with studio.database.transaction() as connection:
        await people.lock_email(connection, studio.access, EMAIL)
        waiting = asyncio.create_task(create(studio, key))
        await somebody_waits(connection)
    assert (await waiting).status == 201


async def test_a_lead_that_waits_for_its_key_does_not_hold_the_email(studio: BookingStudio) -> None:
    """Whoever holds the key may be about to lock the email: the two would wait for each other."""
    partner = partner_of(studio)
    async with studio.database.transaction() as connection:
        assert await idempotency.claim(connection, partner, "key-0001") is None
        waiting = asyncio.create_task(create(studio, "key-0001"))
        await somebody_waits(connection)
        assert await connection.fetchval(TRY, str(partner.studio_id), EMAIL)
        await idempotency.remember(connection, partner, IdempotencyKey("key-0001", b"first"), 201, b"{}")
    assert (await waiting).code == "idempotency_key_reused"


async def test_a_replay_does_not_wait_for_the_email(studio: BookingStudio) -> None:
    first = await create(studio, "key-0001")
    async with studio.database.transaction() as connection:
        await people.lock_email(connection, studio.access, EMAIL)
        again = await create(studio, "key-0001")
    assert (first.status, again.status) == (201, 201)
    assert again.body == first.body
