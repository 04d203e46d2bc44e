"""Keys of partners in the console: made, changed, rotated and revoked in a browser, used by the real API."""

import re
from datetime import timedelta

import pytest

from studiogate.console.partners import words
from studiogate.domain.access import Scope
from studiogate.domain.keys import GIVING_NEEDS
from studiogate.domain.staff import Role
from tests.support import console as fixtures
from tests.support.booking_studio import BookingStudio
from tests.support.console import Console, Fields, texts

pytestmark = pytest.mark.anyio
console, people = fixtures.console, fixtures.people
studio_factory, studio = fixtures.studio_factory, fixtures.studio
PATH = "/console/partners/keys"
KEY = re.compile(r"sgk_(?:live|test)_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}")


async def made(console: Console, *scopes: str, **fields: str | list[str]) -> str:
    """Make a key by the form; return it as the page shows it."""
    form = {"name": "CityPass", "scopes": list(scopes) or ["studio:read"], **fields}
    answer = await console.post(f"{PATH}/new", form)
    assert answer.status_code == 200, texts(answer)
    found = KEY.search(answer.text)
    assert found is not None
    return found[0]


def id_of(key: str) -> str:
    return key.split("_")[2]


async def status(studio: BookingStudio, key: str) -> int:
    return (await studio.api.get("/studio", key)).status_code


async def test_a_key_is_shown_once_and_works(console: Console, studio: BookingStudio) -> None:
    key = await made(console, rate_limit="5", location_ids=[str(studio.location)])
    assert await status(studio, key) == 200
    (row,) = await studio.rows("credentials", "id = $2", id_of(key))
    assert (row["scopes"], row["rate_limit"], row["location_ids"]) == (["studio:read"], 5, [studio.location])
    assert console.person is not None
    assert row["created_by"] == console.person.email
    page = await console.get(f"{PATH}/{id_of(key)}")
    assert "5 requests per second" in texts(page)
    for path in (f"{PATH}/{id_of(key)}", PATH, "/console/audit"):
        assert key not in (await console.get(path)).text


async def test_a_form_that_is_sent_twice_makes_one_key(console: Console, studio: BookingStudio) -> None:
    form: Fields = {"name": "Twice", "scopes": ["studio:read"]}
    first = await console.post(f"{PATH}/new", form, token="a" * 20)
    again = await console.post(f"{PATH}/new", form, token="a" * 20)
    assert (first.status_code, again.status_code) == (200, 303)
    assert len(await studio.rows("credentials", "name = 'Twice'")) == 1


async def test_it_asks_for_the_password_again(console: Console, studio: BookingStudio) -> None:
    await console.people.sql("update staff_sessions set password_at = now() - interval '1 hour'")
    asked = await console.post(f"{PATH}/new", {"name": "Late", "scopes": ["studio:read", "events:read"]})
    assert "Enter your password again" in texts(asked)
    assert "events:read" in asked.text, "the choice of scopes is kept"
    assert await studio.rows("credentials", "name = 'Late'") == []


async def test_what_was_wrong_is_said_at_its_field(console: Console) -> None:
    form: Fields = {"name": "Wrong", "scopes": ["leads:read"], "expires_at": "2020-01-01", "rate_limit": "many"}
    refused = await console.post(f"{PATH}/new", form)
    assert refused.status_code == 422
    assert {"has passed", "must be a whole number"} <= set(re.findall(r'-fault">([^<]+)<', refused.text))
    assert 'value="leads:read" checked' in refused.text
    without = await console.post(f"{PATH}/new", {"name": "Nothing"})
    assert "must have at least one scope" in texts(without)


async def test_a_developer_gives_no_more_than_they_may_do(console: Console, studio: BookingStudio) -> None:
    developer = await console.as_role(Role.DEVELOPER)
    page = (await developer.get(f"{PATH}/new?preset=all")).text
    for scope in Scope:
        box = re.search(rf'value="{scope.value}"( checked)?( disabled)?', page)
        assert box is not None
        assert (box[1] is None, box[2] is not None) == (scope in GIVING_NEEDS, scope in GIVING_NEEDS), scope
    refused = await developer.post(f"{PATH}/new", {"name": "More", "scopes": ["members:read"]})
    assert "Your role does not permit this" in texts(refused)
    assert await studio.rows("credentials", "name = 'More'") == []
    key = await made(console, "members:read")
    refused = await developer.post(f"{PATH}/{id_of(key)}/rotate", {"overlap": "at once"})
    assert refused.status_code == 403
    assert not KEY.search(refused.text)


