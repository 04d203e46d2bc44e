"""What each flow of the studio's side leaves behind, as one table: its audit entries and its events.

Whatever a flow changes in a resource that partners read has exactly one event, with exactly the fields that changed and
their old values. Every entry says who did it, and from where. A new flow adds its line to ``TRACES``.
"""

import base64
import pickle
from importlib import import_module
from random import Random
from typing import Any

import pytest

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import PERMISSIONS, Role
from studiogate.storage import event_changes
from tests.flows.test_staff_permissions import FLOWS
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio
from tests.support.races.announcements import TABLES, Resources, Step, check_events, compared, id_column
from tests.support.races.killed_flow import pack
from tests.support.races.staff_flow_cases import CASES, Case
from tests.support.staff import ACCOUNT, entries, person

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio

# The actions in the audit log, then the types of the events.
TRACES: dict[str, tuple[set[str], set[str]]] = {
    "bookings.staff_bookings.mark": ({"booking.check_in"}, {"booking.updated"}),
    "bookings.staff_bookings.choose_spot": ({"booking.spot"}, {"booking.updated"}),
    "bookings.staff_bookings.check_in_anyway": ({"booking.check_in"}, {"booking.updated"}),
    "bookings.desk.undo_cancellation": (
        {"booking.cancel_undone", "booking.create"},
        {"booking.created", "booking.updated"},
    ),
    "bookings.desk.book_for_member": ({"booking.create"}, {"booking.created"}),
    "bookings.mails.switch_mails": ({"studio.switch_mails"}, set()),
    "bookings.desk.move_booking": (
        {"booking.create", "booking.move"},
        {"booking.cancelled", "booking.created", "booking.updated", "waitlist.updated"},
    ),
    "bookings.staff.cancel_class": ({"class.cancel"}, {"booking.cancelled", "class.cancelled", "waitlist.updated"}),
    "bookings.staff.change_capacity": ({"class.capacity"}, {"booking.updated", "class.updated", "waitlist.updated"}),
    "bookings.staff_bookings.cancel_booking": (
        {"booking.cancel"},
        {"booking.cancelled", "booking.updated", "waitlist.updated"},
    ),
    "bookings.staff_bookings.promote_entry": ({"waitlist.promote"}, {"booking.updated", "waitlist.updated"}),
    "catalog.change_product": ({"product.change"}, {"product.updated"}),
    "catalog.create_price": ({"price.create"}, {"product.updated"}),
    "catalog.create_product": ({"product.create"}, {"product.created"}),
    "catalog.make_default": ({"price.default"}, {"product.updated"}),
    "catalog.replace_price": ({"price.create", "price.replace"}, {"product.updated"}),
    "catalog.retire_price": ({"price.retire"}, {"product.updated"}),
    "catalog.retire_product": ({"product.retire"}, {"product.updated"}),
    "forms.drafts.discard_draft": ({"form.discard"}, set()),
    "forms.drafts.publish_draft": ({"form.publish"}, {"form.updated"}),
    "forms.drafts.save_draft": ({"form.edit"}, set()),
    "forms.staff.export_submissions": ({"form.export"}, set()),
    "forms.staff.decide": ({"submission.confirm"}, {"form_submission.updated"}),
    "forms.staff.change": ({"form.archive"}, {"form.updated"}),
    "forms.staff.create": ({"form.create"}, {"form.created"}),
    "forms.staff.files": ({"submission.files"}, set()),
    "forms.staff.link": ({"form.link"}, set()),
    "forms.staff.send_link": ({"form.send_link"}, set()),
    "keys.change_key": ({"key.change"}, set()),
    "keys.issue": ({"key.create"}, set()),
    "keys.revoke_key": ({"key.revoke"}, set()),
    "keys.rotate_key": ({"key.rotate"}, set()),
    "lead_staff.add_note": ({"lead.note"}, set()),
    "lead_staff.convert": ({"lead.convert", "member.create"}, {"lead.updated", "member.created"}),
    "lead_staff.move": ({"lead.move"}, {"lead.updated"}),
    "studio.remove_logo": ({"studio.logo"}, {"studio.updated"}),
    "studio.store_logo": ({"studio.logo"}, {"studio.updated"}),
    "members.erase.erase": (
        {"member.erase"},
        {
            "booking.cancelled",
            "booking.updated",
            "lead.updated",
            "member.erased",
            "member.updated",
            "membership.updated",
            "waitlist.updated",
        },
    ),
    "members.export.export": ({"member.export"}, set()),
    "members.export.export_list": ({"member.export_list"}, set()),
    "members.merge.merge": (
        {"member.merge"},
        {"booking.updated", "lead.updated", "member.merged", "membership.updated"},
    ),
    "members.staff.add_note": ({"member.note"}, set()),
    "members.staff.change": ({"member.change"}, {"lead.updated", "member.updated"}),
    "members.staff.create": ({"member.create"}, {"lead.updated", "member.created"}),
    "members.staff.suspend": ({"member.suspend"}, set()),
    "members.staff.unsuspend": ({"member.unsuspend"}, set()),
    "memberships.adjust_credits": ({"membership.credits"}, {"membership.updated"}),
    "memberships.cancel": ({"membership.cancel"}, {"membership.updated"}),
    "memberships.pause": ({"membership.pause"}, {"membership.updated"}),
    "memberships.resume": ({"membership.resume"}, {"membership.updated"}),
    "memberships.set_renewal": ({"membership.renewal"}, {"membership.updated"}),
    "memberships.uncancel": ({"membership.uncancel"}, {"membership.updated"}),
    "purchases.correct_way": ({"purchase.correct"}, {"purchase.updated"}),
    "purchases.export": ({"purchase.export"}, set()),
    "purchases.mark": ({"purchase.mark"}, {"membership.updated", "purchase.updated"}),
    "purchases.record_line": ({"purchase.record"}, {"purchase.created"}),
    "purchases.record_product": ({"purchase.record"}, {"purchase.created"}),
    "purchases.refund": ({"purchase.refund"}, {"purchase.updated"}),
    "purchases.waive_fee": ({"fee.waive"}, {"purchase.updated"}),
    "purchases.sell": ({"membership.sell"}, {"membership.created", "purchase.created"}),
    "schedule.class_types.change": ({"class_type.change"}, {"class.updated", "class_type.updated"}),
    "schedule.class_types.create": ({"class_type.create"}, {"class_type.created"}),
    "schedule.class_types.deactivate": ({"class_type.deactivate"}, {"class_type.updated"}),
    "schedule.classes.change": ({"class.change"}, {"booking.updated", "class.updated", "waitlist.updated"}),
    "schedule.classes.create": ({"class.create"}, {"class.created"}),
    "schedule.closures.create": ({"class.cancel", "closure.create"}, {"class.cancelled"}),
    "schedule.closures.remove": ({"closure.remove"}, {"class.created"}),
    "schedule.copy_week.copy_week": ({"class.create"}, {"class.created"}),
    "schedule.instructors.change": ({"instructor.change"}, {"instructor.updated"}),
    "schedule.instructors.create": ({"instructor.create"}, {"instructor.created"}),
    "schedule.instructors.deactivate": ({"instructor.deactivate"}, {"instructor.updated"}),
    "schedule.locations.change": ({"location.change"}, {"class.updated", "location.updated"}),
    "schedule.locations.create": ({"location.create"}, {"location.created"}),
    "schedule.locations.deactivate": ({"location.deactivate"}, {"location.updated"}),
    "schedule.pictures.change": ({"class_type.picture"}, {"class_type.updated"}),
    "schedule.rooms.change": ({"room.change", "room.spots"}, {"room.updated"}),
    "schedule.rooms.create": ({"room.create", "room.spots"}, {"room.created"}),
    "schedule.rooms.deactivate": ({"room.deactivate"}, {"room.updated"}),
    "schedule.series.change": ({"class.cancel", "series.change"}, {"class.cancelled", "class.updated"}),
    "schedule.series.create": ({"series.create"}, {"class.created"}),
    "schedule.series.end": ({"class.cancel", "series.end"}, {"booking.cancelled", "class.cancelled"}),
    "staff.roles.change_role": ({"staff.change_role"}, set()),
    "staff.roles.disable": ({"staff.disable"}, set()),
    "staff.roles.enable": ({"staff.enable"}, set()),
    "staff.roles.invite": ({"staff.invite"}, set()),
    "studio.change": ({"studio.change"}, {"class.updated", "studio.updated"}),
    "webhook_staff.change": ({"webhook_endpoint.change"}, set()),
    "webhook_staff.create": ({"webhook_endpoint.create"}, set()),
    "studio.change_rules": ({"studio.change"}, {"class.updated"}),
    "webhook_staff.delete": ({"webhook_endpoint.delete"}, set()),
    "webhook_staff.recover": ({"webhook_endpoint.recover"}, set()),
    "webhook_staff.resend": ({"webhook_endpoint.resend"}, set()),
    "webhook_staff.rotate_secret": ({"webhook_endpoint.rotate_secret"}, set()),
    "webhook_staff.send_test": ({"webhook_endpoint.test"}, set()),
    "webhook_staff.switch": ({"webhook_endpoint.change"}, {"webhook_endpoint.disabled"}),
}
# A form that is changed and withdrawn is announced twice, so that readers of published forms never see the change. A
# lead that follows its member to another email is converted by it.
TWICE = {"forms.staff.change", "members.staff.change"}
# Imports, new studios and sessions have tests of their own.
ELSEWHERE = {
    "csv_import.import_csv",
    "staff.roles.end_sessions",
    "staff.roles.make_reset_link",
    "studio.create",
    "studio_file.load.import_rows",
}


