"""A flow of the studio's side: its permission, its one transaction, its audit entry."""

import asyncio
import json
from dataclasses import replace
from uuid import UUID

import pytest

from studiogate.domain.access import Access, staff_access, system_access
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import PERMISSIONS, Channel, FormToken, Permission, Role, Staff
from studiogate.flows import housekeeping, staff_flow
from studiogate.flows.changes import audited
from studiogate.flows.staff_flow import RepeatedFormError
from studiogate.storage import audit
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


async def _suspend(connection: Connection, access: Access, member_id: UUID, refused: bool = False) -> bool | Refusal:
    """Suspend a member, and refuse it afterwards if asked to."""
    async with audited(connection, access, "member.suspend", Subject("member", member_id), "unpaid"):
        await connection.execute(
            "update members set suspended = true where studio_id = $1 and id = $2", access.studio_id, member_id
        )
    return Refusal(Code.INVALID_TRANSITION) if refused else True


@pytest.fixture
def suspend(monkeypatch: pytest.MonkeyPatch) -> "staff_flow.Flow[..., bool]":
    monkeypatch.setattr(staff_flow, "STAFF_FLOWS", {})
    return staff_flow.staff_flow(Permission.MEMBERS)(_suspend)


def person(studio: BookingStudio, role: Role) -> Access:
    account = UUID(int=7)
    staff = Staff("desk@example.com", PERMISSIONS[role], Channel.CONSOLE, account_id=account, address="192.0.2.1")
    return staff_access(studio.id, staff, None)


async def entries(studio: BookingStudio) -> list[dict[str, object]]:
    async with studio.database.connection() as connection:
        rows = await audit.list_entries(connection, person(studio, Role.OWNER), None, None, 10)
    return [dict(row) for row in rows]


async def test_the_change_and_its_entry_are_one_transaction(
    studio: BookingStudio, suspend: "staff_flow.Flow[..., bool]"
) -> None:
    member_id = await studio.new_member()
    async with studio.database.connection() as connection:
        assert await suspend(connection, person(studio, Role.FRONT_DESK), member_id) is True
    (entry,) = await entries(studio)
    assert json.loads(str(entry["changes"])) == {"suspended": [False, True]}
    assert entry["action"] == "member.suspend"
    assert (entry["subject_type"], entry["subject_id"], entry["reason"]) == ("member", member_id, "unpaid")
    assert (entry["channel"], entry["actor_name"], entry["address"]) == ("console", "desk@example.com", "192.0.2.1")


async def test_a_refusal_rolls_back_what_was_done_before_it(
    studio: BookingStudio, suspend: "staff_flow.Flow[..., bool]"
) -> None:
    member_id = await studio.new_member()
    async with studio.database.connection() as connection:
        refusal = await suspend(connection, person(studio, Role.OWNER), member_id, refused=True)
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.INVALID_TRANSITION
    assert await entries(studio) == []
    assert [row["suspended"] for row in await studio.rows("members", f"id = '{member_id}'")] == [False]


@pytest.mark.parametrize("role", Role)
async def test_the_permission_decides(studio: BookingStudio, suspend: "staff_flow.Flow[..., bool]", role: Role) -> None:
    member_id = await studio.new_member()
    async with studio.database.connection() as connection:
        outcome = await suspend(connection, person(studio, role), member_id)
    allowed = Permission.MEMBERS in PERMISSIONS[role]
    assert (outcome is True) == allowed
    if isinstance(outcome, Refusal):
        assert (outcome.code, outcome.details) == (Code.PERMISSION_DENIED, {"required_permission": "members"})
        assert await entries(studio) == []


async def test_partners_and_jobs_have_no_permission(
    studio: BookingStudio, suspend: "staff_flow.Flow[..., bool]"
) -> None:
    member_id = await studio.new_member()
    partner = replace(person(studio, Role.OWNER), staff=None)
    async with studio.database.connection() as connection:
        for access in (partner, system_access(studio.id)):
            outcome = await suspend(connection, access, member_id)
            assert isinstance(outcome, Refusal)
            assert outcome.code is Code.PERMISSION_DENIED


