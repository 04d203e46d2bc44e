"""Merge duplicates: everything of one member becomes the other's, in one transaction."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.fields.catalog import PurchaseStatus
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Role
from studiogate.flows import memberships, purchases, retry
from studiogate.flows.bookings import staff_bookings
from studiogate.flows.members import erase, staff
from studiogate.flows.members import merge as flow
from studiogate.storage import members, person_merge
from studiogate.storage.db.pool import Database
from tests.support import booking_studio
from tests.support.booking_studio import HOUR, SOON, BookingStudio, wire_body
from tests.support.held_locks import BLOCKED, until_blocked
from tests.support.person_search import everything_stored, found_in
from tests.support.staff import book_on, did, entries, forget, news, person, refused

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


def address() -> str:
    return f"{uuid4().hex}@example.com"


async def test_everything_moves(studio: BookingStudio) -> None:
    kept = await studio.new_member(3, email="jo@example.com", staff_notes="Tall.")
    other = await studio.new_member(5, email="joe@example.com", phone="+12125550100", staff_notes="Shy.")
    name = (await studio.row("members", kept))["name"]
    seat, gone = [await studio.new_class(SOON + hours * HOUR) for hours in (2, 4)]
    full, _ = await studio.full_class()
    booked, cancelled, waits = (
        await studio.booked(seat, other),
        await studio.booked(gone, other),
        await studio.waits(full, other),
    )
    await studio.cancelled(cancelled["id"])
    purchase = await studio.add("purchases", member_id=other, product_key="p", product_type="package", status="pending")
    submission = await studio.submit(await studio.new_form(), other)
    await forget(studio)
    (membership,) = await studio.rows("memberships", "member_id = $2", other)
    entry = await studio.entry(waits)
    before = [await studio.counts(each) for each in (seat, gone, full)]

    done = await did(studio, flow.merge, kept, other)
    assert done == (kept, other, 3, 1, 1, 1)
    assert [await studio.counts(each) for each in (seat, gone, full)] == before
    for table in (
        "bookings",
        "waitlist_entries",
        "memberships",
        "purchases",
        "form_submissions",
        "booking_cancellations",
    ):
        assert await studio.rows(table, "member_id = $2", other) == []
    assert (await studio.row("form_submissions", submission))["member_id"] == kept
    assert (await studio.get(f"/bookings/{cancelled['id']}/cancellation"))["member_id"] == str(kept)
    assert (await studio.ask("GET", f"/members/{other}")).status == 404
    row = await studio.row("members", kept)
    assert (row["name"], row["email"], row["phone"]) == (name, "jo@example.com", "+12125550100")
    assert row["staff_notes"] == "Tall.\nShy."

    moved = {"member_id": str(other)}
    expected: list[tuple[str, str, dict[str, Any]]] = [
        (f"member.{each}", str(kept), {"phone": None}) for each in ("updated", "merged")
    ]
    expected += [("booking.updated", each["id"], moved) for each in (booked, cancelled, waits)]
    expected += [("waitlist.updated", entry["id"], moved), ("purchase.updated", str(purchase), moved)]
    version = {**moved, "state_version": membership["state_version"]}
    expected.append(("membership.updated", str(membership["id"]), version))
    assert sorted(await news(studio), key=repr) == sorted(expected, key=repr)
    first, second = await entries(studio)
    assert (first["action"], first["subject_id"]) == ("member.merge", kept)
    assert (second["action"], second["subject_id"]) == ("member.merge", other)
    assert second["changes"] == {"merged_into": [None, str(kept)]}


async def test_what_the_kept_member_lacks_comes_from_the_other(studio: BookingStudio) -> None:
    kept = await studio.new_member(role="lead")
    other = await studio.new_member(email="only@example.com", suspended=True, membership_type="gold")
    await did(studio, flow.merge, kept, other)
    row = await studio.row("members", kept)
    assert (row["email"], row["suspended"], row["role"]) == ("only@example.com", True, "member")
    assert row["membership_type"] == "gold"


async def test_every_reference_to_a_member_moves(studio: BookingStudio) -> None:
    """A table that refers to members and does not move would keep the duplicate from being deleted."""
    tables = await studio.api.connection.fetch(
        "select conrelid::regclass::text as name from pg_constraint"
        " where contype = 'f' and confrelid = 'members'::regclass"
    )
    assert {row["name"] for row in tables} == set(person_merge.MOVES)


async def test_two_live_bookings_of_one_class_are_refused(studio: BookingStudio) -> None:
    kept, other = await studio.new_member(), await studio.new_member()
    class_id = await studio.new_class()
    await studio.booked(class_id, kept)
    theirs = await studio.booked(class_id, other)
    refusal = await refused(studio, flow.merge, kept, other)
    assert (refusal.code, refusal.details) == (Code.ALREADY_BOOKED, {"class_ids": [str(class_id)]})
    await studio.cancelled(theirs["id"])
    await did(studio, flow.merge, kept, other)


async def test_refusals(studio: BookingStudio) -> None:
    kept, other = await studio.new_member(), await studio.new_member()
    assert (await refused(studio, flow.merge, kept, kept)).code is Code.VALIDATION_ERROR
    assert (await refused(studio, flow.merge, kept, uuid4())).code is Code.NOT_FOUND
    assert (await refused(studio, flow.merge, uuid4(), other)).code is Code.NOT_FOUND
    limited = person(studio, Role.OWNER, studio.location)
    assert (await refused(studio, flow.merge, kept, other, access=limited)).code is Code.PERMISSION_DENIED
    for member in (kept, other):
        await studio.change("members", member, staff_notes="x" * 40_000)
    refusal = await refused(studio, flow.merge, kept, other)
    assert (refusal.code, refusal.details["limit"]) == (Code.LIMIT_REACHED, "staff_notes")
    await did(studio, erase.erase, other)
    assert (await refused(studio, flow.merge, kept, other)).code is Code.INVALID_TRANSITION
    assert (await refused(studio, flow.merge, other, kept)).code is Code.INVALID_TRANSITION


async def lead(studio: BookingStudio, email: str, **columns: Any) -> UUID:
    return await studio.add("leads", email=email, status="converted", lifecycle_stage="member", **columns)


async def test_the_lead_follows(studio: BookingStudio) -> None:
    kept_email, other_email = address(), address()
    kept, other = await studio.new_member(email=kept_email), await studio.new_member(email=other_email)
    theirs = await lead(studio, other_email)
    await did(studio, flow.merge, kept, other)
    assert ("lead.updated", str(theirs), {"email": other_email}) in await news(studio)
    assert (await studio.row("leads", theirs))["email"] == kept_email


async def test_two_leads_become_one(studio: BookingStudio) -> None:
    kept_email, other_email = address(), address()
    kept, other = await studio.new_member(email=kept_email), await studio.new_member(email=other_email)
    own = await lead(studio, kept_email, staff_notes="a", metadata='{"x": 1}')
    theirs = await lead(studio, other_email, first_name="Jo", staff_notes="b", metadata='{"x": 2, "y": 3}')
    submission = await studio.submit(await studio.new_form(), other)
    await studio.change("form_submissions", submission, lead_id=theirs)
    await did(studio, flow.merge, kept, other)
    row = await studio.row("leads", own)
    assert (row["first_name"], row["staff_notes"], row["metadata"]) == ("Jo", "a\nb", '{"x": 1, "y": 3}')
    assert await studio.rows("leads", "id = $2", theirs) == []
    assert (await studio.row("form_submissions", submission))["lead_id"] == own
    (before,) = [previous for type_, _, previous in await news(studio) if type_ == "lead.updated"]
    assert before == {"first_name": "", "metadata": {"x": 1}}


async def test_an_erasure_also_redacts_what_was_merged(studio: BookingStudio) -> None:
    """Events of ids that a merge has ended still name the person."""
    values = [f"zq{uuid4().hex}" for _ in range(2)]
    ids = []
    for value in values:
        names = {"first_name": value, "last_name": "R", "email": f"{value}@example.com"}
        lead_body = {"email": names["email"], "first_name": value}
        headers = {"Idempotency-Key": uuid4().hex}
        assert (await studio.ask("POST", "/leads", body=lead_body, headers=headers)).status < 300
        ids.append(UUID((await did(studio, staff.create, names))["id"]))
    await did(studio, flow.merge, *ids)
    await did(studio, erase.erase, ids[0])
    assert found_in(await everything_stored(studio.api.connection), values) == set()


async def test_an_erasure_finds_the_lead_of_an_earlier_email(studio: BookingStudio) -> None:
    value = f"zq{uuid4().hex}"
    theirs = await lead(studio, f"{value}@example.com")
    member = await studio.new_member(email=f"{value}@example.com")
    await did(studio, staff.change, member, {"email": None})
    await did(studio, erase.erase, member)
    assert (await studio.row("leads", theirs))["email"] == f"{theirs}@erased.invalid"


# Races: one transaction is held open while the other one waits for its locks.


@pytest.fixture
async def held(studio: BookingStudio) -> AsyncIterator[Database]:
    opened = Database(str(studio.api.app._runtime.settings.database_url), 3)
    yield opened
    await opened.close()


async def merging(studio: BookingStudio, kept: UUID, other: UUID) -> Any:
    async with studio.database.connection() as connection:
        return await retry.repeated_on(connection, lambda: flow.merge(connection, person(studio), kept, other))


async def repeated(studio: BookingStudio, action: Any, *arguments: Any) -> Any:
    async with studio.database.connection() as connection:
        return await retry.repeated_on(connection, lambda: action(connection, studio.access, *arguments))


async def test_a_merge_waits_for_a_booking_and_moves_it(studio: BookingStudio, held: Database) -> None:
    kept, other, class_id = await studio.new_member(), await studio.new_member(), await studio.new_class()
    async with held.connection() as connection, connection.transaction():
        await book_on(connection, studio, class_id, other)
        task = asyncio.create_task(merging(studio, kept, other))
        await until_blocked(connection, task)
    assert (await task).bookings == 1
    assert [row["member_id"] for row in await studio.rows("bookings")] == [kept]


async def test_a_merge_waits_for_a_booking_and_is_refused(studio: BookingStudio, held: Database) -> None:
    """Both have a place in the class once the booking has committed."""
    kept, other, class_id = await studio.new_member(), await studio.new_member(), await studio.new_class()
    await studio.booked(class_id, other)
    async with held.connection() as connection, connection.transaction():
        await book_on(connection, studio, class_id, kept)
        task = asyncio.create_task(merging(studio, kept, other))
        await until_blocked(connection, task)
    assert (await task).code is Code.ALREADY_BOOKED


@pytest.mark.parametrize(("who", "status", "code"), [("other", 404, "not_found"), ("kept", 409, "already_booked")])
async def test_a_booking_waits_for_a_merge(
    studio: BookingStudio, held: Database, who: str, status: int, code: str
) -> None:
    kept, other, class_id = await studio.new_member(), await studio.new_member(), await studio.new_class()
    await studio.booked(class_id, other)
    async with held.connection() as connection, connection.transaction():
        assert not isinstance(await flow.merge(connection, person(studio), kept, other), Refusal)
        body = wire_body(class_id, {"other": other, "kept": kept}[who])
        task = asyncio.create_task(studio.post(body))
        await until_blocked(connection, task)
    answer = await task
    assert (answer.status, answer.json()["error"]["code"]) == (status, code)
    assert await studio.counts(class_id) == (1, 0)


async def test_a_merge_waits_for_a_promotion(studio: BookingStudio, held: Database) -> None:
    kept, other = await studio.new_member(7), await studio.new_member(5)
    class_id, (seat,) = await studio.full_class()
    waits = await studio.waits(class_id, other)
    async with held.connection() as connection, connection.transaction():
        receipt = await staff_bookings.cancel_booking(connection, person(studio), UUID(seat["id"]))
        assert not isinstance(receipt, Refusal)
        task = asyncio.create_task(merging(studio, kept, other))
        await until_blocked(connection, task)
    assert (await task).bookings == 1
    booking = await studio.row("bookings", waits["id"])
    assert (booking["status"], booking["member_id"]) == ("confirmed", kept)
    rows = await studio.rows("memberships", "member_id = $2", kept)
    assert sorted(row["credits_remaining"] for row in rows) == [4, 7]


async def test_a_promotion_waits_for_a_merge(studio: BookingStudio, held: Database) -> None:
    """The cancellation reads the waiting members after it has the class, so it locks and promotes the kept one."""
    kept, other = await studio.new_member(7), await studio.new_member(5)
    class_id, (seat,) = await studio.full_class()
    waits = await studio.waits(class_id, other)
    async with held.connection() as connection, connection.transaction():
        assert not isinstance(await flow.merge(connection, person(studio), kept, other), Refusal)
        task = asyncio.create_task(studio.cancel(seat["id"]))
        await until_blocked(connection, task)
    assert (await task).json()["promoted"] is True
    booking = await studio.row("bookings", waits["id"])
    assert (booking["status"], booking["member_id"]) == ("confirmed", kept)
    assert await studio.counts(class_id) == (1, 0)


async def test_a_cancellation_waits_for_a_merge(studio: BookingStudio, held: Database) -> None:
    """Its booking has another member by then, whose row it must lock: it starts again."""
    kept, other, class_id = await studio.new_member(), await studio.new_member(5), await studio.new_class()
    booked = await studio.booked(class_id, other)
    async with held.connection() as connection, connection.transaction():
        assert not isinstance(await flow.merge(connection, person(studio), kept, other), Refusal)
        task = asyncio.create_task(studio.cancel(booked["id"]))
        await until_blocked(connection, task)
    answer = await task
    assert (answer.status, answer.json()["member_id"]) == (200, str(kept))


async def test_a_cancellation_after_a_merge_locks_the_kept_member(studio: BookingStudio, held: Database) -> None:
    """Somebody who queued for the kept member during the merge has it afterwards: the cancellation waits for them. Row
    locks are not fair, so that the cancellation sometimes has it first; but not always."""
    for _ in range(20):
        if await cancellation_waits_after_a_merge(studio, held):
            return
    raise AssertionError("the cancellation never waited for the kept member")


async def cancellation_waits_after_a_merge(studio: BookingStudio, held: Database) -> bool:
    kept, other, class_id = await studio.new_member(), await studio.new_member(5), await studio.new_class()
    booked = await studio.booked(class_id, other)
    async with studio.database.connection() as holder, holder.transaction():
        async with held.connection() as connection, connection.transaction():
            assert not isinstance(await flow.merge(connection, person(studio), kept, other), Refusal)
            locking = asyncio.create_task(members.lock_member(holder, studio.access, kept))
            await until_blocked(connection, locking)
            task = asyncio.create_task(studio.cancel(booked["id"]))
            await until_blocked(connection, task, 2)
        assert await locking is not None
        process = await holder.fetchval("select pg_backend_pid()")
        while not (waits := bool(await holder.fetchval(BLOCKED, process))) and not task.done():
            await asyncio.sleep(0.01)
    assert (await task).status == 200
    return waits


async def test_a_promotion_by_hand_waits_for_a_merge(studio: BookingStudio, held: Database) -> None:
    kept, other = await studio.new_member(membership=False), await studio.new_member(5)
    await studio.policy("studios", waitlist_mode="manual")
    class_id, (seat,) = await studio.full_class()
    waits = await studio.waits(class_id, other)
    await studio.cancelled(seat["id"])
    entry = await studio.entry(waits)
    async with held.connection() as connection, connection.transaction():
        assert not isinstance(await flow.merge(connection, person(studio), kept, other), Refusal)
        task = asyncio.create_task(repeated(studio, staff_bookings.promote_entry, UUID(entry["id"])))
        await until_blocked(connection, task)
    assert (await task).member_id == kept


async def test_marking_a_purchase_waits_for_a_merge(studio: BookingStudio, held: Database) -> None:
    kept, other = await studio.new_member(), await studio.new_member()
    purchase = await studio.add("purchases", member_id=other, product_key="p", product_type="package", status="pending")
    async with held.connection() as connection, connection.transaction():
        assert not isinstance(await flow.merge(connection, person(studio), kept, other), Refusal)
        task = asyncio.create_task(repeated(studio, purchases.mark, purchase, PurchaseStatus.COMPLETED))
        await until_blocked(connection, task)
    assert await task is PurchaseStatus.COMPLETED


async def test_a_change_of_a_membership_waits_for_a_merge(studio: BookingStudio, held: Database) -> None:
    kept, other = await studio.new_member(), await studio.new_member(5)
    (membership,) = await studio.rows("memberships", "member_id = $2", other)
    async with held.connection() as connection, connection.transaction():
        assert not isinstance(await flow.merge(connection, person(studio), kept, other), Refusal)
        task = asyncio.create_task(repeated(studio, memberships.adjust_credits, membership["id"], 2, "gift"))
        await until_blocked(connection, task)
    assert not isinstance(await task, Refusal)
    assert (await studio.row("memberships", membership["id"]))["credits_remaining"] == 7


@pytest.mark.parametrize("kept_is_member", [True, False])
async def test_the_lead_of_a_merged_person_is_converted(studio: BookingStudio, kept_is_member: bool) -> None:
    """One of the two is a member, the other has the email of a lead: the merged person is a member with that email."""
    member, prospect = await studio.new_member(), await studio.new_member(role="lead", email="b@example.com")
    lead = await studio.add("leads", email="b@example.com", first_name="B")
    await did(studio, flow.merge, *((member, prospect) if kept_is_member else (prospect, member)))
    assert (await studio.row("leads", lead))["status"] == "converted"
