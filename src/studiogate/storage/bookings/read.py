"""Bookings and waitlist entries as partners read them, and what is read of them and their classes without a lock."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import BookingStatus, WaitlistStatus
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.storage.bookings.facts import CLASS_COLUMNS, CLASS_SOURCES, ClassSituation, class_situation
from studiogate.storage.db.pool import Connection
from studiogate.storage.paging import Filter, OneOf, Resource, read_page
from studiogate.storage.resources import BOOKING, WAITLIST_ENTRY


class BookingFilters(NamedTuple):
    class_id: str | None = None
    member_id: str | None = None
    status: str | None = None
    updated_after: datetime | None = None


async def list_bookings(
    connection: Connection, access: Access, page: PageRequest, wanted: BookingFilters
) -> Page | Refusal:
    return await _list(connection, access, page, wanted, (BOOKING, tuple(BookingStatus)))


async def list_waitlist(
    connection: Connection, access: Access, page: PageRequest, wanted: BookingFilters
) -> Page | Refusal:
    return await _list(connection, access, page, wanted, (WAITLIST_ENTRY, tuple(WaitlistStatus)))


FILTERED_BY = ("class_id", "member_id", "status")


async def _list(
    connection: Connection,
    access: Access,
    page: PageRequest,
    wanted: BookingFilters,
    of: tuple[Resource, Sequence[str]],
) -> Page | Refusal:
    resource, statuses = of
    asked = [column for column in FILTERED_BY if getattr(wanted, column) is not None]
    filters = [Filter(f"{resource.alias}.{column} = {{}}", getattr(wanted, column)) for column in asked]
    one_of: list[OneOf] = []
    if access.restricted and not filters:
        # The location index continues with the status, so that a status filter is cheap too: read every status.
        one_of = [OneOf("location_id", access.location_ids or ()), OneOf("status", statuses, "text")]
    return await read_page(
        connection, access, resource, page, filters=filters, one_of=one_of, updated_after=wanted.updated_after
    )


CANCELLATION = """
    select k.receipt::text from booking_cancellations k
    join bookings b on b.studio_id = k.studio_id and b.id = k.booking_id
    where k.studio_id = $1 and k.booking_id = $2 and ($3::uuid[] is null or b.location_id = any($3))"""

PERMITTED = "($3::uuid[] is null or c.location_id = any($3))"
FIND_CLASS = f"""
    select {CLASS_COLUMNS} from classes c {CLASS_SOURCES}
    where c.studio_id = $1 and c.id = $2 and {PERMITTED}"""


def class_of(table: str) -> str:
    """Return the statement that finds the class and the member of a booking or of a waitlist entry.

    The class never changes, and the member only by a merge of duplicates, so both may be read before the lock;
    ``check_owner`` notices a merge. Not by a join: a plan made while there were few classes would scan all of them.
    """
    return f"""
    select {CLASS_COLUMNS}, (select b.member_id from {table} b where b.studio_id = $1 and b.id = $2) as member_id
    from classes c {CLASS_SOURCES}
    where c.studio_id = $1 and c.id = (select b.class_id from {table} b where b.studio_id = $1 and b.id = $2)
    and {PERMITTED}"""


FIND_CLASS_OF_BOOKING = class_of("bookings")


async def read_cancellation(connection: Connection, access: Access, booking_id: str) -> str | None:
    """Return the receipt, exactly as it was issued."""
    receipt: str | None = await connection.fetchval(CANCELLATION, access.studio_id, booking_id, access.location_ids)
    return receipt


async def class_is_visible(connection: Connection, access: Access, class_id: UUID | str) -> bool:
    statement = """
        select exists (select from classes c where c.studio_id = $1 and c.id = $2
                       and ($3::uuid[] is null or c.location_id = any($3)))"""
    return bool(await connection.fetchval(statement, access.studio_id, class_id, access.location_ids))


async def class_of_booking(connection: Connection, access: Access, booking_id: UUID | str) -> UUID | None:
    found = await class_and_member(connection, access, booking_id)
    return None if found is None else found[0]


async def class_and_member(connection: Connection, access: Access, booking_id: UUID | str) -> tuple[UUID, UUID] | None:
    """Return the class of a booking, which never changes, and its member."""
    statement = """
        select b.class_id, b.member_id from bookings b where b.studio_id = $1 and b.id = $2
        and ($3::uuid[] is null or b.location_id = any($3))"""
    row = await connection.fetchrow(statement, access.studio_id, booking_id, access.location_ids)
    return None if row is None else (row["class_id"], row["member_id"])


async def find_class(connection: Connection, access: Access, class_id: UUID | str) -> ClassSituation | None:
    """Return a class without locking it, for answers that change nothing."""
    row = await connection.fetchrow(FIND_CLASS, access.studio_id, class_id, access.location_ids)
    return None if row is None else class_situation(row)


async def find_class_of_booking(
    connection: Connection, access: Access, booking_id: UUID | str
) -> tuple[ClassSituation, UUID] | None:
    """Return the class of a booking without locking it, and the booking's member."""
    row = await connection.fetchrow(FIND_CLASS_OF_BOOKING, access.studio_id, booking_id, access.location_ids)
    return None if row is None else (class_situation(row), row["member_id"])
