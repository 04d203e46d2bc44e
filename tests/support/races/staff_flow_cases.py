"""One situation per flow of the studio's side, in which it has as much to do as possible, for tests that interrupt it.

Each function makes its situation in a studio and returns the flow's packed arguments.
"""

import io
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from studiogate.domain.bookings.overrides import Override
from studiogate.domain.csv_import.kinds import KINDS
from studiogate.domain.encryption import Sealer
from studiogate.domain.fields.catalog import PaidBy, PurchaseStatus
from studiogate.domain.forms.states import SubmissionStatus
from studiogate.domain.leads import LeadStatus
from studiogate.domain.mails import MailKind
from studiogate.domain.membership_changes import Pause
from studiogate.domain.purchases import Order
from studiogate.domain.staff import Grant, Role
from studiogate.flows import catalog, events, keys, memberships, purchases, webhook_staff, webhooks
from studiogate.flows import studio as studio_flow
from studiogate.flows.bookings import staff_bookings
from studiogate.flows.bookings.desk import Move, StaffBooking
from studiogate.flows.csv_import import CsvFile
from studiogate.flows.csv_rows import load_mapping
from studiogate.flows.forms import drafts
from studiogate.flows.forms.drafts import DraftToSave
from studiogate.flows.forms.staff import FormLinkToSend
from studiogate.flows.keys import KeyRequest
from studiogate.flows.members import staff as members
from studiogate.flows.schedule import closures, series
from studiogate.flows.schedule.copy_week import WeekCopy
from studiogate.flows.schedule.rows import Given
from studiogate.flows.schedule.series import SeriesChange
from studiogate.flows.staff import roles
from studiogate.flows.staff.roles import Invitation
from studiogate.flows.studio_file import Options
from studiogate.flows.studio_file.rows import silent
from studiogate.storage.audit import Subject
from tests.support.booking_studio import BookingStudio
from tests.support.pictures import png
from tests.support.races.killed_flow import pack

Case = Callable[[BookingStudio], Awaitable[str]]
CASES: dict[str, Case] = {}
# They only read, and record that they did.
WITHOUT_CASE = frozenset(
    {"forms.staff.export_submissions", "forms.staff.files", "forms.staff.link", "members.export.export"}
)
CLIENTS = "external_id,first_name,last_name,email\nA-1,Ada,Okafor,{0}-1@example.com\nA-2,Jo,Brandt,{0}-2@example.com\n"


def case(flow: str) -> Callable[[Case], Case]:
    def declare(prepare: Case) -> Case:
        CASES[flow] = prepare
        return prepare

    return declare


async def _crowded(studio: BookingStudio) -> tuple[UUID, UUID, UUID]:
    """A class whose only seat is taken while two wait: the class, the booking with the seat, the first waiting one."""
    class_id, (held,) = await studio.full_class()
    waiting = [await studio.waits(class_id, await studio.new_member()) for _ in range(2)]
    return class_id, UUID(held["id"]), UUID(waiting[0]["id"])


async def _on_sale(studio: BookingStudio, **price: Any) -> tuple[UUID, UUID]:
    """A product and its price."""
    values = {"key": uuid4().hex, "name": "Ten", "product_type": "package", "credits_granted": 10}
    product = await studio.staff(catalog.create_product, values)
    return product, await studio.staff(catalog.create_price, product, {"amount": "20.00", **price})


async def _sold(studio: BookingStudio, **order: Any) -> purchases.Sold:
    product, _ = await _on_sale(studio)
    sold: purchases.Sold = await studio.staff(purchases.sell, Order(await studio.new_member(), product, **order))
    return sold


def _date(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).date().isoformat()


async def _series(studio: BookingStudio, **more: str) -> Any:
    given = {"title": "Flow", "location_id": str(studio.location), "room_id": str(studio.room), "capacity": 5}
    pattern = {"weekdays": ["mon", "thu"], "local_start": "18:30", "minutes": 60, "first_date": _date(2)}
    return await studio.staff(series.create, Given({**given, **pattern, **more}))


async def _person(studio: BookingStudio) -> tuple[UUID, str]:
    """A member with an email, a lead, a submission, a booking ahead and a member who waits for its seat."""
    email = f"{uuid4().hex}@example.com"
    await studio.add("leads", email=email, first_name="L", last_name="L")
    member = await studio.new_member(email=email, phone="+12125550100", staff_notes="Bad knee.")
    class_id = await studio.new_class(capacity=1)
    await studio.booked(class_id, member)
    await studio.waits(class_id, await studio.new_member())
    await studio.submit(await studio.new_form(), member)
    return member, email


