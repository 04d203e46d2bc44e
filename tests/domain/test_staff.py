"""What each role may do, as the studio's side promises it."""

import pytest

from studiogate.domain.staff import PERMISSIONS, Permission, Role


def test_every_role_is_in_the_table() -> None:
    assert set(PERMISSIONS) == set(Role)


def test_owners_may_do_everything() -> None:
    assert PERMISSIONS[Role.OWNER] == set(Permission)


@pytest.mark.parametrize("permission", [Permission.STAFF, Permission.KEYS, Permission.WEBHOOKS])
def test_managers_may_do_everything_but_staff_keys_and_webhooks(permission: Permission) -> None:
    assert permission not in PERMISSIONS[Role.MANAGER]
    assert {Permission.STUDIO, Permission.SCHEDULE, Permission.CATALOG, Permission.IMPORT} <= PERMISSIONS[Role.MANAGER]


def test_the_front_desk_runs_its_day_only() -> None:
    allowed = PERMISSIONS[Role.FRONT_DESK]
    assert {"attendance", "bookings", "members", "sales", "leads", "submissions"} <= allowed
    assert not allowed & {"studio", "schedule", "catalog", "forms", "import", "members:erase", "staff", "keys"}


def test_instructors_mark_attendance_only() -> None:
    assert PERMISSIONS[Role.INSTRUCTOR] == {"schedule:read", "attendance"}


def test_developers_see_no_people() -> None:
    assert PERMISSIONS[Role.DEVELOPER] == {"keys", "webhooks", "events:read", "requests:read"}
