"""What staff do with leads: move, note, convert; events, audit entries, refusals."""

from uuid import UUID, uuid4

import pytest

from studiogate.domain.leads import LeadStatus
from studiogate.domain.refusals import Code
from studiogate.domain.staff import Role
from studiogate.flows import lead_staff as flow
from studiogate.flows.members import staff
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio
from tests.support.staff import did, entries, faults_of, news, person, refused

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
MASK = "•••"


async def lead(studio: BookingStudio, **columns: object) -> UUID:
    return await studio.add("leads", **{"email": f"{uuid4().hex}@example.com", "first_name": "Jo", **columns})


async def test_move(studio: BookingStudio) -> None:
    lead_id = await lead(studio)
    assert await did(studio, flow.move, lead_id, LeadStatus.CONTACTED) is LeadStatus.CONTACTED
    assert await news(studio) == [("lead.updated", str(lead_id), {"status": "new"})]
    (entry,) = await entries(studio)
    assert (entry["action"], entry["changes"]) == ("lead.move", {"status": ["new", "contacted"]})
    await did(studio, flow.move, lead_id, LeadStatus.CONTACTED)
    assert (await news(studio), len(await entries(studio))) == ([], 1), "it is contacted already"


async def test_a_converted_lead_stays_converted(studio: BookingStudio) -> None:
    lead_id = await lead(studio, status="converted", email="member@example.com")
    await studio.new_member(email="member@example.com")
    assert (await refused(studio, flow.move, lead_id, LeadStatus.LOST)).code is Code.INVALID_TRANSITION
    assert (await refused(studio, flow.convert, lead_id, {})).code is Code.INVALID_TRANSITION
    other = await lead(studio)
    refusal = await refused(studio, flow.move, other, LeadStatus.CONVERTED)
    assert (refusal.code, refusal.details["to"]) == (Code.INVALID_TRANSITION, "converted")


async def test_notes(studio: BookingStudio) -> None:
    lead_id = await lead(studio)
    await did(studio, flow.add_note, lead_id, "Called.")
    await did(studio, flow.add_note, lead_id, "Called again.")
    assert (await studio.row("leads", lead_id))["staff_notes"] == "Called.\nCalled again."
    assert await news(studio) == [], "partners do not see notes"
    assert [each["changes"] for each in await entries(studio)] == [
        {"staff_notes": [None, MASK]},
        {"staff_notes": [MASK, MASK]},
    ]
    assert set(await faults_of(studio, flow.add_note, lead_id, "\x00")) == {"note"}
    await studio.change("leads", lead_id, staff_notes="x" * 64 * 1024)
    assert (await refused(studio, flow.add_note, lead_id, "y")).code is Code.LIMIT_REACHED


async def test_convert(studio: BookingStudio) -> None:
    email = f"{uuid4().hex}@example.com"
    lead_id = await lead(studio, email=email, phone="+12125550100")
    submission = await studio.add(
        "form_submissions", form_id=await studio.new_form(), form_version=1, submitter_email=email, verified=True
    )
    member = await did(studio, flow.convert, lead_id, {"last_name": "Reed"})
    assert (member["name"], member["email"], member["phone"]) == ("Jo Reed", email, "+12125550100")
    assert await news(studio) == [
        ("member.created", member["id"], {}),
        ("lead.updated", str(lead_id), {"status": "new", "lifecycle_stage": "lead"}),
    ]
    assert (await studio.row("form_submissions", submission))["member_id"] == UUID(member["id"])
    assert [each["action"] for each in await entries(studio)] == ["member.create", "lead.convert"]
    assert (await entries(studio))[1]["changes"]["status"] == ["new", "converted"]


async def test_convert_needs_both_names(studio: BookingStudio) -> None:
    lead_id = await lead(studio)
    assert set(await faults_of(studio, flow.convert, lead_id, {})) == {"last_name"}
    assert set(await faults_of(studio, flow.convert, lead_id, {"last_name": "x" * 201})) == {"last_name"}


async def test_a_profile_with_the_role_lead_becomes_the_member(studio: BookingStudio) -> None:
    email = f"{uuid4().hex}@example.com"
    profile, lead_id = await studio.new_member(email=email, role="lead"), await lead(studio, email=email)
    member = await did(studio, flow.convert, lead_id, {})
    assert (member["id"], member["role"]) == (str(profile), "member")
    assert await news(studio) == [
        ("member.updated", str(profile), {"role": "lead"}),
        ("lead.updated", str(lead_id), {"status": "new", "lifecycle_stage": "lead"}),
    ]


async def test_an_unknown_lead(studio: BookingStudio) -> None:
    assert (await refused(studio, flow.move, uuid4(), LeadStatus.LOST)).code is Code.NOT_FOUND
    assert (await refused(studio, flow.add_note, uuid4(), "x")).code is Code.NOT_FOUND
    assert (await refused(studio, flow.convert, uuid4(), {})).code is Code.NOT_FOUND


async def test_staff_of_one_location_keep_the_leads_of_the_studio(studio: BookingStudio) -> None:
    """Leads belong to no location."""
    lead_id = await lead(studio)
    async with studio.database.connection() as connection:
        access = person(studio, Role.FRONT_DESK, studio.location)
        assert await flow.move(connection, access, lead_id, LeadStatus.LOST) is LeadStatus.LOST


async def test_a_lead_that_was_imported_as_converted_becomes_a_member(studio: BookingStudio) -> None:
    lead = await studio.add("leads", email="sam@example.com", first_name="Sam", last_name="Ng", status="converted")
    made = await did(studio, flow.convert, lead, {})
    assert (made["email"], made["role"]) == ("sam@example.com", "member")
    assert (await refused(studio, flow.convert, lead, {})).code == Code.INVALID_TRANSITION


async def test_the_lead_of_a_member_without_an_email_is_not_converted_again(studio: BookingStudio) -> None:
    member = await studio.new_member(email="sam@example.com")
    lead = await studio.add("leads", email="sam@example.com", first_name="Sam", last_name="Ng", status="converted")
    await did(studio, staff.change, member, {"email": None})
    assert (await refused(studio, flow.convert, lead, {})).code == Code.INVALID_TRANSITION
