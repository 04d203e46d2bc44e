"""Staff decisions about submissions and their effects: states, verification, waivers (CONTRACT 6)."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from typer.testing import CliRunner

from studiogate import settings
from studiogate.cli.main import commands
from studiogate.domain.access import operator_access, visitor_access
from studiogate.domain.forms.states import SubmissionStatus, submission_transition_refusal
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.forms import staff as form_staff
from studiogate.flows.forms import submit as submission_flow
from studiogate.flows.forms.submit import SubmissionToStore
from studiogate.flows.members import create as members
from studiogate.runtime import Runtime
from tests.support.databases import run
from tests.support.seed import insert, seed_studio

pytestmark = pytest.mark.anyio


class Desk:
    """A studio with a form and a member, as used by its staff and by visitors."""

    def __init__(self, runtime: Runtime, connection: Any, studio_id: UUID, form: UUID) -> None:
        self.runtime, self.connection, self.studio_id, self.form = runtime, connection, studio_id, form
        self.staff, self.visitor = operator_access(studio_id), visitor_access(studio_id)

    async def submit(self, email: str, access: Any = None) -> dict[str, Any]:
        wanted = SubmissionToStore(email, None, {})
        database = self.runtime.database
        made = await submission_flow.submit_from_page(database, access or self.visitor, self.form, wanted, mails=False)
        assert isinstance(made, str), made
        return dict(json.loads(made))

    async def kept(self, made: dict[str, Any]) -> Any:
        return await self.connection.fetchrow("select * from form_submissions where id = $1", UUID(made["id"]))

    async def member(self, email: str) -> UUID:
        names = {"first_name": "Mo", "last_name": "Lee"}
        return await insert(self.connection, "members", studio_id=self.studio_id, email=email, **names)


@pytest.fixture
async def desk(database_url: str) -> AsyncIterator[Desk]:
    runtime = Runtime.open(settings.load(database_url=database_url))
    connection = await asyncpg.connect(database_url, server_settings={"timezone": "UTC"})
    studio = await seed_studio(connection)
    form = await insert(
        connection, "forms", studio_id=studio.studio_id, title="Waiver", slug="waiver", fields=[], status="published"
    )
    await connection.execute(
        "insert into form_versions select studio_id, id, version, fields from forms where id = $1", form
    )
    yield Desk(runtime, connection, studio.studio_id, form)
    await connection.close()
    await runtime.close()


@pytest.mark.parametrize("before", SubmissionStatus)
@pytest.mark.parametrize("after", SubmissionStatus)
def test_a_decision_can_be_changed_but_not_taken_back(before: SubmissionStatus, after: SubmissionStatus) -> None:
    refused = submission_transition_refusal(before, after)
    undecided = after is SubmissionStatus.PENDING and before is not after
    assert (refused is not None) is undecided
    assert refused is None or refused.code is Code.INVALID_TRANSITION


async def test_staff_move_a_submission(desk: Desk) -> None:
    email = f"{uuid4().hex}@example.com"
    member = await desk.member(email)
    made = await desk.submit(email)
    assert (made["status"], made["verified"], made["member_id"]) == ("pending", False, None)
    seen = (await desk.kept(made))["updated_at"]
    for status in (SubmissionStatus.SPAM, SubmissionStatus.REJECTED, SubmissionStatus.CONFIRMED):
        assert await form_staff.decide(desk.connection, desk.staff, UUID(made["id"]), status) is status
        row = await desk.kept(made)
        assert (row["status"], row["updated_at"] > seen) == (status, True)
        seen = row["updated_at"]
    assert (row["verified"], row["member_id"]) == (True, member), "whoever confirms vouches for it"
    again = await form_staff.decide(desk.connection, desk.staff, UUID(made["id"]), SubmissionStatus.CONFIRMED)
    assert again is SubmissionStatus.CONFIRMED
    assert (await desk.kept(made))["updated_at"] == seen, "nothing changed"
    unknown = await form_staff.decide(desk.connection, desk.staff, uuid4(), SubmissionStatus.SPAM)
    assert isinstance(unknown, Refusal)
    assert unknown.code is Code.NOT_FOUND


async def test_only_a_verified_submission_satisfies_a_waiver(desk: Desk) -> None:
    email = f"{uuid4().hex}@example.com"
    member = await desk.member(email)

    async def signed() -> bool:
        facts = await desk.connection.fetchval(
            "select booking_facts($1, $2, $3, now(), now() + interval '1 hour')", desk.studio_id, uuid4(), [member]
        )
        (found,) = json.loads(facts)
        return str(desk.form) in found["submitted_forms"]

    made = await desk.submit(email)
    assert not await signed(), "somebody typed the member's email"
    await submission_flow.verify_from_page(desk.runtime.database, desk.visitor, desk.form, UUID(made["id"]))
    assert await signed()
    await form_staff.decide(desk.connection, desk.staff, UUID(made["id"]), SubmissionStatus.REJECTED)
    assert not await signed()


async def test_through_a_key_it_is_verified(desk: Desk) -> None:
    email = f"{uuid4().hex}@example.com"
    member = await desk.member(email)
    made = await desk.submit(email, desk.staff)
    assert (made["verified"], made["member_id"]) == (True, str(member))


async def test_a_new_member_is_given_verified_submissions_only(desk: Desk) -> None:
    email = f"{uuid4().hex}@example.com"
    typed, vouched = await desk.submit(email), await desk.submit(email, desk.staff)
    async with desk.connection.transaction():
        wire = await members.create(
            desk.connection, desk.staff, {"email": email, "first_name": "Mo", "last_name": "Lee"}
        )
    assert isinstance(wire, str)
    assert (await desk.kept(typed))["member_id"] is None
    assert str((await desk.kept(vouched))["member_id"]) == json.loads(wire)["id"]


async def test_the_link_of_a_mail_used_twice_at_once(desk: Desk) -> None:
    made = await desk.submit(f"{uuid4().hex}@example.com")
    database, submission = desk.runtime.database, UUID(made["id"])
    outcomes = await asyncio.gather(
        *(submission_flow.verify_from_page(database, desk.visitor, desk.form, submission) for _ in range(6))
    )
    assert outcomes == [None] * 6
    assert (await desk.kept(made))["verified"]


async def test_one_per_email_also_at_once(desk: Desk) -> None:
    await desk.connection.execute(
        "update forms set settings = $2 where id = $1", desk.form, json.dumps({"allow_multiple": False})
    )
    email = f"{uuid4().hex}@example.com"
    outcomes = await asyncio.gather(
        *(
            submission_flow.submit_from_page(
                desk.runtime.database, desk.staff, desk.form, SubmissionToStore(email), mails=False
            )
            for _ in range(6)
        )
    )
    refused = [each for each in outcomes if isinstance(each, Refusal)]
    assert len(refused) == 5
    assert {each.details["reason"] for each in refused} == {"already_submitted"}


async def test_an_unverified_submission_has_no_member_whoever_writes_it(desk: Desk) -> None:
    """A process of the previous release links submissions by email alone and does not know verification."""
    member = await desk.member(f"{uuid4().hex}@example.com")
    old = await insert(
        desk.connection,
        "form_submissions",
        studio_id=desk.studio_id,
        form_id=desk.form,
        form_version=1,
        submitter_email="old@example.com",
        member_id=member,
    )
    assert await desk.connection.fetchval("select member_id from form_submissions where id = $1", old) is None


def test_the_commands(database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def prepared() -> list[UUID]:
        connection = await asyncpg.connect(database_url)
        studio = await seed_studio(connection)
        await connection.close()
        return studio.ids["submission"]

    ids = [str(each) for each in run(prepared())]
    monkeypatch.setenv("STUDIOGATE_DATABASE_URL", database_url)

    def call(*arguments: str) -> Any:
        return CliRunner().invoke(commands(), ["submission", *arguments, "--data", str(tmp_path)])

    one = call("confirm", ids[0])
    assert (one.exit_code, one.output) == (0, "The submission is confirmed now.\n")
    several = call("spam", *ids, "--json")
    assert json.loads(several.output) == [{"id": each, "status": "spam"} for each in ids]
    assert call("reject", ids[0], "--studio", "north").exit_code == 0
    for wrong in ([str(uuid4())], [ids[0], "--studio", "nowhere"]):
        assert call("reject", *wrong).exit_code == 1
