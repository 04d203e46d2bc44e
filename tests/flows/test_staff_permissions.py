"""Every flow of the studio's side and every role: who may, as one table.

A new flow adds its line to ``FLOWS``; the test names what is missing. What a flow does for staff who are limited to
locations is a table in ``test_staff_traces.py``, where the flows run.
"""

import pkgutil
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest

import studiogate.flows
from studiogate.domain.access import Access, operator_access, staff_access, system_access, visitor_access
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import DANGEROUS, PERMISSIONS, Channel, Permission, Role, Staff
from studiogate.flows.staff_flow import STAFF_FLOWS

pytestmark = pytest.mark.anyio
STUDIO = UUID(int=1)

FLOWS = {
    "bookings.staff_bookings.mark": Permission.ATTENDANCE,
    "bookings.staff_bookings.choose_spot": Permission.BOOKINGS,
    "bookings.staff_bookings.check_in_anyway": Permission.ATTENDANCE,
    "bookings.desk.undo_cancellation": Permission.BOOKINGS,
    "bookings.desk.book_for_member": Permission.BOOKINGS,
    "bookings.mails.switch_mails": Permission.STUDIO,
    "bookings.desk.move_booking": Permission.BOOKINGS,
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
    "csv_import.import_csv": Permission.IMPORT,
    "forms.drafts.discard_draft": Permission.FORMS,
    "forms.drafts.publish_draft": Permission.FORMS,
    "forms.drafts.save_draft": Permission.FORMS,
    "forms.staff.decide": Permission.SUBMISSIONS,
    "forms.staff.change": Permission.FORMS,
    "forms.staff.create": Permission.FORMS,
    "forms.staff.export_submissions": Permission.SUBMISSIONS,
    "forms.staff.files": Permission.SUBMISSIONS,
    "forms.staff.link": Permission.SUBMISSIONS,
    "forms.staff.send_link": Permission.SUBMISSIONS,
    "keys.change_key": Permission.KEYS,
    "keys.issue": Permission.KEYS,
    "keys.revoke_key": Permission.KEYS,
    "keys.rotate_key": Permission.KEYS,
    "lead_staff.add_note": Permission.LEADS,
    "lead_staff.convert": Permission.LEADS,
    "lead_staff.move": Permission.LEADS,
    "studio.remove_logo": Permission.STUDIO,
    "studio.store_logo": Permission.STUDIO,
    "members.erase.erase": Permission.MEMBERS_ERASE,
    "members.export.export": Permission.MEMBERS,
    "members.export.export_list": Permission.MEMBERS,
    "members.merge.merge": Permission.MEMBERS,
    "members.staff.add_note": Permission.MEMBERS,
    "members.staff.change": Permission.MEMBERS,
    "members.staff.create": Permission.MEMBERS,
    "members.staff.suspend": Permission.MEMBERS,
    "members.staff.unsuspend": Permission.MEMBERS,
    "memberships.adjust_credits": Permission.SALES,
    "memberships.cancel": Permission.SALES,
    "memberships.pause": Permission.SALES,
    "memberships.resume": Permission.SALES,
    "memberships.set_renewal": Permission.SALES,
    "memberships.uncancel": Permission.SALES,
    "purchases.correct_way": Permission.SALES,
    "purchases.export": Permission.SALES,
    "purchases.mark": Permission.SALES,
    "purchases.record_line": Permission.SALES,
    "purchases.record_product": Permission.SALES,
    "purchases.refund": Permission.SALES,
    "purchases.waive_fee": Permission.SALES,
    "purchases.sell": Permission.SALES,
    "schedule.class_types.change": Permission.SCHEDULE,
    "schedule.class_types.create": Permission.SCHEDULE,
    "schedule.class_types.deactivate": Permission.SCHEDULE,
    "schedule.classes.change": Permission.SCHEDULE,
    "schedule.classes.create": Permission.SCHEDULE,
    "schedule.closures.create": Permission.SCHEDULE,
    "schedule.closures.remove": Permission.SCHEDULE,
    "schedule.copy_week.copy_week": Permission.SCHEDULE,
    "schedule.instructors.change": Permission.SCHEDULE,
    "schedule.instructors.create": Permission.SCHEDULE,
    "schedule.instructors.deactivate": Permission.SCHEDULE,
    "schedule.locations.change": Permission.SCHEDULE,
    "schedule.locations.create": Permission.SCHEDULE,
    "schedule.locations.deactivate": Permission.SCHEDULE,
    "schedule.pictures.change": Permission.SCHEDULE,
    "schedule.rooms.change": Permission.SCHEDULE,
    "schedule.rooms.create": Permission.SCHEDULE,
    "schedule.rooms.deactivate": Permission.SCHEDULE,
    "schedule.series.change": Permission.SCHEDULE,
    "schedule.series.create": Permission.SCHEDULE,
    "schedule.series.end": Permission.SCHEDULE,
    "studio.change": Permission.STUDIO,
    "studio.change_rules": Permission.STUDIO,
    "studio.create": Permission.STUDIO,
    "studio_file.load.import_rows": Permission.IMPORT,
    "webhook_staff.change": Permission.WEBHOOKS,
    "webhook_staff.create": Permission.WEBHOOKS,
    "webhook_staff.delete": Permission.WEBHOOKS,
    "webhook_staff.recover": Permission.WEBHOOKS,
    "webhook_staff.resend": Permission.WEBHOOKS,
    "webhook_staff.rotate_secret": Permission.WEBHOOKS,
    "webhook_staff.send_test": Permission.WEBHOOKS,
    "webhook_staff.switch": Permission.WEBHOOKS,
    "staff.roles.change_role": Permission.STAFF,
    "staff.roles.disable": Permission.STAFF,
    "staff.roles.enable": Permission.STAFF,
    "staff.roles.end_sessions": Permission.STAFF,
    "staff.roles.invite": Permission.STAFF,
    "staff.roles.make_reset_link": Permission.STAFF,
}


