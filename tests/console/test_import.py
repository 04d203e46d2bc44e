"""Import a file in the browser: the preview of every change, then the import itself."""

import asyncio
import csv
import io
import json
import re
from collections.abc import Iterator
from functools import partial
from threading import Event
from uuid import uuid4

import httpx2
import pytest

from studiogate.console.framework import posted
from studiogate.console.set_up.import_preview import MAX_VALUE
from studiogate.domain.staff import Role
from studiogate.flows import csv_import
from studiogate.flows.studio_file import load
from studiogate.storage.db.own_loop import SLOTS, WORK, WorkQueue
from studiogate.storage.import_files import BYTES_PER_PAGE, ROWS_PER_PAGE, Owner, find
from studiogate.storage.upload_folder import UploadFolder
from tests.support.console import ORIGIN, Console, texts

pytestmark = pytest.mark.anyio
ADA = b"email,first_name,last_name\nada@example.com,Ada,Moss\n"


async def _send(console: Console, name: str, content: bytes, **fields: str) -> httpx2.Response:
    data = {"csrf": await console.csrf(), "idempotency": uuid4().hex, **fields}
    files = {"file": (name, content)}
    return await console.client.post("/console/import/preview", data=data, files=files, headers={"Origin": ORIGIN})


async def _result(console: Console, sent: httpx2.Response) -> httpx2.Response:
    """The page of an import once it is done: until then it asks to be loaded again."""
    assert sent.status_code == 303, sent.text
    while True:
        page = await console.get(sent.headers["location"])
        if "every 2s" not in page.text:
            return page
        await asyncio.sleep(0.02)


async def _preview(console: Console, name: str, content: bytes, **fields: str) -> httpx2.Response:
    return await _result(console, await _send(console, name, content, **fields))


async def _apply(console: Console, preview: httpx2.Response, **fields: str) -> httpx2.Response:
    return await _result(console, await console.post(f"{preview.url.path}/apply", fields))


