"""Inviting staff, changing their roles, disabling and enabling them."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import MAX_STAFF, Grant, Role
from studiogate.flows.staff import operators, passwords, roles
from studiogate.flows.staff.passwords import Acceptance
from studiogate.flows.staff.roles import Invitation
from studiogate.storage.accounts import accounts
from tests.support import booking_studio, staff_people
from tests.support.booking_studio import BookingStudio, StudioFactory
from tests.support.staff_people import PASSWORD, People, code_of, done, faults_of

pytestmark = pytest.mark.anyio
studio_factory, studio, people = booking_studio.studio_factory, booking_studio.studio, staff_people.people


async def test_an_invitation_makes_an_account_that_its_person_completes(people: People) -> None:
    invited = await people.invite(Grant(Role.FRONT_DESK, (people.studio.location,)), "Jo.Desk@Example.com")
    assert invited.email == "jo.desk@example.com"
    assert invited.link is not None
    assert invited.is_new
    hashes = await people.value(
        "select array_agg(token_hash) from staff_links where account_id = $1", invited.account_id
    )
    assert all(invited.link.token.encode() not in each for each in hashes), "only a hash is stored"
    acceptance = Acceptance("  Jo Desk ", PASSWORD)
    started = done(await passwords.accept_invitation(people.visit(), invited.link.token, acceptance))
    access = done(await people.resolve(started.token)).access
    assert (access.studio_id, access.location_ids) == (people.studio.id, (people.studio.location,))
    stored = "select name || ' ' || left(password_hash, 10) from staff_accounts where id = $1"
    assert await people.value(stored, invited.account_id) == "Jo Desk $argon2id$"
    role = {"role": [None, "front_desk"], "location_ids": [None, [str(people.studio.location)]]}
    assert await people.trail(invited.account_id) == [
        ("operator", "staff.invite", {**role, "account_id": [None, str(invited.account_id)]}),
        ("jo.desk@example.com", "staff.accept_invitation", {}),
        ("jo.desk@example.com", "staff.sign_in", {}),
    ]


async def test_an_invitation_is_used_once(people: People) -> None:
    invited = await people.invite(Grant(Role.MANAGER))
    assert invited.link is not None
    accept = [
        passwords.accept_invitation(people.visit(), invited.link.token, Acceptance(name, PASSWORD)) for name in "AB"
    ]
    outcomes = await asyncio.gather(*accept)
    (refused,) = [each for each in outcomes if isinstance(each, Refusal)]
    assert code_of(refused) == "link_expired"
    again = await passwords.accept_invitation(people.visit(), invited.link.token, Acceptance("C", PASSWORD))
    assert code_of(again) == "link_expired"


async def test_an_invitation_expires(people: People) -> None:
    invited = await people.invite(Grant(Role.MANAGER))
    assert invited.link is not None
    await people.sql("update staff_links set expires_at = now() where account_id = $1", invited.account_id)
    outcome = await passwords.accept_invitation(people.visit(), invited.link.token, Acceptance("A", PASSWORD))
    assert code_of(outcome) == "link_expired"


async def test_a_new_invitation_replaces_the_one_before(people: People) -> None:
    first = await people.invite(Grant(Role.MANAGER))
    second = await people.invite(Grant(Role.FRONT_DESK), first.email)
    assert second.account_id == first.account_id
    assert first.link is not None
    assert second.link is not None
    old = await passwords.accept_invitation(people.visit(), first.link.token, Acceptance("A", PASSWORD))
    assert code_of(old) == "link_expired"
    done(await passwords.accept_invitation(people.visit(), second.link.token, Acceptance("A", PASSWORD)))
    assert (await people.trail(first.account_id))[1][2] == {"role": ["manager", "front_desk"]}


async def test_all_faults_of_an_acceptance_are_listed_and_the_link_still_works(people: People) -> None:
    invited = await people.invite(Grant(Role.MANAGER))
    assert invited.link is not None
    for name in (" ", "a\u202eb", "x" * 201):
        outcome = await passwords.accept_invitation(people.visit(), invited.link.token, Acceptance(name, "short"))
        assert [loc for loc, _ in faults_of(outcome)] == [("name",), ("password",)]
    mail_address = Acceptance("A", invited.email)
    assert faults_of(await passwords.accept_invitation(people.visit(), invited.link.token, mail_address)) == [
        (("password",), "password_has_own_name")
    ]
    done(await passwords.accept_invitation(people.visit(), invited.link.token, Acceptance("A", PASSWORD)))


async def test_a_person_with_an_account_keeps_the_password(people: People, studio_factory: StudioFactory) -> None:
    """A link would let the inviting studio choose the password of somebody who works at another one."""
    person = await people.hire(Role.OWNER)
    other = await studio_factory.new_studio()
    invited = await people.invite(Grant(Role.MANAGER), person.email.upper(), other.access)
    assert (invited.account_id, invited.link, invited.is_new) == (person.account_id, None, False)
    assert await people.value("select count(*) from staff_roles where account_id = $1", person.account_id) == 2
    await people.session(person)


async def test_an_owner_sees_the_link_where_no_mail_is_sent(people: People) -> None:
    owner = await people.access(await people.hire(Role.OWNER))
    links = "select count(*) from staff_links where account_id = $1 and used_at is null"
    invited = await people.invite(Grant(Role.MANAGER), access=owner)
    assert invited.link is not None
    again = await people.invite(Grant(Role.MANAGER), invited.email, owner)
    assert again.link is not None
    assert await people.value(links, invited.account_id) == 1, "the earlier one has ended"
    async with people.database.connection() as connection:
        mailed = done(
            await roles.invite(connection, owner, Invitation("b@example.com", Grant(Role.MANAGER), mail=True))
        )
    assert mailed.link is None
    assert await people.value(links, mailed.account_id) == 0


async def test_a_link_for_an_account_of_another_studio_is_not_seen(
    people: People, studio_factory: StudioFactory
) -> None:
    """Whoever opens it chooses the password of an account that the other studio trusts."""
    owner, other = await people.access(await people.hire(Role.OWNER)), await studio_factory.new_studio()
    elsewhere = await people.invite(Grant(Role.MANAGER), access=other.access)
    invited = await people.invite(Grant(Role.MANAGER), elsewhere.email, owner)
    assert (invited.link, invited.is_new) == (None, True)


async def test_what_cannot_be_invited(people: People, studio_factory: StudioFactory) -> None:
    person, elsewhere = await people.hire(Role.OWNER), await studio_factory.new_studio()
    wrong = {
        "no email": (Invitation("nobody", Grant(Role.OWNER)), [(("email",), "email")]),
        "known": (Invitation(person.email, Grant(Role.OWNER)), [(("email",), "exists")]),
        "another studio's location": (
            Invitation("a@example.com", Grant(Role.MANAGER, (elsewhere.location,))),
            [(("location_ids", 0), "not_found")],
        ),
        "all": (
            Invitation("\u0301" * 300, Grant(Role.OWNER, (uuid4(),), uuid4())),
            [
                (("email",), "email"),
                (("location_ids", 0), "not_found"),
                (("location_ids",), "not_allowed"),
                (("instructor_id",), "not_allowed"),
            ],
        ),
    }
    async with people.database.connection() as connection:
        for name, (wanted, faults) in wrong.items():
            assert faults_of(await roles.invite(connection, people.studio.access, wanted)) == faults, name
    assert await people.value("select count(*) from staff_accounts where email = 'a@example.com'") == 0


async def test_a_studio_has_a_bounded_number_of_staff(people: People) -> None:
    await people.sql(
        "with made as (insert into staff_accounts (id, email) select gen_random_uuid(), gen_random_uuid()::text"
        " from generate_series(1, $2) returning id) insert into staff_roles (studio_id, account_id, role, created_at)"
        " select $1, id, 'front_desk', '2020-01-01' from made",
        people.studio.id,
        MAX_STAFF,
    )
    async with people.database.connection() as connection:
        wanted = Invitation("one.more@example.com", Grant(Role.MANAGER))
        outcome = await roles.invite(connection, people.studio.access, wanted)
    assert isinstance(outcome, Refusal)
    assert (outcome.code.value, outcome.details["limit"]) == ("limit_reached", "staff")


async def test_a_role_changes_with_the_next_request(people: People) -> None:
    await people.hire(Role.OWNER)
    person = await people.hire(Role.MANAGER)
    started = done(await people.sign_in(person))
    instructor = await people.studio.add("instructors", name="I")
    wanted = Grant(Role.INSTRUCTOR, (people.studio.location,), instructor)
    async with people.database.connection() as connection:
        assert done(await roles.change_role(connection, people.studio.access, person.account_id, wanted)) == wanted
    access = done(await people.resolve(started.token)).access
    assert access.staff is not None
    assert (access.staff.instructor_id, access.location_ids) == (instructor, (people.studio.location,))
    assert access.staff.permissions == {"schedule:read", "attendance"}
    assert (await people.trail(person.account_id))[-1] == (
        "operator",
        "staff.change_role",
        {
            "role": ["manager", "instructor"],
            "location_ids": [None, [str(people.studio.location)]],
            "instructor_id": [None, str(instructor)],
        },
    )


async def test_faults_of_a_changed_role_are_listed(people: People) -> None:
    person = await people.hire(Role.OWNER)
    async with people.database.connection() as connection:
        outcome = await roles.change_role(connection, people.studio.access, person.account_id, Grant(Role.INSTRUCTOR))
    assert faults_of(outcome) == [(("instructor_id",), "missing")]


@pytest.mark.parametrize("flow", [roles.disable, roles.enable, roles.end_sessions])
async def test_staff_of_another_studio_do_not_exist(people: People, studio_factory: StudioFactory, flow: Any) -> None:
    person, other = await people.hire(Role.OWNER), await studio_factory.new_studio()
    async with people.database.connection() as connection:
        for account_id in (person.account_id, uuid4()):
            assert code_of(await flow(connection, other.access, account_id)) == "not_found"
            changed = await roles.change_role(connection, other.access, account_id, Grant(Role.OWNER))
            assert code_of(changed) == "not_found"


async def test_disabling_ends_sessions_and_enabling_gives_access_back(people: People) -> None:
    await people.hire(Role.OWNER)
    person = await people.hire(Role.MANAGER)
    started = done(await people.sign_in(person))
    async with people.database.connection() as connection:
        assert done(await roles.disable(connection, people.studio.access, person.account_id)) == 2
    assert code_of(await people.resolve(started.token)) == "session_ended"
    assert code_of(await people.sign_in(person)) == "sign_in_failed"
    async with people.database.connection() as connection:
        assert done(await roles.enable(connection, people.studio.access, person.account_id))
    assert code_of(await people.resolve(started.token)) == "session_ended", "it stays ended"
    await people.session(person)
    actions = [action for _, action, _ in await people.trail(person.account_id)]
    assert actions[-3:] == ["staff.disable", "staff.enable", "staff.sign_in"]


async def test_disabling_in_one_studio_leaves_the_others(people: People, studio_factory: StudioFactory) -> None:
    await people.hire(Role.OWNER)
    person, other = await people.hire(Role.MANAGER), await studio_factory.new_studio()
    await people.invite(Grant(Role.DEVELOPER), person.email, other.access)
    async with people.database.connection() as connection:
        done(await roles.disable(connection, people.studio.access, person.account_id))
    access = await people.access(person)
    assert access.studio_id == other.id


async def test_sessions_of_an_account_end_in_this_studio(people: People) -> None:
    person = await people.hire(Role.MANAGER)
    started = done(await people.sign_in(person))
    async with people.database.connection() as connection:
        assert done(await roles.end_sessions(connection, people.studio.access, person.account_id)) == 2
        assert done(await roles.end_sessions(connection, people.studio.access, person.account_id)) == 0
    assert code_of(await people.resolve(started.token)) == "session_ended"
    assert [action for _, action, _ in await people.trail(person.account_id)].count("staff.end_session") == 1


# The last owner.


async def test_the_last_owner_stays(people: People) -> None:
    owner = await people.hire(Role.OWNER)
    await people.hire(Role.MANAGER)
    await people.invite(Grant(Role.OWNER))  # not accepted: nobody could sign in as this owner
    slug = people.studio.studio.canary
    async with people.database.connection() as connection:
        for outcome in (
            await roles.disable(connection, people.studio.access, owner.account_id),
            await roles.change_role(connection, people.studio.access, owner.account_id, Grant(Role.MANAGER)),
            await operators.disable_account(connection, lambda _: people.studio.access, owner.account_id),
        ):
            assert isinstance(outcome, Refusal)
            assert (outcome.code.value, outcome.details) == ("last_owner", {"studio": slug})
    assert (await people.access(owner)).staff is not None


async def test_the_only_owner_stays_also_before_the_invitation_is_accepted(people: People) -> None:
    only, lower = await people.invite(Grant(Role.OWNER)), Grant(Role.MANAGER)
    access, operator = people.studio.access, lambda _: people.studio.access
    async with people.database.connection() as connection:
        for outcome in (
            await roles.disable(connection, access, only.account_id),
            await roles.change_role(connection, access, only.account_id, lower),
            await roles.invite(connection, access, Invitation(only.email, lower)),
            await operators.disable_account(connection, operator, only.account_id),
        ):
            assert code_of(outcome) == "last_owner"
        done(await roles.invite(connection, access, Invitation(only.email, Grant(Role.OWNER))))
        await people.invite(Grant(Role.OWNER))
        done(await roles.invite(connection, access, Invitation(only.email, lower)))


async def test_with_another_owner_the_first_may_go(people: People) -> None:
    first, second = await people.hire(Role.OWNER), await people.hire(Role.OWNER)
    async with people.database.connection() as connection:
        done(await roles.disable(connection, people.studio.access, first.account_id))
        outcome = await roles.change_role(connection, people.studio.access, second.account_id, Grant(Role.MANAGER))
    assert code_of(outcome) == "last_owner"


async def test_two_owners_cannot_remove_each_other(people: People, studio: BookingStudio) -> None:
    first, second = await people.hire(Role.OWNER), await people.hire(Role.OWNER)

    async def demote(account_id: UUID) -> object:
        async with people.database.connection() as connection:
            return await roles.change_role(connection, studio.access, account_id, Grant(Role.MANAGER))

    outcomes = await asyncio.gather(demote(first.account_id), demote(second.account_id))
    (refused,) = [each for each in outcomes if isinstance(each, Refusal)]
    assert code_of(refused) == "last_owner"
    assert len(await studio.rows("staff_roles", "role = 'owner'")) == 1


# What operators do to an account in all its studios.


async def test_an_operator_disables_an_account_everywhere(people: People, studio_factory: StudioFactory) -> None:
    person, other = await people.hire(Role.MANAGER), await studio_factory.new_studio()
    await people.invite(Grant(Role.DEVELOPER), person.email, other.access)
    started = done(await people.sign_in(person))
    accesses = {people.studio.id: people.studio.access, other.id: other.access}
    async with people.database.connection() as connection:
        assert done(await operators.disable_account(connection, accesses.__getitem__, person.account_id)) == 2
        account = await accounts.find(connection, person.email)
        assert account is not None
        link = await operators.make_link(connection, accesses.__getitem__, account, operators.SIGN_IN_LINK, mail=False)
    assert code_of(link) == "invalid_transition"
    assert code_of(await people.resolve(started.token)) == "session_ended"
    assert code_of(await people.sign_in(person)) == "sign_in_failed"
    for each in (people.studio, other):
        rows = await each.rows("audit_log", "action = 'staff.disable_account' and subject_id = $2", person.account_id)
        assert len(rows) == 1
    async with people.database.connection() as connection:
        await operators.enable_account(connection, accesses.__getitem__, person.account_id)
    await people.session(person)
