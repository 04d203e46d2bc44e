"""Create, change and suspend members, merge duplicates, export and erase a person, download files, over HTTP."""

import io
import json
import re
import zipfile
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from studiogate.domain.staff import Role
from studiogate.storage.upload_folder import UploadFolder
from studiogate.storage.upload_store import IncomingFile
from tests.support.booking_studio import DAY
from tests.support.console import ORIGIN, Console, texts
from tests.support.week_pages import fields_of

pytestmark = pytest.mark.anyio


async def test_create_a_member(console: Console) -> None:
    given = {"first_name": "Ada", "last_name": "Moss", "email": "Ada@Example.com", "phone": "(212) 555-0199"}
    answer = await console.post("/console/members/new", given)
    assert answer.status_code == 303
    (member,) = await console.studio.rows("members")
    assert answer.headers["location"] == f"/console/members/{member['id']}"
    assert (member["email"], member["phone"]) == ("ada@example.com", "+12125550199")
    again = await console.post("/console/members/new", given)
    assert again.status_code == 409
    assert 'data-code="member_exists"' in again.text
    assert f'href="/console/members/{member["id"]}">Open that member' in again.text
    assert 'value="(212) 555-0199"' in again.text
    wrong = await console.post("/console/members/new", {"first_name": "", "last_name": "Moss", "email": "no"})
    assert wrong.status_code == 422
    assert len(await console.studio.rows("members")) == 1


