"""Insights and sums: what is kept of finished days is what the rows say, also after they have changed."""

import csv
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from io import StringIO
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from studiogate.domain.fields.catalog import PaidBy, PurchaseStatus
from studiogate.domain.staff import Role
from studiogate.flows import events, purchases
from studiogate.flows.bookings import staff_bookings
from studiogate.flows.housekeeping import keep_figures
from studiogate.storage import figures
from studiogate.storage.figures import Period
from tests.support.booking_studio import BookingStudio
from tests.support.console import Console, texts
from tests.support.statements import counted_statements

pytestmark = pytest.mark.anyio
DIMENSIONS = ("all", "class_type", "instructor", "hour", "source", "money", "members")


async def past_class(studio: BookingStudio, days: int, **columns: Any) -> UUID:
    class_id = await studio.new_class(60, **{"capacity": 4, "location_id": studio.location, **columns})
    await studio.move(class_id, -days * 24 * 60)
    return class_id


async def attended(studio: BookingStudio, class_id: UUID, *statuses: str) -> list[UUID]:
    return [
        await studio.imported_booking(class_id, await studio.new_member(membership=False), status)
        for status in statuses
    ]


async def brought_up_to_date(studio: BookingStudio) -> None:
    await events.number_all(studio.database)
    await keep_figures(studio.database)


def _plain(rows: Sequence[Any]) -> set[tuple[object, ...]]:
    return {tuple(row[name] for name in ("day", "location_id", "key", *figures.MEASURES)) for row in rows}


async def assert_kept_is_computed(studio: BookingStudio) -> None:
    """Compare the kept rows with what the rows say now."""
    access, connection = studio.access, studio.api.connection
    until = (await figures.kept(connection, access, Period(date.min, date.min))).through
    assert until is not None
    period = Period(until - timedelta(days=30), until)
    live = await figures.read_live(connection, access, period)
    for dimension in DIMENSIONS:
        now = [row for row in live if row["dimension"] == dimension]
        kept = await studio.rows("daily_figures", "dimension = $2 and day >= $3", dimension, period.first)
        assert _plain(kept) == _plain(now), dimension


async def test_kept_days_follow_what_changes_afterwards(studio: BookingStudio) -> None:
    first, second = await past_class(studio, 3), await past_class(studio, 5)
    (marked, _, _) = await attended(studio, first, "confirmed", "checked_in", "no_show")
    await attended(studio, second, "checked_in")
    member = await studio.new_member()
    sold = await studio.add(
        "purchases", member_id=member, product_key="mat", product_type="retail", status="completed", amount_total=20,
        currency="USD", created_at=await studio.now() - timedelta(days=4),
    )  # fmt: skip
    await brought_up_to_date(studio)
    await assert_kept_is_computed(studio)
    kept = await studio.rows("daily_figures", "dimension = 'all' order by day")
    assert [(row["booked"], row["attended"], row["no_shows"]) for row in kept] == [(1, 1, 0), (3, 1, 1)]

    await studio.staff(staff_bookings.mark, marked, "checked_in")
    await studio.staff(purchases.correct_way, sold, PaidBy.CASH)
    await brought_up_to_date(studio)
    await assert_kept_is_computed(studio)
    (changed,) = await studio.rows("daily_figures", "dimension = 'all' and booked = 3")
    assert changed["attended"] == 2
    assert len(await studio.rows("daily_figures", "dimension = 'money' and key = 'USD:cash'")) == 1
    assert await studio.rows("figure_days", "is_due") == []


async def test_a_class_counts_once_it_has_begun(studio: BookingStudio) -> None:
    """People are not absent from a class that is to come."""
    class_id = await past_class(studio, 0)
    await attended(studio, class_id, "confirmed")
    today = (await studio.now()).date()
    period = Period(today - timedelta(days=1), today + timedelta(days=1))
    for minutes, expected in ((60, []), (-90, [1])):
        await studio.move(class_id, minutes)
        rows = await figures.read_live(studio.api.connection, studio.access, period)
        assert [row["booked"] for row in rows if row["dimension"] == "all"] == expected


