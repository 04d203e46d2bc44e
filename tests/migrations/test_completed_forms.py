"""0026: events that contain a form's notification_emails are visible only to keys that may write forms."""

import json
from uuid import uuid4

import asyncpg
import pytest

from studiogate.storage.db import migrate
from tests.support.seed import seed_studio

pytestmark = pytest.mark.anyio


async def test_older_events_with_addresses_are_for_writers(
    new_empty_database: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(new_empty_database)
    every, connection = migrate.migrations(), await asyncpg.connect(new_empty_database())
    with monkeypatch.context() as before:
        before.setattr(migrate, "migrations", lambda: [each for each in every if each.version < "0026"])
        await migrate.migrate(connection)
    studio = await seed_studio(connection)
    with_address = {"settings": {"notification_emails": ["a@b.example"]}}
    rows = {
        uuid4(): ("form.created", with_address, {}),
        uuid4(): ("form.updated", {"settings": {}}, with_address),
        uuid4(): ("form.updated", {"settings": {"x": "notification_emails"}}, {"title": "T"}),
        uuid4(): ("lead.created", with_address, {}),
    }
    for event_id, (type_, object_, previous) in rows.items():
        await connection.execute(
            "insert into events (studio_id, id, type, subject, scopes, place, object, previous_attributes)"
            " values ($1, $2, $3, $2, array['forms:read'], $1, $4, $5)",
            studio.studio_id,
            event_id,
            type_,
            json.dumps(object_),
            json.dumps(previous),
        )
    await migrate.migrate(connection)
    kept = {row["id"]: row["scopes"] for row in await connection.fetch("select id, scopes from events")}
    assert [kept[event_id][1:] for event_id in rows] == [["forms:write"], ["forms:write"], [], []]
    await connection.close()
