"""Plans are made once per connection, perhaps on empty tables: they must not scan the tables once these have grown."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from studiogate.domain.access import Access
from studiogate.flows.bookings import book as booking_flow
from studiogate.flows.bookings import cancel as cancellation_flow
from studiogate.flows.bookings.book import WantedBooking
from studiogate.flows.forms import submit as submission_flow
from studiogate.flows.forms.submit import WantedSubmission
from studiogate.storage import event_numbering
from studiogate.storage.db.pool import Connection, Database
from studiogate.storage.idempotency import Once
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio

pytestmark = pytest.mark.anyio
hall, studio = booking_studio.hall, booking_studio.studio

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


async def book(connection: Connection, studio: BookingStudio, access: Access) -> None:
    wanted = WantedBooking(await studio.new_class(), await studio.new_member())
    async with connection.transaction():
        before = await connection.fetchval(READ)
        made = await booking_flow.book(connection, access, wanted, Once(f"key-{wanted.class_id}", b""), 201)
        assert isinstance(made, str), made
        assert await connection.fetchval(READ) - before < FEW


async def number(connection: Connection, access: Access) -> None:
    async with connection.transaction():
        before = await connection.fetchval(READ)
        assert await event_numbering.number(connection, access) == 1
        assert await connection.fetchval(READ) - before < FEW


async def cancel(connection: Connection, studio: BookingStudio, access: Access) -> None:
    booked = await studio.booked(await studio.new_class(), await studio.new_member())
    async with connection.transaction():
        before = await connection.fetchval(READ)
        once = Once(f"key-{booked['id']}", b"")
        receipt = await cancellation_flow.cancel(connection, access, booked["id"], None, once, 200)
        assert isinstance(receipt, str), receipt
        assert await connection.fetchval(READ) - before < FEW


async def test_a_booking_its_event_and_its_cancellation(studio: BookingStudio) -> None:
    access = replace(studio.access, credential_id=studio.key.split("_")[2])
    database = Database(str(studio.door.app._runtime.settings.database_url), 1)
    await studio.door.connection.execute("analyze")  # now the planner knows that the tables are small
    async with database.connection() as connection:
        for grown in (False, True):
            if grown:
                await grow(studio, access)
            await book(connection, studio, access)
            await number(connection, access)
            await cancel(connection, studio, access)
            await event_numbering.number(connection, access)
    await database.close()
    await studio.sql("delete from events where studio_id = $1")


async def submit(connection: Connection, access: Access, form_id: UUID) -> None:
    wanted = WantedSubmission(f"{uuid4().hex}@example.com")
    async with connection.transaction():
        before = await connection.fetchval(READ)
        made = await submission_flow.submit(connection, access, form_id, wanted, mails=False)
        assert isinstance(made, str), made
        assert await connection.fetchval(READ) - before < FEW


@pytest.mark.parametrize("settings", ["{}", '{"allow_multiple": false, "create_lead": true}'])
async def test_a_submission(studio: BookingStudio, settings: str) -> None:
    database = Database(str(studio.door.app._runtime.settings.database_url), 1)
    form_id = uuid4()
    await studio.sql(NEW_FORM, form_id)
    await studio.sql("update forms set settings = $2 where studio_id = $1", settings)
    await studio.door.connection.execute("analyze")
    async with database.connection() as connection:
        await submit(connection, studio.access, form_id)
        await studio.sql(GROW_SUBMISSIONS, MANY, form_id)
        await submit(connection, studio.access, form_id)
    await database.close()
    await studio.sql("delete from events where studio_id = $1")
