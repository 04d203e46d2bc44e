"""The doctor finds what must not be among accounts and roles."""

import pytest

from studiogate.domain.staff import Role
from studiogate.storage.record_invariants import STAFF
from tests.support import booking_studio, staff_people
from tests.support.staff_people import People

pytestmark = pytest.mark.anyio
studio_factory, studio, people = booking_studio.studio_factory, booking_studio.studio, staff_people.people

# What breaks an invariant ($1 the studio, $2 the account), and what makes it good again.
PLANTS = {
    "staff roles": (
        "update staff_roles set location_ids = array[gen_random_uuid()] where studio_id = $1 and account_id = $2",
        "update staff_roles set location_ids = null where studio_id = $1 and account_id = $2",
    ),
    "staff sessions": (
        "update staff_roles set disabled_at = now() where studio_id = $1 and account_id = $2",
        "update staff_roles set disabled_at = null where studio_id = $1 and account_id = $2",
    ),
    "staff audit": (
        "update audit_log set occurred_at = '2020-01-01' where studio_id = $1 and subject_id = $2",
        "update audit_log set occurred_at = clock_timestamp() where studio_id = $1 and subject_id = $2",
    ),
}


def test_every_invariant_is_tried() -> None:
    assert [promise.name for promise in STAFF] == list(PLANTS)


@pytest.mark.parametrize("name", PLANTS)
async def test_a_violation_is_found(people: People, name: str) -> None:
    person = await people.hire(Role.MANAGER)
    await people.session(person)
    assert await people.studio.findings() == []
    broken, good = PLANTS[name]
    ids = people.studio.id, person.account_id
    await people.sql(broken, *ids)
    found = await people.studio.findings()
    assert {(finding.subject, finding.level) for finding in found} == {(name, "fault")}
    assert all(str(person.account_id) in finding.text for finding in found)
    await people.sql(good, *ids)
