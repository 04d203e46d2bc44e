"""Emit the events of the booking flows: one event per change, in the transaction that makes it."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.facts import BookingFacts, WaitingEntry
from studiogate.domain.bookings.states import BookingStatus, WaitlistStatus
from studiogate.domain.bookings.waitlist import Promote
from studiogate.domain.events import POSITIONS_ANNOUNCED, EventType
from studiogate.storage.bookings.cancel import NewCancellation
from studiogate.storage.bookings.facts import LiveEntry
from studiogate.storage.bookings.promote import Renumbered
from studiogate.storage.db.pool import Connection
from studiogate.storage.events import Change, emit

Entry = WaitingEntry | LiveEntry


def before_cancelling(booking: BookingFacts, entry: LiveEntry | None) -> dict[str, object]:
    """Return the previous values of what a cancellation changes; the statement that cancels emits the event."""
    previous: dict[str, object] = {"status": booking.status.value}
    if booking.class_spot_id is not None:
        previous["class_spot_id"] = booking.class_spot_id
    if entry is not None and entry.position is not None:
        previous["waitlist_position"] = entry.position
    return previous


async def cancelled(connection: Connection, access: Access, new: Sequence[NewCancellation]) -> None:
    """Announce what else cancellations change: the bookings' waitlist entries end, fees are charged."""
    ended = [Change(each.entry.id, _live(each.entry)) for each in new if each.entry is not None]
    await emit(connection, access, EventType.WAITLIST_UPDATED, *ended)
    charged = [Change(each.purchase_id) for each in new if each.purchase_id is not None]
    await emit(connection, access, EventType.PURCHASE_CREATED, *charged)


def _live(entry: LiveEntry) -> dict[str, object]:
    previous: dict[str, object] = {"status": entry.status}
    return previous if entry.position is None else {**previous, "position": entry.position}


async def promoted(connection: Connection, access: Access, promotions: Sequence[tuple[Entry, Promote]]) -> None:
    bookings = [Change(entry.booking_id, _waitlisted(entry, verdict)) for entry, verdict in promotions]
    await emit(connection, access, EventType.BOOKING_UPDATED, *bookings)
    entries = [Change(entry.id, _waiting(entry)) for entry, _ in promotions]
    await emit(connection, access, EventType.WAITLIST_UPDATED, *entries)


def _waitlisted(entry: Entry, verdict: Promote) -> dict[str, object]:
    previous: dict[str, object] = {"status": BookingStatus.WAITLISTED.value}
    if entry.position is not None:
        previous["waitlist_position"] = entry.position
    return previous if verdict.class_spot_id is None else {**previous, "class_spot_id": None}


def _waiting(entry: Entry) -> dict[str, object]:
    status = entry.status if isinstance(entry, LiveEntry) else WaitlistStatus.WAITING.value
    previous: dict[str, object] = {"status": status, "converted_to_booking": False, "promoted_at": None}
    if entry.position is not None:
        previous["position"] = entry.position
    return previous if entry.skip_reason is None else {**previous, "skip_reason": entry.skip_reason}


async def moved_up(
    connection: Connection,
    access: Access,
    renumbered: Sequence[Renumbered],
    skipped: Mapping[UUID, str | None] = MappingProxyType({}),
) -> None:
    """Announce new waitlist positions, but only near the front. ``skipped`` holds the skip reasons that entries had
    before, where they changed in this transaction."""
    near = [each for each in renumbered if each.position <= POSITIONS_ANNOUNCED]
    await emit(
        connection, access, EventType.WAITLIST_UPDATED, *[Change(each.entry_id, _moved(each, skipped)) for each in near]
    )


def _moved(each: Renumbered, skipped: Mapping[UUID, str | None]) -> dict[str, object]:
    previous: dict[str, object] = {"position": each.position_before}
    return {**previous, "skip_reason": skipped[each.entry_id]} if each.entry_id in skipped else previous


async def marked(connection: Connection, access: Access, booking_id: UUID, before: BookingStatus) -> None:
    await emit(connection, access, EventType.BOOKING_UPDATED, Change(booking_id, {"status": before.value}))
