"""A studio that uses everything a studio file holds, made by a file and then by the flows of its staff."""

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from PIL import Image

from studiogate.domain.access import Access, operator_access
from studiogate.domain.bookings.overrides import Override
from studiogate.domain.mails import MailKind
from studiogate.domain.membership_changes import Pause
from studiogate.domain.pictures import SIZES, encoded
from studiogate.domain.purchases import Order
from studiogate.domain.refusals import Refusal
from studiogate.flows import memberships, purchases
from studiogate.flows import studio as studio_flows
from studiogate.flows.bookings import desk, mails
from studiogate.flows.bookings.desk import Move, StaffBooking
from studiogate.flows.bookings.staff import cancel_class
from studiogate.flows.members import staff
from studiogate.flows.members.erase import erase
from studiogate.flows.members.merge import merge
from studiogate.flows.schedule import class_types, classes, closures, series
from studiogate.flows.schedule.rows import Given
from studiogate.flows.schedule.series import SeriesChange
from studiogate.flows.studio_file import FilesBeside
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file.tables import TABLES
from studiogate.storage.upload_folder import UploadFolder
from tests.support.csv_imports import imported, mapping_of
from tests.support.pictures import png
from tests.support.studio_files import Document, load, small_studio, uid, with_history

SEEN = "2026-01-05T10:00:00+00:00"
LOGO = base64.b64encode(png()).decode()
PICTURE = encoded(Image.new("RGB", SIZES["instructor"]))
LATER = "2031-01-05T10:00:00+00:00"


def full_file() -> Document:
    """Return the small studio with its history, and a value in every field that the flows below do not set."""
    document = with_history(small_studio())
    document["studio"] |= {"primary_color": "#123456", "logo_url": "https://example.com/logo.png", "logo": LOGO}
    document["studio"] |= {"test": True, "hour_cycle": "12h", "date_order": "iso"}
    document["locations"][0] |= {
        "city": "C",
        "state": "S",
        "timezone": "America/Chicago",
        "address": {"line1": "1 Main Street", "line2": "Rear", "postal_code": "07302", "country": "US"},
        "latitude": 40.7,
        "longitude": -74.25,
        "phone": "+12125550123",
        "policy": {"late_action": "none"},
    }
    document["locations"][1] |= {"active": False}
    document["rooms"][0]["spots"][0] |= {"y": 2}
    document["rooms"][1] |= {"active": False}
    document["class_types"][0] |= {"description": "D", "beginner_safe": True, "recovery": False}
    document["class_types"].append({"id": uid("north", "retired"), "name": "Retired"})
    document["class_types"][0] |= {"picture": PICTURE.name}
    document["instructors"][0] |= {"tagline": "T", "picture": PICTURE.name}
    document["instructors"].append({"id": uid("north", "former"), "name": "Former", "active": False})
    document["classes"][1] |= {"description": "D", "allow_waitlist": False, "visible": False}
    document["classes"][1] |= {"policy": {"promotion_grace_minutes": 5}}
    _fill_catalog(document)
    _fill_people(document)
    return document


def _fill_catalog(document: Document) -> None:
    product = document["products"][0]
    product |= {"class_type_ids": [uid("north", "class_type")]}
    monthly = {"id": uid("north", "monthly"), "amount": "50.00", "price_type": "recurring", "interval": "month"}
    product["prices"].append(monthly | {"default": True})
    old = {"id": uid("north", "old"), "key": "old", "name": "Old", "product_type": "retail"}
    price = {"id": uid("north", "old price"), "amount": "1.00", "price_type": "one_time", "active": False}
    document["products"].append(old | {"active": False, "client_visible": False, "prices": [price]})
    document["purchases"][0] |= {"quantity": 2, "location_id": uid("north", "location", 1)}
    document["purchases"][1] |= {"amount_total": "5.00", "currency": "USD", "paid_by": "cash"}


def _fill_people(document: Document) -> None:
    members = document["members"]
    members[1] |= {"role": "user", "membership_type": "gold", "suspended": True, "staff_notes": "prefers the back row"}
    members[1] |= {"membership_start_date": SEEN, "membership_end_date": LATER}
    for name in ("twin", "gone"):
        members.append({"id": uid("north", name), "first_name": name, "last_name": "N", "email": f"{name}@example.com"})
    ended: Document = {
        "id": uid("north", "ended"),
        "member_id": uid("north", "member", 2),
        "product_id": uid("north", "product"),
    }
    ended |= {"status": "cancelled", "started_at": SEEN, "cancel_at": SEEN, "cancelled_at": SEEN, "ended_at": SEEN}
    ended |= {"cancellation_reason": "moved", "cancel_at_period_end": True, "credits_remaining": 0}
    document["memberships"].append(ended | {"paused_at": SEEN})
    document["leads"].append(
        {"id": uid("north", "other lead"), "email": "lead@example.com", "first_name": "L", "last_name": "L"}
        | {"phone": "(718) 555-0101", "source": "web", "status": "lost", "lifecycle_stage": "former_member"}
        | {"staff_notes": "called"}
    )
    document["forms"][0] |= {"description": "D"}
    document["submissions"][0] |= {"lead_id": uid("north", "lead"), "consents": [{"key": "a"}]}
    document["waitlist"][0] |= {"skip_reason": "overlap"}


