"""Updates are announced with exactly the fields that changed, by whoever changed them."""

import json
from typing import Any
from uuid import uuid4

import pytest

from studiogate.domain.access import Access, Actor, operator_access, system_access, visitor_access
from studiogate.domain.events import EventType
from studiogate.flows.changes import changing
from studiogate.storage import event_changes
from studiogate.storage.event_changes import previous_attributes
from tests.support.seed import Studio, seed_studio

pytestmark = pytest.mark.anyio


@pytest.fixture
async def studio(connection: Any) -> Studio:
    return await seed_studio(connection)


async def news(connection: Any) -> list[Any]:
    found = await connection.fetch("select * from events where sequence is null order by created_at, id")
    await connection.execute("update events set sequence = 1000 + (select count(*) from events) where sequence is null")
    return [(row["type"], row["subject"], json.loads(row["previous_attributes"])) for row in found]


async def test_only_changed_rows_and_only_changed_fields(connection: Any, studio: Studio) -> None:
    """One of three members changes; on another only a staff note changes, which no resource shows."""
    access, members = system_access(studio.studio_id), studio.ids["member"]
    before = await event_changes.snapshot(connection, access, EventType.MEMBER_UPDATED, [*members, uuid4()])
    name = before[members[1]]["first_name"]
    await connection.execute("update members set first_name = 'Zoe' where id = $1", members[1])
    await connection.execute("update members set staff_notes = 'late again' where id = $1", members[0])
    assert await event_changes.emit_changes(connection, access, EventType.MEMBER_UPDATED, before) == [members[1]]
    ((type_, subject, previous),) = await news(connection)
    assert (type_, subject) == ("member.updated", members[1])
    assert previous == {"first_name": name, "name": before[members[1]]["name"]}


async def test_nothing_changed_is_no_event(connection: Any, studio: Studio) -> None:
    async with changing(connection, operator_access(studio.studio_id), EventType.LEAD_UPDATED, *studio.ids["lead"]):
        await connection.execute("update leads set updated_at = clock_timestamp()")
    assert await news(connection) == []


async def test_a_membership_is_announced_as_get_returns_it(connection: Any, studio: Studio) -> None:
    row_id, access = studio.first("membership"), operator_access(studio.studio_id)
    async with changing(connection, access, EventType.MEMBERSHIP_UPDATED, row_id):
        await connection.execute(
            "update memberships set pause_reason = 'travel', state_version = state_version + 1 where id = $1", row_id
        )
    after = await event_changes.snapshot(connection, access, EventType.MEMBERSHIP_UPDATED, [row_id])
    row = await connection.fetchrow("select * from events where sequence is null")
    assert json.loads(row["object"]) == after[row_id]
    assert (row["scopes"], row["place"], row["actor"]) == (["members:read"], studio.studio_id, "staff")
    assert set(json.loads(row["previous_attributes"])) == {"pause_reason", "state_version"}


def test_a_field_that_vanished_counts_as_changed() -> None:
    assert previous_attributes({"a": 1, "b": 2, "updated_at": 1}, {"a": 1, "updated_at": 2}) == {"b": 2}


def test_who_acts() -> None:
    studio_id = uuid4()
    partner = Access(studio_id, "12345678", frozenset(), None)
    others = [operator_access(studio_id), visitor_access(studio_id), system_access(studio_id)]
    assert [each.actor for each in (partner, *others)] == list(Actor)


async def test_a_process_of_the_release_before_can_still_write(connection: Any, studio: Studio) -> None:
    """The previous release sets no actor."""
    await connection.execute(
        "insert into events (studio_id, id, type, subject, scopes, place, object, previous_attributes)"
        " values ($1, $2, 'lead.created', $2, '{leads:read}', $1, '{}', '{}')",
        studio.studio_id,
        uuid4(),
    )
    assert await connection.fetchval("select actor from events where sequence is null") == "partner"
