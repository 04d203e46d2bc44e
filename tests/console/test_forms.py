"""The screen Forms over HTTP: lists, the inbox and what is decided there, the builder's drafts, links, the export."""

import csv
import hashlib
import io
import json
import re
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import studiogate.console
from studiogate.console.forms import submissions, words
from studiogate.domain.forms.canonical import MAX_DEFINITION, definition_size
from studiogate.domain.forms.definition import FieldType
from studiogate.domain.json_values import json_text
from studiogate.domain.staff import Role
from studiogate.flows.forms import staff as flows
from studiogate.storage.upload_folder import UploadFolder
from tests.support.booking_studio import BookingStudio
from tests.support.console import Console, texts
from tests.support.staff import did

pytestmark = pytest.mark.anyio
FIELDS: list[dict[str, Any]] = [
    {"key": "injured", "label": "Any injuries?", "type": "select", "options": ["yes", "no"], "required": True},
    {
        "key": "which",
        "label": "Which injury?",
        "type": "text",
        "display_when": {"field_key": "injured", "op": "equals", "value": "yes"},
    },
    {"key": "waiver", "label": "Waiver", "type": "signature", "required": True},
]
PIXEL = "data:image/png;base64,iVBORw0KGgo="


async def built(studio: BookingStudio, status: str = "published", **given: Any) -> UUID:
    form = await did(studio, flows.create, {"title": "Intake", "fields": FIELDS, "status": status, **given})
    return UUID(form["id"])


async def sent(studio: BookingStudio, form: UUID, **columns: Any) -> UUID:
    """Insert a submission of a visitor, with answers to all questions unless they are given."""
    data = columns.pop("data", {"injured": "yes", "which": "Left knee", "waiver": PIXEL})
    usual = {"form_id": form, "form_version": 1, "submitter_email": "vera@example.com", "submitter_name": "Vera Ott"}
    return await studio.add(
        "form_submissions", data=data, **{**usual, "verified": False, "status": "pending", **columns}
    )


def draft_of(**given: Any) -> dict[str, Any]:
    return {"title": "Intake", "slug": "intake", "description": None, "fields": FIELDS, "settings": {}, **given}


async def save(console: Console, form: UUID, revision: int, **given: Any) -> Any:
    fields = {"definition": json.dumps(draft_of(**given)), "revision": str(revision)}
    return (await console.post(f"/console/forms/{form}/draft", fields)).json()


async def test_the_list_counts_submissions_and_hides_drafts_from_the_desk(console: Console) -> None:
    form = await built(console.studio)
    await built(console.studio, "draft", title="Retreat")
    for status in ("pending", "confirmed", "spam"):
        await sent(console.studio, form, status=status)
    text = texts(await console.get("/console/forms"))
    assert "Intake published 3 submissions 1 to review" in text
    assert "Retreat draft" in text
    assert "Inbox 1" in text
    assert "Intake" not in texts(await console.get("/console/forms?status=draft")).partition("Last change")[2]
    desk = await console.as_role(Role.FRONT_DESK)
    assert "Retreat" not in texts(await desk.get("/console/forms"))
    assert "New form" not in texts(await desk.get("/console/forms"))


async def test_a_draft_does_not_exist_for_the_desk(console: Console) -> None:
    form, desk = await built(console.studio, "draft"), await console.as_role(Role.FRONT_DESK)
    for path in (f"/console/forms/{form}", f"/console/forms/{form}/links"):
        assert (await console.get(path)).status_code == 200
        assert (await desk.get(path)).status_code == 404
    assert (await desk.post(f"/console/forms/{form}/export")).status_code == 404


async def test_the_inbox_is_filtered(console: Console) -> None:
    studio = console.studio
    form, other = await built(studio), await built(studio, title="Trial")
    now = await studio.now()
    await sent(studio, form, submitter_name="Ann", created_at=now)
    await sent(studio, form, submitter_name="Bea", status="confirmed", created_at=now - timedelta(days=2))
    await sent(studio, other, submitter_name="Cem", created_at=now - timedelta(days=6))
    day = (now - timedelta(days=4)).date()  # two days from both, since the studio is in another time zone
    for query, found in {
        "": {"Ann", "Cem"},
        "?status=all": {"Ann", "Bea", "Cem"},
        "?status=confirmed": {"Bea"},
        f"?status=all&form={form}": {"Ann", "Bea"},
        f"?status=all&from={day}": {"Ann", "Bea"},
        f"?status=all&to={day}": {"Cem"},
        f"?form={other}&from={day}": set(),
        "?status=nonsense&from=nonsense&form=nonsense": {"Ann", "Bea", "Cem"},
    }.items():
        text = texts(await console.get(f"/console/forms/inbox{query}"))
        assert {each for each in ("Ann", "Bea", "Cem") if f" {each} " in text} == found, query


