"""How long a session lasts, how often somebody may try to sign in, and which roles there can be."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import PERMISSIONS, Channel, Grant, Known, Owner, Role, grant_faults, refusal_without_owner
from studiogate.domain.staff.sign_in import (
    IDLE,
    LIMITS,
    MAX_USER_AGENT,
    NOTED_EVERY,
    PASSWORD_IS_RECENT,
    AccountState,
    Attempt,
    Origin,
    Session,
    Tried,
    attempt_key,
    attempt_refusal,
    studio_to_start_in,
)

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
ONE, TWO, THREE = (UUID(int=number) for number in (1, 2, 3))
SESSION = Session(
    id=ONE,
    account_id=TWO,
    email="a@example.com",
    studio_id=THREE,
    expires_at=NOW + timedelta(days=1),
    last_used_at=NOW,
    ended_at=None,
    password_at=NOW,
    account_disabled_at=None,
    role=Role.FRONT_DESK,
    role_disabled_at=None,
    location_ids=None,
    instructor_id=None,
    now=NOW,
)


def test_a_session_in_use_is_open() -> None:
    assert SESSION.is_open


@pytest.mark.parametrize(
    "change",
    [
        {"expires_at": NOW},
        {"last_used_at": NOW - IDLE},
        {"ended_at": NOW - SECOND},
        {"account_disabled_at": NOW - SECOND},
        {"role_disabled_at": NOW - SECOND},
        {"role": None},
    ],
)
def test_what_ends_a_session(change: dict[str, object]) -> None:
    assert not replace(SESSION, **change).is_open  # type: ignore[arg-type]


def test_up_to_the_limits_it_is_open() -> None:
    assert replace(SESSION, expires_at=NOW + SECOND, last_used_at=NOW - IDLE + SECOND).is_open


def test_the_last_use_is_noted_now_and_then() -> None:
    assert not replace(SESSION, last_used_at=NOW - NOTED_EVERY + SECOND).needs_note
    assert replace(SESSION, last_used_at=NOW - NOTED_EVERY).needs_note


@pytest.mark.parametrize(
    ("typed", "recent"), [(NOW, True), (NOW - PASSWORD_IS_RECENT + SECOND, True), (NOW - PASSWORD_IS_RECENT, False)]
)
def test_a_password_is_recent_for_a_while(typed: datetime, recent: bool) -> None:
    assert replace(SESSION, password_at=typed).staff("x").password_is_recent is recent


def test_a_person_who_came_by_a_link_typed_no_password() -> None:
    assert not replace(SESSION, password_at=None).staff("x").password_is_recent


@pytest.mark.parametrize("role", Role)
def test_a_session_has_the_permissions_of_its_role(role: Role) -> None:
    staff = replace(SESSION, role=role, instructor_id=ONE).staff("192.0.2.1")
    assert (staff.permissions, staff.channel, staff.account_id) == (PERMISSIONS[role], Channel.CONSOLE, TWO)
    assert (staff.name, staff.instructor_id, staff.address) == ("a@example.com", ONE, "192.0.2.1")


def test_a_session_starts_where_the_last_one_was() -> None:
    assert studio_to_start_in([ONE, TWO], TWO) == TWO
    assert studio_to_start_in([ONE, TWO], THREE) == ONE
    assert studio_to_start_in([ONE], None) == ONE


def test_what_a_browser_says_of_itself_is_bounded() -> None:
    origin = Origin("9" * 1000, "x\r\n\x1b[31m" + "y" * 1000).bounded()
    assert (len(origin.address), len(origin.user_agent)) == (100, MAX_USER_AGENT)
    assert origin.user_agent.startswith("x   [31my")


@pytest.mark.parametrize("kind", Attempt)
def test_attempts_are_limited_per_key_and_per_address(kind: Attempt) -> None:
    limit = LIMITS[kind]
    oldest = NOW - limit.window + timedelta(seconds=30)
    allowed = Tried(limit.per_key, limit.per_address or 1_000, oldest, oldest, NOW)
    assert attempt_refusal(kind, allowed) is None
    too_many = [allowed._replace(of_key=limit.per_key + 1)]
    if limit.per_address is not None:
        too_many.append(allowed._replace(of_address=limit.per_address + 1))
    for much in too_many:
        refusal = attempt_refusal(kind, much)
        assert refusal is not None
        assert (refusal.code.value, refusal.details) == ("rate_limited", {"retry_after": 31})


def test_what_was_typed_as_an_email_is_not_kept() -> None:
    assert attempt_key("a@example.com") != attempt_key("b@example.com")
    assert len(attempt_key("\ud800" * 300)) == 32


@pytest.mark.parametrize(("disabled_at", "studios", "may"), [(None, 1, True), (NOW, 1, False), (None, 0, False)])
def test_who_may_sign_in(disabled_at: datetime | None, studios: int, may: bool) -> None:
    assert AccountState(disabled_at, studios, has_second_factor=False).may_sign_in is may


KNOWN = Known({ONE, TWO}, {THREE})


@pytest.mark.parametrize(
    "grant",
    [
        Grant(Role.OWNER),
        Grant(Role.DEVELOPER),
        Grant(Role.MANAGER, (ONE,)),
        Grant(Role.FRONT_DESK, (ONE, TWO)),
        Grant(Role.INSTRUCTOR, None, THREE),
        Grant(Role.INSTRUCTOR, (TWO,), THREE),
    ],
)
def test_a_role_as_it_should_be(grant: Grant) -> None:
    assert grant_faults(grant, KNOWN) == []


@pytest.mark.parametrize(
    ("grant", "faults"),
    [
        (Grant(Role.OWNER, (ONE,)), [(("location_ids",), "not_allowed")]),
        (Grant(Role.DEVELOPER, (ONE,)), [(("location_ids",), "not_allowed")]),
        (Grant(Role.MANAGER, ()), [(("location_ids",), "too_short")]),
        (Grant(Role.MANAGER, (ONE, THREE)), [(("location_ids", 1), "not_found")]),
        (Grant(Role.MANAGER, None, THREE), [(("instructor_id",), "not_allowed")]),
        (Grant(Role.INSTRUCTOR), [(("instructor_id",), "missing")]),
        (
            Grant(Role.INSTRUCTOR, (THREE,), ONE),
            [(("location_ids", 0), "not_found"), (("instructor_id",), "not_found")],
        ),
    ],
)
def test_all_faults_of_a_role_are_listed(grant: Grant, faults: list[object]) -> None:
    assert [(fault.loc, fault.type) for fault in grant_faults(grant, KNOWN)] == faults


@pytest.mark.parametrize(
    ("owners", "refused"),
    [
        ({ONE: True, TWO: True}, False),
        ({ONE: True, TWO: False}, True),
        ({ONE: False, TWO: True}, False),
        ({ONE: False, TWO: False}, False),
        ({ONE: True}, True),
        ({ONE: False}, True),
        ({TWO: True}, False),
        ({TWO: False}, False),
        ({}, False),
    ],
)
def test_only_the_last_owner_is_kept(owners: dict[UUID, bool], refused: bool) -> None:
    """The flags say who has accepted the invitation."""
    refusal = refusal_without_owner([Owner(*each) for each in owners.items()], ONE, "north")
    assert refusal == (Refusal(Code.LAST_OWNER, {"studio": "north"}) if refused else None)
