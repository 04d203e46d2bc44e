"""Locations, rooms and spot maps in the settings, class types and instructors with their pictures."""

import asyncio
import re
from datetime import time
from html import unescape
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.console.framework import posted
from studiogate.console.framework.page import ROUTES
from studiogate.domain import logos, pictures
from studiogate.domain.staff import Role
from tests.support.booking_studio import BookingStudio
from tests.support.console import ORIGIN, Console, texts
from tests.support.pictures import drawn

pytestmark = pytest.mark.anyio
SETTINGS = "/console/settings"
WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


async def followed(console: Console, answer: Any) -> str:
    """Return the text of the page to which an action led."""
    assert answer.status_code == 303, texts(answer)
    return texts(await console.get(answer.headers["location"]))


def fields_of(page: str) -> dict[str, str]:
    """Return the fields of the form on a page as a browser would send them, without boxes."""
    form = re.search(r'<form[^>]*class="stack">.*?</form>', page, re.DOTALL)
    assert form is not None
    found = dict(re.findall(r'<input (?![^>]*type="checkbox")[^>]*?name="([^"]+)"[^>]*? value="([^"]*)"', form[0]))
    found |= {
        name: next(iter(re.findall(r'<option value="([^"]*)" selected', options)), "")
        or re.findall(r'<option value="([^"]*)"', options)[0]
        for name, options in re.findall(r'<select [^>]*name="([^"]+)".*?>(.*?)</select>', form[0], re.DOTALL)
    }
    found |= dict(re.findall(r'<textarea [^>]*name="([^"]+)"[^>]*>(.*?)</textarea>', form[0], re.DOTALL))
    return {name: unescape(value) for name, value in found.items() if name not in ("csrf", "idempotency")}


async def send_file(console: Console, path: str, content: bytes) -> Any:
    data = {"csrf": await console.csrf(), "idempotency": uuid4().hex}
    files = {"picture": ("me.png", content, "image/png")}
    return await console.client.post(path, data=data, files=files, headers={"Origin": ORIGIN})


async def test_create_a_location_and_change_it(console: Console, studio: BookingStudio) -> None:
    path = f"{SETTINGS}/locations"
    new = fields_of((await console.get(f"{path}/new")).text)
    address = {"name": "Harbour", "line1": "1 Pier", "city": "Oakland", "latitude": "37,8044", "longitude": "-122.2712"}
    created = await console.post(f"{path}/new", {**new, **address, "timezone": "America/Los_Angeles"})
    assert "Created Harbour. " in await followed(console, created)
    page = texts(await console.get(created.headers["location"]))
    assert "1 Pier, Oakland" in page
    assert "America/Los Angeles" in page
    assert "37.8044, -122.2712" in page
    at = created.headers["location"]
    shown = fields_of((await console.get(f"{at}/change")).text)
    assert (shown["timezone"], shown["latitude"], shown["is_primary"]) == ("America/Los_Angeles", "37.8044", "no")
    assert "Saved." in await followed(console, await console.post(f"{at}/change", {**shown, "line1": "2 Pier"}))
    row = await studio.row("locations", UUID(at.rpartition("/")[2]))
    assert (row["line1"], row["city"], row["is_primary"], row["timezone"]) == (
        "2 Pier", "Oakland", False, "America/Los_Angeles",
    )  # fmt: skip


async def test_two_people_who_change_a_location_keep_both_changes(console: Console, studio: BookingStudio) -> None:
    path = f"{SETTINGS}/locations/{studio.location}/change"
    mine = fields_of((await console.get(path)).text)
    assert (await console.post(path, {**mine, "city": "Utica"})).status_code == 303
    assert (await console.post(path, {**mine, "name": "Loft"})).status_code == 303
    row = await studio.row("locations", studio.location)
    assert (row["name"], row["city"]) == ("Loft", "Utica")


async def test_a_wrong_field_is_shown_beside_its_input(console: Console, studio: BookingStudio) -> None:
    path = f"{SETTINGS}/locations/{studio.location}/change"
    shown = fields_of((await console.get(path)).text)
    refused = await console.post(path, {**shown, "latitude": "north", "phone": "12", "name": " "})
    assert refused.status_code == 422
    assert 'id="f-latitude-fault">must be a number' in refused.text
    refused = await console.post(path, {**shown, "latitude": "91", "phone": "12", "name": " "})
    assert 'id="f-latitude-fault">must be a number of degrees from -90 to 90' in refused.text
    assert 'id="f-phone-fault"' in refused.text
    assert 'id="f-name-fault">must not be blank' in refused.text


