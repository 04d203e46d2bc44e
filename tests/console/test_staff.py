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
    assert "Make a reset link" in texts(await console.get(f"/console/staff/{person.account_id}"))
    made = await console.post(_path(person), token="k" * 24)
    found = re.search(r"/console/link/[A-Za-z0-9_-]{43}", made.text)
    assert (made.status_code, found is not None) == (200, True)
    assert found is not None
    assert "/console/link/" not in (await console.get(f"/console/staff/{person.account_id}")).text, "it is shown once"
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
    assert _path(person) not in (await console.get(f"/console/staff/{person.account_id}")).text
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


async def test_a_developer_begins_with_the_keys(console: Console) -> None:
    developer = await console.as_role(Role.DEVELOPER)
    assert (await developer.get("/console/")).headers["location"] == "/console/partners/keys"


def link_of(text: str) -> str:
    found = re.search(r"/console/link/[A-Za-z0-9_-]{43}", text)
    assert found is not None
    return found[0]


async def test_an_invitation_shows_its_link_once_and_works(console: Console) -> None:
    place = console.studio.location
    form = {"email": "noor@example.com", "role": "front_desk", "locations": str(place)}
    made = await console.post("/console/staff/invite", form)
    assert made.status_code == 200
    page = await console.get("/console/staff")
    assert "/console/link/" not in page.text
    assert "noor@example.com" in texts(page)
    person = (await console.studio.rows("staff_roles", "location_ids is not null"))[0]
    assert list(person["location_ids"]) == [place]
    path = f"/console/staff/{person['account_id']}"
    again = await console.post(f"{path}/invitation")
    browser = console.anonymous()
    chosen = {"name": "Noor", "password": NEW}
    for link, status in ((link_of(made.text), 410), (link_of(again.text), 303)):
        answer = await browser.client.post(link, data=chosen, headers={"Origin": ORIGIN})
        assert answer.status_code == status
    assert list((await console.studio.rows("staff_roles", "location_ids is not null"))[0]["location_ids"]) == [place]
    assert (await console.post(f"{path}/invitation")).status_code == 422, "they have accepted"


async def test_an_invitation_that_is_wrong_keeps_what_was_typed(console: Console) -> None:
    refused = await console.post("/console/staff/invite", {"email": "noor", "role": "instructor"})
    assert refused.status_code == 422
    assert 'value="noor"' in refused.text
    assert re.search(r'value="instructor" required checked', refused.text)
    assert "needs the instructor" in texts(refused)
    assert (await console.post("/console/staff/invite", {"email": "n@example.com"})).status_code == 422


async def test_a_role_is_changed_with_its_limits(console: Console) -> None:
    person = await console.people.hire(Role.MANAGER)
    path = f"/console/staff/{person.account_id}"
    ines = await console.studio.add("instructors", name="Ines")
    form = {"role": "instructor", "instructor": str(ines), "locations": str(console.studio.location)}
    assert (await console.post(f"{path}/role", form)).status_code == 303
    page = await console.get(f"{path}/role")
    assert re.search(r'value="instructor" required checked', page.text)
    assert f'value="{ines}" selected' in page.text
    assert f'value="{console.studio.location}" checked' in page.text
    owner = {**form, "role": "owner"}
    assert (await console.post(f"{path}/role", owner)).status_code == 303, "what an owner cannot have is left out"
    stored = (await console.studio.rows("staff_roles", "account_id = $2", person.account_id))[0]
    assert (stored["role"], stored["location_ids"], stored["instructor_id"]) == ("owner", None, None)


async def test_a_role_at_a_deactivated_location_stays_limited(console: Console) -> None:
    """The form offers the location still: somebody of whom no location is sent works at all of them."""
    place = console.studio.other_location
    person = await console.people.hire(Role.FRONT_DESK, location_ids=(place,))
    await console.studio.api.connection.execute("update locations set active = false where id = $1", place)
    path = f"/console/staff/{person.account_id}/role"
    assert f'value="{place}" checked' in (await console.get(path)).text
    assert (await console.post(path, {"role": "front_desk", "locations": "none of the ids"})).status_code == 422
    (stored,) = await console.studio.rows("staff_roles", "account_id = $2", person.account_id)
    assert stored["location_ids"] == [place]


async def test_an_access_is_taken_away_and_given_back(console: Console) -> None:
    person = await console.people.hire(Role.FRONT_DESK)
    theirs = await console.as_person(person)
    path = f"/console/staff/{person.account_id}"
    assert (await console.post(f"{path}/disable")).status_code == 303
    assert (await theirs.get("/console/today")).status_code == 303, "signed out"
    page = await console.get(path)
    assert "2 sessions ended." in texts(page)
    assert f'action="{path}/enable"' in page.text
    assert (await console.get(f"{path}/disable")).status_code == 404
    assert (await console.post(f"{path}/enable")).status_code == 303
    assert (await (await console.as_person(person)).get("/console/today")).status_code == 200


async def test_the_last_owner_stays(console: Console) -> None:
    assert console.person is not None
    await console.people.sql(
        "delete from staff_roles where studio_id = $1 and account_id <> $2",
        console.studio.id,
        console.person.account_id,
    )
    path = f"/console/staff/{console.person.account_id}"
    assert (await console.post(f"{path}/disable")).status_code == 409
    assert (await console.post(f"{path}/role", {"role": "manager"})).status_code == 409


async def test_sessions_of_this_studio_are_listed_and_ended(console: Console, studio_factory: StudioFactory) -> None:
    person, other = await console.people.hire(Role.FRONT_DESK), await studio_factory.new_studio()
    browsers = [await console.as_person(person) for _ in range(3)]
    rows = await console.people.studio.api.connection.fetch(
        "select id from staff_sessions where account_id = $1 and ended_at is null order by created_at, id",
        person.account_id,
    )
    *_, first, second, elsewhere = [row["id"] for row in rows]
    await console.people.sql("update staff_sessions set chosen_studio_id = $2 where id = $1", elsewhere, other.id)
    path = f"/console/staff/{person.account_id}"
    page = (await console.get(path)).text
    assert (str(first) in page, str(second) in page, str(elsewhere) in page) == (True, True, False)
    assert (await console.post(f"{path}/sessions/{elsewhere}/end")).status_code == 404
    assert (await console.post(f"{path}/sessions/{first}/end")).status_code == 303
    assert [(await each.get("/console/account")).status_code for each in browsers[:2]] == [303, 200]
    assert (await console.post(f"{path}/end-sessions")).status_code == 303
    assert (await browsers[1].get("/console/account")).status_code == 303
    open_elsewhere = "select ended_at is null from staff_sessions where id = $1"
    assert await console.people.value(open_elsewhere, elsewhere), "a session in another studio is not ours to end"
