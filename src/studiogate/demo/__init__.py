"""The demo studio as a studio file: the same seed and the same moment always give the same file.

    studio       the studio, locations, rooms, staff       people       members, their habits, leads
    timetable    the week, in local time                   memberships  what they hold, and what it cost
    schedule     its classes; series                       rosters      bookings of the timetable, workshops
    moment       the classes around the present            history      credits, receipts and waitlists of bookings
    forms        forms and submissions
No clock, no file and no database is touched here: the result goes through the ordinary import. What the studio's people
do afterwards (``activity``) are the ordinary flows.
"""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from studiogate.demo import studio
from studiogate.demo.forms import form_rows, submission_rows, upload_contents, with_submissions
from studiogate.demo.history import history_of, with_history
from studiogate.demo.memberships import memberships_of, till
from studiogate.demo.moment import moment_seats, moment_sessions
from studiogate.demo.people import by_name, lead_rows, member_rows, people
from studiogate.demo.rosters import timetable_seats, workshop_seats, workshop_sessions
from studiogate.demo.schedule import class_row, series_rows, sessions
from studiogate.demo.seed import Seed
from studiogate.demo.studio import SLUG, TIMEZONE

__all__ = ["DEFAULT_SEED", "SLUG", "demo_files", "demo_studio_file"]

DEFAULT_SEED = 1


def demo_files(seed: int = DEFAULT_SEED) -> dict[str, bytes]:
    """The files of the studio's submissions by their ids, and its pictures by their names."""
    return upload_contents(Seed(seed)) | studio.picture_contents(Seed(seed))


def demo_studio_file(now: datetime, seed: int = DEFAULT_SEED) -> dict[str, Any]:
    """The whole studio as it stands at ``now`` (aware). Files of different moments agree on the timetable's classes."""
    if now.tzinfo is None:
        raise ValueError("now must be aware of its timezone")
    now, chance = now.astimezone(UTC), Seed(seed)
    today = now.astimezone(ZoneInfo(TIMEZONE)).date()
    persons = people(chance)
    named = by_name(persons)
    calendar = sessions(chance, today)
    seats = [
        *timetable_seats(chance, persons, calendar, now),
        *moment_seats(chance, named, now),
        *workshop_seats(chance, named, today, now),
    ]
    calendar += [*moment_sessions(chance, now), *workshop_sessions(chance, today)]
    calendar.sort(key=lambda session: (session.starts, session.id))
    held = {person.id: memberships_of(chance, person, today) for person in persons}
    memberships = [row for rows in held.values() for row in rows]
    history = history_of(chance, seats, memberships, now)
    paid = till(chance, persons, held, today)
    members, forms = member_rows(chance, persons, held, today), form_rows(chance)
    leads = lead_rows(chance, persons, members, today)
    submissions = submission_rows(chance, persons, forms, leads, today)
    return {
        "studio": studio.studio_row(chance),
        "locations": studio.location_rows(chance),
        "rooms": studio.room_rows(chance),
        "class_types": studio.class_type_rows(chance),
        "instructors": studio.instructor_rows(chance),
        "series": series_rows(chance, today),
        "classes": [class_row(chance, session) for session in calendar],
        "products": studio.product_rows(chance),
        "members": members,
        "memberships": with_history(memberships, history),
        "purchases": [*paid.purchases, *history.fees],
        "leads": with_submissions(leads, submissions),
        "forms": forms,
        "submissions": submissions,
        "bookings": history.bookings,
        "waitlist": history.waitlist,
        "ledger": history.ledger,
        "cancellations": history.cancellations,
        "sales": paid.sales,
        "renewals": paid.renewals,
    }