async def test_every_submission_is_in_the_inbox_once(console: Console) -> None:
    form = await built(console.studio)
    moment = await console.studio.now()  # of all of them: the id decides the order then
    ids = {str(await sent(console.studio, form, status=each, created_at=moment)) for each in ("pending", "spam") * 60}
    found: list[str] = []
    path = "/console/forms/inbox?status=all"
    while path:
        page = (await console.get(path)).text
        found += re.findall(r"submissions/([0-9a-f-]{36})\?next", page)
        more = re.search(r'class="more"><a class="button" href="([^"]+)"', page)
        path = unescape(more[1]) if more else ""
    assert sorted(found) == sorted(ids)


async def test_answers_are_shown_in_words(console: Console) -> None:
    form = await built(console.studio, fields=[*FIELDS, {"key": "ok", "label": "Agreed?", "type": "checkbox"}])
    data = {"ok": "true", "waiver": PIXEL, "injured": "yes", "which": "<b>knee</b>", "gone": "an older question"}
    page = await console.get(f"/console/forms/submissions/{await sent(console.studio, form, data=data)}")
    text = texts(page)
    assert "Any injuries? yes Which injury? <b>knee</b> Waiver Agreed? yes gone an older question" in text
    assert f'src="{PIXEL}" alt="Signature"' in page.text
    assert "email not verified" in text


async def test_a_picture_is_only_shown_if_it_is_one(console: Console) -> None:
    form = await built(console.studio)
    data = {"waiver": 'data:image/png;base64,AA" onerror="x'}
    page = await console.get(f"/console/forms/submissions/{await sent(console.studio, form, data=data)}")
    assert "<img" not in page.text


async def test_confirm_reject_and_undo(console: Console) -> None:
    studio, form = console.studio, await built(console.studio)
    member = await studio.new_member(email="vera@example.com", membership=False)
    submission = await sent(studio, form)
    at, here = f"/console/forms/submissions/{submission}", "/console/forms/inbox?status=all"
    answer = await console.post(f"{at}/confirm", {"next": here})
    assert answer.headers["location"] == here
    row = await studio.row("form_submissions", submission)
    assert (row["status"], row["verified"], row["member_id"]) == ("confirmed", True, member)
    assert "Undo" not in texts(await console.get(here)), "nothing makes it undecided again"
    answer = await console.post(f"{at}/reject", {"next": here})
    page = await console.get(here)
    assert f'action="{at}/confirm"' in page.text, "undo"
    assert (await studio.row("form_submissions", submission))["status"] == "rejected"
    await console.post(f"{at}/spam")
    assert (await studio.row("form_submissions", submission))["status"] == "spam"


async def test_a_member_is_made_of_a_verified_submission(console: Console) -> None:
    studio = console.studio
    phone = {"key": "phone", "label": "Phone", "type": "phone"}
    form = await built(studio, fields=[phone])
    submission = await sent(studio, form, data={"phone": "+12125550123"})
    path = f"/console/forms/submissions/{submission}/member"
    assert (await console.get(path)).status_code == 404, "somebody may have typed another's address"
    await console.post(f"/console/forms/submissions/{submission}/confirm")
    page = (await console.get(path)).text
    assert all(f'value="{each}"' in page for each in ("Vera", "Ott", "vera@example.com", "+12125550123"))
    given = {"first_name": "Vera", "last_name": "Ott", "email": "vera@example.com", "phone": ""}
    answer = await console.post(path, given)
    member = (await studio.row("form_submissions", submission))["member_id"]
    assert answer.headers["location"] == f"/console/members/{member}"
    assert (await console.get(path)).status_code == 404
    other = await sent(studio, form, verified=True)
    refused = await console.post(f"/console/forms/submissions/{other}/member", given)
    assert "Open that member" in texts(refused)


