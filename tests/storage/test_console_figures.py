"""Insights, sums, the request log and the audit log run on indexes in a large studio, and read what they show."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from studiogate.storage import audit_list, figures, request_log
from studiogate.storage.audit_list import AuditFilters
from studiogate.storage.figures import Period
from studiogate.storage.request_log import RequestFilters
from tests.support import large_studio
from tests.support.large_studio import LargeStudio

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]
medium = large_studio.medium
LIMIT = 50
TODAY = datetime.now(UTC).date()
DAYS = 28
# Rows of a day at each of the five locations, by dimension: what a studio of forty classes a day has at most.
KEYS = {"all": 1, "class_type": 8, "instructor": 8, "hour": 12, "source": 3, "money": 4}
FILL = """
    set session_replication_role = replica;
    insert into daily_figures (studio_id, dimension, day, location_id, key, booked)
    select l.studio_id, d.dimension, current_date - n, l.id, 'k' || k, 1
    from locations l, (values {keys}) d(dimension, keys), generate_series(0, 730) n, generate_series(1, d.keys) k
    where l.studio_id = md5('s0')::uuid;
    insert into figure_days (studio_id, day, is_due)
    select md5('s0')::uuid, current_date - n, false from generate_series(1, 730) n;
    insert into figure_cursors values (md5('s0')::uuid, 0, current_date - 1);
    insert into purchase_payments (studio_id, purchase_id, received_at, amount)
    select studio_id, id, created_at, 10 from purchases;
    update memberships set started_at = created_at, ended_at = created_at + interval '90 days';
    insert into request_log (studio_id, id, credential_id, occurred_at, method, route, status, code, milliseconds,
                             bytes, request_id, unlisted)
    select md5('s' || s)::uuid, gen_random_uuid(), 'key' || n % 5, now() - n * interval '1 minute', 'POST',
           '/partner/v1/bookings', case when n % 1000 = 0 then 500 when n % 10 = 0 then 409 else 201 end,
           case when n % 10 = 0 then 'class_full' end, 5, 100, 'req_' || n, 3
    from generate_series(0, 9) s, generate_series(1, 10000) n;
    insert into audit_log (studio_id, id, channel, actor_name, action, subject_type, subject_id, occurred_at)
    select md5('s0')::uuid, gen_random_uuid(), case when n % 5000 = 0 then 'partner' else 'console' end, 'a',
           'booking.check_in', 'booking', md5('b0-' || n)::uuid, now() - n * interval '1 minute'
    from generate_series(1, 50000) n;
    set session_replication_role = default;
    analyze;
"""


@pytest.fixture(scope="module")
async def large(medium: LargeStudio) -> LargeStudio:
    keys = ", ".join(f"('{dimension}', {count})" for dimension, count in KEYS.items())
    await medium.recorder.connection.execute(FILL.format(keys=keys))
    return medium


@pytest.mark.parametrize("grouping", ["day", "week", "month", "weekday", "location", "key"])
@pytest.mark.parametrize("dimension", KEYS)
async def test_kept_figures_are_those_of_the_period(large: LargeStudio, dimension: str, grouping: str) -> None:
    """Each row that is read belongs to the period, if not to the dimension."""
    period = Period(TODAY - timedelta(days=DAYS), TODAY - timedelta(days=1))
    found = await figures.read_kept(large.recorder, large.access(), dimension, grouping, period)
    days = DAYS * len(large.locations)
    assert sum(row["booked"] for row in found) == days * KEYS[dimension]
    assert await figures.kept(large.recorder, large.access(), period) == (period.last, 0)
    assert large.faults(ranges=1 + days * sum(KEYS.values()) // (10 * LIMIT)) == []


@pytest.mark.parametrize("restricted", [0, 2])
async def test_the_last_days_are_computed_from_their_classes(large: LargeStudio, restricted: int) -> None:
    access = large.access(*large.locations[:restricted])
    period = Period(TODAY - timedelta(days=2), TODAY)
    found = await figures.read_live(large.recorder, access, period)
    assert {row["dimension"] for row in found} >= {"all", "source", "hour"}
    # Three days of one class an hour, each with forty bookings.
    assert large.faults(ranges=10) == []


async def test_the_request_log(large: LargeStudio) -> None:
    recorder, access = large.recorder, large.access()
    first = await request_log.search(recorder, access, RequestFilters(), None, LIMIT)
    assert first.next is not None
    second = await request_log.search(recorder, access, RequestFilters(), UUID(first.next), LIMIT)
    assert {each["id"] for each in first.rows} & {each["id"] for each in second.rows} == set()
    assert await request_log.read_entry(recorder, access, first.rows[0]["id"])
    await request_log.search(recorder, access, RequestFilters(credential_id="key1"), None, LIMIT)
    # A plan that knows no filter may sort the log of the studio, which is bounded, and nothing of others.
    assert large.faults(ranges=40) == []


@pytest.mark.parametrize(
    "filters",
    [RequestFilters(statuses=(500, 999)), RequestFilters(request_id="req_9999"), RequestFilters(code="none")],
    ids=["status", "request", "code"],
)
async def test_a_rare_request_costs_the_studios_log_at_most(large: LargeStudio, filters: RequestFilters) -> None:
    """A studio's log has up to 10,000 entries; those of others are not read."""
    await request_log.search(large.recorder, large.access(), filters, None, LIMIT)
    await request_log.by_error(large.recorder, large.access(), filters)
    assert large.faults(ranges=20) == []


async def test_the_use_of_keys(large: LargeStudio) -> None:
    now = datetime.now(UTC)
    assert len(await request_log.per_hour(large.recorder, large.access(), now)) >= 24
    assert sum(row["requests"] for row in await request_log.per_day(large.recorder, large.access(), "key1", "UTC"))
    assert large.faults(ranges=20) == []


async def test_the_audit_log(large: LargeStudio) -> None:
    recorder, access = large.recorder, large.access()
    first = await audit_list.list_entries(recorder, access, AuditFilters(), None, LIMIT)
    second = await audit_list.list_entries(recorder, access, AuditFilters(), first.next, LIMIT)
    assert {each["id"] for each in first.rows} & {each["id"] for each in second.rows} == set()
    subject = first.rows[0]["subject_id"]
    assert (await audit_list.list_entries(recorder, access, AuditFilters(subject_id=subject), None, LIMIT)).rows
    # The inner list ends at a number of entries, of which a page needs the first ones only.
    assert large.faults() == []


@pytest.mark.parametrize("filters", [{"channel": "partner"}, {"kind": "staff_role"}, {"since": TODAY}])
async def test_a_page_of_rare_entries_reads_a_bounded_number(large: LargeStudio, filters: dict[str, Any]) -> None:
    if "since" in filters:
        filters = {"since": datetime.now(UTC) - timedelta(days=30), "kind": "price"}
    found = await audit_list.list_entries(large.recorder, large.access(), AuditFilters(**filters), None, LIMIT)
    assert found.next is not None
    assert large.faults(ranges=audit_list.SCANNED // (10 * LIMIT)) == []