async def a_file(studio: BookingStudio) -> str:
    return pack(await studio.submit(await studio.new_form(), await studio.new_member()))


async def a_form(studio: BookingStudio) -> str:
    return pack(await studio.new_form())


async def a_link(studio: BookingStudio) -> str:
    return pack(await studio.new_form(), await studio.new_member())


async def a_member(studio: BookingStudio) -> str:
    return pack(await studio.new_member())


SITUATIONS: dict[str, Case] = {
    **{flow: situation for flow, situation in CASES.items() if flow not in ELSEWHERE},
    "forms.staff.export_submissions": a_form,
    "forms.staff.files": a_file,
    "forms.staff.link": a_link,
    "members.export.export": a_member,
}


# What is walked over: the imports too, which say more than a table can.
WALKED = {**SITUATIONS, **{flow: case for flow, case in CASES.items() if flow != "staff.roles.make_reset_link"}}
# Sessions and links are those of an account, which nobody has here; another studio is in no walk; rows are imported as
# a part of the import of a file.
NOT_WALKED = {
    "staff.roles.end_sessions",
    "staff.roles.make_reset_link",
    "studio.create",
    "studio_file.load.import_rows",
}


async def resources(studio: BookingStudio) -> Resources:
    """Return every resource of the studio as partners read it."""
    found: Resources = {}
    for table, type_ in {**TABLES, "webhook_endpoints": EventType.WEBHOOK_ENDPOINT_DISABLED}.items():
        ids = [row[id_column(table)] for row in await studio.rows(table)]
        for wire in (await event_changes.snapshot(studio.api.connection, studio.access, type_, ids)).values():
            found[wire["object"], wire["id"]] = compared(wire)
    return found