@case("bookings.staff.cancel_class")
async def cancel_class(studio: BookingStudio) -> str:
    return pack((await _crowded(studio))[0], "Ill.")


@case("bookings.staff.change_capacity")
async def change_capacity(studio: BookingStudio) -> str:
    return pack((await _crowded(studio))[0], 2)


@case("bookings.staff_bookings.cancel_booking")
async def cancel_booking(studio: BookingStudio) -> str:
    return pack((await _crowded(studio))[1])


@case("bookings.staff_bookings.choose_spot")
async def choose_spot(studio: BookingStudio) -> str:
    room = await studio.add("rooms", location_id=studio.location, name=uuid4().hex, capacity=10)
    _, free = await studio.new_spots("A1", "A2", room=room)
    class_id = await studio.new_class(spot_selection_mode="optional", room_id=room)
    return pack(UUID((await studio.booked(class_id, await studio.new_member()))["id"]), free)


@case("bookings.desk.undo_cancellation")
async def undo_cancellation(studio: BookingStudio) -> str:
    booking = UUID((await studio.booked(await studio.new_class(), await studio.new_member()))["id"])
    await studio.staff(staff_bookings.cancel_booking, booking)
    return pack(booking)


@case("bookings.staff_bookings.promote_entry")
async def promote_entry(studio: BookingStudio) -> str:
    class_id, _, waiting = await _crowded(studio)
    await studio.change("classes", class_id, capacity=2)
    (entry,) = await studio.rows("waitlist_entries", "booking_id = $2", waiting)
    return pack(entry["id"])


@case("bookings.desk.book_for_member")
async def book_for_member(studio: BookingStudio) -> str:
    return pack(StaffBooking(await studio.new_class(), await studio.new_member()))


@case("bookings.desk.move_booking")
async def move_booking(studio: BookingStudio) -> str:
    return pack(Move((await _crowded(studio))[1], await studio.new_class()))


@case("bookings.staff_bookings.mark")
async def mark(studio: BookingStudio) -> str:
    class_id = await studio.new_class(60)
    return pack(UUID((await studio.booked(class_id, await studio.new_member()))["id"]), "checked_in")


@case("bookings.staff_bookings.check_in_anyway")
async def check_in_anyway(studio: BookingStudio) -> str:
    class_id, form = await studio.new_class(60), await studio.new_form()
    booking = UUID((await studio.booked(class_id, await studio.new_member()))["id"])
    await studio.policy("classes", class_id, waiver_form_id=str(form))
    return pack(booking, Override(True, "Signs after class"))


@case("bookings.mails.switch_mails")
async def switch_mails(studio: BookingStudio) -> str:
    return pack(MailKind.BOOKED, False)


@case("schedule.classes.create")
async def create_class(studio: BookingStudio) -> str:
    start = datetime.now(UTC) + timedelta(days=3)
    times = {"start_time": start.isoformat(), "end_time": (start + timedelta(hours=1)).isoformat()}
    return pack(Given({"title": "Yoga", "location_id": str(studio.location), "capacity": 5, **times}))


@case("schedule.classes.change")
async def change_class(studio: BookingStudio) -> str:
    class_id, *_ = await _crowded(studio)
    start = datetime.now(UTC) + timedelta(days=3)
    times = {"start_time": start.isoformat(), "end_time": (start + timedelta(hours=1)).isoformat()}
    return pack(class_id, Given({"title": "Moved", "capacity": 2, **times}))


@case("schedule.series.create")
async def create_series(studio: BookingStudio) -> str:
    given = {"title": "Flow", "location_id": str(studio.location), "capacity": 5, "minutes": 60}
    return pack(Given({**given, "weekdays": ["tue"], "local_start": "09:00", "first_date": _date(1)}))


@case("schedule.series.change")
async def change_series(studio: BookingStudio) -> str:
    saved = await _series(studio)
    thursday = "series_id = $2 and extract(isodow from series_date) = 4 order by start_time"
    (first, *_) = await studio.rows("classes", thursday, saved.id)
    await studio.booked(first["id"], await studio.new_member())
    return pack(saved.id, SeriesChange({"local_start": "17:30", "weekdays": ["thu"]}))