async def test_days_that_are_not_kept_are_computed_once(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page shows five tables of them: classes over time and by type, sources, members and money."""
    with counted_statements(monkeypatch) as sent:
        assert (await console.get("/console/insights")).status_code == 200
    assert len([each for each in sent if "from counted" in each and "insert" not in each]) == 1


async def test_days_that_nobody_has_counted_are_named_as_missing(console: Console) -> None:
    studio = console.studio
    await brought_up_to_date(studio)
    assert "still being counted" not in texts(await console.get("/console/insights"))
    await studio.sql("update figure_cursors set through = through - 4 where studio_id = $1")
    assert "still being counted" in texts(await console.get("/console/insights"))


async def test_the_page_and_its_files(console: Console) -> None:
    studio = console.studio
    instructor = await studio.add("instructors", name="=Ida()")
    class_id = await past_class(studio, 3, instructor_id=instructor)
    await attended(studio, class_id, "checked_in", "no_show")
    await attended(studio, await past_class(studio, 3, location_id=studio.other_location), "checked_in")
    await brought_up_to_date(studio)
    page = await console.get("/console/insights?by=instructor")
    assert page.status_code == 200
    assert "37.5%" in texts(page), "3 of 8 seats"
    assert len(page.content) <= 60_000
    text = (await console.get("/console/insights?by=instructor&csv=by")).text
    lines = {row["Instructor"]: row for row in csv.DictReader(StringIO(text.removeprefix("\ufeff")))}
    assert (lines["'=Ida()"]["Booked"], lines["'=Ida()"]["No-shows"]) == ("2", "50.0")
    here = texts(await console.get(f"/console/insights?location={studio.location}"))
    assert "50.0%" in here
    assert "Members gained" not in here
    manager = await console.as_role(Role.MANAGER, studio.other_location)
    limited = texts(await manager.get("/console/insights"))
    assert "25.0%" in limited, "1 of 4 seats"
    assert "Members gained" not in limited
    for by in ("class-type", "location", "weekday", "hour", "nonsense"):
        for days in ("", "&from=2025-01-01", "&from=2026-13-01&to=x", "&from=2026-11-01&to=2026-10-01"):
            assert (await console.get(f"/console/insights?by={by}{days}")).status_code == 200


async def test_sums_of_a_day(console: Console) -> None:
    """What is recorded now is in today's sums at once, by its way and location."""
    studio = console.studio
    member = await studio.new_member(membership=False)
    usual = {"member_id": member, "product_key": "mat", "product_type": "retail", "currency": "USD"}
    for way, amount, place in (("cash", 30, studio.location), ("card", 20, studio.other_location), (None, 5, None)):
        await studio.add("purchases", **usual, status="completed", amount_total=amount, paid_by=way, location_id=place)
    old = await studio.add(
        "purchases", **usual, status="pending", amount_total=7, created_at=datetime.fromisoformat("2026-01-01T00:00Z")
    )
    page = texts(await console.get("/console/sales/sums"))
    assert "$30.00" in page
    assert "$55.00" in page
    assert "Transfer" not in page, "a column of nothing is not shown"
    await console.post(f"/console/sales/purchases/{old}/paid", {"paid_by": "cash"})
    assert "$37.00" in texts(await console.get("/console/sales/sums")), "paid today, whenever it was sold"
    await studio.staff(purchases.mark, old, PurchaseStatus.FAILED)
    text = (await console.get("/console/sales/sums?by=location&format=csv")).text
    assert "No location,USD,0.00,0.00,0.00,0.00,5.00,5.00" in text
    desk = await console.as_role(Role.FRONT_DESK, studio.other_location)
    limited = texts(await desk.get("/console/sales/sums"))
    assert "$20.00" in limited
    assert "$30.00" not in limited


async def test_today_is_the_day_of_the_location(console: Console) -> None:
    """A desk counts its cash by its own day, in the sums and in the list, also when the studio has another one."""
    studio, member = console.studio, await console.studio.new_member(membership=False)
    await studio.sql("update studios set timezone = 'Pacific/Kiritimati' where studio_id = $1")
    await studio.sql("update locations set timezone = 'Pacific/Pago_Pago' where studio_id = $1")
    usual = {"member_id": member, "product_key": "mat", "product_type": "retail", "currency": "USD"}
    await studio.add("purchases", **usual, status="completed", amount_total=9, location_id=studio.location)
    desk, here = await console.as_role(Role.FRONT_DESK, studio.location), f"?location={studio.location}"
    for someone, query in ((desk, ""), (console, here)):
        assert "$9.00" in texts(await someone.get(f"/console/sales/sums{query}"))
    today = (await studio.now()).astimezone(ZoneInfo("Pacific/Pago_Pago")).date()
    assert "$9.00" in texts(await desk.get(f"/console/sales?from={today}&to={today}"))


async def test_a_deactivated_location_keeps_its_name(console: Console) -> None:
    studio, member = console.studio, await console.studio.new_member(membership=False)
    usual = {"member_id": member, "product_key": "mat", "product_type": "retail", "currency": "USD"}
    await studio.add("purchases", **usual, status="completed", amount_total=9, location_id=studio.other_location)
    await studio.sql("update locations set active = false where studio_id = $1 and id <> $2", studio.location)
    for query in ("", f"&location={studio.other_location}"):
        shown = texts(await console.get(f"/console/sales/sums?by=location{query}"))
        assert "(deactivated)" in shown.partition("Export")[2]
        assert "No location" not in shown
