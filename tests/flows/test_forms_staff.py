"""What staff do with forms and submissions: build, publish, archive, decide, take out files, send a link."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.forms.states import SubmissionStatus
from studiogate.domain.refusals import Code
from studiogate.flows.forms import staff as flow
from studiogate.storage.forms.uploads import StoredFile
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio
from tests.support.staff import did, entries, faults_of, news, refused

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
FIELD = {"key": "goal", "label": "Goal", "type": "text"}


async def test_build_publish_and_archive(studio: BookingStudio) -> None:
    form = await did(studio, flow.create, {"title": " Intake ", "fields": [FIELD]})
    assert (form["title"], form["slug"], form["status"], form["version"]) == ("Intake", "intake", "draft", 1)
    assert await news(studio) == [("form.created", form["id"], {})]
    form_id = UUID(form["id"])
    await did(studio, flow.change, form_id, {"description": "Before the first class"})
    await did(studio, flow.change, form_id, {"status": "published"})
    archived = await did(studio, flow.change, form_id, {"status": "archived"})
    assert (archived["status"], archived["version"]) == ("archived", 4)
    assert archived == await studio.get(f"/forms/{form_id}")
    assert [previous for _, _, previous in await news(studio)] == [
        {"description": None, "version": 1},
        {"status": "draft", "version": 2},
        {"status": "published", "version": 3},
    ]
    recorded = await entries(studio)
    assert [each["action"] for each in recorded] == ["form.create", "form.change", "form.publish", "form.archive"]
    assert recorded[2]["changes"]["status"] == ["draft", "published"]


async def test_a_partner_and_staff_get_the_same_form(studio: BookingStudio) -> None:
    body = {"title": "Same", "fields": [FIELD], "settings": {"create_lead": True}, "status": "published"}
    headers = {"Idempotency-Key": uuid4().hex}
    theirs = (await studio.ask("POST", "/forms", body=body, headers=headers)).json()
    ours = await did(studio, flow.create, {**body, "slug": "ours"})
    differ = {"id", "slug"}
    assert {k: v for k, v in ours.items() if k not in differ} == {k: v for k, v in theirs.items() if k not in differ}


@pytest.mark.parametrize(
    ("given", "faulty"),
    [
        ({}, {"title"}),
        ({"title": ""}, {"title"}),
        ({"title": "x" * 201}, {"title"}),
        ({"title": "T", "slug": "No Spaces"}, {"slug"}),
        ({"title": "T", "slug": "x" * 101}, {"slug"}),
        ({"title": "T", "description": "x" * 10_001}, {"description"}),
        ({"title": "T", "status": "gone", "fields": {}, "settings": []}, {"status", "fields", "settings"}),
        ({"title": "T", "fields": [{"key": "a"}]}, {"fields"}),
        ({"title": "T", "fields": [FIELD] * 300}, {"fields"}),
        ({"title": "T", "settings": {"redirect_url": "javascript:x"}}, {"settings"}),
        ({"title": "T", "settings": {"x": "y" * 300_000}}, {"settings"}),
        ({"title": "T", "owner": 1}, {"owner"}),
        ({"title": None}, {"title"}),
    ],
)
async def test_faults(studio: BookingStudio, given: dict[str, Any], faulty: set[str]) -> None:
    assert set(await faults_of(studio, flow.create, given)) == faulty


async def test_refusals(studio: BookingStudio) -> None:
    form = await did(studio, flow.create, {"title": "One", "slug": "one"})
    assert (await refused(studio, flow.create, {"title": "Two", "slug": "one"})).code is Code.SLUG_TAKEN
    refusal = await refused(studio, flow.change, UUID(form["id"]), {"status": "archived"})
    assert (refusal.code, refusal.details) == (Code.INVALID_TRANSITION, {"from": "draft", "to": "archived"})
    assert (await refused(studio, flow.change, uuid4(), {"title": "T"})).code is Code.NOT_FOUND


@pytest.mark.parametrize(
    ("status", "action"),
    [
        (SubmissionStatus.CONFIRMED, "submission.confirm"),
        (SubmissionStatus.REJECTED, "submission.reject"),
        (SubmissionStatus.SPAM, "submission.spam"),
    ],
)
async def test_decisions_are_audited(studio: BookingStudio, status: SubmissionStatus, action: str) -> None:
    submission = await studio.submit(await studio.new_form(), await studio.new_member())
    await did(studio, flow.decide, submission, status)
    (entry,) = await entries(studio)
    assert (entry["action"], entry["subject_id"]) == (action, submission)
    assert entry["changes"] == {"status": ["pending", status.value]}
    await did(studio, flow.decide, submission, status)
    assert len(await entries(studio)) == 1, "the same decision again changes nothing"


async def test_files(studio: BookingStudio) -> None:
    form = await studio.new_form()
    submission = await studio.submit(form, await studio.new_member())
    assert await did(studio, flow.files, submission) == []
    await studio.add(
        "form_uploads",
        form_id=form,
        field_key="scan",
        filename="a.pdf",
        content_type="application/pdf",
        size=3,
        sha256=b"x" * 32,
        stored_name="0" * 32,
        submission_id=submission,
    )
    assert await did(studio, flow.files, submission) == [StoredFile("a.pdf", "application/pdf", 3, "0" * 32, None)]
    assert [each["action"] for each in await entries(studio)] == ["submission.files"] * 2
    assert (await refused(studio, flow.files, uuid4())).code is Code.NOT_FOUND


async def test_a_link_is_audited(studio: BookingStudio) -> None:
    form, member = await studio.new_form(), await studio.new_member()
    facts = await did(studio, flow.link, form, member)
    assert facts.member_known
    (entry,) = await entries(studio)
    assert (entry["action"], entry["subject_type"], entry["subject_id"]) == ("form.link", "member", member)
    assert entry["changes"] == {"form_id": [None, str(form)]}
    assert (await refused(studio, flow.link, uuid4(), member)).code is Code.NOT_FOUND
    assert (await refused(studio, flow.link, form, uuid4())).details == {"kind": "member"}
