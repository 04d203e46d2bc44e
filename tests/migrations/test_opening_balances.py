"""0053 and 0054: memberships that existed before get the ledger line that explains their credits."""

from uuid import uuid4

import asyncpg
import pytest

from studiogate.storage.db import migrate
from tests.support.seed import insert, seed_studio

pytestmark = pytest.mark.anyio


async def test_the_ledger_adds_up_afterwards(new_empty_database: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(new_empty_database)
    every, connection = migrate.migrations(), await asyncpg.connect(new_empty_database())
    with monkeypatch.context() as before:
        before.setattr(migrate, "migrations", lambda: [each for each in every if each.version < "0053"])
        await migrate.migrate(connection)
    studio = await seed_studio(connection)
    of = {"studio_id": studio.studio_id, "member_id": studio.first("member"), "product_id": studio.first("product")}
    untouched, used, spent, unlimited = [uuid4() for _ in range(4)]
    for id_, remaining in ((untouched, 10), (used, 9), (spent, 0), (unlimited, None)):
        await insert(connection, "memberships", id=id_, status="active", credits_remaining=remaining, **of)
    booked = {"booking_id": studio.first("booking"), "delta": -1, "reason": "booked"}
    await insert(connection, "credit_ledger", studio_id=studio.studio_id, membership_id=used, **booked)
    await migrate.migrate(connection)
    opening = "select membership_id, delta from credit_ledger where reason = 'opening' and membership_id = any($1)"
    rows = await connection.fetch(opening, [untouched, used, spent, unlimited])
    assert {row["membership_id"]: row["delta"] for row in rows} == {untouched: 10, used: 10}
    later = uuid4()
    await insert(connection, "memberships", id=later, status="active", credits_remaining=3, **of)
    (line,) = await connection.fetch("select delta, reason from credit_ledger where membership_id = $1", later)
    assert tuple(line) == (3, "granted")
    await connection.close()