class WholeStudio:
    """Runs flows as the operator; none may refuse."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.access: Access = operator_access(UUID(uid("north", "studio")))

    async def do(self, flow: Any, *arguments: Any, **options: Any) -> Any:
        outcome = await flow(self.connection, self.access, *arguments, **options)
        assert not isinstance(outcome, Refusal), outcome
        return outcome


async def make_whole_studio(connection: Connection, folder: Path) -> WholeStudio:
    """Make the studio; its submission's file and its pictures are in ``folder / "data"``."""
    beside = folder / "first.files"
    beside.mkdir()
    (beside / uid("north", "file")).write_bytes(b"hello")
    (beside / PICTURE.name).write_bytes(PICTURE.content)
    outcome = await load(connection, full_file(), files=FilesBeside(beside, UploadFolder(folder / "data")))
    assert outcome.faults == []
    studio = WholeStudio(connection)
    await _make_schedule(studio)
    await _sell(studio)
    await _keep_people(studio)
    await studio.do(mails.switch_mails, MailKind.BOOKED, False)
    row = "external_id,first_name,last_name,email\nE-1,Ext,Ernal,ext@example.com\n"
    await imported(connection, mapping_of("members"), row)
    for table in (each.name for each in TABLES if each.revised):  # so that all revisions have risen
        await connection.execute(f"update {table} set created_at = created_at - interval '1 second'")
    return studio


async def _make_schedule(studio: WholeStudio) -> None:
    """A series of which one class was changed, one cancelled, and the later ones split off; three closures."""
    today = datetime.now(UTC).date()
    day = [str(today + timedelta(days=number)) for number in range(40)]
    await studio.do(studio_flows.change, Given({"schedule_weeks_ahead": 6}))
    weekly = {"title": "Weekly", "description": "D", "location_id": uid("north", "location", 0), "capacity": 5}
    weekly |= {"class_type_id": uid("north", "class_type"), "room_id": uid("north", "room")}
    weekly |= {"instructor_id": uid("north", "instructor"), "allow_waitlist": False, "visible": False}
    weekly |= {"spot_selection_mode": "optional", "policy": {"waitlist_mode": "off"}, "weekdays": ["mon", "thu", "sat"]}
    weekly |= {"local_start": "18:30", "minutes": 75, "every_weeks": 2, "first_date": day[0], "last_date": "2031-05-01"}
    await studio.do(closures.create, Given({"first_date": day[20], "last_date": day[21], "mode": "skip"}))
    saved = await studio.do(series.create, Given(weekly))
    made = await studio.connection.fetch(
        "select id, series_date from classes where series_id = $1 order by 2", saved.id
    )
    await studio.do(classes.change, made[0]["id"], Given({"title": "Special"}))
    await studio.do(cancel_class, made[1]["id"])
    closed = {"first_date": str(made[2]["series_date"]), "last_date": str(made[2]["series_date"]), "mode": "cancel"}
    await studio.do(closures.create, Given(closed | {"location_id": weekly["location_id"], "reason": "Repairs"}))
    await studio.do(series.change, saved.id, SeriesChange({"capacity": 6}, made[3]["series_date"]))
    await studio.do(class_types.change, UUID(uid("north", "retired")), Given({"active": False}))


async def _sell(studio: WholeStudio) -> None:
    """A sale that is paused and partly refunded, adjusted credits, a waived fee, a booking against the rules, moved."""
    member, monthly = UUID(uid("north", "member", 3)), UUID(uid("north", "monthly"))
    order = Order(member, UUID(uid("north", "product")), monthly, UUID(uid("north", "location", 0)), auto_renew=True)
    sold = await studio.do(purchases.sell, order)
    await studio.do(purchases.refund, sold.purchase_id, "10.00", "late opening")
    await studio.do(memberships.adjust_credits, sold.membership_id, 2, "birthday")
    ahead = datetime.now(UTC) + timedelta(days=3)
    await studio.do(memberships.pause, sold.membership_id, Pause(ahead, ahead + timedelta(days=3), "holiday"))
    await studio.do(purchases.waive_fee, UUID(uid("north", "fee")), "was ill")
    wanted = StaffBooking(UUID(uid("north", "class", 1)), UUID(uid("north", "member", 1)))
    reason = Override(True, "a regular guest")
    booked = await studio.do(desk.book_for_member, wanted._replace(override=reason))
    times = {"start_time": ahead.isoformat(), "end_time": (ahead + timedelta(hours=1)).isoformat()}
    other = {"title": "Other", "capacity": 3, "location_id": uid("north", "location", 0), **times}
    made = await studio.do(classes.create, Given(other))
    await studio.do(desk.move_booking, Move(UUID(booked.booking["id"]), made.id, override=reason))


async def _keep_people(studio: WholeStudio) -> None:
    """A note, a duplicate that was merged, a member who was erased."""
    member = UUID(uid("north", "member", 2))
    await studio.do(staff.add_note, member, "asked about parking")
    await studio.do(merge, member, UUID(uid("north", "twin")))
    await studio.do(erase, UUID(uid("north", "gone")))
