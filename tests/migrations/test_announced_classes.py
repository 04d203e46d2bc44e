"""0035 and 0036: of the existing classes, only those that are not over are still to be announced."""

import asyncpg
import pytest

from studiogate.storage.db import migrate
from tests.support.seed import seed_studio

pytestmark = pytest.mark.anyio


async def test_only_what_is_not_over_is_announced_later(
    new_empty_database: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(new_empty_database)
    every, connection = migrate.migrations(), await asyncpg.connect(new_empty_database())
    with monkeypatch.context() as before:
        before.setattr(migrate, "migrations", lambda: [each for each in every if each.version < "0035"])
        await migrate.migrate(connection)
    studio = await seed_studio(connection)
    expected = {"-2 hours": "completed", "-30 minutes": "scheduled", "1 hour": "scheduled"}
    for begins in expected:
        await connection.execute(
            """
            insert into classes (studio_id, id, title, start_time, end_time, capacity)
            select $1, gen_random_uuid(), $2, now() + begins, now() + begins + interval '1 hour', 1
            from cast($2::text as interval) begins""",
            studio.studio_id,
            begins,
        )
    touched = "select id, updated_at from classes order by id"
    kept = await connection.fetch(touched)
    await migrate.migrate(connection)
    rows = await connection.fetch("select title, announced_status from classes where title = any($1)", list(expected))
    assert {row["title"]: row["announced_status"] for row in rows} == expected
    assert await connection.fetch(touched) == kept, "readers see no change"
    await connection.close()