async def test_export(console: Console) -> None:
    studio = console.studio
    form = await built(studio)
    await sent(studio, form, status="confirmed", data={"injured": "no", "waiver": PIXEL})
    await sent(studio, form, submitter_name="=cmd()", data={"injured": "yes", "which": "-2+3+cmd|' /C'!A0"})
    await sent(studio, await built(studio, title="Other"), submitter_name="Nobody")
    answer = await console.post(f"/console/forms/{form}/export", {"status": "all"})
    assert answer.headers["content-disposition"].startswith('attachment; filename="intake.csv"')
    rows = list(csv.reader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert rows[0][-3:] == ["Any injuries?", "Which injury?", "Waiver"]
    assert {row[1]: row[-3:] for row in rows[1:]} == {
        "Vera Ott": ["no", "", "signed"],
        "'=cmd()": ["yes", "'-2+3+cmd|' /C'!A0", ""],
    }
    some = await console.post(f"/console/forms/{form}/export", {"status": "confirmed"})
    assert len(some.text.splitlines()) == 2
    log = await studio.rows("audit_log", "action = 'form.export'")
    assert [each["subject_id"] for each in log] == [form] * 2


async def test_an_export_is_complete_or_refused(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    form = await built(console.studio)
    for _ in range(7):
        await sent(console.studio, form)
    monkeypatch.setattr(submissions, "PER_READ", 3)
    answer = await console.post(f"/console/forms/{form}/export")
    assert len(answer.text.splitlines()) == 8
    monkeypatch.setattr(submissions, "MAX_EXPORTED", 6)
    refused = await console.post(f"/console/forms/{form}/export")
    assert (refused.status_code, refused.headers["content-type"]) == (422, "text/html; charset=utf-8")


async def test_a_file_is_downloaded_and_recorded(console: Console) -> None:
    studio, content = console.studio, b"%PDF-1.4 x"
    form = await built(studio, fields=[{"key": "proof", "label": "Proof", "type": "file_upload"}])
    submission = await sent(studio, form, data={})
    name = hashlib.sha256(str(form).encode()).hexdigest()[:32]
    file = UploadFolder(studio.api.app._runtime.settings.data_dir).incoming(studio.id, name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    facts = {"form_id": form, "field_key": "proof", "filename": "a.pdf", "content_type": "application/pdf", "size": 10}
    upload = await studio.add("form_uploads", submission_id=submission, stored_name=name, sha256=b"x" * 32, **facts)
    await studio.change("form_submissions", submission, data={"proof": [str(upload)]})
    path = f"/console/forms/submissions/{submission}/files/{upload}"
    assert f'action="{path}"' in (await console.get(f"/console/forms/submissions/{submission}")).text
    assert (await console.post(path)).content == content
    assert len(await studio.rows("audit_log", "action = 'submission.files'")) == 1
    other = await sent(studio, form)
    assert (await console.post(f"/console/forms/submissions/{other}/files/{upload}")).status_code == 404


async def test_a_form_in_words(console: Console) -> None:
    form = await built(console.studio)
    text = texts(await console.get(f"/console/forms/{form}"))
    assert "Any injuries? Choice · required · yes, no" in text
    assert "Which injury? Short text Shown if “Any injuries?” is “yes”" in text


def test_every_type_has_its_words() -> None:
    assert set(words.TYPES) == set(words.OPS_OF) == set(FieldType)


async def test_earlier_versions_can_be_read(console: Console) -> None:
    form = await built(console.studio)
    assert await save(console, form, 0, fields=FIELDS[2:]) == {"revision": 1, "faults": [], "saved_at": ANY_TIME}
    await console.post(f"/console/forms/{form}/publish", {"revision": "1"})
    now, before = await console.get(f"/console/forms/{form}"), await console.get(f"/console/forms/{form}?version=1")
    assert "Which injury?" not in texts(now)
    assert "Questions of version 1" in texts(before)
    assert "Which injury?" in texts(before)
    assert (await console.get(f"/console/forms/{form}?version=9")).status_code == 404


class _AnyTime:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and re.fullmatch(r"\d{1,2}:\d\d( [AP]M)?", other) is not None

    __hash__ = None  # type: ignore[assignment]


ANY_TIME = _AnyTime()


async def test_a_draft_leaves_the_form_as_it_is_until_it_is_published(console: Console) -> None:
    studio, form = console.studio, await built(console.studio)
    assert (await save(console, form, 0, title="New title"))["revision"] == 1
    assert (await save(console, form, 1, title="Newer title"))["revision"] == 2
    assert (await studio.row("forms", form))["title"] == "Intake"
    assert "unpublished changes" in texts(await console.get("/console/forms"))
    assert "Newer title" in (await console.get(f"/console/forms/{form}/edit")).text
    answer = await console.post(f"/console/forms/{form}/publish", {"revision": "2"})
    assert answer.headers["location"] == f"/console/forms/{form}"
    row = await studio.row("forms", form)
    assert (row["title"], row["version"]) == ("Newer title", 2)
    assert await studio.rows("form_drafts") == []
    assert [each["action"] for each in await studio.rows("audit_log", "action like 'form.%' order by occurred_at")] == [
        "form.create",
        "form.edit",
        "form.publish",
    ]


@pytest.mark.parametrize("letter", ["a", "\N{HIRAGANA LETTER A}", '"'])
async def test_a_form_at_its_limit_is_saved_and_published(console: Console, letter: str) -> None:
    """A browser sends each byte of most characters as three."""
    form = await built(console.studio)
    fields = [{"key": f"q{each}", "label": "Q", "type": "text", "help_text": ""} for each in range(40)]
    length = len(json_text(letter).encode()) - len('""')
    number = (MAX_DEFINITION - definition_size(fields, {})) // len(fields) // length
    fields = [{**each, "help_text": letter * number} for each in fields]
    assert MAX_DEFINITION - len(fields) * length <= definition_size(fields, {}) <= MAX_DEFINITION
    definition = json.dumps(draft_of(fields=fields), ensure_ascii=False)
    saved = await console.post(f"/console/forms/{form}/draft", {"definition": definition, "revision": "0"})
    assert (saved.status_code, saved.json()["faults"]) == (200, [])
    published = await console.post(f"/console/forms/{form}/publish", {"revision": "1"})
    assert published.status_code == 303, texts(published)


async def test_two_people_do_not_overwrite_each_other(console: Console) -> None:
    form = await built(console.studio)
    await save(console, form, 0, title="Mine")
    stale = await console.post(
        f"/console/forms/{form}/draft", {"definition": json.dumps(draft_of(title="Theirs")), "revision": "0"}
    )
    assert (stale.status_code, stale.json()["message"][:31]) == (409, "Somebody else has changed this ")
    assert (await console.post(f"/console/forms/{form}/publish", {"revision": "0"})).status_code == 409
    assert (await console.studio.row("forms", form))["title"] == "Intake"
    (draft,) = await console.studio.rows("form_drafts")
    assert json.loads(draft["content"])["title"] == "Mine"


async def test_faults_are_said_beside_the_question_and_prevent_publishing(console: Console) -> None:
    form = await built(console.studio)
    rule = {"field_key": "nothing", "op": "equals", "value": 1}
    wrong = [FIELDS[0] | {"options": []}, FIELDS[1] | {"display_when": rule}]
    saved = await save(console, form, 0, fields=wrong, settings={"redirect_url": "ftp://x"})
    assert [(each["field"], each["member"], each["where"]) for each in saved["faults"]] == [
        (0, "options", "Question 1 “Any injuries?”, options"),
        (1, "display_when", "Question 2 “Which injury?”, condition, the question of the condition"),
        (None, "redirect_url", "Page that opens after sending"),
    ]
    refused = await console.post(f"/console/forms/{form}/publish", {"revision": "1"})
    assert refused.status_code == 422
    assert "Question 1 “Any injuries?”, options: must have at least one option" in texts(refused)
    assert (await console.studio.row("forms", form))["version"] == 1


@pytest.mark.parametrize("definition", ["", "[]", "7", "{", '{"a":"\\u0000"}', "[" * 100])
async def test_what_is_no_form_is_not_saved(console: Console, definition: str) -> None:
    form = await built(console.studio)
    answer = await console.post(f"/console/forms/{form}/draft", {"definition": definition, "revision": "0"})
    assert answer.status_code in (400, 409, 422)
    assert answer.json()["message"]
    assert await console.studio.rows("form_drafts") == []


async def test_a_draft_of_any_shape_can_be_opened(console: Console) -> None:
    """Whatever was saved, the builder shows it again: faults are corrected there."""
    form = await built(console.studio)
    shapes: list[Any] = [{}, [1, None, {"key": [], "type": 3, "step_index": "x"}], "x", None]
    for revision, fields in enumerate(shapes):
        saved = await console.post(
            f"/console/forms/{form}/draft",
            {"definition": json.dumps({"title": 7, "fields": fields, "settings": []}), "revision": str(revision)},
        )
        assert saved.json()["faults"]
        assert (await console.get(f"/console/forms/{form}/edit")).status_code == 200
        assert (
            await console.post(f"/console/forms/{form}/publish", {"revision": str(revision + 1)})
        ).status_code == 422


async def test_create_copy_archive_and_reopen(console: Console) -> None:
    studio = console.studio
    created = await console.post("/console/forms/new", {"title": "Trial"})
    (form,) = await studio.rows("forms", "title = 'Trial'")
    assert created.headers["location"] == f"/console/forms/{form['id']}/edit"
    first = await built(studio, settings={"closes_at": "2030-01-01T00:00:00Z", "create_lead": True})
    await console.post(f"/console/forms/{first}/copy", {"title": "Second"})
    (second,) = await studio.rows("forms", "title = 'Second'")
    assert (second["status"], json.loads(second["settings"])) == ("draft", {"create_lead": True})
    assert json.loads(second["fields"]) == json.loads((await studio.row("forms", first))["fields"])
    await studio.policy("studios", waiver_form_id=str(first))
    preview = texts(await console.get(f"/console/forms/{first}/archive"))
    assert "The rules of the studio ask for this form before a booking." in preview
    await console.post(f"/console/forms/{first}/archive")
    assert (await studio.row("forms", first))["status"] == "archived"
    assert (await console.get(f"/console/forms/{first}/archive")).status_code == 404
    await console.post(f"/console/forms/{first}/reopen")
    assert (await studio.row("forms", first))["status"] == "draft"


async def test_discard(console: Console) -> None:
    form = await built(console.studio)
    path = f"/console/forms/{form}/discard"
    assert (await console.get(path)).status_code == 404
    await save(console, form, 0, title="Not this")
    assert (await console.post(path)).headers["location"] == f"/console/forms/{form}"
    assert "Not this" not in (await console.get(f"/console/forms/{form}/edit")).text


async def test_faults_are_said_in_the_words_of_the_builder(console: Console) -> None:
    form = await built(console.studio)
    number = {"key": "age", "label": "Age", "type": "number", "min": 10, "max": 5}
    window = {"opens_at": "2026-12-01T10:00:00Z", "closes_at": "2026-11-01T10:00:00Z", "redirect_url": "ftp://x"}
    saved = await save(console, form, 0, fields=[FIELDS[0] | {"options": ["x" * 2000]}, number], settings=window)
    assert {f"{each['where']}: {each['text']}" for each in saved["faults"]} == {
        "Question 1 “Any injuries?”, options: must have at most 1000 characters each",
        "Question 2 “Age”, at most: must not be less than “at least”",
        "Page that opens after sending: must be an address that begins with https://",
        "Closes: must be after the time at which it opens",
    }


async def test_what_leads_on_without_a_message_shows_none(console: Console) -> None:
    created = await console.post("/console/forms/new", {"title": "Silent"})
    assert "data-toast" not in (await console.get(created.headers["location"])).text


async def test_links(console: Console) -> None:
    studio = console.studio
    form = await built(studio, title='Say "hi" <b>')
    member = await studio.new_member(first_name="Mia", last_name="Chen")
    page = await console.get(f"/console/forms/{form}/links")
    slug = (await studio.row("forms", form))["slug"]
    assert f"/f/{(await studio.rows('studios'))[0]['slug']}/{slug}" in texts(page)
    assert 'data-title="Say &#34;hi&#34; &lt;b&gt;"></script>' in texts(page), "it can be pasted into a page"
    assert "qr-code" in page.text
    found = await console.post(f"/console/forms/{form}/links", {"text": "mia chen"})
    assert f"/console/members/{member}/form-link?form={form}" in found.text
    chosen = await console.get(f"/console/members/{member}/form-link?form={form}")
    assert f'<option value="{form}" selected' in chosen.text


async def test_without_javascript_the_builder_shows_the_questions(console: Console) -> None:
    page = (await console.get(f"/console/forms/{await built(console.studio)}/edit")).text
    inside = page.partition("<noscript>")[2].partition("</noscript>")[0]
    assert "The builder needs JavaScript." in inside
    assert "Which injury?" in inside
    assert '<div id="builder" class="builder" hidden' in page, "its script shows it"


async def test_only_the_builder_shows_a_frame(console: Console) -> None:
    form = await built(console.studio)
    builder = await console.get(f"/console/forms/{form}/edit")
    assert builder.headers["content-security-policy"].endswith("frame-ancestors 'none'; frame-src 'self'")
    for path in ("/console/forms", f"/console/forms/{form}"):
        assert "frame-src" not in (await console.get(path)).headers["content-security-policy"]


def test_the_sorting_library_is_the_one_that_was_recorded() -> None:
    folder = Path(studiogate.console.__file__).parent / "static" / "vendor" / "sortable"
    recorded = dict(re.findall(r"^\| (\S+) \| ([0-9a-f]{64}) \|$", (folder / "README.md").read_text(), re.MULTILINE))
    assert {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in recorded} == recorded
    assert set(recorded) == {"sortable.min.js"}
    assert (folder / "LICENSE").exists()