async def test_deactivating_says_what_is_affected_and_can_be_undone(console: Console, studio: BookingStudio) -> None:
    class_id = await studio.new_class(title="Flow at noon")
    await studio.booked(class_id, await studio.new_member())
    path = f"{SETTINGS}/locations/rooms/{studio.room}"
    preview = await console.get(f"{path}/deactivate")
    assert "1 class to come has it and takes place as planned" in texts(preview)
    assert f'href="/console/classes/{class_id}"' in preview.text
    assert "1 booking" in texts(preview)
    assert 'class="button danger">Deactivate' in preview.text
    done = await console.post(f"{path}/deactivate")
    shown = await console.get(done.headers["location"])
    assert "is deactivated." in texts(shown)
    assert f'action="{path}/activate"' in shown.text
    assert (await studio.row("rooms", studio.room))["active"] is False
    assert (await studio.row("classes", class_id))["status"] == "scheduled"
    assert "is in use again." in await followed(console, await console.post(f"{path}/activate"))
    assert (await studio.row("rooms", studio.room))["active"] is True


async def test_a_series_is_ended_before_what_it_uses_is_deactivated(console: Console, studio: BookingStudio) -> None:
    series = await studio.add(
        "class_series", title="Every Monday", location_id=studio.location, room_id=studio.room, weekdays=[1],
        local_start=time(9), minutes=60, capacity=5, first_date=(await studio.now()).date(),
    )  # fmt: skip
    path = f"{SETTINGS}/locations/rooms/{studio.room}/deactivate"
    preview = await console.get(path)
    assert "1 series still creates classes with it." in texts(preview)
    assert f'href="/console/schedule/series/{series}"' in preview.text
    assert 'class="button danger">Deactivate' not in preview.text
    refused = await console.post(path)
    assert refused.status_code == 409
    assert (await studio.row("rooms", studio.room))["active"] is True


async def test_a_list_leads_through_all_its_pages(console: Console, studio: BookingStudio) -> None:
    made = {str(await studio.add("class_types", name=f"Type {number}")) for number in range(130)}
    made.add(str(studio.class_type))
    path, seen, pages = f"{SETTINGS}/class-types", set[str](), 0
    while path:
        page = (await console.get(path)).text
        found = set(re.findall(r'href="/console/settings/class-types/([0-9a-f-]{36})"', page))
        assert not found & seen
        assert len(page) < 60_000
        link = re.search(r'class="more"><a class="button" href="([^"]+)"', page)
        seen, path, pages = seen | found, unescape(link[1]) if link else "", pages + 1
    assert (seen, pages) == (made, 2)
    assert "Nothing is deactivated" in texts(await console.get(f"{SETTINGS}/class-types?show=inactive"))


async def test_a_manager_of_one_location_sees_and_changes_only_it(console: Console, studio: BookingStudio) -> None:
    manager = await console.as_role(Role.MANAGER, studio.location)
    elsewhere = await studio.add("rooms", location_id=studio.other_location, name="Attic", capacity=5)
    page = await manager.get(f"{SETTINGS}/locations")
    assert str(studio.location) in page.text
    assert str(studio.other_location) not in page.text
    assert "New location" not in texts(page)
    for path in (f"locations/{studio.other_location}", f"locations/rooms/{elsewhere}"):
        for name in ("", "/change", "/deactivate"):
            assert (await manager.get(f"{SETTINGS}/{path}{name}")).status_code == 404
        assert (await manager.post(f"{SETTINGS}/{path}/change", {"name": "Mine"})).status_code == 404
    assert (await manager.post(f"{SETTINGS}/locations/rooms/{elsewhere}/spots", {"spots": "A"})).status_code == 404
    assert (await manager.post(f"{SETTINGS}/locations/new", {"name": "Mine"})).status_code == 403
    assert 'min="1"' in (await manager.get(f"{SETTINGS}/locations/{studio.location}/room")).text
    room = {"name": "Cellar", "capacity": "4"}
    created = await manager.post(f"{SETTINGS}/locations/{studio.location}/room", room)
    assert "Created Cellar." in await followed(manager, created)
    await studio.new_class(location_id=studio.other_location, room_id=None)
    refused = await manager.post(f"{SETTINGS}/class-types/{studio.class_type}/change", {"name": "Mine"})
    assert refused.status_code == 403, "classes of the other location have it too"


# Spot maps.


async def spots(studio: BookingStudio, room: UUID) -> set[tuple[str, float, float]]:
    found = await studio.api.connection.fetch("select label, x, y from room_spots where room_id = $1", room)
    return {tuple(row) for row in found}


