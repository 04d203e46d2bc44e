"""Erase a person: nothing that says who it was is left anywhere; what was booked and paid stays, anonymous."""

import asyncio
import io
import json
import zipfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.bookings.overrides import Override
from studiogate.domain.forms.states import SubmissionStatus
from studiogate.domain.purchases import Order
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Role
from studiogate.flows import doctor, events, housekeeping, purchases, retry
from studiogate.flows.bookings import desk, staff_bookings
from studiogate.flows.bookings.desk import StaffBooking
from studiogate.flows.forms import staff as form_staff
from studiogate.flows.forms import submit as submission_flow
from studiogate.flows.members import erase as flow
from studiogate.flows.members import export, staff
from studiogate.flows.purchases import sell
from studiogate.storage.db.pool import Database
from studiogate.storage.upload_folder import UploadFolder
from tests.api.test_forms_uploads import BOUNDARY, multipart
from tests.support import asgi
from tests.support.booking_studio import HOUR, SOON, BookingStudio, StudioFactory, opened_factory, wire_body
from tests.support.held_locks import until_blocked
from tests.support.person_search import everything_stored, found_in, found_on_disk
from tests.support.staff import book_on, did, entries, news, person, refused

pytestmark = pytest.mark.anyio
FIELDS = [
    {"key": "goal", "label": "What brings you here?", "type": "text"},
    {"key": "scan", "label": "Scan", "type": "file_upload", "multiple": True},
    {"key": "agree", "label": "Agree", "type": "consent", "consent_label": "I agree."},
]


