"""Sessions: from a cookie to an access, choosing a studio, listing and ending; and the second factor."""

import asyncio

import pytest

from studiogate.domain.encryption import Sealer
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import PERMISSIONS, Grant, Role
from studiogate.domain.staff.sign_in import MAX_SESSIONS
from studiogate.domain.staff.tokens import step_at, totp_code, totp_purpose
from studiogate.flows import housekeeping
from studiogate.flows.staff import operators, roles, second_factor, sessions
from studiogate.flows.staff.roles import Invitation
from studiogate.flows.staff.sessions import SignedIn, Started
from studiogate.storage.accounts import sessions as storage
from tests.support import booking_studio, staff_people
from tests.support.booking_studio import StudioFactory
from tests.support.staff_people import People, Person, code_of, done

pytestmark = pytest.mark.anyio
studio_factory, studio, people = booking_studio.studio_factory, booking_studio.studio, staff_people.people


@pytest.mark.parametrize("role", Role)
async def test_a_cookie_becomes_the_access_of_its_role(people: People, role: Role) -> None:
    instructor = await people.studio.add("instructors", name="I") if role is Role.INSTRUCTOR else None
    limited = role in (Role.MANAGER, Role.FRONT_DESK, Role.INSTRUCTOR)
    locations = (people.studio.location,) if limited else None
    person = await people.hire(role, location_ids=locations, instructor_id=instructor)
    access = await people.access(person)
    staff = access.staff
    assert staff is not None
    assert (access.studio_id, access.location_ids, access.actor.value) == (people.studio.id, locations, "staff")
    assert (staff.name, staff.account_id, staff.permissions) == (person.email, person.account_id, PERMISSIONS[role])
    assert (staff.instructor_id, staff.address, staff.channel.value) == (instructor, "192.0.2.7", "console")


async def test_the_access_of_a_session_works_in_flows(people: People) -> None:
    """The permission of the role decides; what is recorded is the account."""
    owner, manager = await people.hire(Role.OWNER), await people.hire(Role.MANAGER)
    wanted = Invitation("new@example.com", Grant(Role.FRONT_DESK))
    async with people.database.connection() as connection:
        refused = await roles.invite(connection, await people.access(manager), wanted)
        assert code_of(refused) == "permission_denied"
        invited = done(await roles.invite(connection, await people.access(owner), wanted))
    assert (await people.trail(invited.account_id))[0][:2] == (owner.email, "staff.invite")


@pytest.mark.parametrize("token", ["", "x" * 43, "x" * 100_000, "\ud800" * 43])
async def test_what_is_no_session(people: People, token: str) -> None:
    assert code_of(await people.resolve(token)) == "session_ended"


@pytest.mark.parametrize(
    "change",
    [
        "update staff_sessions set expires_at = clock_timestamp()",
        "update staff_sessions set last_used_at = clock_timestamp() - interval '12 hours'",
        "update staff_sessions set ended_at = now()",
        "update staff_accounts set disabled_at = now() where id in (select account_id from staff_sessions)",
        "update staff_roles set disabled_at = now()",
    ],
)
async def test_what_ends_a_session(people: People, change: str) -> None:
    token = (await people.session(await people.hire(Role.MANAGER))).token
    async with people.studio.api.connection.transaction():
        await people.sql(change)
        await people.sql("update staff_sessions set ended_at = now() where $1", "disabled" in change)
    assert code_of(await people.resolve(token)) == "session_ended"


async def test_the_last_use_is_recorded_once_a_minute(people: People) -> None:
    token = (await people.session(await people.hire(Role.MANAGER))).token
    last = "select last_used_at from staff_sessions order by created_at desc limit 1"
    first = await people.value(last)
    done(await people.resolve(token))
    assert await people.value(last) == first
    await people.sql("update staff_sessions set last_used_at = clock_timestamp() - interval '2 minutes'")
    done(await people.resolve(token))
    assert await people.value(last) > first


async def test_every_session_has_its_own_csrf_token(people: People) -> None:
    person = await people.hire(Role.MANAGER)
    one, other = await people.session(person), await people.session(person)
    assert one.sent(one.csrf_token)
    assert not one.sent(other.csrf_token)
    assert not one.sent("")


