"""The warnings of an import agree with those of the schedule's flows, on random timetables."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import asyncpg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from studiogate.domain.schedule.fields import Referenced
from studiogate.domain.schedule.warnings import Slot, WarningCode, conflict_warnings, room_warnings
from tests.support.studio_files import Document, load, small_studio, uid

pytestmark = pytest.mark.anyio
Connection = asyncpg.Connection
NOON = datetime(2031, 5, 1, 12, tzinfo=UTC)
LOCATIONS = [UUID(uid("north", "location", number)) for number in (0, 1)]
ROOMS = {
    UUID(uid("north", "room")): Referenced(True, "Room", 9, LOCATIONS[0]),
    UUID(uid("north", "room", 2)): Referenced(True, "Other", 9, LOCATIONS[1]),
}
INSTRUCTORS = [UUID(uid("north", "instructor")), UUID(uid("north", "instructor", 2))]
MESSAGES = {
    "the room has another class at this time": WarningCode.ROOM_DOUBLE_BOOKED,
    "the instructor has another class at this time": WarningCode.INSTRUCTOR_DOUBLE_BOOKED,
    "the class has": WarningCode.LARGER_THAN_ROOM,
    "the room is not at the class's location": WarningCode.ROOM_AT_OTHER_LOCATION,
}


class Planned(NamedTuple):
    """A class. Some are only stored, some only in the file, and some are stored and the file moves them."""

    starts: int
    minutes: int
    room_id: UUID | None
    instructor_id: UUID | None
    location_id: UUID | None
    capacity: int
    status: str
    stored_at: int | None
    in_file: bool

    def slot(self, number: int) -> Slot:
        begins = NOON + timedelta(minutes=self.starts)
        ends = begins + timedelta(minutes=self.minutes)
        return Slot(UUID(uid("planned", number)), "c", begins, ends, self.room_id, self.instructor_id)

    def row(self, number: int) -> Document:
        slot = self.slot(number)
        ids = {"room_id": self.room_id, "instructor_id": self.instructor_id, "location_id": self.location_id}
        return {
            "id": str(slot.id),
            "title": slot.title,
            "start_time": slot.start_time.isoformat(),
            "end_time": slot.end_time.isoformat(),
            "capacity": self.capacity,
            "status": self.status,
            **{name: each and str(each) for name, each in ids.items()},
        }


DAY = 24 * 60
# Few values, so that classes often overlap, and often end exactly when another one begins.
MINUTES = st.sampled_from([-7 * DAY, -5 * DAY, 0, 15, 30, 45])
PLANNED = st.builds(
    Planned,
    starts=MINUTES,
    minutes=st.sampled_from([15, 30, 6 * DAY, 7 * DAY]),
    room_id=st.sampled_from([None, *ROOMS]),
    instructor_id=st.sampled_from([None, *INSTRUCTORS]),
    location_id=st.sampled_from([None, *LOCATIONS]),
    capacity=st.integers(8, 10),
    status=st.sampled_from(["scheduled", "scheduled", "scheduled", "cancelled"]),
    stored_at=st.one_of(st.none(), MINUTES),
    in_file=st.sampled_from([True, True, False]),
)


ROOM = next(iter(ROOMS))
# A stored class that began days before the file's one, and still runs.
LONG = Planned(0, 6 * DAY, ROOM, None, LOCATIONS[0], 9, "scheduled", stored_at=-5 * DAY, in_file=False)
SHORT = Planned(0, 15, ROOM, None, LOCATIONS[0], 9, "scheduled", stored_at=None, in_file=True)


@pytest.fixture
async def places(connection: Connection) -> Connection:
    document = {**small_studio(), "classes": [], "bookings": []}
    document["instructors"].append({"id": str(INSTRUCTORS[1]), "name": "Ida"})
    assert (await load(connection, document)).faults == []
    return connection


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(planned=st.lists(PLANNED, min_size=2, max_size=6))
@example(planned=[LONG, SHORT])
async def test_sql_and_the_rules_agree(places: Connection, planned: list[Planned]) -> None:
    studio = {"studio": small_studio()["studio"]}
    await places.execute("delete from classes")
    stored = [
        {**each._replace(starts=each.stored_at).row(number), "title": "stored"}
        for number, each in enumerate(planned)
        if each.stored_at is not None
    ]
    assert (await load(places, {**studio, "classes": stored})).faults == []
    listed = [number for number, each in enumerate(planned) if each.in_file]
    rows = [planned[number].row(number) for number in listed]
    outcome = await load(places, {**studio, "classes": rows}, dry_run=True)
    assert outcome.faults == []
    found = {
        (listed[int(warning.place.partition("[")[2].partition("]")[0])], code)
        for warning in outcome.warnings
        for text, code in MESSAGES.items()
        if warning.message.startswith(text)
    }
    assert len(found) == len(outcome.warnings)
    assert found == set(expected(planned))


def expected(planned: list[Planned]) -> Iterator[tuple[int, WarningCode]]:
    after = [
        (number, each if each.in_file or each.stored_at is None else each._replace(starts=each.stored_at))
        for number, each in enumerate(planned)
        if each.in_file or each.stored_at is not None
    ]
    timetable = [each.slot(number) for number, each in after if each.status == "scheduled"]
    for number, each in after:
        if not each.in_file or each.status != "scheduled":
            continue
        yield from ((number, warning.code) for warning in conflict_warnings([each.slot(number)], timetable))
        if each.room_id is not None:
            referenced = {"room_id": ROOMS[each.room_id]}
            warnings = room_warnings(each.capacity, each.location_id, referenced)
            yield from ((number, warning.code) for warning in warnings)
            if each.location_id is None:  # a warning of imports only
                yield number, WarningCode.ROOM_AT_OTHER_LOCATION