async def events(studio: BookingStudio) -> list[Any]:
    query = """
        select id, type, actor, object::text as object, previous_attributes::text as previous, merged_id
        from events where studio_id = $1 order by created_at, id"""
    return list(await studio.api.connection.fetch(query, studio.id))


def test_the_table_has_every_flow() -> None:
    assert set(TRACES) | ELSEWHERE == set(FLOWS)
    assert set(SITUATIONS) == set(TRACES)
    assert set(WALKED) | NOT_WALKED == set(FLOWS)


async def run(studio: BookingStudio, flow: str, packed: str, access: Access) -> Any:
    arguments, options = pickle.loads(base64.b64decode(packed))  # noqa: S301
    module, _, name = flow.rpartition(".")
    async with studio.database.connection() as connection:
        return await getattr(import_module(f"studiogate.flows.{module}"), name)(
            connection, access, *arguments, **options
        )


async def traces_of(studio: BookingStudio, flow: str) -> tuple[set[str], set[str]]:
    """Run a flow in its situation. Return the actions and types of events that it leaves behind, which must be what
    has changed."""
    packed = await WALKED[flow](studio)
    earlier = {each["id"] for each in [*await events(studio), *await entries(studio)]}
    before = await resources(studio)
    done = await run(studio, flow, packed, person(studio))
    assert not isinstance(done, Refusal), (flow, done)
    announced = [each for each in await events(studio) if each["id"] not in earlier]
    recorded = [each for each in await entries(studio) if each["id"] not in earlier]
    who = {(each["account_id"], each["channel"], each["actor_name"], each["address"]) for each in recorded}
    channel = "console" if flow in SITUATIONS else "import"
    assert who == {(ACCOUNT, channel, "desk@example.com", "192.0.2.1")}, flow
    step = Step("staff", several=flow in TWICE, redacted=flow == "members.erase.erase")
    check_events(before, await resources(studio), announced, step)
    return {each["action"] for each in recorded}, {each["type"] for each in announced}


@pytest.mark.parametrize("flow", SITUATIONS)
async def test_what_a_flow_leaves_behind(studio: BookingStudio, flow: str) -> None:
    assert await traces_of(studio, flow) == TRACES[flow]
    assert await studio.findings() == [], "the audit log agrees with what was written"


