"""The day at the front desk: bookings, check-ins, sales, fees, credits."""

from datetime import timedelta
from uuid import UUID

from studiogate.demo.day import Day, Step
from studiogate.demo.moment import FULL, SOON, UNCOVERED, UNDER_WAY
from studiogate.domain.fields.catalog import PurchaseStatus
from studiogate.domain.membership_changes import Pause
from studiogate.domain.refusals import Refusal
from studiogate.domain.sales import Order
from studiogate.flows import memberships, purchases
from studiogate.flows.bookings import desk, executor, staff_bookings
from studiogate.flows.bookings.book import BookClass
from studiogate.flows.bookings.cancel import CancelBooking
from studiogate.flows.bookings.desk import StaffBooking
from studiogate.flows.bookings.executor import PendingRequest
from studiogate.flows.idempotency import WriteContext
from studiogate.flows.members import staff as members

PAUSE_IN = timedelta(days=60)


async def a_partner_books(day: Day) -> object:
    wanted = BookClass(day.session(UNCOVERED), day.member("Wei Chen"))
    (outcome,) = await executor.execute_together(day.connection, [PendingRequest(WriteContext(day.partner), wanted)])
    return outcome


async def a_partner_cancels(day: Day) -> object:
    """Late, so it costs a fee; the first on the waitlist gets the seat."""
    class_id = day.session(FULL)
    wanted = CancelBooking(class_id, day.booking("Leïla Benali", class_id), "Running late")
    (outcome,) = await executor.execute_together(day.connection, [PendingRequest(WriteContext(day.partner), wanted)])
    return outcome


async def somebody_arrives(day: Day) -> object:
    booking_id = day.booking("Freya Nilsen", day.session(SOON))
    return await staff_bookings.mark(day.connection, day.desk, booking_id, "checked_in")


async def somebody_was_there_after_all(day: Day) -> object:
    booking_id = day.booking("Oluwaseun Bakare", day.session(UNDER_WAY))
    return await staff_bookings.mark(day.connection, day.desk, booking_id, "checked_in", undoes="no_show")


async def somebody_walks_in(day: Day) -> object:
    """A new member buys the intro offer and takes a place."""
    person = {"first_name": "Mona", "last_name": "Abadi", "email": "mona.abadi@example.org", "phone": "+13475550187"}
    member = await members.create(day.connection, day.desk, person)
    if isinstance(member, Refusal):
        return member
    member_id, place = UUID(member["id"]), day.id("location", "brooklyn")
    order = Order(member_id, day.id("product", "intro-3"), location_id=place)
    sold = await purchases.sell(day.connection, day.desk, order)
    if isinstance(sold, Refusal):
        return sold
    return await desk.book_for_member(day.connection, day.desk, StaffBooking(day.session(UNCOVERED), member_id))


async def a_fee_is_paid(day: Day) -> object:
    return await purchases.mark(day.connection, day.desk, day.late_fee("James Abara"), PurchaseStatus.COMPLETED)


async def a_fee_is_waived(day: Day) -> object:
    return await purchases.waive_fee(day.connection, day.desk, day.late_fee("Dylan Redbird"), "The train stood still.")


async def a_credit_is_given(day: Day) -> object:
    reason = "Class ended early: power cut."
    return await memberships.adjust_credits(day.connection, day.desk, day.membership("Ben Fischer"), 1, reason)


async def a_pause_is_planned(day: Day) -> object:
    pause = Pause(day.now + PAUSE_IN, day.now + 2 * PAUSE_IN, "Two months abroad")
    return await memberships.pause(day.connection, day.desk, day.membership("Grace Adebayo"), pause)


async def a_phone_changes(day: Day) -> object:
    changes = {"phone": "+19175550193"}
    return await members.change(day.connection, day.desk, day.member("Rafael Pinto"), changes)


async def a_note_is_taken(day: Day) -> object:
    note = "Prefers bike 7. Left knee: no standing climbs."
    return await members.add_note(day.connection, day.desk, day.member("Nia Campbell"), note)


async def a_member_is_suspended(day: Day) -> object:
    return await members.suspend(day.connection, day.manager, day.member("Phoebe Langley"), "Card reported stolen.")


DESK_STEPS: tuple[Step, ...] = (
    a_partner_books,
    a_partner_cancels,
    somebody_arrives,
    somebody_was_there_after_all,
    somebody_walks_in,
    a_fee_is_paid,
    a_fee_is_waived,
    a_credit_is_given,
    a_pause_is_planned,
    a_phone_changes,
    a_note_is_taken,
    a_member_is_suspended,
)