async def test_a_map_is_drawn_as_text_and_shown(console: Console, studio: BookingStudio) -> None:
    path = f"{SETTINGS}/locations/rooms/{studio.room}"
    assert "No spots" in texts(await console.get(path))
    empty = await console.get(f"{path}/spots")
    before = re.search(r'name="before" value="([^"]+)"', empty.text)
    assert before is not None
    saved = await console.post(f"{path}/spots", {"spots": 'A1,,A2\r\n"B, big"', "before": before[1]})
    assert "Saved the map." in await followed(console, saved)
    assert await spots(studio, studio.room) == {("A1", 0, 0), ("A2", 2, 0), ("B, big", 0, 1)}
    again = (await console.get(f"{path}/spots")).text
    shown = re.search(r"<textarea[^>]*>(.*?)</textarea>", again, re.DOTALL)
    assert shown is not None
    assert unescape(shown[1]) == 'A1,,A2\n"B, big"\n'
    assert (await console.get(path)).text.count('class="spot"') == 3


async def test_a_map_with_more_spots_than_people_is_saved_and_says_so(console: Console, studio: BookingStudio) -> None:
    await studio.change("rooms", studio.room, capacity=1)
    text = await followed(
        console, await console.post(f"{SETTINGS}/locations/rooms/{studio.room}/spots", {"spots": "A,B"})
    )
    assert "Saved the map. The room has 2 spots and a capacity of only 1." in text


async def test_a_wrong_map_is_refused_and_kept(console: Console, studio: BookingStudio) -> None:
    path = f"{SETTINGS}/locations/rooms/{studio.room}/spots"
    for text, message in (("A1,A1", "has two spots named A1"), ("A\u202e", "must be a line without control")):
        refused = await console.post(path, {"spots": text})
        assert refused.status_code == 422
        assert message in texts(refused)
        assert text in unescape(refused.text)
    refused = await console.post(
        path,
        {
            "spots": ",".join(f"{n}" for n in range(40))
            + "\n"
            + "\n".join(",".join(f"{r}-{n}" for n in range(40)) for r in range(13))
        },
    )
    assert "at most 500 spots" in texts(refused)
    assert await spots(studio, studio.room) == set()


async def test_a_spot_with_bookings_moves_but_stays(console: Console, studio: BookingStudio) -> None:
    first, _ = await studio.new_spots("A1", "A2")
    class_id = await studio.new_class(spot_selection_mode="required")
    await studio.booked(class_id, await studio.new_member(), class_spot_id=str(first))
    path = f"{SETTINGS}/locations/rooms/{studio.room}"
    editor = await console.get(f"{path}/spots")
    assert 'data-used="{&#34;A1&#34;: 1}"' in editor.text
    refused = await console.post(f"{path}/spots", {"spots": "A2,B1"})
    assert refused.status_code == 409
    assert "Bookings have these spots, so they stay: A1." in texts(refused)
    assert {label for label, _, _ in await spots(studio, studio.room)} == {"A1", "A2"}
    assert (await console.post(f"{path}/spots", {"spots": ",B1\nA1"})).status_code == 303
    assert await spots(studio, studio.room) == {("B1", 1, 0), ("A1", 0, 1)}
    moved = await studio.api.connection.fetchval(
        "select id from room_spots where label = 'A1' and room_id = $1", studio.room
    )
    assert moved == first, "the same spot"
    page = await console.get(path)
    assert "A1: 1 booking to come" in page.text
    assert "Class" in texts(page)


async def test_a_map_that_somebody_else_changed_is_not_overwritten_unseen(
    console: Console, studio: BookingStudio
) -> None:
    path = f"{SETTINGS}/locations/rooms/{studio.room}/spots"

    async def shown(page: str) -> str:
        found = re.search(r'name="before" value="([^"]+)"', page)
        assert found is not None
        return found[1]

    mine = await shown((await console.get(path)).text)
    assert (await console.post(path, {"spots": "T1,T2", "before": mine})).status_code == 303
    refused = await console.post(path, {"spots": "M1", "before": mine})
    assert refused.status_code == 422
    assert "was changed by somebody else meanwhile" in texts(refused)
    assert {label for label, _, _ in await spots(studio, studio.room)} == {"T1", "T2"}
    again = await console.post(path, {"spots": "M1", "before": await shown(refused.text)})
    assert again.status_code == 303
    assert {label for label, _, _ in await spots(studio, studio.room)} == {"M1"}


