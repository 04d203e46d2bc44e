"""Import a file in the browser: the preview of every change, then the import itself."""

import asyncio
import json
import re
from html import unescape
from threading import Event, get_ident
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from studiogate.console.set_up import imports
from studiogate.console.set_up.import_preview import LONGEST_VALUE, SHOWN, Preview
from studiogate.domain.staff import Role
from studiogate.flows.csv_import import import_csv
from studiogate.storage.db import own_loop
from studiogate.storage.db.pool import Database
from studiogate.storage.studio_file.diff import RowChange
from tests.support.console import ORIGIN, Console, texts

pytestmark = pytest.mark.anyio


def hidden(text: str, action: str) -> dict[str, str]:
    """The hidden fields of the form with this action."""
    form = text[text.index(f'action="{action}"') :].partition("</form>")[0]
    return dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form))


async def _preview(console: Console, name: str, content: bytes, **fields: str) -> httpx2.Response:
    data = {"csrf": await console.csrf(), "idempotency": uuid4().hex, **fields}
    files = {"file": (name, content)}
    return await console.client.post("/console/import/preview", data=data, files=files, headers={"Origin": ORIGIN})


async def _apply(console: Console, preview: httpx2.Response) -> httpx2.Response:
    form = {name: unescape(value) for name, value in hidden(preview.text, "/console/import/apply").items()}
    return await console.client.post("/console/import/apply", data=form, headers={"Origin": ORIGIN})


async def test_a_csv_file_is_previewed_then_imported(console: Console) -> None:
    file = b"email,first_name,last_name\nada@example.com,Ada,Moss\nnot-an-email,Ben,Fischer\n"
    members = await console.studio.rows("members", "true")
    preview = await _preview(console, "members.csv", file, kind="members")
    assert preview.status_code == 200, preview.text
    page = texts(preview)
    assert "1 created" in page
    assert "1 fault" in page
    assert "email" in page
    assert await console.studio.rows("members", "true") == members, "a preview changes nothing"
    applied = await _apply(console, preview)
    assert applied.status_code == 303
    assert "Imported: 1 created, 1 fault." in texts(await console.get("/console/welcome"))
    assert len(await console.studio.rows("members", "true")) == len(members) + 1


async def test_a_studio_file_shows_every_field_before_it_is_applied(console: Console) -> None:
    row = (await console.studio.rows("studios", "true"))[0]
    studio = {name: row[name] for name in ("name", "slug", "timezone", "currency", "country")}
    document = {"studio": {"id": str(console.studio.id), **studio, "name": "Renamed <b>Studio</b>"}}
    preview = await _preview(console, "studio.json", json.dumps(document).encode(), kind="studio")
    assert preview.status_code == 200, preview.text
    assert "Renamed <b>Studio</b>" in texts(preview).replace("&lt;", "<")
    assert "<b>Studio</b>" not in preview.text
    assert (await console.studio.rows("studios", "true"))[0]["name"] == row["name"]
    assert (await _apply(console, preview)).status_code == 303
    assert (await console.studio.rows("studios", "true"))[0]["name"] == "Renamed <b>Studio</b>"


async def test_a_file_of_another_studio_is_refused(console: Console) -> None:
    other = {"studio": {"id": "00000000-0000-4000-8000-000000000000", "name": "X", "slug": "x"}}
    for content in (json.dumps(other).encode(), b"{}", b"[1", b"\x00\xff"):
        answer = await _preview(console, "studio.json", content, kind="studio")
        assert answer.status_code == 422, content
    assert "of another studio" in texts(await _preview(console, "s.json", b"{}", kind="studio"))