async def test_a_person_of_two_studios_chooses(people: People, studio_factory: StudioFactory) -> None:
    person, other = await people.hire(Role.MANAGER), await studio_factory.new_studio()
    stranger = await studio_factory.new_studio()
    await people.invite(Grant(Role.DEVELOPER), person.email, other.access)
    signed_in = await people.session(person)
    assert signed_in.access.studio_id == people.studio.id
    assert await sessions.choose_studio(people.database, signed_in, other.id) is None
    access = done(await people.resolve(signed_in.token)).access
    assert access.staff is not None
    assert (access.studio_id, access.staff.permissions) == (other.id, PERMISSIONS[Role.DEVELOPER])
    assert code_of(await sessions.choose_studio(people.database, signed_in, stranger.id)) == "not_found"
    assert (await people.access(person)).studio_id == other.id, "the next session starts where the last one was"


async def test_signing_out_ends_this_session_only(people: People) -> None:
    person = await people.hire(Role.MANAGER)
    one, other = await people.session(person), await people.session(person)
    await sessions.sign_out(people.database, one)
    assert code_of(await people.resolve(one.token)) == "session_ended"
    done(await people.resolve(other.token))
    assert (await people.trail(person.account_id))[-1][:2] == (person.email, "staff.sign_out")


async def test_sessions_are_listed_and_ended(people: People) -> None:
    person, stranger = await people.hire(Role.MANAGER), await people.hire(Role.MANAGER)
    one, other = await people.session(person), await people.session(person)
    async with people.database.connection() as connection:
        listed = await storage.list_sessions(connection, person.account_id)
    assert {one.session.id, other.session.id} < {row["id"] for row in listed}
    assert len(listed) == 3  # accepting the invitation began one too
    foreign = (await people.session(stranger)).session.id
    assert code_of(await sessions.end_session(people.database, one, foreign)) == "not_found"
    assert await sessions.end_session(people.database, one, other.session.id) is None
    assert code_of(await sessions.end_session(people.database, one, other.session.id)) == "not_found"
    assert code_of(await people.resolve(other.token)) == "session_ended"
    assert await sessions.end_other_sessions(people.database, one) == 1
    assert await sessions.end_other_sessions(people.database, one) == 0
    done(await people.resolve(one.token))
    actions = [action for _, action, _ in await people.trail(person.account_id)]
    assert actions.count("staff.end_session") == 2


async def test_the_oldest_of_too_many_sessions_end(people: People) -> None:
    person = await people.hire(Role.MANAGER)
    first = await people.session(person)
    await people.sql(
        "insert into staff_sessions (id, account_id, chosen_studio_id, token_hash, address, user_agent, expires_at)"
        " select gen_random_uuid(), $1, $2, sha256(gen_random_uuid()::text::bytea), '', '', now() + interval '1 day'"
        " from generate_series(1, $3)",
        person.account_id,
        people.studio.id,
        MAX_SESSIONS,
    )
    await people.session(person)
    open_ones = "select count(*) from staff_sessions where account_id = $1 and ended_at is null"
    assert await people.value(open_ones, person.account_id) == MAX_SESSIONS
    assert code_of(await people.resolve(first.token)) == "session_ended"


async def test_what_ended_long_ago_is_forgotten(people: People) -> None:
    person = await people.hire(Role.MANAGER)
    await people.session(person)
    await people.sign_in(Person(person.account_id, person.email, "a wrong password"))
    assert await housekeeping.forget_staff_secrets(people.database) == 0
    await people.sql("update staff_sessions set expires_at = now() - interval '31 days'")
    await people.sql("update staff_links set expires_at = now() - interval '8 days'")
    await people.sql("update staff_sign_in_attempts set attempted_at = now() - interval '25 hours'")
    assert await housekeeping.forget_staff_secrets(people.database) > 3
    for table in ("staff_sessions", "staff_links", "staff_sign_in_attempts"):
        assert await people.value(f"select count(*) from {table}") == 0


# The second factor.


