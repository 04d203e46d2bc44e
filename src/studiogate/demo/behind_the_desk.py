"""The day behind the desk: the schedule, forms, leads, a refund."""

import json
from datetime import datetime, time, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.demo.day import Day, Step
from studiogate.demo.studio import TIMEZONE
from studiogate.domain.access import visitor_access
from studiogate.domain.forms.submissions import SubmissionStatus
from studiogate.domain.leads import LeadContact, LeadStatus
from studiogate.domain.refusals import Refusal
from studiogate.flows import lead_staff, leads, purchases
from studiogate.flows.bookings import desk
from studiogate.flows.bookings import staff as class_flows
from studiogate.flows.bookings.desk import StaffBooking
from studiogate.flows.forms import review, submit
from studiogate.flows.forms import staff as form_staff
from studiogate.flows.forms.submit import SubmissionToStore
from studiogate.flows.idempotency import Stored, WriteContext
from studiogate.flows.schedule import classes, closures, series
from studiogate.flows.schedule.rows import Given
from studiogate.storage import people

CLOSED_IN = timedelta(days=40)


async def a_substitute_is_found(day: Day) -> object:
    values = {"instructor_id": str(day.id("instructor", "willa"))}
    return await classes.change(day.connection, day.manager, day.in_denver, Given(values))


async def a_class_is_called_off(day: Day) -> object:
    """Created, booked and cancelled again: whoever booked gets the credit back."""
    created = await classes.create(day.connection, day.manager, Given(_pop_up(day)))
    if isinstance(created, Refusal):
        return created
    wanted = StaffBooking(created.id, day.member("Marta Dvořák"))
    booked = await desk.book_for_member(day.connection, day.desk, wanted)
    if isinstance(booked, Refusal):
        return booked
    return await class_flows.cancel_class(day.connection, day.manager, created.id, "The instructor is ill.")


def _pop_up(day: Day) -> dict[str, object]:
    starts = datetime.combine(day.today + timedelta(days=12), time(20, 30), ZoneInfo(TIMEZONE))
    return {
        "title": "Pop-up: Breathwork",
        "class_type_id": str(day.id("class_type", "restorative")),
        "location_id": str(day.id("location", "brooklyn")),
        "room_id": str(day.id("room", "bk-garden")),
        "instructor_id": str(day.id("instructor", "mira")),
        "start_time": starts.isoformat(),
        "end_time": (starts + timedelta(minutes=60)).isoformat(),
        "capacity": 20,
    }


async def a_series_begins(day: Day) -> object:
    """Two evenings per week from tomorrow on: its classes exist eight weeks ahead."""
    values = {
        "title": "Evening Breath",
        "class_type_id": str(day.id("class_type", "restorative")),
        "location_id": str(day.id("location", "brooklyn")),
        "room_id": str(day.id("room", "bk-garden")),
        "instructor_id": str(day.id("instructor", "mira")),
        "capacity": 20,
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
    form_id = day.id("form", "intro-offer")
    visitor = visitor_access(day.manager.studio_id)
    return await submit.submit(day.connection, visitor, form_id, wanted, mails=False)


async def a_request_is_confirmed(day: Day) -> object:
    """The intake of somebody who is in today's classes, which staff have read."""
    return await review.decide(day.connection, day.desk, day.intake("Freya Nilsen"), SubmissionStatus.CONFIRMED)


async def a_partner_sends_a_lead(day: Day) -> object:
    contact = LeadContact("Jonathan", "Pell", source="partner_api", metadata={"interests": ["cycle"]})
    email = "jonathan.pell@example.net"
    await people.lock_email(day.connection, day.partner, email)
    made = await leads.create_or_identify(day.connection, WriteContext(day.partner), email, contact)
    if not isinstance(made, Stored):
        return made
    lead_id = UUID(json.loads(made.body)["id"])
    return await lead_staff.move(day.connection, day.manager, lead_id, LeadStatus.CONTACTED)


async def socks_come_back(day: Day) -> object:
    return await purchases.refund(day.connection, day.manager, day.socks("Chiara Lombardi"), None, "Wrong size.")


OFFICE_STEPS: tuple[Step, ...] = (
    a_substitute_is_found,
    a_class_is_called_off,
    a_series_begins,
    denver_closes_for_two_days,
    a_form_is_made,
    a_visitor_asks,
    a_request_is_confirmed,
    a_partner_sends_a_lead,
    socks_come_back,
)
