"""The bookings of the demo studio keep every rule that a booking through the API would have to keep."""

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from studiogate.demo import demo_studio_file
from studiogate.domain.bookings.states import CHECK_IN_OPENS
from tests.support.demo_landmarks import landmarks
from tests.support.demo_rows import LIVE, MOMENTS, SEATED, Row, bookings_by_class, by_id, moment, studio_at


@pytest.fixture(params=MOMENTS, ids=lambda moment: moment.date().isoformat())
def now(request: pytest.FixtureRequest) -> datetime:
    moment: datetime = request.param
    return moment


@pytest.fixture
def studio(now: datetime) -> Row:
    return studio_at(now)


def assert_nothing_is_overbooked(studio: Row) -> None:
    classes = by_id(studio["classes"])
    seated = Counter(row["class_id"] for row in studio["bookings"] if row["status"] in SEATED)
    assert all(count <= classes[class_id]["capacity"] for class_id, count in seated.items())
    for class_id in bookings_by_class(studio, {"waitlisted"}):
        by_hand = (classes[class_id]["policy"] or {}).get("waitlist_mode") == "manual"
        assert by_hand or seated[class_id] == classes[class_id]["capacity"]


@settings(deadline=None, max_examples=25)
@given(now=st.datetimes(datetime(2024, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)))
@example(now=datetime(2033, 6, 22, 12, tzinfo=UTC))  # somebody leaves a class of the evening before in its last minute
def test_no_moment_overbooks_or_lacks_landmarks(now: datetime) -> None:
    studio = demo_studio_file(now)
    assert_nothing_is_overbooked(studio)
    assert landmarks(studio, now).full_class_id != landmarks(studio, now).bookable_class_id
    assert all(row["credits_remaining"] is None or row["credits_remaining"] >= 0 for row in studio["memberships"])
    assert "cancelled" in {row["status"] for row in studio["classes"]}


def test_loading_a_later_studio_over_an_earlier_one_overbooks_nothing(now: datetime) -> None:
    earlier, later = studio_at(now), demo_studio_file(now + timedelta(days=9))
    classes = by_id(earlier["classes"]) | by_id(later["classes"])
    bookings = by_id(earlier["bookings"]) | by_id(later["bookings"])
    assert_nothing_is_overbooked({"classes": list(classes.values()), "bookings": list(bookings.values())})


def test_full_classes_ahead_have_people_waiting(studio: Row, now: datetime) -> None:
    assert_nothing_is_overbooked(studio)
    classes = by_id(studio["classes"])
    waiting = bookings_by_class(studio, {"waitlisted"})
    assert len([rows for rows in waiting.values() if 3 <= len(rows) <= 8]) >= 5
    for class_id, rows in waiting.items():
        row = classes[class_id]
        assert len(rows) <= 8
        assert moment(row["start_time"]) > now
        assert (row["allow_waitlist"], row["visible"], row["status"]) == (True, True, "scheduled")
        assert all(booking["class_spot_id"] is None for booking in rows)
        last_seat = max(b["created_at"] for b in studio["bookings"] if b["class_id"] == class_id and b not in rows)
        joined = [booking["created_at"] for booking in rows]
        assert last_seat < min(joined)
        assert len(set(joined)) == len(joined)


def test_statuses_agree_with_the_clock(studio: Row, now: datetime) -> None:
    classes = by_id(studio["classes"])
    for booking in studio["bookings"]:
        row = classes[booking["class_id"]]
        starts, ends = moment(row["start_time"]), moment(row["end_time"])
        assert moment(booking["created_at"]) <= min(now, starts)
        if booking["status"] in {"checked_in", "no_show"}:
            assert starts - CHECK_IN_OPENS <= now if booking["status"] == "checked_in" else starts <= now
        if booking["status"] in {"confirmed", "waitlisted"}:
            assert ends > now
        if row["status"] == "cancelled":
            assert booking["status"] == "cancelled"
    past = Counter(b["status"] for b in studio["bookings"] if moment(classes[b["class_id"]]["end_time"]) <= now)
    assert past["checked_in"] > 10 * past["no_show"] > 0


def test_no_member_is_twice_in_a_class_or_in_two_at_once(studio: Row) -> None:
    classes = by_id(studio["classes"])
    attended: dict[str, list[Row]] = defaultdict(list)
    for booking in studio["bookings"]:
        if booking["status"] in LIVE:
            attended[booking["member_id"]].append(classes[booking["class_id"]])
    for rows in attended.values():
        ordered = sorted(rows, key=lambda row: row["start_time"])
        assert all(earlier["end_time"] <= later["start_time"] for earlier, later in pairwise(ordered))