async def with_second_factor(people: People, person: Person) -> tuple[SignedIn, bytes]:
    """Return a session of somebody who has just confirmed a second factor, and its secret."""
    signed_in = await people.session(person)
    offered = done(await second_factor.set_up(people.visit(), signed_in))
    sealed = await people.value("select totp_secret from staff_accounts where id = $1", person.account_id)
    secret = people.sealer.open(sealed, totp_purpose(person.account_id))
    assert offered.uri.endswith(f"secret={offered.secret}&issuer=Studiogate")
    assert secret not in sealed
    code = totp_code(secret, step_at(await people.value("select clock_timestamp()")))
    assert await second_factor.confirm(people.visit(), signed_in, code) is None
    return signed_in, secret


async def a_fresh_code(people: People, secret: bytes) -> str:
    """Return the code of now. It was not used, as far as the account knows, and works for half a minute at least."""
    await people.sql("update staff_accounts set totp_last_step = totp_last_step - 3 where totp_last_step is not null")
    return totp_code(secret, step_at(await people.value("select clock_timestamp()")))


async def test_a_second_factor_is_asked_for_once_it_is_confirmed(people: People) -> None:
    person = await people.hire(Role.OWNER)
    signed_in = await people.session(person)
    done(await second_factor.set_up(people.visit(), signed_in))
    await people.session(person)  # not confirmed yet
    assert code_of(await second_factor.confirm(people.visit(), signed_in, "000 00")) == "sign_in_failed"
    signed_in, secret = await with_second_factor(people, person)
    assert code_of(await people.sign_in(person)) == "second_factor_required"
    assert code_of(await people.sign_in(person, "abcdef")) == "sign_in_failed"
    wrong_password = Person(person.account_id, person.email, "a wrong password")
    assert code_of(await people.sign_in(wrong_password)) == "sign_in_failed"
    done(await people.sign_in(person, await a_fresh_code(people, secret)))
    actions = [action for _, action, _ in await people.trail(person.account_id)]
    assert actions.count("staff.second_factor_on") == 1


async def test_a_code_works_once(people: People) -> None:
    person = await people.hire(Role.OWNER)
    _, secret = await with_second_factor(people, person)
    code = await a_fresh_code(people, secret)
    outcomes = await asyncio.gather(*(people.sign_in(person, code) for _ in range(3)))
    assert len([each for each in outcomes if isinstance(each, Started)]) == 1
    assert {code_of(each) for each in outcomes if isinstance(each, Refusal)} == {"sign_in_failed"}


async def test_a_confirmed_second_factor_is_not_replaced(people: People) -> None:
    person = await people.hire(Role.OWNER)
    signed_in, _ = await with_second_factor(people, person)
    assert code_of(await second_factor.set_up(people.visit(), signed_in)) == "invalid_transition"
    assert code_of(await second_factor.confirm(people.visit(), signed_in, "123456")) == "invalid_transition"


async def test_removing_needs_a_recent_password(people: People) -> None:
    person = await people.hire(Role.OWNER)
    signed_in, _ = await with_second_factor(people, person)
    await people.sql("update staff_sessions set password_at = now() - interval '1 hour'")
    stale = done(await people.resolve(signed_in.token))
    assert code_of(await second_factor.remove(people.visit(), stale)) == "password_required"
    assert code_of(await second_factor.set_up(people.visit(), stale)) == "password_required"
    assert await second_factor.remove(people.visit(), signed_in) is None
    assert code_of(await second_factor.remove(people.visit(), signed_in)) == "not_found"
    await people.session(person)


async def test_without_the_deployment_s_key_nobody_passes_until_an_operator_removes_it(people: People) -> None:
    person = await people.hire(Role.OWNER)
    _, secret = await with_second_factor(people, person)
    people.sealer = Sealer(lambda: [b"another key for tests, 32 bytes "])
    assert code_of(await people.sign_in(person, await a_fresh_code(people, secret))) == "sign_in_failed"
    async with people.database.connection() as connection:
        operator = people.studio.access
        assert await operators.remove_second_factor(connection, lambda _: operator, person.account_id) is None
        again = await operators.remove_second_factor(connection, lambda _: operator, person.account_id)
    assert code_of(again) == "not_found"
    await people.session(person)