async def test_a_change_changes_what_was_changed(console: Console, studio: BookingStudio) -> None:
    key = await made(console, "studio:read", "schedule:read", rate_limit="5", expires_at="2031-12-24")
    page = (await console.get(f"{PATH}/{id_of(key)}/change")).text
    assert 'value="2031-12-24"' in page, "the last day, not the day after it"
    seen = re.search(r'name="seen" value="([^"]+)"', page)
    assert seen is not None
    await studio.api.connection.execute("update credentials set rate_limit = 9 where id = $1", id_of(key))
    form: Fields = {"name": "CityPass", "scopes": ["studio:read"], "expires_at": "2031-12-24", "rate_limit": "5"}
    answer = await console.post(f"{PATH}/{id_of(key)}/change", {**form, "seen": seen[1]})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{PATH}/{id_of(key)}")
    (row,) = await studio.rows("credentials", "id = $2", id_of(key))
    assert (row["scopes"], row["rate_limit"]) == (["studio:read"], 9), "somebody else's change stays"
    assert str(row["expires_at"].date()) == "2031-12-25"


async def test_a_key_of_a_deactivated_location_stays_limited(console: Console, studio: BookingStudio) -> None:
    """The form offers the location still: a key of which no location is sent is one for all of them."""
    key = await made(console, location_ids=[str(studio.other_location)])
    await studio.api.connection.execute("update locations set active = false where id = $1", studio.other_location)
    assert f'value="{studio.other_location}" checked' in (await console.get(f"{PATH}/{id_of(key)}/change")).text
    assert f'value="{studio.other_location}"' not in (await console.get(f"{PATH}/new")).text


async def test_a_rotation_counts_down_and_a_revoked_key_ends(console: Console, studio: BookingStudio) -> None:
    key = await made(console)
    answer = await console.post(f"{PATH}/{id_of(key)}/rotate", {"overlap": "after 24 hours"})
    (new,) = set(KEY.findall(answer.text))
    assert new != key
    assert re.search(r"works for another (1 d|23 h 59 min) , until", texts(answer))
    assert [await status(studio, each) for each in (key, new)] == [200, 200]
    assert "rotating" in texts(await console.get(PATH))
    preview = await console.get(f"{PATH}/{id_of(key)}/revoke")
    assert 'class="button danger"' in preview.text
    revoked = await console.post(f"{PATH}/{id_of(key)}/revoke")
    assert revoked.status_code == 303
    (row,) = await studio.rows("credentials", "id = $2", id_of(key))
    assert row["revoked_at"] is not None
    assert id_of(key) not in (await console.get(PATH)).text
    assert id_of(key) in (await console.get(f"{PATH}?state=revoked")).text


async def test_keys_come_a_page_at_a_time(
    console: Console, studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studiogate.console.partners.keys.PER_PAGE", 2)
    wanted = {row["id"] for row in await studio.rows("credentials", "revoked_at is null")}
    wanted |= {id_of(await made(console)) for _ in range(3)}
    path, found = PATH, []
    while path:
        page = (await console.get(path)).text
        found += re.findall(r'class="key-name" href="/console/partners/keys/(\w{8})"', page)
        link = re.search(r'href="([^"]+)">More<', page)
        path = link[1] if link else ""
    assert sorted(found) == sorted(wanted)


def test_every_scope_has_its_place_in_the_grid() -> None:
    placed = [scope for _, row in words.GRID for scope in row if scope]
    assert sorted(placed) == sorted(Scope)
    assert words.may(list(Scope)) == "Everything"
    assert words.may(["schedule:read", "leads:read", "leads:write"]) == "Reads schedule, leads; changes leads"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3599, "59 min"), (84_000, "23 h 20 min"), (604_800, "7 d")],
)
def test_durations_have_their_two_largest_units(seconds: int, text: str) -> None:
    assert words.lasting(timedelta(seconds=seconds)) == text
