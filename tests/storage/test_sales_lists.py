"""The console's lists of purchases and renewals run on indexes in a large studio."""

from datetime import UTC, datetime, timedelta
from itertools import product
from uuid import UUID

import pytest

from studiogate.domain.fields.catalog import PurchaseStatus
from studiogate.storage import sales_list
from studiogate.storage.sales_list import PurchaseFilters
from tests.support import large_studio
from tests.support.large_studio import LargeStudio

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]
large = large_studio.medium
LIMIT = 50


@pytest.mark.parametrize(
    ("restricted", "place", "status"),
    [*product((0, 3), (None, 1), (None, *PurchaseStatus))],
    ids=lambda each: str(each),
)
async def test_purchases(large: LargeStudio, restricted: int, place: int | None, status: str | None) -> None:
    access = large.access(*large.locations[:restricted])
    filters = PurchaseFilters(status, None if place is None else large.locations[place])
    first = await sales_list.list_purchases(large.recorder, access, filters, None, LIMIT)
    assert all(each["status"] == (status or each["status"]) for each in first.rows)
    if first.next is not None:
        after = UUID(first.next)
        second = await sales_list.list_purchases(large.recorder, access, filters, after, LIMIT)
        assert second.rows[0]["created_at"] <= first.rows[-1]["created_at"]
        assert {each["id"] for each in first.rows} & {each["id"] for each in second.rows} == set()
    assert large.faults(ranges=3) == []


@pytest.mark.parametrize("restricted", [0, 3])
async def test_open_fees_and_purchases_of_a_member(large: LargeStudio, restricted: int) -> None:
    access = large.access(*large.locations[:restricted])
    fees = await sales_list.list_purchases(large.recorder, access, PurchaseFilters(open_fees=True), None, LIMIT)
    assert {each["product_type"] for each in fees.rows} == {"fee"}
    assert {each["status"] for each in fees.rows} <= {"pending", "failed"}
    member = fees.rows[0]["member_id"]
    for open_fees in (False, True):
        filters = PurchaseFilters(member_id=member, open_fees=open_fees)
        mine = await sales_list.list_purchases(large.recorder, access, filters, None, LIMIT)
        assert {each["member_id"] for each in mine.rows} == {member}
    assert await sales_list.read_purchase(large.recorder, access, fees.rows[0]["id"])
    assert large.faults(ranges=3) == []


async def test_a_purchase_elsewhere_does_not_exist(large: LargeStudio) -> None:
    elsewhere: UUID = await large.value(
        "select id from purchases where studio_id = $1 and location_id = $2 limit 1", large.locations[4]
    )
    access = large.access(*large.locations[:2])
    assert await sales_list.read_purchase(large.recorder, access, elsewhere) is None
    large.recorder.plans.clear()


async def test_renewals(large: LargeStudio) -> None:
    until = datetime.now(UTC) + timedelta(days=30)
    first = await sales_list.renewals_due(large.recorder, large.access(), until, None, LIMIT)
    assert first.next is not None
    second = await sales_list.renewals_due(large.recorder, large.access(), until, UUID(first.next), LIMIT)
    ends = [each["current_period_end"] for each in (*first.rows, *second.rows)]
    assert ends == sorted(ends)
    assert {each["id"] for each in first.rows} & {each["id"] for each in second.rows} == set()
    assert large.faults() == []
