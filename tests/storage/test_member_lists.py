"""The console's lists of members run on indexes in a studio with 100,000 members, and miss nobody."""

from itertools import product
from uuid import UUID

import pytest

from studiogate.storage import member_list, member_profile, member_search, members, person_merge
from studiogate.storage.member_list import MemberFilters
from studiogate.storage.paging import ListPage
from tests.support import large_studio
from tests.support.large_studio import LargeStudio

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]
large = large_studio.large
LIMIT = 50
ANY = MemberFilters()
PAST_DUE = "exists (select from memberships s where s.member_id = m.id and s.status = 'past_due')"
BOOKED = """
    exists (select from bookings b
            where b.member_id = m.id and b.location_id = md5('l0-3')::uuid and b.status <> 'cancelled')"""


async def listed(large: LargeStudio, filters: MemberFilters, after: str | None = None) -> ListPage:
    place = None if after is None else UUID(after)
    return await member_list.list_members(large.recorder, large.access(), filters, place, LIMIT)


async def searched(large: LargeStudio, text: str, filters: MemberFilters = ANY, after: str | None = None) -> ListPage:
    return await member_search.search(large.recorder, large.access(), text, filters, (after, LIMIT))


@pytest.mark.parametrize(
    ("status", "place"), [*product((None, *member_list.STATUSES), (None, 2))], ids=lambda each: str(each)
)
async def test_lists(large: LargeStudio, status: str | None, place: int | None) -> None:
    filters = MemberFilters(status, None if place is None else large.locations[place])
    first = await listed(large, filters)
    assert first.rows or first.next
    if first.next is not None:
        second = await listed(large, filters, first.next)
        assert {each["id"] for each in first.rows} & {each["id"] for each in second.rows} == set()
    assert large.faults(ranges=6) == []


@pytest.mark.parametrize("status", [None, "active", "suspended"])
@pytest.mark.parametrize("located", [False, True])
@pytest.mark.parametrize(
    "text", ["a", "last7", "anna1 last", "berg", "person99@", "212 0077777", "émile", "zz", "last a"]
)
async def test_searches(large: LargeStudio, text: str, located: bool, status: str | None) -> None:
    filters = MemberFilters(status, large.locations[1] if located else None)
    found = await searched(large, text, filters)
    if found.next is not None:
        await searched(large, text, filters, found.next)
    # A rare combination reads the members whose name begins with the word, but no others.
    ranges = 6 if status is None and not located and text != "last a" else 1 + large_studio.MEMBERS // LIMIT
    assert large.faults(ranges) == []


async def whole(large: LargeStudio, text: str) -> list[UUID]:
    found, after = [], None
    while True:
        page = await searched(large, text, after=after)
        found += [each["id"] for each in page.rows]
        large.recorder.plans.clear()
        if page.next is None:
            return found
        after = page.next


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("last777", "lower(last_name) like 'last777%'"),
        ("BERG9", "last_name like '%Berg9%'"),
        ("anna10 last99", "first_name like 'Anna10%' and last_name like 'Last99%'"),
        ("person7777", "email like 'person7777%'"),
        ("(212) 007-7777", "phone like '%2120077777'"),
    ],
)
async def test_pages_hold_everybody_once(large: LargeStudio, text: str, condition: str) -> None:
    expected = await large.value(f"select array_agg(id) from members where studio_id = $1 and {condition}")
    found = await whole(large, text)
    assert sorted(found[: len(expected)]) == sorted(expected), "similar names follow"
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("status", "place", "condition"),
    [
        ("suspended", None, "suspended"),
        ("past_due", None, PAST_DUE),
        ("past_due", 3, f"{PAST_DUE} and {BOOKED}"),
    ],
)
async def test_lists_hold_everybody_once(large: LargeStudio, status: str, place: int | None, condition: str) -> None:
    expected = await large.value(f"select array_agg(id) from members m where studio_id = $1 and {condition}")
    filters = MemberFilters(status, None if place is None else large.locations[place])
    found, after, pages = [], None, 0
    while pages == 0 or after is not None:
        page = await listed(large, filters, after)
        found += [each["id"] for each in page.rows]
        after, pages = page.next, pages + 1
    large.recorder.plans.clear()
    assert sorted(found) == sorted(expected)
    assert len(set(found)) == len(found)


async def test_a_profile(large: LargeStudio) -> None:
    access, recorder = large.access(), large.recorder
    member: UUID = await large.value(
        "select member_id from bookings where studio_id = $1 group by 1 order by count(*) desc, 1 limit 1"
    )
    assert await member_profile.read_profile(recorder, access, member)
    held = await member_profile.running_memberships(recorder, access, member)
    for after in (None, held[0]["id"]):
        await member_profile.ended_memberships(recorder, access, member, after, LIMIT)
    assert await member_profile.read_membership(recorder, access, held[0]["id"])
    for places in ((), large.locations[:2]):
        there = large.access(*places)
        for read in (member_profile.ledger_of, member_profile.bookings_of):
            lines = await read(recorder, there, member, None, 1)
            await read(recorder, there, member, lines.rows[0]["id"] if lines.rows else None, LIMIT)
        await member_profile.bookings_ahead(recorder, there, member, LIMIT)
    for after in (None, member):
        await member_profile.submissions_of(recorder, access, member, after, LIMIT)
        await member_profile.history_of(recorder, access, member, after, LIMIT)
    await members.merged_into(recorder, access, member)
    assert (await person_merge.counts(recorder, access, member, "a@example.com"))["bookings"] > 0
    await person_merge.shared_classes(recorder, access, member, held[0]["id"])
    assert large.faults() == []
