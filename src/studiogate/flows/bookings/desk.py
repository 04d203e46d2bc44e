"""Book for a member at the front desk. Staff may override most rules with a reason (``domain.bookings.overrides``)."""

import json
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.audit import changed_fields, overridden_rules
from studiogate.domain.bookings.eligibility import BookingDecision, Outcome
from studiogate.domain.bookings.facts import BookingRequest
from studiogate.domain.bookings.overrides import NO_OVERRIDE, Override, decide_staff_booking
from studiogate.domain.bookings.states import BookingStatus
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.sales import Order
from studiogate.domain.staff import Permission
from studiogate.flows import purchases
from studiogate.flows.bookings import attendance, book, promote
from studiogate.flows.bookings.book import NO_CLASS, NO_MEMBER
from studiogate.flows.bookings.promote import MembersToLoad
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import audit
from studiogate.storage.audit import Entry, Subject
from studiogate.storage.bookings import create, desk, lock
from studiogate.storage.bookings.create import NewBooking, NewBookings
from studiogate.storage.bookings.facts import ClassSituation
from studiogate.storage.db.ids import new_id
from studiogate.storage.db.pool import Connection

SOURCE = "staff"


class StaffBooking(NamedTuple):
    class_id: UUID
    member_id: UUID
    join_waitlist: bool = False
    class_spot_id: UUID | None = None
    override: Override = NO_OVERRIDE
    check_in: bool = False

    @property
    def request(self) -> BookingRequest:
        return BookingRequest(self.join_waitlist, self.class_spot_id)


class Booked(NamedTuple):
    """The booking in wire form, and the rules that were overridden for it. ``checked_in`` is whether the member was
    checked in as well, why not, or None if that was not asked for or the member waits."""

    booking: dict[str, Any]
    overridden: tuple[Code, ...]
    checked_in: bool | Refusal | None = None


@staff_flow(Permission.BOOKINGS)
async def book_for_member(
    connection: Connection, access: Access, wanted: StaffBooking, order: Order | None = None
) -> Booked | Refusal:
    """Take a seat for a member or put them on the waitlist, by the rules or by overriding them with a reason. What is
    ordered with it is sold to them first; if either is refused, neither happens. A check-in that is refused, for
    example because it is too early, leaves both."""
    if wanted.override.faults:
        return Refusal(Code.VALIDATION_ERROR, faults=wanted.override.faults)
    situation = await lock.lock_class(connection, access, wanted.class_id)
    if situation is None:
        return NO_CLASS
    refusal = None if order is None else await _sell(connection, access, wanted, order)
    if refusal is not None:
        return refusal
    booked = await take_place(connection, access, situation, wanted)
    if isinstance(booked, Booked):
        await record_new(connection, access, booked, wanted.override.reason)
        if wanted.check_in and booked.booking["status"] == BookingStatus.CONFIRMED:
            done = await attendance.mark(connection, access, UUID(booked.booking["id"]), "checked_in")
            return booked._replace(checked_in=done if isinstance(done, Refusal) else True)
    return booked


async def _sell(connection: Connection, access: Access, wanted: StaffBooking, order: Order) -> Refusal | None:
    """Sell what is ordered, inside the transaction of the booking; return why not. A sale locks its member, so all
    members whom the booking may lock are locked before it, by id."""
    await lock.lock_members_of_classes(connection, access, [wanted.member_id], [wanted.class_id])
    sold = await purchases.sell(connection, access, order)
    return sold if isinstance(sold, Refusal) else None


async def take_place(
    connection: Connection,
    access: Access,
    situation: ClassSituation,
    wanted: StaffBooking,
    returned_to: UUID | None = None,
) -> Booked | Refusal:
    """Book a place in a locked class. ``returned_to`` is the membership to which the booking that this one replaces has
    returned its credit."""
    seats = situation.class_.available_count
    people = await promote.load_members(connection, access, situation, MembersToLoad([wanted.member_id], seats))
    if wanted.member_id not in people.members or await desk.member_was_erased(connection, access, wanted.member_id):
        return NO_MEMBER
    if people.waiting:
        # Waiting members come first, also before somebody whom staff book.
        situation, people = await promote.promote(connection, access, situation, people)
    attempt = book.attempt_of(situation, people, wanted.member_id, wanted.request)
    decision, overridden = decide_staff_booking(attempt, wanted.override, returned_to)
    if decision.refusal is not None:
        return decision.refusal
    wire = await _record(connection, access, situation, wanted.member_id, (decision, people.now))
    return Booked(json.loads(wire), overridden)


async def _record(
    connection: Connection,
    access: Access,
    situation: ClassSituation,
    member_id: UUID,
    decided: tuple[BookingDecision, datetime],
) -> str:
    decision, now = decided
    if decision.converts is not None:
        return await promote.convert(connection, access, situation, decision, now)
    position = situation.class_.waitlist_count + 1 if decision.outcome == Outcome.WAITLISTED else None
    new = NewBooking(new_id(), situation.class_.id, member_id, decision, position, access, None)
    made = await create.record_bookings(connection, access, [situation], NewBookings([new], now, source=SOURCE))
    return made[new.id]


async def record_new(
    connection: Connection, access: Access, booked: Booked, reason: str | None, moved_from: UUID | None = None
) -> None:
    """Write the audit entry of a new booking, with the rules that were overridden for it."""
    subject = Subject("booking", UUID(booked.booking["id"]))
    changes = changed_fields(subject.kind, None, await audit.snapshot(connection, access, subject))
    changes |= overridden_rules(booked.overridden)
    if moved_from is not None:
        changes["moved_from"] = [None, str(moved_from)]
    await audit.add(connection, access, Entry("booking.create", subject, changes, reason))