class AllowedError(Exception):
    """The flow opened its transaction: it was let in."""


class FirstStatement:
    """A connection on which a flow gets no further than its transaction."""

    def is_in_transaction(self) -> bool:
        return False

    def transaction(self) -> None:
        raise AllowedError


def declared() -> dict[str, Permission]:
    """Return every declared flow, after importing all modules that may declare one."""
    for module in pkgutil.walk_packages(studiogate.flows.__path__, "studiogate.flows."):
        import_module(module.name)
    return {name: permission for name, permission in STAFF_FLOWS.items() if not name.startswith("tests.")}


def flow(name: str) -> Callable[..., Any]:
    module, _, function = name.rpartition(".")
    found: Callable[..., Any] = getattr(import_module(f"studiogate.flows.{module}"), function)
    return found


async def outcome(name: str, access: Access) -> Refusal | None:
    """Return the refusal, or None if the flow was let in."""
    try:
        refusal = await flow(name)(FirstStatement(), access)
    except AllowedError:
        return None
    assert isinstance(refusal, Refusal)
    return refusal


def person(role: Role, *, password_is_recent: bool = True) -> Access:
    staff = Staff("a@example.com", PERMISSIONS[role], Channel.CONSOLE, UUID(int=7))
    return staff_access(STUDIO, replace(staff, password_is_recent=password_is_recent), None)


def test_the_table_has_every_flow() -> None:
    assert declared() == FLOWS


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("name", sorted(FLOWS))
async def test_a_role_may_what_its_permissions_say(name: str, role: Role) -> None:
    refusal = await outcome(name, person(role))
    if FLOWS[name] in PERMISSIONS[role]:
        assert refusal is None
    else:
        assert refusal == Refusal(Code.PERMISSION_DENIED, {"required_permission": FLOWS[name].value})


@pytest.mark.parametrize("name", sorted(FLOWS))
async def test_dangerous_flows_need_a_recent_password(name: str) -> None:
    refusal = await outcome(name, person(Role.OWNER, password_is_recent=False))
    assert refusal == (Refusal(Code.PASSWORD_REQUIRED) if FLOWS[name] in DANGEROUS else None)
    assert await outcome(name, operator_access(STUDIO)) is None, "a command has no password to type"


@pytest.mark.parametrize("name", sorted(FLOWS))
async def test_nobody_else_may(name: str) -> None:
    partner = replace(person(Role.OWNER), staff=None)
    for access in (partner, system_access(STUDIO), visitor_access(STUDIO)):
        refusal = await outcome(name, access)
        assert refusal is not None
        assert refusal.code is Code.PERMISSION_DENIED


def test_dangerous_is_what_the_studio_s_side_says() -> None:
    """Keys, erasure and staff. A restore is an operator's command."""
    assert {Permission.KEYS, Permission.MEMBERS_ERASE, Permission.STAFF} == DANGEROUS
