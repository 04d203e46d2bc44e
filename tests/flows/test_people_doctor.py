"""The doctor finds what an erasure or a merge must not leave behind."""

from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import pytest

from studiogate.flows.members import erase
from studiogate.storage import record_invariants
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio, StudioFactory
from tests.support.staff import did

pytestmark = pytest.mark.anyio
studio_factory = booking_studio.studio_factory
Plant = Callable[[BookingStudio, UUID], Awaitable[object]]


async def a_name(s: BookingStudio, member: UUID) -> None:
    await s.api.connection.execute("alter table members disable trigger keep_erased")
    await s.change("members", member, first_name="Jo")
    await s.api.connection.execute("alter table members enable trigger keep_erased")


async def a_membership(s: BookingStudio, member: UUID) -> None:
    await s.new_membership(member)


async def a_booking(s: BookingStudio, member: UUID) -> None:
    await s.imported_booking(await s.new_class(), member)


async def answers(s: BookingStudio, member: UUID) -> None:
    submission = await s.submit(await s.new_form(), member)
    await s.change("form_submissions", submission, submitter_name="Jo")


async def no_audit_entry(s: BookingStudio, _member: UUID) -> None:
    await s.sql("update audit_log set action = 'member.change' where studio_id = $1")


async def a_merged_member(s: BookingStudio, member: UUID) -> None:
    await s.add("merged_people", id=await s.new_member(), kind="member", member_id=member)


PLANTS: dict[str, list[Plant]] = {
    "erased people": [a_name, a_membership, a_booking, answers],
    "erasures": [no_audit_entry],
    "merged people": [a_merged_member],
}


def test_every_promise_has_its_violation() -> None:
    assert {promise.name for promise in record_invariants.PEOPLE} == set(PLANTS)


@pytest.mark.parametrize(
    ("promise", "plant"),
    [(promise, plant) for promise, plants in PLANTS.items() for plant in plants],
    ids=[plant.__name__ for plants in PLANTS.values() for plant in plants],
)
async def test_the_doctor_finds_it(studio_factory: StudioFactory, promise: str, plant: Plant) -> None:
    studio = await studio_factory.new_studio()
    member = await studio.new_member(email=f"{uuid4().hex}@example.com")
    await did(studio, erase.erase, member)
    assert await studio.findings() == []
    await plant(studio, member)
    assert {finding.subject for finding in await studio.findings()} == {promise}
