"""Double bookings of a whole timetable agree with the warnings about single classes."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain.schedule.warnings import Slot, WarningCode, conflict_warnings, double_booked

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
PLACES = [None, UUID(int=1), UUID(int=2)]


def slot(start: int, minutes: int, room: UUID | None, instructor: UUID | None) -> Slot:
    begins = NOON + timedelta(minutes=start)
    return Slot(uuid4(), "c", begins, begins + timedelta(minutes=minutes), room, instructor)


SLOTS = st.lists(
    st.builds(slot, st.integers(0, 300), st.integers(1, 120), st.sampled_from(PLACES), st.sampled_from(PLACES)),
    max_size=10,
)


@given(SLOTS)
def test_a_class_is_marked_exactly_if_it_overlaps_another_one(slots: list[Slot]) -> None:
    marked = double_booked(slots)
    for each in slots:
        assert marked.get(each.id, set()) == {warning.code for warning in conflict_warnings([each], slots)}


def test_a_long_class_clashes_with_all_that_it_covers() -> None:
    room = UUID(int=1)
    long, first, second, after = (
        slot(0, 240, room, None),
        slot(10, 20, room, None),
        slot(200, 30, room, None),
        slot(240, 30, room, None),
    )
    assert double_booked([after, second, first, long]) == {
        each.id: {WarningCode.ROOM_DOUBLE_BOOKED} for each in (long, first, second)
    }
