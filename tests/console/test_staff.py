"""The staff of a studio, and the links with which an owner lets them set a new password."""

import re

import pytest

from studiogate.domain.staff import Grant, Role
from tests.support.booking_studio import StudioFactory
from tests.support.console import ORIGIN, Console, texts
from tests.support.staff_people import Person

pytestmark = pytest.mark.anyio
NEW = "a completely new password"


def _path(person: Person) -> str:
    return f"/console/staff/{person.account_id}/reset-link"


async def test_an_owner_makes_a_link_that_sets_a_new_password_once(console: Console) -> None:
    person = await console.people.hire(Role.FRONT_DESK)
    assert person.email in texts(await console.get("/console/staff"))
    made = await console.post(_path(person), token="k" * 24)
    found = re.search(r"/console/link/[A-Za-z0-9_-]{43}", made.text)
    assert (made.status_code, found is not None) == (200, True)
    assert found is not None
    assert "/console/link/" not in (await console.get("/console/staff")).text, "it is shown once"
    assert (await console.post(_path(person), token="k" * 24)).status_code == 303, "not made twice"
    browser = console.anonymous()
    for status in (303, 410):
        answer = await browser.client.post(found[0], data={"password": NEW}, headers={"Origin": ORIGIN})
        assert answer.status_code == status
    form = {"email": person.email, "password": NEW}
    assert (await browser.client.post("/console/sign-in", data=form, headers={"Origin": ORIGIN})).status_code == 303
    assert console.person is not None
    trail = await console.people.trail(person.account_id)
    assert (console.person.email, "staff.make_reset_link", {}) in trail


async def test_it_needs_the_password_again(console: Console) -> None:
    person = await console.people.hire(Role.FRONT_DESK)
    await console.people.sql("update staff_sessions set password_at = now() - interval '1 hour'")
    asked = await console.post(_path(person))
    assert asked.status_code == 403
    assert "Enter your password again" in texts(asked)
    made = "select count(*) from staff_links where purpose = 'password_reset' and account_id = $1"
    assert await console.people.value(made, person.account_id) == 0


async def test_a_link_leads_into_no_other_studio(console: Console, studio_factory: StudioFactory) -> None:
    """Who has the link acts in all studios of the account."""
    person, other = await console.people.hire(Role.OWNER), await studio_factory.new_studio()
    await console.people.invite(Grant(Role.FRONT_DESK), person.email, other.access)
    refused = await console.post(_path(person))
    assert refused.status_code == 403
    assert "works for other studios too" in texts(refused)
    assert _path(person) not in (await console.get("/console/staff")).text
    assert console.person is not None
    await console.people.invite(Grant(Role.OWNER), console.person.email, other.access)
    assert (await console.post(_path(person))).status_code == 200, "an owner of both"


async def test_who_is_disabled_invited_or_elsewhere_gets_none(console: Console, studio_factory: StudioFactory) -> None:
    invited = await console.people.invite(Grant(Role.MANAGER))
    disabled = await console.people.hire(Role.MANAGER)
    await console.people.sql("update staff_sessions set ended_at = now() where account_id = $1", disabled.account_id)
    await console.people.sql("update staff_roles set disabled_at = now() where account_id = $1", disabled.account_id)
    other = await studio_factory.new_studio()
    elsewhere = await console.people.invite(Grant(Role.OWNER), None, other.access)
    people = (invited.account_id, disabled.account_id, elsewhere.account_id)
    answers = [await console.post(f"/console/staff/{each}/reset-link") for each in people]
    assert [each.status_code for each in answers] == [409, 409, 404]
    assert elsewhere.email not in (await console.get("/console/staff")).text


async def test_a_developer_reads_what_to_do_instead(console: Console) -> None:
    developer = await console.as_role(Role.DEVELOPER)
    said = texts(await developer.get("/console/"))
    assert "Your role has no pages here yet." in said
    assert "for another role." in said