async def test_entries_are_kept_400_days(studio: BookingStudio, suspend: "staff_flow.Flow[..., bool]") -> None:
    async with studio.database.connection() as connection:
        for days in (399, 401):
            await suspend(connection, person(studio, Role.OWNER), await studio.new_member())
            await studio.sql(
                f"update audit_log set occurred_at = now() - interval '{days} days'"
                " where studio_id = $1 and occurred_at > now() - interval '1 day'"
            )
    await housekeeping.forget_old_audit_entries(studio.database)
    assert len(await entries(studio)) == 1


async def _hired(studio: BookingStudio) -> UUID:
    account: UUID = await studio.api.connection.fetchval(
        "insert into staff_accounts (id, email)"
        " values (gen_random_uuid(), gen_random_uuid() || '@example.com') returning id"
    )
    return account


def sending(studio: BookingStudio, account: UUID, token: str) -> Access:
    """The access of a request that sends a form."""
    access = person(studio, Role.OWNER)
    assert access.staff is not None
    return replace(access, staff=replace(access.staff, account_id=account, form=FormToken(token, new_id())))


async def test_a_form_takes_effect_once(studio: BookingStudio, suspend: "staff_flow.Flow[..., bool]") -> None:
    account, member_id = await _hired(studio), await studio.new_member()
    async with studio.database.connection() as connection:
        assert await suspend(connection, sending(studio, account, "a" * 24), member_id) is True
        with pytest.raises(RepeatedFormError):
            await suspend(connection, sending(studio, account, "a" * 24), member_id)
        assert await suspend(connection, sending(studio, account, "b" * 24), member_id) is True
        assert await suspend(connection, sending(studio, await _hired(studio), "a" * 24), member_id) is True
    assert len(await studio.rows("staff_form_tokens", "true")) == 3


async def test_a_refused_form_can_be_sent_again(studio: BookingStudio, suspend: "staff_flow.Flow[..., bool]") -> None:
    account, member_id = await _hired(studio), await studio.new_member()
    access = sending(studio, account, "a" * 24)
    async with studio.database.connection() as connection:
        assert isinstance(await suspend(connection, access, member_id, refused=True), Refusal)
        assert await suspend(connection, access, member_id) is True


async def test_flows_of_one_request_share_its_form(
    studio: BookingStudio, suspend: "staff_flow.Flow[..., bool]"
) -> None:
    account = await _hired(studio)
    access = sending(studio, account, "a" * 24)
    async with studio.database.connection() as connection:
        assert await suspend(connection, access, await studio.new_member()) is True
        assert await suspend(connection, access, await studio.new_member()) is True


async def test_of_two_that_send_a_form_at_once_one_has_an_effect(
    studio: BookingStudio, suspend: "staff_flow.Flow[..., bool]"
) -> None:
    account, member_id = await _hired(studio), await studio.new_member()

    async def send() -> object:
        async with studio.database.connection() as connection:
            return await suspend(connection, sending(studio, account, "a" * 24), member_id)

    outcomes = await asyncio.gather(send(), send(), send(), return_exceptions=True)
    assert sorted(type(each).__name__ for each in outcomes) == ["RepeatedFormError", "RepeatedFormError", "bool"]
    assert len(await entries(studio)) == 1


async def test_tokens_of_forms_are_kept_two_days(studio: BookingStudio, suspend: "staff_flow.Flow[..., bool]") -> None:
    account, member_id = await _hired(studio), await studio.new_member()
    async with studio.database.connection() as connection:
        for token, hours in (("a" * 24, 49), ("b" * 24, 47)):
            await suspend(connection, sending(studio, account, token), member_id)
            await studio.sql(
                f"update staff_form_tokens set claimed_at = now() - interval '{hours} hours'"
                f" where studio_id = $1 and token = '{token}'"
            )
    await housekeeping.forget_form_tokens(studio.database)
    assert [row["token"] for row in await studio.rows("staff_form_tokens", "true")] == ["b" * 24]
