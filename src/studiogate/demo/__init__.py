"""The demo studio as a studio file: the same seed and the same moment always give the same file.

    places      the studio, locations, rooms, spots        people       members and their habits
    offering    class types, instructors                   memberships  what they hold
    timetable   the week, in local time                    bookings     who is where
    schedule    six weeks of classes                       purchases    what it cost
    catalog     products and prices                        leads, forms

No clock, no file and no database is touched here: the result goes through the ordinary import.
"""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from studiogate.demo.bookings import booking_rows
from studiogate.demo.catalog import product_rows
from studiogate.demo.class_types import class_type_rows, instructor_rows
from studiogate.demo.featured import Landmarks, landmarks
from studiogate.demo.forms import form_rows
from studiogate.demo.leads import lead_rows
from studiogate.demo.memberships import memberships_of, with_credits_spent
from studiogate.demo.people import member_rows, people
from studiogate.demo.purchases import purchase_rows
from studiogate.demo.schedule import class_row, sessions
from studiogate.demo.seed import Seed
from studiogate.demo.studio import SLUG, TIMEZONE, location_rows, room_rows, studio_row

__all__ = ["DEFAULT_SEED", "SLUG", "Landmarks", "demo_studio_file", "landmarks"]

DEFAULT_SEED = 1


def demo_studio_file(now: datetime, seed: int = DEFAULT_SEED) -> dict[str, Any]:
    """The whole studio as it stands at ``now`` (aware). Files of different moments agree wherever they overlap."""
    if now.tzinfo is None:
        raise ValueError("now must be aware of its timezone")
    chance = Seed(seed)
    today = now.astimezone(ZoneInfo(TIMEZONE)).date()
    persons = people(chance)
    calendar = sessions(chance, today)
    held = {person.id: memberships_of(chance, person, today) for person in persons}
    bookings = booking_rows(chance, persons, calendar, now)
    members = member_rows(chance, persons, held, today)
    return {
        "studio": studio_row(chance),
        "locations": location_rows(chance),
        "rooms": room_rows(chance),
        "class_types": class_type_rows(chance),
        "instructors": instructor_rows(chance),
        "classes": [class_row(chance, session) for session in calendar],
        "products": product_rows(chance),
        "members": members,
        "memberships": with_credits_spent([row for rows in held.values() for row in rows], bookings),
        "purchases": purchase_rows(chance, persons, held, today),
        "leads": lead_rows(chance, persons, members, today),
        "forms": form_rows(chance),
        "bookings": bookings,
    }
