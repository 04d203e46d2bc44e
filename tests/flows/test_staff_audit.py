"""What people do to their own accounts and sessions is in the audit log, written with the change itself."""

from contextlib import suppress

import pytest

from studiogate.domain.staff import Grant, Role
from studiogate.flows.staff import passwords, second_factor, sessions, sign_in
from studiogate.storage.accounts import links
from tests.support import booking_studio, staff_people
from tests.support.booking_studio import BookingStudio, StudioFactory
from tests.support.staff_people import PASSWORD, People, code_of, done

pytestmark = pytest.mark.anyio
studio_factory, studio, people = booking_studio.studio_factory, booking_studio.studio, staff_people.people


async def actions(people: People, account_id: object, action: str) -> list[str]:
    """Who did it, and from which address."""
    query = """
        select array_agg(actor_name || ' ' || coalesce(address, '-') order by occurred_at) from audit_log
        where subject_id = $1 and action = $2 and subject_type = 'staff_account'"""
    return list(await people.value(query, account_id, action) or [])


async def test_choosing_a_studio_is_in_that_studio_s_log(people: People, studio_factory: StudioFactory) -> None:
    person = await people.hire()
    other: BookingStudio = await studio_factory.new_studio()
    await people.invite(Grant(Role.MANAGER), person.email, access=other.access)
    signed_in = await people.session(person)
    chosen = other.id if signed_in.access.studio_id == people.studio.id else people.studio.id
    assert await sessions.choose_studio(people.database, signed_in, chosen) is None
    query = "select studio_id from audit_log where subject_id = $1 and action = 'staff.choose_studio'"
    assert await people.value(query, person.account_id) == chosen
    stranger: BookingStudio = await studio_factory.new_studio()
    assert code_of(await sessions.choose_studio(people.database, signed_in, stranger.id)) == "not_found"
    assert len(await actions(people, person.account_id, "staff.choose_studio")) == 1


async def test_confirming_the_password_is_in_the_log(people: People) -> None:
    person = await people.hire()
    signed_in = await people.session(person)
    assert code_of(await sign_in.confirm_password(people.visit(), signed_in, "a wrong password")) == "sign_in_failed"
    assert await actions(people, person.account_id, "staff.confirm_password") == []
    assert await sign_in.confirm_password(people.visit(), signed_in, PASSWORD) is None
    assert await actions(people, person.account_id, "staff.confirm_password") == [f"{person.email} 192.0.2.7"]


async def test_asking_for_a_reset_is_in_the_log_of_every_studio(people: People, studio_factory: StudioFactory) -> None:
    person = await people.hire()
    other: BookingStudio = await studio_factory.new_studio()
    await people.invite(Grant(Role.MANAGER), person.email, access=other.access)
    assert await passwords.request_reset(people.visit("192.0.2.77"), person.email.upper()) is None
    assert await passwords.request_reset(people.visit("192.0.2.77"), "nobody@example.com") is None
    assert await actions(people, person.account_id, "staff.request_reset") == ["visitor 192.0.2.77"] * 2
    mails = "select count(*) from mails where account_id = $1 and kind = 'staff_password_reset'"
    assert await people.value(mails, person.account_id) == 1, "one mail, whatever the number of studios"
    assert await people.value("select count(*) from audit_log where address = '192.0.2.77'") == 2, "no entry for nobody"


async def test_offering_a_second_factor_is_in_the_log(people: People) -> None:
    person = await people.hire()
    signed_in = await people.session(person)
    done(await second_factor.set_up(people.visit("192.0.2.9"), signed_in))
    assert await actions(people, person.account_id, "staff.second_factor_offered") == [f"{person.email} 192.0.2.9"]


async def test_the_entry_is_undone_with_the_change(people: People) -> None:
    """A transaction that fails after the change leaves neither."""
    person = await people.hire()
    with suppress(ZeroDivisionError):
        async with people.database.transaction() as connection:
            await links.queue_reset(connection, person.email, None)
            raise ZeroDivisionError
    assert await actions(people, person.account_id, "staff.request_reset") == []
    mails = "select count(*) from mails where account_id = $1 and kind = 'staff_password_reset'"
    assert await people.value(mails, person.account_id) == 0