@case("schedule.series.end")
async def end_series(studio: BookingStudio) -> str:
    saved = await _series(studio)
    (first, *_) = await studio.rows("classes", "series_id = $2 order by start_time desc", saved.id)
    await studio.booked(first["id"], await studio.new_member())
    return pack(saved.id, (datetime.now(UTC) + timedelta(days=9)).date())


@case("schedule.closures.create")
async def create_closure(studio: BookingStudio) -> str:
    await _series(studio)
    return pack(Given({"first_date": _date(2), "last_date": _date(20), "mode": "cancel"}))


@case("schedule.closures.remove")
async def remove_closure(studio: BookingStudio) -> str:
    given = Given({"first_date": _date(2), "last_date": _date(20), "mode": "skip"})
    closure = await studio.staff(closures.create, given)
    await _series(studio)
    return pack(closure.id)


@case("schedule.copy_week.copy_week")
async def copy_week(studio: BookingStudio) -> str:
    class_id = await studio.new_class()
    day = (await studio.row("classes", class_id))["start_time"].astimezone(ZoneInfo("America/New_York")).date()
    return pack(WeekCopy(studio.location, day, day + timedelta(days=28)))


@case("schedule.locations.create")
@case("schedule.class_types.create")
@case("schedule.instructors.create")
async def create_named(_studio: BookingStudio) -> str:
    return pack(Given({"name": "New"}))


@case("schedule.rooms.create")
async def create_room(studio: BookingStudio) -> str:
    spots = [{"label": "A1"}, {"label": "A2"}]
    return pack(Given({"name": "New", "location_id": str(studio.location), "capacity": 2, "spots": spots}))


@case("schedule.locations.change")
async def change_location(studio: BookingStudio) -> str:
    # It ends soon: in the new zone it may be the next day already, for which another class would be created.
    await _series(studio, last_date=_date(30))
    return pack(studio.location, Given({"timezone": "Asia/Kolkata", "name": "Moved"}))


@case("schedule.locations.deactivate")
async def deactivate_location(studio: BookingStudio) -> str:
    return pack(studio.other_location)


@case("schedule.rooms.change")
async def change_room(studio: BookingStudio) -> str:
    await studio.new_class()
    return pack(studio.room, Given({"capacity": 3, "spots": [{"label": "A1"}]}))


@case("schedule.rooms.deactivate")
async def deactivate_room(studio: BookingStudio) -> str:
    return pack(await studio.add("rooms", location_id=studio.location, name="Old", capacity=1))


@case("schedule.class_types.change")
async def change_class_type(studio: BookingStudio) -> str:
    await studio.new_class()
    return pack(studio.class_type, Given({"name": "New", "policy": {"promotion_cutoff_minutes": 5}}))


@case("schedule.pictures.change")
async def change_picture(studio: BookingStudio) -> str:
    await studio.new_class()
    return pack(Subject("class_type", studio.class_type), f"{uuid4().hex}.jpg")


@case("schedule.class_types.deactivate")
async def deactivate_class_type(studio: BookingStudio) -> str:
    return pack(await studio.add("class_types", name="Old"))


@case("schedule.instructors.change")
async def change_instructor(studio: BookingStudio) -> str:
    return pack(await studio.add("instructors", name="Old"), Given({"name": "New"}))


@case("schedule.instructors.deactivate")
async def deactivate_instructor(studio: BookingStudio) -> str:
    return pack(await studio.add("instructors", name="Old"))


@case("studio.change")
async def change_studio(studio: BookingStudio) -> str:
    await studio.new_class()
    return pack(Given({"name": "New", "policy": {"cancellation_window_minutes": 60}}))


@case("studio.change_rules")
async def change_rules(studio: BookingStudio) -> str:
    await studio.new_class()
    return pack({"cancellation_window_minutes": 90})


@case("catalog.create_product")
async def create_product(_studio: BookingStudio) -> str:
    return pack({"key": uuid4().hex, "name": "Ten", "product_type": "package", "credits_granted": 10})


@case("catalog.change_product")
async def change_product(studio: BookingStudio) -> str:
    product, _ = await _on_sale(studio)
    return pack(product, {"name": "Eleven", "location_ids": [str(studio.location)]})


@case("catalog.retire_product")
async def retire_product(studio: BookingStudio) -> str:
    return pack((await _on_sale(studio))[0])


@case("catalog.create_price")
async def create_price(studio: BookingStudio) -> str:
    return pack((await _on_sale(studio))[0], {"amount": "30.00", "default": True})