@pytest.fixture(scope="module")
async def studio_factory(
    anyio_backend: object, new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[StudioFactory]:
    folder = tmp_path_factory.mktemp("erasure")
    async for factory in opened_factory(new_database(), data_dir=folder, smtp_url="smtp://127.0.0.1:1"):
        yield factory


@pytest.fixture
async def studio(studio_factory: StudioFactory) -> BookingStudio:
    return await studio_factory.new_checked_studio()


def data_dir(studio: BookingStudio) -> Path:
    return Path(studio.api.app._runtime.settings.data_dir)


@dataclass
class Human:
    """Somebody who has left traces everywhere, and the values by which they can be found."""

    member: UUID
    values: dict[str, str]
    lead: UUID
    submission: UUID


async def post(studio: BookingStudio, path: str, body: Any, method: str = "POST") -> Any:
    answer = await studio.ask(method, path, body=body, headers={"Idempotency-Key": uuid4().hex})
    assert answer.status < 300, answer.body
    return answer.json()


async def human(studio: BookingStudio) -> Human:
    """Let a person enquire, send a form with a file, become a member, change, book, cancel and be talked about."""
    mark = f"zq{uuid4().hex[:10]}"
    kinds = (
        "first last email old_email phone source meta note lead_note answer filename content reason pause why typed id"
    )
    values = {kind: f"{kind.replace('_', '')}{mark}" for kind in kinds.split()}
    number = f"+121223{uuid4().int % 100_000:05}"
    values |= {"email": f"new{mark}@example.com", "old_email": f"old{mark}@example.com", "phone": number}
    lead = await post(
        studio,
        "/leads",
        {"email": values["old_email"], "source": values["source"], "metadata": {"k": values["meta"]}},
    )
    await post(studio, f"/leads/{lead['id']}", {"notes": values["lead_note"]}, "PATCH")
    submission = await submitted(studio, values)
    names = {"first_name": values["first"], "last_name": values["last"], "phone": values["phone"]}
    member = UUID((await post(studio, "/members", {"email": values["old_email"], **names}))["id"])
    await did(studio, staff.change, member, {"email": values["email"]})
    await did(studio, staff.add_note, member, values["note"])
    await did(studio, staff.suspend, member, values["why"])
    await did(studio, staff.unsuspend, member)
    await did(studio, form_staff.decide, submission, SubmissionStatus.CONFIRMED)
    await studio.new_membership(member, pause_reason=values["pause"], cancellation_reason=values["pause"])
    await studio.sql(
        "insert into external_ids (studio_id, source, kind, external_id, row_id) values ($1, 'old', 'members', $2, $3)",
        values["id"],
        member,
    )
    return Human(member, values, UUID(lead["id"]), submission)


async def submitted(studio: BookingStudio, values: dict[str, str]) -> UUID:
    settings = {"send_confirmation_email": True, "create_lead": True}
    form = await post(studio, "/forms", {"title": "F", "fields": FIELDS, "settings": settings, "status": "published"})
    content = multipart(values["content"].encode(), "scan", values["filename"] + ".txt")
    headers = [("content-type", f"multipart/form-data; boundary={BOUNDARY}")]
    path = f"/forms/{form['id']}/uploads"
    response = await asgi.ask(studio.api.app, "POST", path, key=studio.key, headers=headers, body=content)
    assert response.status == 201, response.body
    answers = {"goal": values["answer"], "scan": [response.json()["id"]], "agree": "true"}
    contact = {"submitter_email": values["old_email"], "submitter_name": values["typed"]}
    made = await post(studio, f"/forms/{form['id']}/submissions", {**contact, "data": answers})
    return UUID(made["id"])


async def history(studio: BookingStudio, member: UUID, reason: str) -> dict[str, Any]:
    """Let the member attend, cancel with a reason, wait, and book ahead."""
    past, gone, ahead = [await studio.new_class(SOON + hours * HOUR) for hours in (2, 4, 6)]
    full, _ = await studio.full_class()
    attended = await studio.booked(past, member)
    cancelled = await studio.booked(gone, member)
    assert (await studio.cancel(cancelled["id"], reason=reason)).status == 200
    booked, waits = await studio.booked(ahead, member), await studio.waits(full, member)
    follower = await studio.waits(full, await studio.new_member())
    await studio.move(past, -60)
    return {"attended": attended, "booked": booked, "waits": waits, "follower": follower, "ahead": ahead}


async def numbered(studio: BookingStudio) -> None:
    sequencer = studio.api.app._runtime.sequencer
    sequencer.kick(studio.id)
    await sequencer.settled()


async def erased(studio: BookingStudio, member: UUID) -> flow.Erased:
    done: flow.Erased = await did(studio, flow.erase, member)
    async with studio.database.connection() as connection:
        folder = UploadFolder(data_dir(studio))
        assert await flow.remove_files(connection, person(studio), folder, done.files) == len(done.files)
    return done


async def test_nothing_of_the_person_is_left(studio: BookingStudio) -> None:
    someone = await human(studio)
    before = await history(studio, someone.member, someone.values["reason"])
    values = someone.values.values()
    await numbered(studio)
    stored = await everything_stored(studio.api.connection)
    traces = found_in(stored, values)
    assert {value for _, value in traces} | {value for _, value in found_on_disk(data_dir(studio), values)} == set(
        values
    )
    assert {"members", "leads", "form_submissions", "events", "remembered answers", "mails"} <= {t for t, _ in traces}

    done = await erased(studio, someone.member)
    assert (done.bookings_cancelled, done.memberships_cancelled, done.submissions, done.leads) == (2, 1, 1, 1)
    assert len(done.files) == 1
    await numbered(studio)
    assert found_in(await everything_stored(studio.api.connection), values) == set()
    assert found_on_disk(data_dir(studio), values) == set()

    statuses = {name: await studio.status(before[name]) for name in ("attended", "booked", "waits")}
    assert statuses == {"attended": "confirmed", "booked": "cancelled", "waits": "cancelled"}
    assert (await studio.entry(before["follower"]))["position"] == 1, "whoever waited behind moves up"
    receipt = await studio.get(f"/bookings/{before['booked']['id']}/cancellation")
    assert (receipt["cancellation_type"], receipt["late_fee"], receipt["credits_returned"]) == ("studio", None, 1)
    member = await studio.get(f"/members/{someone.member}")
    assert (member["name"], member["email"], member["phone"]) == ("Erased member", None, None)
    memberships = (await studio.get(f"/members/{someone.member}/memberships"))["data"]
    assert [each["status"] for each in memberships] == ["cancelled"]
    async with studio.database.connection() as connection:
        finding = await doctor.examine_files(connection, UploadFolder(data_dir(studio)))
    assert finding.level == "ok", finding


async def test_events_and_audit_entry(studio: BookingStudio) -> None:
    someone = await human(studio)
    await studio.sql("delete from events where studio_id = $1")
    await studio.sql("delete from audit_log where studio_id = $1")
    await did(studio, flow.erase, someone.member)
    emitted = await news(studio)
    names = ("name", "first_name", "last_name", "email", "phone", "erased_at")
    for type_ in ("member.updated", "member.erased"):
        assert (type_, str(someone.member), dict.fromkeys(names)) in emitted
    gone = ("email", "source", "metadata")
    assert ("lead.updated", str(someone.lead), dict.fromkeys(gone)) in emitted
    (membership,) = [previous for type_, _, previous in emitted if type_ == "membership.updated"]
    assert membership["status"] == "active"
    assert (membership["pause_reason"], membership["cancellation_reason"]) == (None, None)
    types = sorted(type_ for type_, _, _ in emitted)
    assert types == ["lead.updated", "member.erased", "member.updated", "membership.updated"]
    (entry,) = await entries(studio)
    assert (entry["action"], entry["subject_id"]) == ("member.erase", someone.member)
    assert entry["changes"]["email"] == ["•••", None]


async def test_events_of_the_past_cannot_be_replayed(studio: BookingStudio) -> None:
    someone = await human(studio)
    await numbered(studio)
    listed = (await studio.get("/events", limit=200))["data"]
    theirs = [each["id"] for each in listed if any(v in json.dumps(each) for v in someone.values.values())]
    assert len(theirs) >= 5
    await did(studio, flow.erase, someone.member)
    for event_id in theirs:
        event = await studio.get(f"/events/{event_id}")
        assert not any(value in json.dumps(event) for value in someone.values.values())
        assert event["data"]["object"]["id"], "what is redacted still says which resource it is about"


async def test_a_remembered_answer_is_the_anonymous_one(studio: BookingStudio) -> None:
    key, email = uuid4().hex, f"{uuid4().hex}@example.com"
    body = {"email": email, "first_name": "Jo", "last_name": "Reed"}
    headers = {"Idempotency-Key": key}
    made = (await studio.ask("POST", "/members", body=body, headers=headers)).json()
    await did(studio, flow.erase, UUID(made["id"]))
    again = await studio.ask("POST", "/members", body=body, headers=headers)
    assert (again.status, again.json()["id"], again.json()["name"]) == (201, made["id"], "Erased member")
    anew = await post(studio, "/members", body)
    assert anew["id"] != made["id"], "the person may come back as somebody new"


async def test_an_erased_member_stays_as_it_is(studio: BookingStudio) -> None:
    member, class_id = await studio.new_member(email=f"{uuid4().hex}@example.com"), await studio.new_class()
    await did(studio, flow.erase, member)
    again = await refused(studio, flow.erase, member)
    assert (again.code, again.details["from"]) == (Code.INVALID_TRANSITION, "erased")
    for action, *more in (
        (staff.change, {"role": "user"}),
        (staff.suspend,),
        (staff.unsuspend,),
        (staff.add_note, "x"),
    ):
        assert (await refused(studio, action, member, *more)).code is Code.INVALID_TRANSITION
    assert (await studio.refused(class_id, member))["details"]["reasons"][0] == "member_erased"
    wanted = StaffBooking(class_id, member, override=Override(True, "Asked."))
    line = {"product_key": "towel", "amount_total": "5.00"}
    assert (await refused(studio, desk.book_for_member, wanted)).code is Code.MEMBER_ERASED
    for refusal in (
        await refused(studio, sell, Order(member, studio.product)),
        await refused(studio, purchases.record_line, member, None, line),
    ):
        assert refusal.code is Code.NOT_FOUND
    await studio.change("members", member, first_name="Back", email="back@example.com", suspended=False)
    row = await studio.row("members", member)
    assert (row["first_name"], row["email"], row["suspended"]) == ("Erased", None, True)


async def test_refusals(studio: BookingStudio) -> None:
    assert (await refused(studio, flow.erase, uuid4())).code is Code.NOT_FOUND
    member = await studio.new_member()
    limited = person(studio, Role.OWNER, studio.location)
    refusal = await refused(studio, flow.erase, member, access=limited)
    assert (refusal.code, refusal.details["required_locations"]) == (Code.PERMISSION_DENIED, "all")
    desk = await refused(studio, flow.erase, member, access=person(studio, Role.FRONT_DESK))
    assert desk.details == {"required_permission": "members:erase"}


async def test_housekeeping_removes_files_that_a_crash_left(studio: BookingStudio) -> None:
    someone = await human(studio)
    await did(studio, flow.erase, someone.member)  # and the process ends before it removes the files
    assert found_on_disk(data_dir(studio), [someone.values["content"]])
    folder = UploadFolder(data_dir(studio))
    assert await housekeeping.remove_erased_files(studio.database, folder) >= 1, "other tests leave theirs"
    assert not found_on_disk(data_dir(studio), [someone.values["content"]])
    assert await housekeeping.remove_erased_files(studio.database, folder) == 0
    assert await studio.rows("removed_files") == []


# Races: one transaction is held open while the other one waits for its locks.


@pytest.fixture
async def other(studio: BookingStudio) -> AsyncIterator[Database]:
    opened = Database(str(studio.api.app._runtime.settings.database_url), 3)
    yield opened
    await opened.close()


async def erasing(studio: BookingStudio, database: Database, member: UUID) -> Any:
    async with database.connection() as connection:
        return await retry.repeated_on(connection, lambda: flow.erase(connection, person(studio), member))


async def test_an_erasure_waits_for_a_booking_and_cancels_it(studio: BookingStudio, other: Database) -> None:
    member, class_id = await studio.new_member(), await studio.new_class()
    async with other.connection() as connection, connection.transaction():
        await book_on(connection, studio, class_id, member)
        task = asyncio.create_task(erasing(studio, studio.database, member))
        await until_blocked(connection, task)
    done = await task
    assert done.bookings_cancelled == 1
    assert await studio.counts(class_id) == (0, 0)


async def test_a_booking_waits_for_an_erasure_and_is_refused(studio: BookingStudio, other: Database) -> None:
    member, class_id = await studio.new_member(), await studio.new_class()
    async with other.connection() as connection, connection.transaction():
        done = await flow.erase(connection, person(studio), member)
        assert not isinstance(done, Refusal)
        task = asyncio.create_task(studio.post(wire_body(class_id, member)))
        await until_blocked(connection, task)
    answer = await task
    assert (answer.status, answer.json()["error"]["code"]) == (409, "member_erased")
    assert await studio.counts(class_id) == (0, 0)


async def test_numbering_waits_for_an_erasure_and_leaves_no_gap(studio: BookingStudio, other: Database) -> None:
    """The erasure changes events that have no number yet."""
    member = await studio.new_member(email=f"{uuid4().hex}@example.com")
    await did(studio, staff.change, member, {"first_name": "Ada"})
    async with other.connection() as connection, connection.transaction():
        done = await flow.erase(connection, person(studio), member)
        assert not isinstance(done, Refusal)
        task = asyncio.create_task(events.number_studio(studio.database, studio.access))
        await until_blocked(connection, task)
    assert await task > 1
    assert await studio.findings() == []


async def test_an_erasure_waits_for_a_submission_with_the_email(studio: BookingStudio, other: Database) -> None:
    """The submission is linked to the member, and erased with them."""
    email = f"{uuid4().hex}@example.com"
    member, form = await studio.new_member(email=email), await studio.new_form()
    async with other.connection() as connection, connection.transaction():
        made = await submitted_within(connection, studio, form, email)
        task = asyncio.create_task(erasing(studio, studio.database, member))
        await until_blocked(connection, task)
    await task
    row = await studio.row("form_submissions", made)
    assert (row["member_id"], row["submitter_email"]) == (member, f"{made}@erased.invalid")


async def submitted_within(connection: Any, studio: BookingStudio, form: UUID, email: str) -> UUID:
    wanted = submission_flow.SubmissionToStore(email)
    made = await submission_flow.submit(connection, studio.partner, form, wanted, mails=False)
    assert isinstance(made, str), made
    return UUID(json.loads(made)["id"])


async def test_a_link_of_an_erased_member_takes_no_submission(studio: BookingStudio, other: Database) -> None:
    member, form = await studio.new_member(), await studio.new_form()
    wanted = submission_flow.SubmissionToStore("typed@example.com", "Jo", {}, member_id=member)
    submitting = submission_flow.submit_from_page
    async with other.connection() as connection, connection.transaction():
        done = await flow.erase(connection, person(studio), member)
        assert not isinstance(done, Refusal)
        task = asyncio.create_task(submitting(studio.database, studio.partner, form, wanted, mails=False))
        await until_blocked(connection, task)
    outcome = await task
    assert isinstance(outcome, Refusal)
    assert outcome.code is Code.NOT_FOUND
    assert await studio.rows("form_submissions") == []


# The export of the same person.


async def test_the_archive_has_everything(studio: BookingStudio) -> None:
    someone = await human(studio)
    await history(studio, someone.member, someone.values["reason"])
    taken = await did(studio, export.export, someone.member)
    target = io.BytesIO()
    assert export.write_archive(target, taken, UploadFolder(data_dir(studio)), studio.id) == []
    with zipfile.ZipFile(target) as archive:
        content = {name: archive.read(name).decode() for name in archive.namelist()}
    (stored,) = [name for name in content if name.startswith("files/")]
    assert content[stored] == someone.values["content"]
    # Reasons in the audit log are the studio's; earlier emails are in no row any more but the submission's.
    known = [value for kind, value in someone.values.items() if kind not in ("content", "why")]
    for page in (content["index.html"], content["person.json"]):
        assert [value for value in known if value not in page] == []
        assert str(studio.id) not in page
    assert "What brings you here?" in content["index.html"]
    assert "<script" not in content["index.html"]
    data = json.loads(content["person.json"])
    assert len(data["bookings"]) == 4
    assert data["credit_ledger"]
    (entry,) = [each for each in await entries(studio) if each["action"] == "member.export"]
    assert entry["subject_id"] == someone.member


async def test_the_page_escapes_what_people_wrote(studio: BookingStudio) -> None:
    hostile = '<script>alert(1)</script>&"'
    member = await studio.new_member(staff_notes=hostile)
    taken = await did(studio, export.export, member)
    target = io.BytesIO()
    export.write_archive(target, taken, UploadFolder(data_dir(studio)), studio.id)
    with zipfile.ZipFile(target) as archive:
        page = archive.read("index.html").decode()
    assert hostile not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;" in page


@pytest.mark.parametrize(
    ("filename", "safe"),
    [
        ("a.pdf", "01-a.pdf"),
        ("../../etc/passwd", "01-etc_passwd"),
        ("..", "01-file"),
        ("a\x00b\n$(x).sh", "01-a_b_x_.sh"),
        ("\u202egpj.exe", "01-gpj.exe"),
        ("x" * 300 + ".png", "01-" + "x" * 76 + ".png"),
    ],
)
def test_names_of_files_are_safe(filename: str, safe: str) -> None:
    assert export.safe_name(1, filename) == safe


async def test_an_unknown_person(studio: BookingStudio) -> None:
    assert (await refused(studio, export.export, uuid4())).code is Code.NOT_FOUND


async def test_the_reason_of_an_override_on_the_waitlist_is_masked(studio: BookingStudio) -> None:
    class_id, (seat,) = await studio.full_class()
    member = await studio.new_member(email="bea@example.com")
    waits = await studio.waits(class_id, member)
    await studio.change("members", member, suspended=True)
    await studio.cancelled(seat["id"])
    entry_id = UUID((await studio.entry(waits))["id"])
    await did(studio, staff_bookings.promote_entry, entry_id, Override(True, "Bea had surgery"))
    await did(studio, flow.erase, member)
    assert await studio.rows("audit_log", "reason like '%Bea%'") == []


async def with_earlier_email(studio: BookingStudio) -> tuple[UUID, UUID, UUID]:
    """Return a member whose email has changed, their lead, and a submission that nobody has verified, sent with the
    email of that time."""
    member = await studio.new_member(email="b@example.com")
    lead = await studio.add("leads", email="b@example.com", first_name="Bea", status="converted")
    submission = await studio.submit(await studio.new_form(), member)
    sent = {"submitter_email": "b@example.com", "submitter_name": "Bea Jones", "data": json.dumps({"goal": "rest"})}
    await studio.change("form_submissions", submission, verified=False, member_id=None, lead_id=lead, **sent)
    await did(studio, staff.change, member, {"email": "a@example.com"})
    return member, lead, submission


async def test_submissions_with_an_earlier_email_are_erased(studio: BookingStudio) -> None:
    member, _, submission = await with_earlier_email(studio)
    await did(studio, flow.erase, member)
    row = await studio.row("form_submissions", submission)
    assert (row["submitter_name"], json.loads(row["data"])) == (None, {})
    assert row["submitter_email"].startswith(str(submission))


async def test_submissions_with_an_earlier_email_are_exported(studio: BookingStudio) -> None:
    member, lead, submission = await with_earlier_email(studio)
    sections = (await did(studio, export.export, member)).sections
    assert [each["id"] for each in sections["submissions"]] == [str(submission)]
    assert [each["id"] for each in sections["leads"]] == [str(lead)]


async def test_the_lead_of_a_removed_email_is_exported(studio: BookingStudio) -> None:
    member = await studio.new_member(email="b@example.com")
    lead = await studio.add("leads", email="b@example.com", first_name="Bea", staff_notes="likes the front row")
    await studio.sql("insert into external_ids values ($1, 'crm', 'leads', 'L-7', $2)", lead)
    await did(studio, staff.change, member, {"email": None})
    sections = (await did(studio, export.export, member)).sections
    assert [(each["id"], each["staff_notes"]) for each in sections["leads"]] == [(str(lead), "likes the front row")]
    assert sections["ids_in_other_systems"] == [{"source": "crm", "kind": "leads", "external_id": "L-7"}]
