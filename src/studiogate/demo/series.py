"""The timetable as weekly series, from which the studio's housekeeping goes on."""

from datetime import date

from studiogate.demo.schedule import last_day, series_id
from studiogate.demo.seed import Seed
from studiogate.demo.timetable import TIMETABLE, Slot

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
OPENED = date(2023, 1, 2)


def series_rows(seed: Seed, today: date) -> list[dict[str, object]]:
    """One series per slot; its classes exist as far ahead as housekeeping would have created them."""
    return [_row(seed, slot, today) for slot in TIMETABLE]


def _row(seed: Seed, slot: Slot, today: date) -> dict[str, object]:
    return {
        "id": series_id(seed, slot),
        "title": slot.title,
        "description": slot.description,
        "class_type_id": seed.uuid("class_type", slot.class_type),
        "location_id": seed.uuid("location", slot.location),
        "room_id": seed.uuid("room", slot.room),
        "instructor_id": seed.uuid("instructor", slot.instructor) if slot.instructor else None,
        "capacity": slot.capacity,
        "allow_waitlist": slot.allow_waitlist,
        "spot_selection_mode": slot.spots,
        "visible": slot.visible,
        "policy": dict(slot.policy) if slot.policy else None,
        "weekdays": [WEEKDAYS[day] for day in slot.days],
        "local_start": f"{slot.starts:%H:%M}",
        "minutes": slot.minutes,
        "every_weeks": 1,
        "first_date": OPENED.isoformat(),
        "last_date": None,
        "generated_until": last_day(today).isoformat(),
    }