@case("catalog.replace_price")
async def replace_price(studio: BookingStudio) -> str:
    _, price = await _on_sale(studio, interval="month")
    return pack(price, {"amount": "30.00"})


@case("catalog.retire_price")
async def retire_price(studio: BookingStudio) -> str:
    return pack((await _on_sale(studio))[1])


@case("catalog.make_default")
async def make_default(studio: BookingStudio) -> str:
    product, _ = await _on_sale(studio, default=True)
    return pack(await studio.staff(catalog.create_price, product, {"amount": "30.00"}))


@case("purchases.sell")
async def sell(studio: BookingStudio) -> str:
    product, _ = await _on_sale(studio)
    return pack(Order(await studio.new_member(), product))


@case("purchases.record_product")
async def record_product(studio: BookingStudio) -> str:
    product = await studio.staff(
        catalog.create_product, {"key": uuid4().hex, "name": "Towel", "product_type": "retail"}
    )
    await studio.staff(catalog.create_price, product, {"amount": "5.00"})
    return pack(Order(await studio.new_member(), product))


@case("purchases.record_line")
async def record_line(studio: BookingStudio) -> str:
    line = {"product_key": "towel", "product_type": "retail", "amount_total": "5.00"}
    return pack(await studio.new_member(), None, line)


@case("purchases.correct_way")
async def correct_way(studio: BookingStudio) -> str:
    return pack((await _sold(studio)).purchase_id, PaidBy.CASH)


@case("members.export.export_list")
async def export_members(_studio: BookingStudio) -> str:
    return pack()


@case("purchases.export")
async def export_purchases(_studio: BookingStudio) -> str:
    return pack()


@case("purchases.mark")
async def mark_purchase(studio: BookingStudio) -> str:
    return pack((await _sold(studio, paid=False)).purchase_id, PurchaseStatus.FAILED)


@case("purchases.refund")
async def refund(studio: BookingStudio) -> str:
    return pack((await _sold(studio)).purchase_id, "5.00", "Unhappy.")


@case("purchases.waive_fee")
async def waive_fee(studio: BookingStudio) -> str:
    line = {"product_key": "late_cancel_fee", "product_type": "fee", "status": "pending", "quantity": 1}
    amount = {"amount_total": Decimal(15), "currency": "USD"}
    return pack(await studio.add("purchases", member_id=await studio.new_member(), **line, **amount), "A mistake.")


@case("memberships.pause")
async def pause(studio: BookingStudio) -> str:
    return pack((await _sold(studio)).membership_id, Pause(reason="Travel."))


@case("memberships.resume")
async def resume(studio: BookingStudio) -> str:
    membership = (await _sold(studio)).membership_id
    await studio.staff(memberships.pause, membership, Pause())
    return pack(membership)


@case("memberships.cancel")
async def cancel_membership(studio: BookingStudio) -> str:
    return pack((await _sold(studio)).membership_id, "Moves away.", at_period_end=False)


@case("memberships.uncancel")
async def uncancel(studio: BookingStudio) -> str:
    membership = await _recurring(studio)
    await studio.staff(memberships.cancel, membership, at_period_end=True)
    return pack(membership)


@case("memberships.set_renewal")
async def set_renewal(studio: BookingStudio) -> str:
    return pack(await _recurring(studio), False)


async def _recurring(studio: BookingStudio) -> UUID:
    product, _ = await _on_sale(studio, interval="month")
    sold = await studio.staff(purchases.sell, Order(await studio.new_member(), product))
    membership_id: UUID = sold.membership_id
    return membership_id


@case("memberships.adjust_credits")
async def adjust_credits(studio: BookingStudio) -> str:
    return pack((await _sold(studio)).membership_id, 3, "A gift.")


@case("members.staff.create")
async def create_member(studio: BookingStudio) -> str:
    email = f"{uuid4().hex}@example.com"
    await studio.add("leads", email=email, first_name="L", last_name="L")
    return pack({"first_name": "Jo", "last_name": "Reed", "email": email})


@case("members.staff.change")
async def change_member(studio: BookingStudio) -> str:
    member, email = await _person(studio)
    return pack(member, {"first_name": "Jo", "email": f"new-{email}"})


@case("members.staff.suspend")
async def suspend(studio: BookingStudio) -> str:
    return pack(await studio.new_member(), "Unpaid.")