async def test_of_two_maps_that_are_saved_at_once_one_is_kept(console: Console, studio: BookingStudio) -> None:
    """Both were drawn on the same map, and both were read before either is stored."""
    path = f"{SETTINGS}/locations/rooms/{studio.room}/spots"
    shown = re.search(r'name="before" value="([^"]+)"', (await console.get(path)).text)
    assert shown is not None
    connection = studio.api.connection
    async with connection.transaction():
        await connection.execute("select from rooms where id = $1 for update", studio.room)
        sent = [
            asyncio.create_task(console.post(path, {"spots": each, "before": shown[1]})) for each in ("T1,T2", "M1")
        ]
        async with studio.database.connection() as other:
            while await other.fetchval(WAITING) < len(sent):
                assert not any(each.done() for each in sent)
                await asyncio.sleep(0.01)
    assert sorted([(await each).status_code for each in sent]) == [303, 422]
    assert {label for label, _, _ in await spots(studio, studio.room)} in ({"T1", "T2"}, {"M1"})


# Class types and instructors.


async def test_a_file_that_is_too_large_is_refused_while_it_arrives(console: Console, studio: BookingStudio) -> None:
    """Only an import takes gigabytes. The browser says so before it sends: the page has the limit."""
    limits = {each.path: each.max_file for each in ROUTES if each.max_file}
    assert limits == {
        "/settings/class-types/{class_type_id}/picture": pictures.MAX_BYTES,
        "/settings/instructors/{instructor_id}/picture": pictures.MAX_BYTES,
        "/settings/studio/logo": logos.MAX_BYTES,
        "/import/preview": 2**30,
    }
    at = f"{SETTINGS}/instructors/{await studio.add('instructors', name='Ines')}"
    assert f'data-max-bytes="{pictures.MAX_BYTES}"' in (await console.get(at)).text
    refused = await send_file(console, f"{at}/picture", b"x" * (pictures.MAX_BYTES + posted.MAX_BODY))
    assert refused.status_code == 413
    assert "A file may have at most 12 MB. Choose a smaller one." in texts(refused)


@pytest.mark.parametrize(("path", "table"), [("class-types", "class_types"), ("instructors", "instructors")])
async def test_a_picture_is_stored_replaced_and_removed(
    console: Console, studio: BookingStudio, path: str, table: str, tmp_path: Any
) -> None:
    new = fields_of((await console.get(f"{SETTINGS}/{path}/new")).text)
    created = await console.post(f"{SETTINGS}/{path}/new", {**new, "name": "Ana <b>", "tags": "yoga, hot,"})
    at = created.headers["location"]
    row_id = UUID(at.rpartition("/")[2])
    stored = await send_file(console, f"{at}/picture", drawn("PNG", (400, 400)))
    assert "Ana <b> has a new picture." in await followed(console, stored)
    name = (await studio.row(table, row_id))["picture"]
    assert f'src="/media/{studio.id}/{name}"' in (await console.get(at)).text
    assert f'src="/media/{studio.id}/{name}"' in (await console.get(f"{SETTINGS}/{path}")).text
    for content, message in ((b"", "choose a file."), (b"<svg/>", "The picture is not a JPEG, PNG or WebP image.")):
        refused = await send_file(console, f"{at}/picture", content)
        assert refused.status_code == 422
        assert message in texts(refused)
    assert "The picture is removed." in await followed(console, await console.post(f"{at}/remove-picture"))
    row = await studio.row(table, row_id)
    assert row["picture"] is None
    assert row.get("tags", ["yoga", "hot"]) == ["yoga", "hot"]


async def test_a_picture_of_a_row_elsewhere_is_refused(console: Console, studio: BookingStudio) -> None:
    manager = await console.as_role(Role.MANAGER, studio.location)
    await studio.new_class(location_id=studio.other_location, room_id=None)
    path = f"{SETTINGS}/class-types/{studio.class_type}/picture"
    assert (await send_file(manager, path, drawn("PNG"))).status_code == 403
    desk = await console.as_role(Role.FRONT_DESK)
    assert (await send_file(desk, path, drawn("PNG"))).status_code == 403
    assert (await studio.row("class_types", studio.class_type))["picture"] is None


async def test_a_statement_that_is_not_made_stays_unmade(console: Console, studio: BookingStudio) -> None:
    path = f"{SETTINGS}/class-types/{studio.class_type}/change"
    shown = fields_of((await console.get(path)).text)
    assert (shown["beginner_safe"], shown["recovery"]) == ("", "")
    assert (await console.post(path, {**shown, "recovery": "no"})).status_code == 303
    row = await studio.row("class_types", studio.class_type)
    assert (row["beginner_safe"], row["recovery"]) == (None, False)
