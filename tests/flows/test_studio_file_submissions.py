"""Submissions of a studio file: whose they are where the file does not say."""

import json
from typing import Any

import asyncpg
import pytest

from studiogate.domain.leads import SUBMISSIONS_KEPT
from studiogate.storage.studio_file import emails
from tests.support.studio_files import Document, exported, load_well, small_studio, uid

pytestmark = pytest.mark.anyio

Connection = asyncpg.Connection
MEMBER, LEAD = uid("north", "member", 0), uid("north", "lead")  # both with the same email
OTHER_LEAD = {"id": uid("other lead"), "email": "lead@example.com"}


def sent(number: int, email: str = "M0@north.example.com ", **more: Any) -> Document:
    row = {"id": uid("sent", number), "form_id": uid("north", "form"), "submitter_email": email}
    return row | {"created_at": f"2026-01-{number + 1:02d}T10:00:00Z", **more}


def patch(*submissions: Document, **sections: list[Document]) -> Document:
    return {"studio": {"id": uid("north", "studio")}, "submissions": list(submissions), **sections}


async def links(connection: Connection) -> list[tuple[str | None, str | None]]:
    rows = await connection.fetch("select member_id::text, lead_id::text from form_submissions order by created_at")
    return [tuple(row) for row in rows]


async def listed(connection: Connection, lead: str = LEAD) -> list[Any]:
    metadata = json.loads(await connection.fetchval("select metadata from leads where id = $1", lead))
    found: list[Any] = metadata.get("form_submissions", [])
    return found


async def events(connection: Connection) -> dict[str, Any]:
    """Return the resources and previous attributes of the new events, by type."""
    rows = await connection.fetch("delete from events returning type, object::text as object, previous_attributes")
    return {row["type"]: (json.loads(row["object"]), json.loads(row["previous_attributes"])) for row in rows}


async def test_a_verified_submission_is_linked_to_the_member_and_the_lead_with_its_email(
    connection: Connection,
) -> None:
    await load_well(connection, small_studio())
    outcome = await load_well(connection, patch(sent(0)))
    assert outcome.sections["leads"].updated == 0
    assert await links(connection) == [(MEMBER, LEAD)]
    entry = {"form_id": uid("north", "form"), "submission_id": uid("sent", 0)}
    entry |= {"submitted_at": "2026-01-01T10:00:00+00:00"}
    assert await listed(connection) == [entry]
    announced = await events(connection)
    assert set(announced) == {"form.submitted", "lead.updated"}
    submission, _ = announced["form.submitted"]
    assert (submission["member_id"], submission["lead_id"]) == (MEMBER, LEAD)
    lead, before = announced["lead.updated"]
    assert (set(before), lead["metadata"]["form_submissions"]) == ({"metadata"}, [entry])
    assert "form_submissions" not in before["metadata"]
    recorded = await connection.fetchval("select changes from audit_log where subject_type = 'submission'")
    assert json.loads(recorded)["member_id"] == [None, MEMBER]


async def test_one_that_is_not_verified_belongs_to_no_member_until_it_is(connection: Connection) -> None:
    await load_well(connection, small_studio())
    await load_well(connection, patch(sent(0, verified=False), sent(1, "nobody@example.com")))
    assert await links(connection) == [(None, LEAD), (None, None)]
    await load_well(connection, patch({"id": uid("sent", 0), "verified": True}))
    assert await links(connection) == [(MEMBER, LEAD), (None, None)]


async def test_what_the_file_says_is_kept(connection: Connection) -> None:
    await load_well(connection, small_studio())
    other = uid("north", "member", 1)
    await load_well(connection, patch(sent(0, member_id=None, lead_id=None), sent(1, member_id=other, lead_id=None)))
    assert await links(connection) == [(None, None), (other, None)]
    assert await listed(connection) == []
    await load_well(connection, patch({"id": uid("sent", 0), "status": "confirmed"}))
    assert await links(connection) == [(None, None), (other, None)]


async def test_people_of_the_same_file_count_as_they_will_be(connection: Connection) -> None:
    """One of them gives up the email and another one takes it over; the lead is new."""
    await load_well(connection, small_studio())
    members: list[Document] = [{"id": MEMBER, "email": None}]
    members += [{"id": uid("north", "member", 1), "email": "m0@north.example.com"}]
    await load_well(connection, patch(sent(0), sent(1, "lead@example.com"), members=members, leads=[OTHER_LEAD]))
    assert await links(connection) == [(uid("north", "member", 1), LEAD), (None, OTHER_LEAD["id"])]
    assert len(await listed(connection, OTHER_LEAD["id"])) == 1
    lead, _ = (await events(connection))["lead.created"]
    assert len(lead["metadata"]["form_submissions"]) == 1


async def test_a_new_studio_and_round_trips(connection: Connection) -> None:
    await load_well(connection, small_studio() | {"submissions": [sent(0)]})
    assert await links(connection) == [(MEMBER, LEAD)]
    text = await exported(connection)
    await load_well(connection, json.loads(text), patch(sent(0)))
    assert await exported(connection) == text
    assert await events(connection) == {}


async def test_a_lead_lists_the_newest_submissions_once(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emails, "BATCH", 1)
    await load_well(connection, small_studio())
    await load_well(connection, patch(sent(28), leads=[OTHER_LEAD]))
    others = [sent(number) for number in range(25)]
    await load_well(connection, patch(*reversed(others), sent(28), sent(29, "lead@example.com")))
    ids = [entry["submission_id"] for entry in await listed(connection)]
    assert ids == [uid("sent", number) for number in (*range(25 - SUBMISSIONS_KEPT + 1, 25), 28)]
    assert len(await listed(connection, OTHER_LEAD["id"])) == 1