@case("members.staff.unsuspend")
async def unsuspend(studio: BookingStudio) -> str:
    member = await studio.new_member()
    await studio.staff(members.suspend, member)
    return pack(member)


@case("members.staff.add_note")
async def add_note(studio: BookingStudio) -> str:
    return pack(await studio.new_member(), "Bad knee.")


@case("members.merge.merge")
async def merge(studio: BookingStudio) -> str:
    (kept, _), (merged, _) = await _person(studio), await _person(studio)
    return pack(kept, merged)


@case("members.erase.erase")
async def erase(studio: BookingStudio) -> str:
    return pack((await _person(studio))[0])


@case("lead_staff.move")
async def move_lead(studio: BookingStudio) -> str:
    return pack(await studio.add("leads", email=f"{uuid4().hex}@example.com"), LeadStatus.CONTACTED)


@case("lead_staff.add_note")
async def note_lead(studio: BookingStudio) -> str:
    return pack(await studio.add("leads", email=f"{uuid4().hex}@example.com"), "Call again.")


@case("lead_staff.convert")
async def convert(studio: BookingStudio) -> str:
    lead = await studio.add("leads", email=f"{uuid4().hex}@example.com", first_name="L", last_name="L")
    return pack(lead, {})


@case("forms.staff.create")
async def create_form(_studio: BookingStudio) -> str:
    fields = [{"key": "goal", "label": "Goal", "type": "text"}]
    return pack({"title": "Trial", "slug": uuid4().hex, "fields": fields, "status": "published"})


@case("forms.staff.change")
async def change_form(studio: BookingStudio) -> str:
    return pack(await studio.new_form(), {"title": "New", "status": "archived"})


@case("forms.drafts.save_draft")
async def save_form_draft(studio: BookingStudio) -> str:
    return pack(await studio.new_form(), DraftToSave({"title": "New"}, 0))


async def _form_with_draft(studio: BookingStudio) -> UUID:
    form_id = await studio.new_form()
    await studio.staff(drafts.save_draft, form_id, DraftToSave({"title": "New"}, 0))
    return form_id


@case("forms.drafts.discard_draft")
async def discard_form_draft(studio: BookingStudio) -> str:
    return pack(await _form_with_draft(studio))


@case("forms.drafts.publish_draft")
async def publish_form_draft(studio: BookingStudio) -> str:
    return pack(await _form_with_draft(studio), 1)


@case("forms.staff.send_link")
async def send_link(studio: BookingStudio) -> str:
    return pack(FormLinkToSend(await studio.new_form(), await studio.new_member(email=f"{uuid4().hex}@example.com")))


@case("forms.staff.decide")
async def decide(studio: BookingStudio) -> str:
    submission = await studio.submit(await studio.new_form(), await studio.new_member())
    return pack(submission, SubmissionStatus.CONFIRMED)


@case("keys.issue")
async def issue_key(_studio: BookingStudio) -> str:
    return pack(KeyRequest("Partner", ["schedule:read"]))


async def _issued(studio: BookingStudio) -> str:
    issued = await studio.staff(keys.issue, KeyRequest("Partner", ["schedule:read"]))
    credential_id: str = issued.id
    return credential_id


@case("keys.rotate_key")
async def rotate_key(studio: BookingStudio) -> str:
    return pack(await _issued(studio), timedelta(hours=1))


@case("keys.revoke_key")
async def revoke_key(studio: BookingStudio) -> str:
    return pack(await _issued(studio))


@case("keys.change_key")
async def change_key(studio: BookingStudio) -> str:
    return pack(await _issued(studio), {"rate_limit": 5, "scopes": ["studio:read"]})


@case("studio.store_logo")
async def store_logo(_studio: BookingStudio) -> str:
    return pack(png(64, 64))


@case("studio.remove_logo")
async def remove_logo(studio: BookingStudio) -> str:
    await studio.staff(studio_flow.store_logo, png(64, 64))
    return pack()


