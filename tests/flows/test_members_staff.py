"""What staff do with members: create, change, suspend, add a note; events, audit entries, refusals."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.refusals import Code
from studiogate.domain.staff import Role
from studiogate.flows.members import staff as flow
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio
from tests.support.staff import did, entries, faults_of, forget, news, person, refused

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
MASK = "•••"
NAMES = {"first_name": "Jo", "last_name": "Reed"}


async def lead(studio: BookingStudio, email: str) -> UUID:
    return await studio.add("leads", email=email, first_name="Jo")


async def submission(studio: BookingStudio, email: str, *, verified: bool) -> UUID:
    form = await studio.new_form()
    return await studio.add(
        "form_submissions", form_id=form, form_version=1, submitter_email=email, verified=verified, data="{}"
    )


async def test_create(studio: BookingStudio) -> None:
    made = await did(
        studio, flow.create, {**NAMES, "first_name": " Jo ", "email": "JO@Example.com", "phone": "212 555 0100"}
    )
    assert made == await studio.get(f"/members/{made['id']}")
    assert (made["name"], made["email"], made["phone"]) == ("Jo Reed", "jo@example.com", "+12125550100")
    assert await news(studio) == [("member.created", made["id"], {})]
    (entry,) = await entries(studio)
    assert (entry["action"], str(entry["subject_id"])) == ("member.create", made["id"])
    assert entry["changes"]["email"] == [None, MASK]
    assert entry["changes"]["role"] == [None, "member"]


async def test_create_without_contact(studio: BookingStudio) -> None:
    first, second = [await did(studio, flow.create, NAMES) for _ in range(2)]
    assert first["id"] != second["id"]
    assert (first["email"], first["phone"]) == (None, None)


async def test_create_converts_the_lead_and_adopts_submissions(studio: BookingStudio) -> None:
    lead_id = await lead(studio, "jo@example.com")
    theirs = await submission(studio, "jo@example.com", verified=True)
    unverified = await submission(studio, "jo@example.com", verified=False)
    made = await did(studio, flow.create, {**NAMES, "email": "jo@example.com"})
    changed = {"status": "new", "lifecycle_stage": "lead"}
    assert await news(studio) == [("member.created", made["id"], {}), ("lead.updated", str(lead_id), changed)]
    assert (await studio.row("form_submissions", theirs))["member_id"] == UUID(made["id"])
    assert (await studio.row("form_submissions", unverified))["member_id"] is None


async def test_create_refuses_a_known_email_and_lists_all_faults(studio: BookingStudio) -> None:
    member = await studio.new_member(email="jo@example.com")
    refusal = await refused(studio, flow.create, {**NAMES, "email": "Jo@example.com"})
    assert (refusal.code, refusal.details) == (Code.MEMBER_EXISTS, {"member_id": str(member)})
    faults = await faults_of(studio, flow.create, {"first_name": "", "email": "jo", "phone": "12", "suspended": True})
    assert set(faults) == {"first_name", "last_name", "email", "phone", "suspended"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("first_name", "x" * 201),
        ("first_name", "a\x00b"),
        ("first_name", "a\ud800"),
        ("first_name", "\u202egro"),
        ("first_name", None),
        ("first_name", 7),
        ("last_name", " \t "),
        ("email", "x" * 300 + "@example.com"),
        ("email", "a\u0301" * 100),
        ("phone", "9" * 51),
        ("role", "owner"),
        ("role", None),
        ("membership_type", "a\nb"),
        ("membership_start_date", "2026-02-30T00:00:00Z"),
        ("membership_end_date", "tomorrow"),
        ("staff_notes", "x"),
        ("id", "59cc5382-690b-4c58-a599-e55d8f959604"),
    ],
)
async def test_change_refuses_hostile_values(studio: BookingStudio, field: str, value: Any) -> None:
    member = await studio.new_member()
    assert set(await faults_of(studio, flow.change, member, {field: value})) == {field}


async def test_change_sets_the_given_fields_only(studio: BookingStudio) -> None:
    member = await studio.new_member(email="old@example.com", phone="+12125550100", membership_type="gold")
    before = await studio.get(f"/members/{member}")
    given = {"first_name": "x" * 200, "phone": None, "membership_end_date": "2027-01-01T00:00:00+01:00"}
    after = await did(studio, flow.change, member, given)
    assert after == await studio.get(f"/members/{member}")
    assert (after["first_name"], after["phone"], after["email"]) == ("x" * 200, None, "old@example.com")
    assert after["membership_end_date"] == "2026-12-31T23:00:00+00:00"
    changed = {name: before[name] for name in ("name", "first_name", "phone", "membership_end_date")}
    assert await news(studio) == [("member.updated", str(member), changed)]
    (entry,) = await entries(studio)
    assert (entry["action"], entry["subject_id"], entry["channel"]) == ("member.change", member, "console")
    assert entry["changes"] == {
        "first_name": [MASK, MASK],
        "membership_end_date": [None, "2026-12-31T23:00:00+00:00"],
        "name": [MASK, MASK],
        "phone": [MASK, None],
    }


async def test_a_change_to_the_same_values_leaves_no_trace(studio: BookingStudio) -> None:
    member = await studio.new_member(email="same@example.com")
    before = await studio.row("members", member)
    await did(studio, flow.change, member, {"email": "Same@Example.com", "role": "member"})
    assert await studio.row("members", member) == before
    assert (await news(studio), await entries(studio)) == ([], [])


async def test_a_new_email_converts_the_lead_and_adopts_submissions(studio: BookingStudio) -> None:
    member = await studio.new_member(email="old@example.com")
    lead_id = await lead(studio, "new@example.com")
    theirs = await submission(studio, "new@example.com", verified=True)
    await did(studio, flow.change, member, {"email": "new@example.com"})
    assert [(type_, subject) for type_, subject, _ in await news(studio)] == [
        ("member.updated", str(member)),
        ("lead.updated", str(lead_id)),
    ]
    assert (await studio.row("form_submissions", theirs))["member_id"] == member


async def test_a_profile_of_a_lead_that_becomes_a_member_converts_the_lead(studio: BookingStudio) -> None:
    member = await studio.new_member(email="lead@example.com", role="lead")
    lead_id = await lead(studio, "lead@example.com")
    await did(studio, flow.change, member, {"role": "member"})
    assert await news(studio) == [
        ("member.updated", str(member), {"role": "lead"}),
        ("lead.updated", str(lead_id), {"status": "new", "lifecycle_stage": "lead"}),
    ]


async def test_an_email_of_another_member_is_refused(studio: BookingStudio) -> None:
    other = await studio.new_member(email="taken@example.com")
    member = await studio.new_member()
    refusal = await refused(studio, flow.change, member, {"email": "taken@example.com"})
    assert (refusal.code, refusal.details) == (Code.MEMBER_EXISTS, {"member_id": str(other)})


async def test_suspend_and_unsuspend(studio: BookingStudio) -> None:
    member, class_id = await studio.new_member(), await studio.new_class()
    await forget(studio)
    await did(studio, flow.suspend, member, "unpaid")
    assert (await studio.refused(class_id, member))["code"] == "member_suspended"
    again = await refused(studio, flow.suspend, member)
    assert (again.code, again.details["from"]) == (Code.INVALID_TRANSITION, "suspended")
    await did(studio, flow.unsuspend, member)
    assert (await refused(studio, flow.unsuspend, member)).code is Code.INVALID_TRANSITION
    assert await news(studio) == [], "partners do not see the suspension of a profile"
    assert [(each["action"], each["changes"], each["reason"]) for each in await entries(studio)] == [
        ("member.suspend", {"suspended": [False, True]}, "unpaid"),
        ("member.unsuspend", {"suspended": [True, False]}, None),
    ]
    await studio.booked(class_id, member)


async def test_notes(studio: BookingStudio) -> None:
    member = await studio.new_member()
    before = await studio.get(f"/members/{member}")
    await did(studio, flow.add_note, member, "Prefers mornings.")
    await did(studio, flow.add_note, member, " Bad knee.\n")
    assert (await studio.row("members", member))["staff_notes"] == "Prefers mornings.\nBad knee."
    assert await studio.get(f"/members/{member}") == before
    assert await news(studio) == []
    assert [each["changes"] for each in await entries(studio)] == [
        {"staff_notes": [None, MASK]},
        {"staff_notes": [MASK, MASK]},
    ]
    for wrong in ("", " \n", "x" * 10_001, "a\x00b", "a\udcff"):
        assert set(await faults_of(studio, flow.add_note, member, wrong)) == {"note"}


async def test_notes_are_limited(studio: BookingStudio) -> None:
    member = await studio.new_member(staff_notes="x" * (64 * 1024 - 10))
    refusal = await refused(studio, flow.add_note, member, "x" * 10)
    assert (refusal.code, refusal.details["limit"]) == (Code.LIMIT_REACHED, "staff_notes")
    await did(studio, flow.add_note, member, "x" * 9)


async def test_an_unknown_member(studio: BookingStudio) -> None:
    for action, *more in ((flow.change, {"role": "user"}), (flow.suspend,), (flow.unsuspend,), (flow.add_note, "x")):
        assert (await refused(studio, action, uuid4(), *more)).code is Code.NOT_FOUND


async def test_staff_of_one_location_keep_the_members_of_the_studio(studio: BookingStudio) -> None:
    """Members belong to no location."""
    member = await studio.new_member()
    async with studio.database.connection() as connection:
        access = person(studio, Role.FRONT_DESK, studio.other_location)
        assert await flow.suspend(connection, access, member) == member
