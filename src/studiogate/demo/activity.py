"""What the studio's people and a partner do on the day of loading, through the ordinary flows.

It fills the event log and the audit log with real entries: sales, check-ins, a promotion from the waitlist, a waived
fee. The seed determines who does what; the rows that are created here have new ids."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.demo import moment
from studiogate.demo.forms import INTAKE
from studiogate.demo.history import LATE_CANCEL_FEE
from studiogate.demo.memberships import membership_id, socks_id
from studiogate.demo.moment import FULL, SOON, UNCOVERED, UNDER_WAY
from studiogate.demo.people import Person, by_name
from studiogate.demo.people import people as all_people
from studiogate.demo.schedule import Session
from studiogate.demo.seed import Seed
from studiogate.demo.studio import FRONT_DESK, MANAGER, STAFF, TIMEZONE, Colleague
from studiogate.domain.access import Access, Scope, operator_access, staff_access, visitor_access
from studiogate.domain.fields.catalog import PurchaseStatus
from studiogate.domain.forms.states import SubmissionStatus
from studiogate.domain.leads import LeadContact, LeadStatus
from studiogate.domain.membership_changes import Pause
from studiogate.domain.purchases import Order
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import PERMISSIONS, Channel, Grant, Staff
from studiogate.flows import lead_staff, leads, memberships, purchases
from studiogate.flows.bookings import desk, executor, staff_bookings
from studiogate.flows.bookings import staff as class_flows
from studiogate.flows.bookings.book import BookClass
from studiogate.flows.bookings.cancel import CancelBooking
from studiogate.flows.bookings.desk import StaffBooking
from studiogate.flows.bookings.executor import PendingRequest
from studiogate.flows.forms import staff as form_staff
from studiogate.flows.forms import submit
from studiogate.flows.forms.submit import SubmissionToStore
from studiogate.flows.idempotency import Stored, WriteContext
from studiogate.flows.members import staff as members
from studiogate.flows.schedule import classes, closures, series
from studiogate.flows.schedule.rows import Given
from studiogate.flows.staff import roles
from studiogate.flows.staff.roles import Invitation
from studiogate.storage import people as stored_people
from studiogate.storage.db.pool import Connection

Flow = Callable[..., Awaitable[object]]
PAUSE_IN, CLOSED_IN = timedelta(days=60), timedelta(days=40)


@dataclass(frozen=True)
class Day:
    """The day on which the demo studio is loaded: who acts, and the rows of the studio file that they act on."""

    connection: Connection
    seed: Seed
    now: datetime
    desk: Access
    manager: Access
    partner: Access

    @cached_property
    def people(self) -> dict[str, Person]:
        return by_name(all_people(self.seed))

    @property
    def today(self) -> date:
        return self.now.astimezone(ZoneInfo(TIMEZONE)).date()

    def at_desk(self, flow: Flow, *given: object, **options: object) -> Awaitable[object]:
        """Let the front desk do something."""
        return flow(self.connection, self.desk, *given, **options)

    def by_manager(self, flow: Flow, *given: object) -> Awaitable[object]:
        return flow(self.connection, self.manager, *given)

    def id(self, kind: str, *key: object) -> UUID:
        return UUID(self.seed.uuid(kind, *key))

    def member(self, name: str) -> UUID:
        return UUID(self.people[name].id)

    def membership(self, name: str) -> UUID:
        return UUID(membership_id(self.seed, self.people[name]))

    def session(self, begins: int) -> UUID:
        """The class of the day that begins so many minutes from now."""
        return UUID(moment.around(self.seed, self.now)[begins].id)

    def booking(self, name: str, class_id: UUID) -> UUID:
        return self.id("booking", class_id, self.member(name))

    def late_fee(self, name: str) -> UUID:
        """What leaving a past class late cost this person."""
        past: Session = moment.past(self.seed, self.now)[moment.LEFT_LATE[name]]
        return self.id("purchase", LATE_CANCEL_FEE, self.booking(name, UUID(past.id)))


async def a_partner_asks(day: Day, wanted: BookClass | CancelBooking) -> object:
    (outcome,) = await executor.execute_together(day.connection, [PendingRequest(WriteContext(day.partner), wanted)])
    return outcome


async def a_partner_cancels(day: Day) -> object:
    """Late, so it costs a fee; the first on the waitlist gets the seat."""
    class_id = day.session(FULL)
    return await a_partner_asks(day, CancelBooking(class_id, day.booking("Leïla Benali", class_id), "Running late"))


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


def _in_the_garden(day: Day) -> dict[str, object]:
    """The place of a restorative class."""
    return {
        "class_type_id": str(day.id("class_type", "restorative")),
        "location_id": str(day.id("location", "brooklyn")),
        "room_id": str(day.id("room", "bk-garden")),
        "instructor_id": str(day.id("instructor", "mira")),
        "capacity": 20,
    }


async def a_class_is_called_off(day: Day) -> object:
    """Created, booked and cancelled again: whoever booked gets the credit back."""
    starts = datetime.combine(day.today + timedelta(days=12), time(20, 30), ZoneInfo(TIMEZONE))
    times = {"start_time": starts.isoformat(), "end_time": (starts + timedelta(minutes=60)).isoformat()}
    values = {"title": "Pop-up: Breathwork", **times, **_in_the_garden(day)}
    created = await classes.create(day.connection, day.manager, Given(values))
    if isinstance(created, Refusal):
        return created
    wanted = StaffBooking(created.id, day.member("Marta Dvořák"))
    booked = await desk.book_for_member(day.connection, day.desk, wanted)
    if isinstance(booked, Refusal):
        return booked
    return await class_flows.cancel_class(day.connection, day.manager, created.id, "The instructor is ill.")


async def a_series_begins(day: Day) -> object:
    """Two evenings per week from tomorrow on: its classes exist eight weeks ahead."""
    values = {
        "title": "Evening Breath",
        **_in_the_garden(day),
        "weekdays": ["monday", "wednesday"],
        "local_start": "19:15",
        "minutes": 45,
        "first_date": (day.today + timedelta(days=1)).isoformat(),
    }
    return await series.create(day.connection, day.manager, Given(values))


async def denver_closes_for_two_days(day: Day) -> object:
    first = day.today + CLOSED_IN
    values = {
        "location_id": str(day.id("location", "denver")),
        "first_date": first.isoformat(),
        "last_date": (first + timedelta(days=1)).isoformat(),
        "mode": "cancel",
        "reason": "The floor is sanded.",
    }
    return await closures.create(day.connection, day.manager, Given(values))


async def a_form_is_made(day: Day) -> object:
    field = {"key": "friend", "label": "Whom do you bring?", "type": "text", "required": True}
    texts = {"title": "Bring a friend", "slug": "bring-a-friend", "description": "One free place per member."}
    made = await form_staff.create(day.connection, day.manager, {**texts, "fields": [field]})
    if isinstance(made, Refusal):
        return made
    return await form_staff.change(day.connection, day.manager, UUID(made["id"]), {"status": "published"})


async def a_visitor_asks(day: Day) -> object:
    answers = {"first_name": "Selin", "location": "brooklyn", "interests": ["Reformer", "Yoga"]}
    wanted = SubmissionToStore("selin.kaya@example.com", "Selin Kaya", answers)
    visitor = visitor_access(day.manager.studio_id)
    return await submit.submit(day.connection, visitor, day.id("form", "intro-offer"), wanted, mails=False)


async def a_partner_sends_a_lead(day: Day) -> object:
    contact = LeadContact("Jonathan", "Pell", source="partner_api", metadata={"interests": ["cycle"]})
    email = "jonathan.pell@example.net"
    await stored_people.lock_email(day.connection, day.partner, email)
    made = await leads.create_or_identify(day.connection, WriteContext(day.partner), email, contact)
    if not isinstance(made, Stored):
        return made
    lead_id = UUID(json.loads(made.body)["id"])
    return await lead_staff.move(day.connection, day.manager, lead_id, LeadStatus.CONTACTED)


# What is done, by its name in the log if it is refused.
STEPS: dict[str, Callable[[Day], Awaitable[object]]] = {
    "a_partner_books": lambda day: a_partner_asks(day, BookClass(day.session(UNCOVERED), day.member("Wei Chen"))),
    "a_partner_cancels": a_partner_cancels,
    "somebody_arrives": lambda day: day.at_desk(
        staff_bookings.mark, day.booking("Freya Nilsen", day.session(SOON)), "checked_in"
    ),
    "somebody_was_there_after_all": lambda day: day.at_desk(
        staff_bookings.mark, day.booking("Oluwaseun Bakare", day.session(UNDER_WAY)), "checked_in", undoes="no_show"
    ),
    "somebody_walks_in": somebody_walks_in,
    "a_fee_is_paid": lambda day: day.at_desk(purchases.mark, day.late_fee("James Abara"), PurchaseStatus.COMPLETED),
    "a_fee_is_waived": lambda day: day.at_desk(
        purchases.waive_fee, day.late_fee("Dylan Redbird"), "The train stood still."
    ),
    "a_credit_is_given": lambda day: day.at_desk(
        memberships.adjust_credits, day.membership("Ben Fischer"), 1, "Class ended early: power cut."
    ),
    "a_pause_is_planned": lambda day: day.at_desk(
        memberships.pause,
        day.membership("Grace Adebayo"),
        Pause(day.now + PAUSE_IN, day.now + 2 * PAUSE_IN, "Two months abroad"),
    ),
    "a_phone_changes": lambda day: day.at_desk(members.change, day.member("Rafael Pinto"), {"phone": "+19175550193"}),
    "a_note_is_taken": lambda day: day.at_desk(
        members.add_note, day.member("Nia Campbell"), "Prefers bike 7. Left knee: no standing climbs."
    ),
    "a_member_is_suspended": lambda day: day.by_manager(
        members.suspend, day.member("Phoebe Langley"), "Card reported stolen."
    ),
    "a_substitute_is_found": lambda day: day.by_manager(
        classes.change,
        UUID(moment.denver_session(day.seed, day.now).id),
        Given({"instructor_id": str(day.id("instructor", "willa"))}),
    ),
    "a_class_is_called_off": a_class_is_called_off,
    "a_series_begins": a_series_begins,
    "denver_closes_for_two_days": denver_closes_for_two_days,
    "a_form_is_made": a_form_is_made,
    "a_visitor_asks": a_visitor_asks,
    # The intake of somebody who is in today's classes, which staff have read.
    "a_request_is_confirmed": lambda day: day.at_desk(
        form_staff.decide, day.id("submission", INTAKE, day.people["Freya Nilsen"].email), SubmissionStatus.CONFIRMED
    ),
    "a_partner_sends_a_lead": a_partner_sends_a_lead,
    "socks_come_back": lambda day: day.by_manager(
        purchases.refund, UUID(socks_id(day.seed, day.people["Chiara Lombardi"], day.today)), None, "Wrong size."
    ),
}


async def act(connection: Connection, studio_id: UUID, credential_id: str, now: datetime, seed: int) -> list[str]:
    """Let the day happen; return the steps that were refused, with the code. None are, unless the studio differs."""
    chance = Seed(seed)
    accounts = {each.email: await _invite(connection, studio_id, chance, each) for each in STAFF}
    partner = Access(studio_id, credential_id, frozenset(Scope), None)
    at_work = {}
    for each in STAFF:
        grant = _grant(chance, each)
        account = accounts[each.email]
        staff = Staff(each.email, PERMISSIONS[each.role], Channel.CONSOLE, account, grant.instructor_id)
        at_work[each.email] = staff_access(studio_id, staff, grant.location_ids)
    day = Day(connection, chance, now, at_work[FRONT_DESK.email], at_work[MANAGER.email], partner)
    outcomes = [(name, await step(day)) for name, step in STEPS.items()]
    return [f"{name}: {outcome.code}" for name, outcome in outcomes if isinstance(outcome, Refusal)]


async def _invite(connection: Connection, studio_id: UUID, seed: Seed, colleague: Colleague) -> UUID:
    """Not by a command, which would issue a link: nobody is to hold one that was not asked for."""
    wanted = Invitation(colleague.email, _grant(seed, colleague), name=colleague.name)
    invited = await roles.invite(connection, operator_access(studio_id, "demo", Channel.IMPORT), wanted)
    if isinstance(invited, Refusal):
        raise ValueError(f"{colleague.email} cannot work at the demo studio: {invited.code}")
    return invited.account_id


def _grant(seed: Seed, colleague: Colleague) -> Grant:
    locations = tuple(UUID(seed.uuid("location", key)) for key in colleague.locations) or None
    instructor = UUID(seed.uuid("instructor", colleague.instructor)) if colleague.instructor else None
    return Grant(colleague.role, locations, instructor)