class PackedCsv:
    """A CSV file that becomes a ``CsvFile`` where it is unpacked: mappings cannot be pickled."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __reduce__(self) -> Any:
        return clients, (self.text,)


def clients(text: str) -> CsvFile:
    mapping = load_mapping("generic", KINDS["members"], ())
    return CsvFile(io.BytesIO(text.encode()), "clients.csv", mapping, str, apply=True)


@case("csv_import.import_csv")
async def import_clients(_studio: BookingStudio) -> str:
    return pack(PackedCsv(CLIENTS.format(uuid4().hex)))


@case("studio_file.load.import_rows")
async def import_file(studio: BookingStudio) -> str:
    people = [{"id": str(uuid4()), "first_name": "Ada", "last_name": "Okafor", "email": None} for _ in range(3)]
    given = {"studio": {"id": str(studio.id), "primary_color": "#123456"}, "members": people}
    return pack(io.BytesIO(json.dumps(given).encode()), Options(), silent)


def sealing_keys() -> list[bytes]:
    return [b"k" * 32]


async def _endpoint(studio: BookingStudio) -> UUID:
    """An endpoint of the studio's key, with a message that waits for it."""
    access = replace(studio.access, credential_id=studio.key.split("_")[2])
    details = {"url": "https://example.com/", "event_types": ["*"], "description": None, "enabled": True}
    async with studio.database.transaction() as connection:
        made = await webhooks.create(connection, access, Sealer(sealing_keys), details)
    assert isinstance(made, str)
    endpoint_id = UUID(json.loads(made)["id"])
    await studio.staff(webhook_staff.send_test, endpoint_id)
    return endpoint_id


@case("webhook_staff.switch")
async def switch_endpoint(studio: BookingStudio) -> str:
    return pack(await _endpoint(studio), enabled=False)


@case("webhook_staff.delete")
async def delete_endpoint(studio: BookingStudio) -> str:
    return pack(await _endpoint(studio))


@case("webhook_staff.rotate_secret")
async def rotate_endpoint(studio: BookingStudio) -> str:
    return pack(await _endpoint(studio), Sealer(sealing_keys))


DETAILS = {"url": "https://example.com/", "event_types": ["*"], "description": None, "enabled": True}


@case("webhook_staff.create")
async def create_endpoint(studio: BookingStudio) -> str:
    return pack(studio.key.split("_")[2], DETAILS, Sealer(sealing_keys))


@case("webhook_staff.change")
async def change_endpoint(studio: BookingStudio) -> str:
    return pack(await _endpoint(studio), {"url": "https://example.org/"})


async def _delivered(studio: BookingStudio) -> tuple[UUID, UUID]:
    """An endpoint of the studio's key, and a delivery of an event to it."""
    endpoint = await _endpoint(studio)
    await studio.booked(await studio.new_class(), await studio.new_member())
    await events.number_studio(studio.database, studio.access)
    rows = await studio.rows("webhook_deliveries", "endpoint_id = $2 and event_id is not null", endpoint)
    return endpoint, rows[0]["id"]


@case("webhook_staff.recover")
async def recover_endpoint(studio: BookingStudio) -> str:
    endpoint, _ = await _delivered(studio)
    return pack(endpoint, datetime(2020, 1, 1, tzinfo=UTC))


@case("webhook_staff.resend")
async def resend_to_endpoint(studio: BookingStudio) -> str:
    return pack(*await _delivered(studio))


@case("webhook_staff.send_test")
async def message_endpoint(studio: BookingStudio) -> str:
    return pack(await _endpoint(studio))


async def _invited(studio: BookingStudio) -> UUID:
    owner = await studio.staff(roles.invite, Invitation(f"{uuid4().hex}@example.com", Grant(Role.OWNER)))
    await studio.staff(roles.invite, Invitation(f"{uuid4().hex}@example.com", Grant(Role.OWNER)))
    account_id: UUID = owner.account_id
    return account_id


@case("staff.roles.invite")
async def invite(_studio: BookingStudio) -> str:
    return pack(Invitation(f"{uuid4().hex}@example.com", Grant(Role.MANAGER)))


@case("staff.roles.change_role")
async def change_role(studio: BookingStudio) -> str:
    return pack(await _invited(studio), Grant(Role.FRONT_DESK))


@case("staff.roles.disable")
async def disable(studio: BookingStudio) -> str:
    return pack(await _invited(studio))


@case("staff.roles.enable")
async def enable(studio: BookingStudio) -> str:
    account = await _invited(studio)
    await studio.staff(roles.disable, account)
    return pack(account)


@case("staff.roles.make_reset_link")
async def make_reset_link(studio: BookingStudio) -> str:
    account = await _invited(studio)
    accepted = "update staff_accounts set password_hash = '$argon2id$none' where id = $1"
    await studio.api.connection.execute(accepted, account)
    return pack(account, mail=True)