async def _rows(console: Console, preview: httpx2.Response, show: str) -> list[list[str]]:
    """The cells of every row of a list, through all of its pages."""
    rows: list[list[str]] = []
    address: str | None = f"{preview.url.path}?show={show}"
    while address is not None:
        page = (await console.get(address)).text
        body = page[page.index("<tbody>") : page.index("</tbody>")]
        rows += [
            [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
            for row in re.findall(r"<tr>(.*?)</tr>", body)
        ]
        following = re.search(r'class="more"><a class="button" href="([^"]*)"', page)
        address = following[1].replace("&amp;", "&") if following else None
    return rows


async def test_a_csv_file_is_previewed_then_imported(console: Console) -> None:
    members = await console.studio.rows("members", "true")
    preview = await _preview(console, "members.csv", ADA, kind="members")
    assert "1 created" in texts(preview)
    new = await _rows(console, preview, "changes")
    assert (new[0], new[2]) == (["Line 2", "new", "first_name", "", "Ada"], ["", "", "email", "", "ada@example.com"])
    assert await console.studio.rows("members", "true") == members, "a preview changes nothing"
    assert "Imported: 1 created." in texts(await _apply(console, preview))
    assert len(await console.studio.rows("members", "true")) == len(members) + 1
    changed = await _preview(console, "members.csv", ADA.replace(b"Moss", b"Fern"), kind="members")
    assert await _rows(console, changed, "changes") == [["Line 2", "changed", "last_name", "Moss", "Fern"]]


async def test_rows_with_faults_are_left_out_only_on_request(console: Console) -> None:
    preview = await _preview(console, "members.csv", ADA + b"not-an-email,Ben,Fischer\n", kind="members")
    page = texts(preview)
    assert "1 row cannot be imported." in page
    assert "Import the good rows, leave out 1" in page
    assert "Import it" not in page
    [fault] = await _rows(console, preview, "others")
    assert fault[:3] == ["Line 3", "fault", "email"]
    refused = await _apply(console, preview)
    assert "Imported:" not in texts(refused)
    assert await console.studio.rows("members", "email = 'ada@example.com'") == []
    assert "Imported: 1 created, 1 with faults left out." in texts(await _apply(console, refused, skip_faults="yes"))
    assert len(await console.studio.rows("members", "email = 'ada@example.com'")) == 1


async def test_every_change_can_be_reached(console: Console) -> None:
    people = [[f"m{number}@example.com", "Ada", f"Moss {number}"] for number in range(2 * ROWS_PER_PAGE + 1)]
    file = io.StringIO()
    csv.writer(file).writerows([["email", "first_name", "last_name"], *people])
    preview = await _preview(console, "members.csv", file.getvalue().encode(), kind="members")
    seen = await _rows(console, preview, "changes")
    assert [row[4] for row in seen if row[2] == "email"] == [email for email, _, _ in people]
    assert [row[0] for row in seen if row[0]] == [f"Line {number}" for number, _ in enumerate(people, 2)]
    for odd in ("-1", "x", "9" * 30, "7", "\u0667"):
        assert (await console.get(f"{preview.url.path}?show=changes&after={odd}")).status_code == 200


async def test_a_studio_file_shows_every_field_before_it_is_applied(console: Console) -> None:
    row = (await console.studio.rows("studios", "true"))[0]
    studio = {name: row[name] for name in ("name", "slug", "timezone", "currency", "country")}
    document = {"studio": {"id": str(console.studio.id), **studio, "name": "Renamed <b>Studio</b>"}}
    preview = await _preview(console, "studio.json", json.dumps(document).encode(), kind="studio")
    assert "Renamed <b>Studio</b>" in texts(preview).replace("&lt;", "<")
    assert "<b>Studio</b>" not in preview.text
    assert (await console.studio.rows("studios", "true"))[0]["name"] == row["name"]
    assert "Imported: 1 updated." in texts(await _apply(console, preview))
    assert (await console.studio.rows("studios", "true"))[0]["name"] == "Renamed <b>Studio</b>"


async def test_zero_and_no_are_changes_of_a_new_row(console: Console) -> None:
    row = (await console.studio.rows("studios", "true"))[0]
    studio = {name: row[name] for name in ("name", "slug", "timezone", "currency", "country")}
    product = {"id": str(uuid4()), "key": "free", "name": "Free", "product_type": "package", "active": False}
    price = {"id": str(uuid4()), "amount": "0.00", "currency": row["currency"], "price_type": "one_time"}
    document = {"studio": {"id": str(console.studio.id), **studio}, "products": [{**product, "prices": [price]}]}
    preview = await _preview(console, "studio.json", json.dumps(document).encode(), kind="studio")
    shown = {(name, after) for _, _, name, _, after in await _rows(console, preview, "changes")}
    assert ("active", "false") in shown
    assert {name for name, after in shown if after.startswith("0")} == {"amount"}


async def test_a_file_that_cannot_be_imported_says_why(console: Console) -> None:
    other = {"studio": {"id": "00000000-0000-4000-8000-000000000001", "name": "X", "slug": "x"}}
    for content, why in (
        (json.dumps(other).encode(), "studio.id is of another studio"),
        (b"{}", "studio is required, once"),
        (b'{"studio": {}}', "studio.id is required"),
        (b"[1", "line 1 the file must be one JSON object"),
        (b"\x00\xff", "line 1 the file is not encoded in UTF-8"),
    ):
        page = await _preview(console, "studio.json", content, kind="studio")
        assert "Nothing can be imported before they are corrected." in texts(page), content
        row = (await _rows(console, page, "others"))[0]
        assert f"{row[0]} {row[3]}".startswith(why)
        assert "Import it" not in page.text
    assert "The file is empty" in texts(await _preview(console, "members.csv", b"\n", kind="members"))


async def test_a_page_of_changes_is_bounded(console: Console) -> None:
    fields = [{"key": f"f{number}", "label": "y" * 500, "type": "text"} for number in range(50)]
    forms = [
        {"id": str(uuid4()), "title": f"Form {number}", "slug": f"form-{number}", "fields": fields}
        for number in range(200)
    ]
    document = {"studio": {"id": str(console.studio.id)}, "forms": forms}
    preview = await _preview(console, "studio.json", json.dumps(document).encode(), kind="studio")
    assert len(preview.content) < 3 * BYTES_PER_PAGE
    seen = await _rows(console, preview, "changes")
    assert len([row for row in seen if row[0]]) == len(forms)
    assert max(len(row[4]) for row in seen if "&" not in row[4]) <= MAX_VALUE + 1


async def test_a_large_file_is_neither_in_memory_nor_in_the_page(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posted, "FILE_IN_MEMORY", 10_000)
    lines = [f"m{number}@example.com,Ada,Moss {number},{'x' * 2_000}" for number in range(900)]
    file = "\n".join(["email,first_name,last_name,remarks", *lines, "not-an-email,Ben,Fischer,"]).encode()
    preview = await _preview(console, "members.csv", file, kind="members")
    assert len(preview.content) < 100_000 < len(file)
    assert "xxxx" not in preview.text
    assert "Imported: 900 created, 1 with faults left out." in texts(await _apply(console, preview, skip_faults="yes"))
    assert len(await console.studio.rows("members", "email like 'm%@example.com'")) == 900


async def test_the_file_of_a_preview_belongs_to_its_person(console: Console) -> None:
    first = await _preview(console, "members.csv", ADA, kind="members")
    other = await console.as_role(Role.OWNER)
    for person, path in (
        (other, first.url.path),
        (console, "/console/import/" + "0" * 32),
        (console, "/console/import/%2e%2e%2f"),
    ):
        assert (await person.get(path)).status_code in (404, 422)
        answer = await person.post(f"{path}/apply")
        assert answer.status_code in (404, 422)
        assert "Imported" not in texts(answer)
    again = await _preview(console, "members.csv", ADA, kind="members")
    assert "The file is no longer kept. Choose it again." in texts(await console.get(first.url.path))
    folder = console.app._runtime.settings.data_dir / "uploads" / "incoming" / str(console.studio.id)
    token = again.url.path.rpartition("/")[2]
    assert {each.name.split("-")[2] for each in folder.iterdir()} == {token}, "an earlier one is not kept"


async def test_an_import_that_is_confirmed_twice_takes_effect_once(console: Console) -> None:
    preview = await _preview(console, "members.csv", ADA, kind="members")
    for token in ("a" * 24, "a" * 24, "b" * 24):
        sent = await console.post(f"{preview.url.path}/apply", token=token)
        assert "Imported: 1 created." in texts(await _result(console, sent))
    assert len(await console.studio.rows("audit_log", "action = 'studio.import_csv'")) == 1


@pytest.fixture
def busy() -> Iterator[Event]:
    """Occupy every slot with work of other studios, until the event is set."""
    goes_on = Event()
    for _ in range(SLOTS):
        WORK.submit(uuid4(), goes_on.wait)
    yield goes_on
    goes_on.set()


async def test_previews_are_queued(console: Console, busy: Event) -> None:
    other = await console.as_role(Role.OWNER)
    sent = [await _send(person, "m.csv", ADA, kind="members") for person in (console, other) for _ in range(3)]
    assert {each.status_code for each in sent} == {303}
    waiting = await console.get(sent[2].headers["location"])
    assert "It waits for its turn" in texts(waiting)
    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in waiting.text
    part = await console.fragment(sent[2].headers["location"])
    assert "<html" not in part.text
    busy.set()
    for person, last in ((console, sent[2]), (other, sent[5])):
        assert "1 created" in texts(await _result(person, last))
    assert "no longer kept" in texts(await console.get(sent[0].headers["location"]))


async def test_an_import_that_was_interrupted_says_so(console: Console) -> None:
    """A process that ends leaves a state that is not the last, and no lock on the file."""
    preview = await _preview(console, "members.csv", ADA, kind="members")
    assert console.person is not None
    owner = Owner(console.studio.id, console.person.account_id)
    kept = find(UploadFolder(console.app._runtime.settings.data_dir), owner, preview.url.path.rpartition("/")[2])
    assert kept is not None
    state = {**(kept.state or {}), "step": "reading", "percent": 3}
    while (locked := kept.lock()) is None:
        await asyncio.sleep(0.02)  # the preview was written a moment ago, and its lock is about to be released
    with locked:
        kept.write_state(state)
        assert "Reading: 3 %" in texts(await console.get(preview.url.path))
    page = texts(await console.get(preview.url.path))
    assert "The service stopped while it worked on this file. Nothing was changed." in page
    kept.write_state({**state, "apply": True})
    assert "the preview of the same file shows which" in texts(await console.get(preview.url.path))


def test_the_work_of_one_owner_does_not_delay_that_of_others() -> None:
    queue, done, goes_on, finished = WorkQueue(2), list[str](), Event(), Event()
    many, few = uuid4(), uuid4()
    queue.submit(many, goes_on.wait)
    for number in range(40):
        queue.submit(many, partial(done.append, f"many {number}"))
    queue.submit(few, partial(done.append, "few"))
    queue.submit(few, finished.set)
    finished.wait()
    assert done == ["few"], "forty others came first, of an owner whose work still runs"
    goes_on.set()
    last = Event()
    queue.submit(many, last.set)
    last.wait()
    assert done == ["few", *(f"many {number}" for number in range(40))]


async def test_a_file_of_faults_is_not_read_to_its_end(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_import, "MAX_FAULTY_ROWS", 100)
    monkeypatch.setattr(load, "MAX_FAULTS", 100)
    short = b"email,first_name,last_name\n" + b"a\n" * 5_000
    page = texts(await _preview(console, "members.csv", short, kind="members"))
    assert "More than 100 rows have faults, so the rest was not read. Line 102: has 1 cells" in page
    empty = b'{"studio": {"id": "%s"}, "members": [%s]}' % (str(console.studio.id).encode(), b"{}," * 5_000 + b"{}")
    found = await _preview(console, "studio.json", empty, kind="studio")
    rows = await _rows(console, found, "others")
    assert len(rows) == 102
    assert rows[-1][3] == load.TOO_MANY
    monkeypatch.setattr(csv_import, "MAX_ROWS", 2)
    long = await _preview(console, "members.csv", ADA + b"a@b.example.com,A,B\n" * 2, kind="members")
    assert "The file has more than 2 rows. Import it in parts." in texts(long)


async def test_what_is_no_file_or_too_large_is_refused(console: Console) -> None:
    assert (await _send(console, "members.csv", b"a", kind="nonsense")).status_code == 422
    assert (await _send(console, "members.csv", b"email\n", kind="members", dates="nonsense")).status_code == 422
    assert (await _send(console, "members.csv", b"", kind="members")).status_code == 422
    long = await _send(console, "members.csv", b"a", kind="members", dates="x" * posted.MAX_BODY)
    assert long.status_code == 413


async def test_a_manager_of_one_location_imports_nothing(console: Console) -> None:
    manager = await console.as_role(Role.MANAGER, console.studio.location)
    page = await _preview(manager, "members.csv", ADA, kind="members")
    assert "The file was not imported. Nothing was changed." in texts(page)


async def test_nobody_else_sends_files(console: Console) -> None:
    """The file is not read, whatever its size, before the permission is known."""
    desk = await console.as_role(Role.FRONT_DESK)
    assert (await _send(desk, "members.csv", ADA, kind="members")).status_code == 403
    data = {"csrf": await console.csrf(), "idempotency": uuid4().hex}
    headers = {"Origin": ORIGIN}
    other = await console.client.post("/console/theme", data=data, files={"file": ("x", b"x")}, headers=headers)
    assert other.status_code == 415