def test_a_live_spot_is_held_once_and_is_in_the_room(studio: Row) -> None:
    classes, rooms = by_id(studio["classes"]), by_id(studio["rooms"])
    for class_id, bookings in bookings_by_class(studio, SEATED).items():
        row = classes[class_id]
        held = [booking["class_spot_id"] for booking in bookings]
        if row["spot_selection_mode"] is None:
            assert set(held) == {None}
        else:
            assert len(set(held)) == len(held)
            assert set(held) <= set(by_id(rooms[row["room_id"]]["spots"]))


def test_bookings_name_a_membership_that_covers_the_class(studio: Row) -> None:
    classes, memberships = by_id(studio["classes"]), by_id(studio["memberships"])
    members, products = by_id(studio["members"]), by_id(studio["products"])
    skipped = {entry["booking_id"]: entry["skip_reason"] for entry in studio["waitlist"]}
    assert set(skipped.values()) == {None, "insufficient_credits"}
    for booking in studio["bookings"]:
        row, membership = classes[booking["class_id"]], memberships[booking["membership_id"]]
        product = products[membership["product_id"]]
        assert membership["member_id"] == booking["member_id"]
        assert membership["status"] == "active"
        assert not members[booking["member_id"]]["suspended"]
        assert members[booking["member_id"]]["created_at"] < membership["started_at"] < booking["created_at"]
        assert row["start_time"] < membership["current_period_end"] or membership["auto_renew"]
        assert row["location_id"] in (product["location_ids"] or [row["location_id"]])
        assert row["class_type_id"] in (product["class_type_ids"] or [row["class_type_id"]])
        # A waiting member can still pay when a seat becomes free, unless the entry says that they cannot.
        if booking["status"] == "waitlisted" and skipped[booking["id"]] is None:
            assert membership["credits_remaining"] is None or membership["credits_remaining"] >= 1


def test_the_ledger_explains_every_credit(studio: Row) -> None:
    """As ``doctor`` demands it of any studio."""
    lines: dict[str, list[Row]] = defaultdict(list)
    for line in studio["ledger"]:
        lines[line["membership_id"]].append(line)
    for membership in studio["memberships"]:
        if membership["credits_remaining"] is None:
            assert membership["id"] not in lines
        else:
            assert sum(line["delta"] for line in lines[membership["id"]]) == membership["credits_remaining"] >= 0
    taken = Counter(line["booking_id"] for line in studio["ledger"] if line["delta"] == -1)
    assert all(booking["credits_taken"] == taken[booking["id"]] for booking in studio["bookings"])
    assert {line["reason"] for line in studio["ledger"]} >= {"granted", "booked", "returned", "opening"}


def test_every_cancelled_booking_has_its_receipt(studio: Row) -> None:
    receipts = {row["booking_id"]: row for row in studio["cancellations"]}
    assert set(receipts) == {row["id"] for row in studio["bookings"] if row["status"] == "cancelled"}
    assert {"standard", "late", "graced", "class_cancelled", "waitlist_left"} == {
        row["cancellation_type"] for row in studio["cancellations"]
    }
    fees = {row["purchase_id"] for row in studio["cancellations"] if row["purchase_id"]}
    assert fees == {row["id"] for row in studio["purchases"] if row.get("booking_id")}
    assert len(fees) >= 3


# The moment


@settings(deadline=None, max_examples=25)
@given(now=st.datetimes(datetime(2024, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)))
def test_the_day_is_alive_whatever_the_hour(now: datetime) -> None:
    studio = demo_studio_file(now)
    near = [row for row in studio["classes"] if abs(moment(row["start_time"]) - now) < timedelta(hours=3)]
    held_in = bookings_by_class(studio, LIVE)

    def some(test: Callable[[Row, list[str]], bool]) -> bool:
        scheduled = [row for row in near if row["status"] == "scheduled"]
        return any(test(row, [each["status"] for each in held_in[row["id"]]]) for row in scheduled)

    assert some(lambda row, held: moment(row["end_time"]) <= now and "checked_in" in held and "no_show" in held)
    assert some(lambda row, held: moment(row["start_time"]) <= now < moment(row["end_time"]) and "checked_in" in held)
    assert some(
        lambda row, held: (
            timedelta(minutes=5) < moment(row["start_time"]) - now <= timedelta(minutes=15)
            and {"checked_in", "confirmed", "waitlisted"} <= set(held)
        )
    )
    assert some(lambda row, held: moment(row["start_time"]) > now and held.count("confirmed") == row["capacity"])
    assert some(lambda row, held: moment(row["start_time"]) > now and row["instructor_id"] is None and bool(held))