async def test_change_a_member(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(membership=False, email="a@example.com", phone="+12125550199")
    given = {"first_name": "Ada", "last_name": "Moss", "email": "b@example.com", "phone": ""}
    assert (await console.post(f"/console/members/{member}/change", given)).status_code == 303
    row = await studio.row("members", member)
    assert (row["name"], row["email"], row["phone"]) == ("Ada Moss", "b@example.com", None)
    wrong = await console.post(f"/console/members/{member}/change", {**given, "email": "nobody", "phone": "12"})
    assert wrong.status_code == 422
    assert re.search(r'class="field has-fault">\s*<label for="f-email"', wrong.text)
    assert 'value="nobody"' in wrong.text


async def test_two_people_who_change_one_profile_do_not_undo_each_other(console: Console) -> None:
    studio, desk = console.studio, await console.as_role(Role.FRONT_DESK)
    member = await studio.new_member(membership=False, first_name="Ada", email="a@example.com", phone="+12125550199")
    path = f"/console/members/{member}/change"
    mine, theirs = fields_of(await console.get(path), path), fields_of(await desk.get(path), path)
    assert (await desk.post(path, {**theirs, "phone": "+12125550100"})).status_code == 303
    wrong = await console.post(path, {**mine, "email": "nobody"})
    assert wrong.status_code == 422
    again = fields_of(wrong, path)
    assert (again["email"], again["seen"]) == ("nobody", mine["seen"]), "it still knows what it showed first"
    assert (await console.post(path, {**again, "email": "b@example.com"})).status_code == 303
    row = await studio.row("members", member)
    assert (row["first_name"], row["email"], row["phone"]) == ("Ada", "b@example.com", "+12125550100")
    assert (await console.post(path, {**mine, "phone": ""})).status_code == 303
    assert (await studio.row("members", member))["phone"] is None, "what was typed counts"


async def test_notes_and_suspension(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member()
    await console.post(f"/console/members/{member}/note", {"note": "Knee\nsurgery"})
    assert "Knee surgery" in texts(await console.get(f"/console/members/{member}"))
    assert (await console.post(f"/console/members/{member}/note", {"note": "  "})).status_code == 422
    answer = await console.post(f"/console/members/{member}/suspend", {"reason": "Unpaid"})
    page = await console.get(answer.headers["location"])
    assert "Suspended: no new bookings are possible." in texts(page)
    assert f'action="/console/members/{member}/unsuspend"' in page.text
    assert (await studio.row("members", member))["suspended"]
    await console.post(f"/console/members/{member}/unsuspend")
    assert not (await studio.row("members", member))["suspended"]


async def test_merge_duplicates(console: Console) -> None:
    studio = console.studio
    kept = await studio.new_member(5, first_name="Ada", last_name="Moss", email="ada@example.com")
    other = await studio.new_member(2, first_name="Ada", last_name="Moss", phone="+12125550199")
    booking = await studio.booked(await studio.new_class(DAY, title="Flow"), other)
    suggested = await console.get(f"/console/members/{kept}/merge")
    assert f'href="/console/members/{kept}/merge/{other}"' in suggested.text
    assert f"/merge/{kept}" not in suggested.text
    found = await console.post(f"/console/members/{kept}/merge", {"text": "0199"})
    assert str(other) in found.text
    preview = texts(await console.get(f"/console/members/{kept}/merge/{other}"))
    assert "1 booking, 1 membership, 0 purchases and 0 forms move" in preview
    answer = await console.post(f"/console/members/{kept}/merge/{other}")
    assert answer.headers["location"] == f"/console/members/{kept}"
    assert (await studio.row("bookings", booking["id"]))["member_id"] == kept
    assert (await studio.row("members", kept))["phone"] == "+12125550199"


async def test_a_merge_of_two_in_one_class_says_which(console: Console) -> None:
    studio = console.studio
    kept, other = await studio.new_member(5), await studio.new_member(5)
    class_id = await studio.new_class(DAY, title="Flow")
    for member in (kept, other):
        await studio.booked(class_id, member)
    preview = await console.get(f"/console/members/{kept}/merge/{other}")
    assert "Both are booked in the same class." in texts(preview)
    refused = await console.post(f"/console/members/{kept}/merge/{other}")
    assert refused.status_code == 409
    assert 'data-code="already_booked"' in refused.text
    assert f'href="/console/classes/{class_id}"' in refused.text
    assert (await console.get(f"/console/members/{kept}/merge/{kept}")).status_code == 404


async def test_staff_of_one_location_see_no_preview_of_all_locations(console: Console) -> None:
    """A preview counts bookings everywhere and names classes; who may not merge or erase does not need it."""
    studio = console.studio
    kept, other = await studio.new_member(5), await studio.new_member(5)
    class_id = await studio.new_class(DAY, title="Faraway", location_id=studio.other_location, room_id=None)
    for member in (kept, other):
        await studio.booked(class_id, member)
    manager = await console.as_role(Role.MANAGER, studio.location)
    for page in ("merge", f"merge/{other}", "erase"):
        assert (await console.get(f"/console/members/{kept}/{page}")).status_code == 200, page
        refused = await manager.get(f"/console/members/{kept}/{page}")
        assert (refused.status_code, "Faraway" in refused.text) == (403, False), page


async def upload(console: Console, member: UUID, filename: str, content: bytes) -> tuple[UUID, UUID]:
    """Store a file of a submission of the member; return the ids of the submission and the upload."""
    studio = console.studio
    submission = await studio.submit(form := await studio.new_form(), member)
    folder = UploadFolder(Path(studio.api.app._runtime.settings.data_dir))
    async with IncomingFile(folder, studio.id) as incoming:
        incoming.write(content)
        incoming.finish()
        await incoming.keep()
    row = {"field_key": "f", "filename": filename, "content_type": "text/html", "stored_name": incoming.name}
    upload_id = await studio.add(
        "form_uploads", form_id=form, submission_id=submission, size=len(content), sha256=incoming.sha256, **row
    )
    return submission, upload_id


async def test_files_are_attachments_that_no_browser_shows(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member()
    content = b"<script>alert(1)</script>"
    submission, file = await upload(console, member, 'pass"port\u202e.html', content)
    base = f"/console/members/{member}/forms"
    path = f"{base}/{submission}/files/{file}"
    assert f'method="post" action="{path}"' in (await console.get(base)).text
    assert (await console.get(path)).status_code == 404, "a link has no effect"
    assert await studio.rows("audit_log", "action = 'submission.files'") == []
    answer = await console.post(path)
    assert answer.content == content
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"].startswith('attachment; filename="pass_port_.html"; filename*=UTF-8')
    assert len(await studio.rows("audit_log", "action = 'submission.files'")) == 1
    other = await studio.new_member()
    for wrong in (f"/console/members/{other}/forms/{submission}/files/{file}", f"{base}/{submission}/files/{uuid4()}"):
        assert (await console.post(wrong)).status_code == 404


async def test_export(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(first_name="Ada", last_name="Moss")
    await upload(console, member, "passport.pdf", b"%PDF-1.4 x")
    page = await console.get(f"/console/members/{member}/export")
    path = f"/console/members/{member}/export"
    assert f'method="post" action="{path}"' in page.text
    without = await console.client.post(path, headers={"Origin": ORIGIN}, data={"idempotency": "k" * 24})
    assert without.status_code == 403, "the form's CSRF token is missing"
    assert await studio.rows("audit_log", "action = 'member.export'") == [], "showing the page has no effect"
    answer = await console.post(path)
    assert len(await studio.rows("audit_log", "action = 'member.export'")) == 1
    assert answer.headers["content-disposition"].startswith(f'attachment; filename="member-{member}.zip"')
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    assert json.loads(archive.read("person.json"))["member"][0]["first_name"] == "Ada"
    assert [each for each in archive.namelist() if each.startswith("files/")] == ["files/01-passport.pdf"]
    desk = await console.as_role(Role.FRONT_DESK, studio.location)
    refused = await desk.post(path)
    assert refused.status_code == 403


async def test_erase(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(4, first_name="Ada", last_name="Moss", email="ada@example.com")
    await studio.booked(await studio.new_class(DAY), member)
    _submission, file = await upload(console, member, "passport.pdf", b"%PDF-1.4 x")
    stored = (await studio.row("form_uploads", file))["stored_name"]
    preview = texts(await console.get(f"/console/members/{member}/erase"))
    assert "1 form, 1 file" in preview
    assert "1 booking ahead, free of charge; 1 membership" in preview
    wrong = await console.post(f"/console/members/{member}/erase", {"word": "yes"})
    assert wrong.status_code == 422
    assert "Type the word erase to confirm." in texts(wrong)
    done = await console.post(f"/console/members/{member}/erase", {"word": "Erase"})
    assert (done.status_code, done.headers["location"]) == (303, "/console/members")
    row = await studio.row("members", member)
    assert (row["name"], row["email"]) == ("Erased member", None)
    folder = UploadFolder(Path(studio.api.app._runtime.settings.data_dir))
    assert not folder.has(studio.id, stored)
    assert "Erased member" not in texts(await console.get("/console/members"))
    profile = texts(await console.get(f"/console/members/{member}"))
    assert "This person was erased on" in profile
    assert "Sell" not in profile


async def test_erasing_asks_for_the_password_again(console: Console) -> None:
    member = await console.studio.new_member(membership=False)
    assert console.person is not None
    await console.people.sql(
        "update staff_sessions set password_at = password_at - interval '1 hour' where account_id = $1",
        console.person.account_id,
    )
    assert (await console.get(f"/console/members/{member}/erase")).status_code == 200
    wrong = await console.post(f"/console/members/{member}/erase", {"word": "yes"})
    assert wrong.status_code == 422, "nobody types a password for a form that is refused anyway"
    assert "Type the word erase to confirm." in texts(wrong)
    answer = await console.post(f"/console/members/{member}/erase", {"word": "erase"})
    assert answer.status_code == 403
    assert "password" in answer.text
    assert (await console.studio.row("members", member))["erased_at"] is None


async def test_a_link_to_a_form(console: Console) -> None:
    studio = console.studio
    member, form = await studio.new_member(), await studio.new_form()
    assert f'<option value="{form}"' in (await console.get(f"/console/members/{member}/form-link")).text
    made = await console.post(f"/console/members/{member}/form-link", {"form_id": str(form)})
    assert made.status_code == 200
    assert re.search(r"/f/studio-\d+/w-[0-9a-f]+\?link=", made.text)
    wrong = await console.post(f"/console/members/{member}/form-link", {"form_id": ""})
    assert wrong.status_code == 422


async def test_a_link_by_email(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    studio = console.studio
    monkeypatch.setattr(studio.api.app._runtime.settings, "smtp_url", "smtp://mail.example")
    member, form = await studio.new_member(email="ada@example.com"), await studio.new_form()
    path, given = f"/console/members/{member}/form-link", {"form_id": str(form), "by": "mail"}
    page = await console.get(path)
    assert '<button class="button primary" name="by" value="mail">Send by email</button>' in page.text
    assert "The mail goes to ada@example.com." in texts(page)
    sent = await console.post(path, given)
    assert (sent.status_code, sent.headers["location"]) == (303, f"/console/members/{member}/forms")
    assert "A mail with the link is on its way." in texts(await console.get(sent.headers["location"]))
    (mail,) = await studio.rows("mails", "member_id = $2", member)
    assert (mail["kind"], mail["form_id"]) == ("form_link", form)
    in_drawer = await console.post(path, given, htmx=True)
    assert in_drawer.headers["hx-redirect"] == f"/console/members/{member}/forms"
    await console.post(path, given)
    many = await console.post(path, given)
    assert many.status_code == 409
    assert "The member was mailed 3 links within the hour." in texts(many)
    await studio.change("forms", form, status="archived")
    closed = await console.post(path, given)
    assert (closed.status_code, "The form is not published." in texts(closed)) == (409, True)
    assert len(await studio.rows("mails", "member_id = $2", member)) == 3


async def test_a_link_that_cannot_be_mailed(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    studio = console.studio
    member, form = await studio.new_member(email="ada@example.com"), await studio.new_form()
    path, given = f"/console/members/{member}/form-link", {"form_id": str(form), "by": "mail"}
    page = await console.get(path)
    assert ("this service sends no mail" in texts(page), 'value="mail"' in page.text) == (True, False)
    refused = await console.post(path, given)
    assert (refused.status_code, "This service sends no mail." in texts(refused)) == (422, True)
    monkeypatch.setattr(studio.api.app._runtime.settings, "smtp_url", "smtp://mail.example")
    await studio.change("members", member, email=None)
    page = await console.get(path)
    assert ("the member has no email address" in texts(page), 'value="mail"' in page.text) == (True, False)
    assert (await console.post(path, given)).status_code == 422
    assert await studio.rows("mails", "member_id = $2", member) == []
