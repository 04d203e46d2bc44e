"""Every flow of the studio's side and every role: who may, as one table.

A new flow adds its line to ``FLOWS``; the test names what is missing. What a flow does for staff who are limited to
locations is tested beside the flow: rows elsewhere do not exist for it.
"""

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest

import studiogate.flows
from studiogate.domain.access import Access, staff_access, system_access, visitor_access
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import PERMISSIONS, Channel, Permission, Role, Staff
from studiogate.flows.staff_flow import STAFF_FLOWS

pytestmark = pytest.mark.anyio
STUDIO = UUID(int=1)

FLOWS = {
    "bookings.attendance.mark": Permission.ATTENDANCE,
    "bookings.desk.book_for_member": Permission.BOOKINGS,
    "bookings.mail_switches.switch_mails": Permission.STUDIO,
    "bookings.move.move_booking": Permission.BOOKINGS,
    "bookings.staff_bookings.cancel_booking": Permission.BOOKINGS,
    "bookings.staff_bookings.promote_entry": Permission.BOOKINGS,
    "bookings.staff.cancel_class": Permission.SCHEDULE,
    "bookings.staff.change_capacity": Permission.SCHEDULE,
    "catalog.change_product": Permission.CATALOG,
    "catalog.create_price": Permission.CATALOG,
    "catalog.create_product": Permission.CATALOG,
    "catalog.make_default": Permission.CATALOG,
    "catalog.replace_price": Permission.CATALOG,
    "catalog.retire_price": Permission.CATALOG,
    "catalog.retire_product": Permission.CATALOG,
    "logos.remove": Permission.STUDIO,
    "logos.store": Permission.STUDIO,
    "membership_changes.adjust_credits": Permission.SALES,
    "membership_changes.cancel": Permission.SALES,
    "membership_changes.pause": Permission.SALES,
    "membership_changes.resume": Permission.SALES,
    "membership_changes.set_renewal": Permission.SALES,
    "membership_changes.uncancel": Permission.SALES,
    "purchases.mark": Permission.SALES,
    "purchases.record_line": Permission.SALES,
    "purchases.record_product": Permission.SALES,
    "purchases.refund": Permission.SALES,
    "purchases.waive_fee": Permission.SALES,
    "sales.sell": Permission.SALES,
    "schedule.class_types.change": Permission.SCHEDULE,
    "schedule.class_types.create": Permission.SCHEDULE,
    "schedule.class_types.deactivate": Permission.SCHEDULE,
    "schedule.classes.change": Permission.SCHEDULE,
    "schedule.classes.create": Permission.SCHEDULE,
    "schedule.closures.create": Permission.SCHEDULE,
    "schedule.closures.remove": Permission.SCHEDULE,
    "schedule.instructors.change": Permission.SCHEDULE,
    "schedule.instructors.create": Permission.SCHEDULE,
    "schedule.instructors.deactivate": Permission.SCHEDULE,
    "schedule.locations.change": Permission.SCHEDULE,
    "schedule.locations.create": Permission.SCHEDULE,
    "schedule.locations.deactivate": Permission.SCHEDULE,
    "schedule.rooms.change": Permission.SCHEDULE,
    "schedule.rooms.create": Permission.SCHEDULE,
    "schedule.rooms.deactivate": Permission.SCHEDULE,
    "schedule.series.change": Permission.SCHEDULE,
    "schedule.series.create": Permission.SCHEDULE,
    "schedule.series.end": Permission.SCHEDULE,
    "studio.change": Permission.STUDIO,
    "studio.create": Permission.STUDIO,
}


class AllowedError(Exception):
    """The flow opened its transaction: it was let in."""


class FirstStatement:
    """A connection on which a flow gets no further than its transaction."""

    def transaction(self) -> None:
        raise AllowedError


def declared() -> dict[str, Permission]:
    """Return every declared flow, after importing all modules that may declare one."""
    for module in pkgutil.walk_packages(studiogate.flows.__path__, "studiogate.flows."):
        import_module(module.name)
    return {name: permission for name, permission in STAFF_FLOWS.items() if not name.startswith("tests.")}


async def outcome(name: str, access: Access) -> Refusal | None:
    """Return the refusal, or None if the flow was let in."""
    module, _, function = name.rpartition(".")
    flow: Callable[..., Any] = getattr(import_module(f"studiogate.flows.{module}"), function)
    try:
        refusal = await flow(FirstStatement(), access)
    except AllowedError:
        return None
    assert isinstance(refusal, Refusal)
    return refusal


def test_the_table_has_every_flow() -> None:
    assert declared() == FLOWS


@pytest.mark.parametrize("locations", [None, (UUID(int=3),)], ids=["everywhere", "one location"])
@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("name", sorted(FLOWS))
async def test_a_role_may_what_its_permissions_say(name: str, role: Role, locations: tuple[UUID, ...] | None) -> None:
    staff = Staff("a@example.com", PERMISSIONS[role], Channel.CONSOLE, UUID(int=7))
    refusal = await outcome(name, staff_access(STUDIO, staff, locations))
    if FLOWS[name] in PERMISSIONS[role]:
        assert refusal is None
    else:
        assert refusal == Refusal(Code.PERMISSION_DENIED, {"required_permission": FLOWS[name].value})


@pytest.mark.parametrize("name", sorted(FLOWS))
async def test_nobody_else_may(name: str) -> None:
    for access in (system_access(STUDIO), visitor_access(STUDIO)):
        refusal = await outcome(name, access)
        assert refusal is not None
        assert refusal.code is Code.PERMISSION_DENIED