async def test_a_large_file_is_neither_in_the_page_nor_on_the_event_loop(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set()

    async def spied(*arguments: Any) -> Any:
        threads.add(get_ident())
        return await import_csv(*arguments)

    monkeypatch.setattr(imports, "import_csv", spied)
    lines = [f"m{number}@example.com,Ada,Moss {number},{'x' * 2_000}" for number in range(900)]
    faulty = "not-an-email,Ben,Fischer,"
    file = "\n".join(["email,first_name,last_name,remarks", *lines, faulty]).encode()
    preview = await _preview(console, "members.csv", file, kind="members")
    assert preview.status_code == 200
    assert len(preview.content) < 100_000 < len(file)
    assert "xxxx" not in preview.text
    assert "901 rows in all; the table shows 500 lines, those with faults first." in texts(preview)
    assert texts(preview).index("902 fault") < texts(preview).index("2 created")
    assert threads, "the import ran"
    assert get_ident() not in threads
    assert (await _apply(console, preview)).status_code == 303
    assert len(await console.studio.rows("members", "email like 'm%@example.com'")) == 900


async def test_the_preview_of_a_studio_file_is_bounded() -> None:
    found = Preview()
    for number in range(100):
        fields: dict[str, list[Any]] = {f"field_{each}": [None, "y" * 5_000] for each in range(20)}
        found.note(RowChange("forms", f"forms[{number}]", uuid4(), True, fields))
    assert (found.row_count, len(found.changes), found.is_cut) == (100, SHOWN, True)
    assert max(len(each.after) for each in found.changes) == LONGEST_VALUE + 1


async def test_the_file_of_a_preview_belongs_to_its_person(console: Console) -> None:
    file = b"email,first_name,last_name\nada@example.com,Ada,Moss\n"
    form = hidden((await _preview(console, "members.csv", file, kind="members")).text, "/console/import/apply")
    kept = {name: form[name] for name in ("kind", "mapping", "dates", "filename", "token")}
    other = await console.as_role(Role.OWNER)
    for person, token in ((other, kept["token"]), (console, "0" * 32), (console, "../" * 10)):
        answer = await person.post("/console/import/apply", {**kept, "token": token})
        assert answer.status_code == 422
        assert "The file is no longer kept. Choose it again." in texts(answer)
    again = hidden((await _preview(console, "members.csv", file, kind="members")).text, "/console/import/apply")
    folder = console.app._runtime.settings.data_dir / "uploads" / "incoming" / str(console.studio.id)
    assert [each.name[-32:] for each in folder.iterdir()] == [again["token"]], "an earlier one is not kept"


async def test_an_import_that_is_sent_twice_takes_effect_once(console: Console) -> None:
    file = b"email,first_name,last_name\nada@example.com,Ada,Moss\n"
    preview = await _preview(console, "members.csv", file, kind="members")
    assert (await _apply(console, preview)).status_code == 303
    assert (await _apply(console, preview)).status_code == 303
    assert "This form was sent twice. It took effect once." in texts(await console.get("/console/welcome"))


async def test_one_import_runs_at_a_time(console: Console) -> None:
    address = console.app._runtime.settings.database_url
    assert address is not None
    begun, goes_on = Event(), Event()

    async def work(database: Database) -> int:
        begun.set()
        goes_on.wait()
        async with database.connection() as connection:
            return int(await connection.fetchval("select 7"))

    running = asyncio.ensure_future(own_loop.run_in_own_loop(address, work))
    await asyncio.to_thread(begun.wait)
    try:
        file = b"email,first_name,last_name\nada@example.com,Ada,Moss\n"
        assert (await _preview(console, "members.csv", file, kind="members")).status_code == 503
    finally:
        goes_on.set()
    assert await running == 7
    assert (await _preview(console, "members.csv", file, kind="members")).status_code == 200


async def test_an_import_that_is_cancelled_before_it_begins_gives_its_place_back(console: Console) -> None:
    address = console.app._runtime.settings.database_url
    assert address is not None
    begun = list[Database]()

    async def work(database: Database) -> int:
        begun.append(database)
        return 7

    goes_on = Event()
    own_loop._threads.submit(goes_on.wait)
    waiting = asyncio.create_task(own_loop.run_in_own_loop(address, work))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    goes_on.set()
    assert await own_loop.run_in_own_loop(address, work) == 7
    assert len(begun) == 1


async def test_what_is_no_file_or_too_large_is_refused(console: Console) -> None:
    assert (await _preview(console, "members.csv", b"", kind="members")).status_code == 422
    assert (await _preview(console, "members.csv", b"a", kind="nonsense")).status_code == 422
    large = await _preview(console, "members.csv", b"a" * (2 * 1024 * 1024 + 1), kind="members")
    assert large.status_code == 413
    dates = await _preview(console, "members.csv", b"email\n", kind="members", dates="nonsense")
    assert dates.status_code == 422


async def test_a_manager_of_one_location_imports_nothing(console: Console) -> None:
    manager = await console.as_role(Role.MANAGER, console.studio.location)
    file = b"email,first_name,last_name\nada@example.com,Ada,Moss\n"
    assert (await _preview(manager, "members.csv", file, kind="members")).status_code == 403
