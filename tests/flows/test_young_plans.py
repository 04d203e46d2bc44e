"""Plans are made once per connection, perhaps on empty tables: they must not scan the tables once these have grown."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from asyncpg.connection import LoggedQuery

from studiogate.domain.access import Access
from studiogate.domain.leads import LeadContact
from studiogate.flows import leads as lead_flow
from studiogate.flows.bookings import executor
from studiogate.flows.bookings.book import BookClass
from studiogate.flows.bookings.cancel import CancelBooking
from studiogate.flows.bookings.executor import PendingRequest
from studiogate.flows.forms import submit as submission_flow
from studiogate.flows.forms.submit import SubmissionToStore
from studiogate.flows.idempotency import Answers, Stored, WriteContext
from studiogate.storage import class_availability, event_numbering, idempotency
from studiogate.storage.db.pool import Connection, Database
from studiogate.storage.idempotency import IdempotencyKey
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio, wire_body

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio

MANY, FEW = 3000, 300
READ = "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) from pg_stat_xact_user_tables"
GROW = """
    insert into events (studio_id, id, sequence, type, subject, scopes, place, object, previous_attributes)
    select $1, gen_random_uuid(), 1000 + n, 'booking.created', gen_random_uuid(), '{bookings:read}', $1, '{}', '{}'
    from generate_series(1, $2::integer) n;"""
GROW_KEYS = """
    insert into idempotency_keys (studio_id, credential_id, key, fingerprint, status, body, completed_at)
    select $1, $3, 'grown-key-' || n, '', 201, '', now() from generate_series(1, $2::integer) n"""
GROW_CLASSES = """
    insert into classes (studio_id, id, title, start_time, end_time, capacity)
    select $1, gen_random_uuid(), 'grown', now(), now() + interval '1 hour', 1 from generate_series(1, $2::integer) n"""
GROW_BOOKINGS = """
    with made as (
        insert into bookings (studio_id, id, class_id, member_id, start_time, end_time, status)
        select $1, gen_random_uuid(), c.id, $2, c.start_time, c.end_time, 'cancelled'
        from classes c where c.studio_id = $1 and c.title = 'grown'
        returning id, class_id, member_id
    ), waited as (
        insert into waitlist_entries (studio_id, id, class_id, member_id, booking_id, status)
        select $1, gen_random_uuid(), class_id, member_id, id, 'cancelled' from made
    )
    insert into booking_cancellations (studio_id, id, booking_id, member_id, cancelled_at, cancellation_type, late,
                                       graced_for_promotion, credits_forfeited, credits_returned, receipt)
    select $1, gen_random_uuid(), id, member_id, now(), 'standard', false, false, 0, 0, '{}' from made"""
GROW_MEMBERS = """
    with people as (
        insert into members (studio_id, id, first_name, last_name)
        select $1, gen_random_uuid(), 'Grown', 'Up' from generate_series(1, $2::integer) n returning id)
    insert into memberships (studio_id, id, member_id, product_id, status)
    select $1, gen_random_uuid(), id, $3, 'active' from people"""


GROW_SUBMISSIONS = """
    insert into form_submissions (studio_id, id, form_id, form_version, submitter_email, data)
    select $1, gen_random_uuid(), $3, 1, 'grown-' || n || '@example.com', '{}'
    from generate_series(1, $2::integer) n"""
GROW_LEADS = """
    insert into leads (studio_id, id, email) select $1, gen_random_uuid(), 'grown-' || n || '@example.com'
    from generate_series(1, $2::integer) n"""
NEW_FORM = """
    with made as (insert into forms (studio_id, id, title, slug, fields, status)
                  values ($1, $2, 'Intake', 'intake', '[]', 'published') returning studio_id, id)
    insert into form_versions (studio_id, form_id, version, fields) select studio_id, id, 1, '[]' from made"""


async def grow(studio: BookingStudio, access: Access) -> None:
    await studio.sql(GROW, MANY)
    await studio.sql(GROW_KEYS, MANY, access.credential_id)
    await studio.sql(GROW_CLASSES, MANY)
    await studio.sql(GROW_MEMBERS, MANY, studio.product)
    await studio.sql(GROW_BOOKINGS, await studio.new_member())


def context(access: Access, key: object) -> WriteContext:
    return WriteContext(access, IdempotencyKey(f"key-{key}", b""), Answers(201))


async def book(database: Database, studio: BookingStudio, access: Access, count: int) -> None:
    class_id, members = await studio.new_class(capacity=count), [await studio.new_member() for _ in range(count)]
    wanted = [BookClass(class_id, member) for member in members]
    async with database.connection() as connection, connection.transaction():
        before = await connection.fetchval(READ)
        asked = [PendingRequest(context(access, each.member_id), each) for each in wanted]
        made = await executor.execute_together(connection, asked)
        assert all(isinstance(each, Stored) for each in made), made
        assert await connection.fetchval(READ) - before < FEW * count


async def book_shared(database: Database, studio: BookingStudio, access: Access, count: int) -> list[Any]:
    """Book a seat in each of some classes in one transaction; return the bookings."""
    wanted = [BookClass(await studio.new_class(), await studio.new_member()) for _ in range(count)]
    async with database.connection() as connection, connection.transaction():
        before = await connection.fetchval(READ)
        made = await executor.execute_together(
            connection, [PendingRequest(context(access, uuid4()), each) for each in wanted]
        )
        assert all(isinstance(each, Stored) for each in made), made
        assert await connection.fetchval(READ) - before < FEW * count
    return [json.loads(each.body) for each in made if isinstance(each, Stored)]


async def cancel_shared(database: Database, access: Access, bookings: list[Any]) -> None:
    ids = [(UUID(each["class_id"]), UUID(each["id"])) for each in bookings]
    async with database.connection() as connection, connection.transaction():
        before = await connection.fetchval(READ)
        asked = [PendingRequest(context(access, uuid4()), CancelBooking(*each)) for each in ids]
        receipts = await executor.execute_together(connection, asked)
        assert all(isinstance(each, Stored) for each in receipts), receipts
        assert await connection.fetchval(READ) - before < FEW * len(ids)


async def number(database: Database, access: Access, count: int) -> None:
    async with database.connection() as connection, connection.transaction():
        before = await connection.fetchval(READ)
        assert await event_numbering.number(connection, access) == count
        assert await connection.fetchval(READ) - before < FEW * count
        before = await connection.fetchval(READ)
        assert await class_availability.announce(connection, access) == 1
        assert await connection.fetchval(READ) - before < FEW * count
        await event_numbering.number(connection, access)


async def number_the_rest(database: Database, access: Access) -> None:
    async with database.connection() as connection:
        await event_numbering.number(connection, access)


async def cancel(database: Database, studio: BookingStudio, access: Access, count: int) -> None:
    class_id = await studio.new_class(capacity=count)
    booked = [await studio.post(wire_body(class_id, await studio.new_member())) for _ in range(count)]
    ids = [UUID(each.json()["id"]) for each in booked]
    async with database.connection() as connection, connection.transaction():
        before = await connection.fetchval(READ)
        asked = [PendingRequest(context(access, each), CancelBooking(class_id, each)) for each in ids]
        receipts = await executor.execute_together(connection, asked)
        assert all(isinstance(each, Stored) for each in receipts), receipts
        assert await connection.fetchval(READ) - before < FEW * count


@pytest.mark.parametrize("count", [1, 2, 64])
async def test_bookings_their_events_and_their_cancellations(studio: BookingStudio, count: int) -> None:
    access = replace(studio.access, credential_id=studio.key.split("_")[2])
    database = Database(str(studio.api.app._runtime.settings.database_url), 1)
    await studio.api.connection.execute("analyze")  # now the planner knows that the tables are small
    for grown in (False, True):
        if grown:
            await grow(studio, access)
        await book(database, studio, access, count)
        await number(database, access, count)
        await cancel(database, studio, access, count)
        await number_the_rest(database, access)
    await database.close()
    await studio.sql("delete from events where studio_id = $1")


@pytest.mark.parametrize("count", [2, 16])
async def test_bookings_of_different_classes_and_their_cancellations(studio: BookingStudio, count: int) -> None:
    access = replace(studio.access, credential_id=studio.key.split("_")[2])
    database = Database(str(studio.api.app._runtime.settings.database_url), 1)
    await studio.api.connection.execute("analyze")
    for grown in (False, True):
        if grown:
            await grow(studio, access)
        await cancel_shared(database, access, await book_shared(database, studio, access, count))
        await number_the_rest(database, access)
    await database.close()
    await studio.sql("delete from events where studio_id = $1")


def conditions_on_memberships(plan: Any) -> Iterator[str]:
    if plan.get("Relation Name") == "memberships" and "Index Name" in plan:
        yield "primary key" if plan["Index Name"] == "memberships_pkey" else plan["Index Cond"]
    for part in plan.get("Plans", ()):
        yield from conditions_on_memberships(part)


@pytest.mark.parametrize("rows", [50, 500])
async def test_memberships_are_found_by_their_id_or_their_member(studio: BookingStudio, rows: int) -> None:
    """Their other index contains the id as well, behind the member: by the id alone, a statement reads all of it. What
    it reads and discards is not counted as read, so the plan is looked at."""
    access = replace(studio.access, credential_id=studio.key.split("_")[2])
    database = Database(str(studio.api.app._runtime.settings.database_url), 1)
    await studio.sql(GROW_MEMBERS, rows, studio.product)
    await studio.api.connection.execute("analyze")
    sent: list[LoggedQuery] = []
    async with database.connection() as connection:
        connection.add_query_logger(sent.append)
    await book(database, studio, access, 2)
    await cancel(database, studio, access, 2)
    await cancel_shared(database, access, await book_shared(database, studio, access, 2))
    found: list[str] = []
    async with database.connection() as connection:
        connection.remove_query_logger(sent.append)
        for query, arguments in [(each.query, each.args) for each in sent if each.args]:
            plan = await connection.fetchval(f"explain (format json) {query}", *arguments)
            found += conditions_on_memberships(json.loads(plan)[0]["Plan"])
    await database.close()
    await studio.sql("delete from events where studio_id = $1")
    assert found
    assert [each for each in found if each != "primary key" and "member_id" not in each] == []


async def submit(connection: Connection, access: Access, form_id: UUID) -> None:
    wanted = SubmissionToStore(f"{uuid4().hex}@example.com")
    async with connection.transaction():
        before = await connection.fetchval(READ)
        made = await submission_flow.submit(connection, access, form_id, wanted, mails=False)
        assert isinstance(made, str), made
        assert await connection.fetchval(READ) - before < FEW


@pytest.mark.parametrize("settings", ["{}", '{"allow_multiple": false, "create_lead": true}'])
async def test_a_submission(studio: BookingStudio, settings: str) -> None:
    database = Database(str(studio.api.app._runtime.settings.database_url), 1)
    form_id = uuid4()
    await studio.sql(NEW_FORM, form_id)
    await studio.sql("update forms set settings = $2 where studio_id = $1", settings)
    await studio.api.connection.execute("analyze")
    async with database.connection() as connection:
        await submit(connection, studio.access, form_id)
        await studio.sql(GROW_SUBMISSIONS, MANY, form_id)
        await submit(connection, studio.access, form_id)
    await database.close()
    await studio.sql("delete from events where studio_id = $1")


async def test_new_leads(studio: BookingStudio) -> None:
    database = Database(str(studio.api.app._runtime.settings.database_url), 1)
    await studio.api.connection.execute("analyze")
    for grown in (0, MANY):
        await studio.sql(GROW_LEADS, grown)
        await studio.sql(GROW_KEYS, grown, studio.partner.credential_id)
        async with database.connection() as connection, connection.transaction():
            before = await connection.fetchval(READ)
            email = f"new-{uuid4().hex}@example.com"
            assert await idempotency.claim(connection, studio.partner, f"key-lead-{grown}", email) is None
            contact = LeadContact(first_name="New")
            made = await lead_flow.create_or_identify(
                connection, context(studio.partner, f"lead-{grown}"), email, contact
            )
            assert isinstance(made, Stored)
            assert await connection.fetchval(READ) - before < FEW
    await database.close()
    await studio.sql("delete from events where studio_id = $1")