@pytest.mark.parametrize("seed", range(2))
async def test_a_walk_over_every_flow(studio: BookingStudio, seed: int) -> None:
    """In one studio, so that each flow meets what the others have left."""
    for flow in Random(seed).sample(sorted(WALKED), len(WALKED)):
        actions, _ = await traces_of(studio, flow)
        assert TRACES.get(flow, (set(), set()))[0] <= actions, flow


# What staff who are limited to one location get for a row of another one, and for one of their own (None: it is done).
# The other flows are about what belongs to the whole studio.
HERE_ONLY = ("not_found", None)
NOT_IN_PART = ("permission_denied", "permission_denied")  # needs all locations
OF_NO_LOCATION = ("not_found", "not_found")  # what has no location is not theirs
UNNAMED = ("validation_error", None)  # a location that is not theirs is no location
LIMITED: dict[str, tuple[str, str | None]] = {
    "bookings.staff_bookings.mark": HERE_ONLY,
    "bookings.staff_bookings.check_in_anyway": HERE_ONLY,
    "bookings.staff_bookings.choose_spot": HERE_ONLY,
    "bookings.desk.undo_cancellation": HERE_ONLY,
    "bookings.desk.book_for_member": HERE_ONLY,
    "bookings.mails.switch_mails": NOT_IN_PART,
    "bookings.desk.move_booking": HERE_ONLY,
    "bookings.staff.cancel_class": HERE_ONLY,
    "bookings.staff.change_capacity": HERE_ONLY,
    "bookings.staff_bookings.cancel_booking": HERE_ONLY,
    "bookings.staff_bookings.promote_entry": HERE_ONLY,
    # Of a product for all locations; a new one must name theirs.
    "catalog.change_product": NOT_IN_PART,
    "catalog.create_price": NOT_IN_PART,
    "catalog.create_product": ("validation_error", "validation_error"),
    "catalog.make_default": NOT_IN_PART,
    "catalog.replace_price": NOT_IN_PART,
    "catalog.retire_price": NOT_IN_PART,
    "catalog.retire_product": NOT_IN_PART,
    "studio.remove_logo": NOT_IN_PART,
    "studio.store_logo": NOT_IN_PART,
    "members.erase.erase": NOT_IN_PART,
    "members.export.export": NOT_IN_PART,
    "members.export.export_list": NOT_IN_PART,
    "members.merge.merge": NOT_IN_PART,
    "purchases.correct_way": OF_NO_LOCATION,
    "purchases.mark": OF_NO_LOCATION,
    "purchases.refund": OF_NO_LOCATION,
    "purchases.waive_fee": OF_NO_LOCATION,
    "schedule.class_types.change": ("permission_denied", None),  # classes of the other location use it
    "schedule.classes.change": HERE_ONLY,
    "schedule.classes.create": UNNAMED,
    "schedule.closures.create": NOT_IN_PART,
    "schedule.closures.remove": OF_NO_LOCATION,
    "schedule.copy_week.copy_week": HERE_ONLY,
    "schedule.locations.change": HERE_ONLY,
    "schedule.locations.create": NOT_IN_PART,
    "schedule.locations.deactivate": HERE_ONLY,
    "schedule.pictures.change": ("permission_denied", None),  # likewise
    "schedule.rooms.change": HERE_ONLY,
    "schedule.rooms.create": UNNAMED,
    "schedule.rooms.deactivate": HERE_ONLY,
    "schedule.series.change": HERE_ONLY,
    "schedule.series.create": UNNAMED,
    "schedule.series.end": HERE_ONLY,
    "studio.change": NOT_IN_PART,
    "studio.change_rules": NOT_IN_PART,
}
# Roles with other permissions cannot be limited to locations.
OF_LIMITED_ROLES = [flow for flow in SITUATIONS if FLOWS[flow] in PERMISSIONS[Role.MANAGER]]


@pytest.mark.parametrize("flow", OF_LIMITED_ROLES)
async def test_staff_who_are_limited_to_a_location(studio: BookingStudio, flow: str) -> None:
    packed, outcomes = await SITUATIONS[flow](studio), []
    places = (studio.other_location, studio.location)
    for place in reversed(places) if flow == "schedule.locations.deactivate" else places:
        outcomes.append(await run(studio, flow, packed, person(studio, Role.MANAGER, place)))
        if not isinstance(outcomes[-1], Refusal):  # it is done, and cannot be done again
            break
    codes = [each.code.value if isinstance(each, Refusal) else None for each in outcomes]
    assert codes == list(LIMITED.get(flow, [None]))
