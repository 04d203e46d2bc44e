"""Who is booked where, and what each booking is at a moment; the workshops of the guide and their bookings.

The roster of a day follows from the seed and the day; ``now`` only decides how much of it has happened. So the bookings
of a class grow towards its start, the studio of next week continues that of today, and no import of a later day can
overbook a class of an earlier one.

The workshops, three weeks ahead, are the classes with which the guide to the demo studio shows every refusal and
effect. Their ids never change, so the guide can name them. Only two overlap, on purpose.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from typing import Any, NamedTuple

from studiogate.demo.memberships import membership_id
from studiogate.demo.people import OF_THE_GUIDE, Person
from studiogate.demo.schedule import Session, Slot, zone_of
from studiogate.demo.seed import Seed, sections, written
from studiogate.demo.studio import PRODUCT_BY_KEY, ROOM_BY_KEY, spot_ids

# Days of notice. Nobody books earlier than a monthly membership is sure to last (14 days, people.py), except those
# who plan far ahead with something longer. Sought-after classes fill up first and then have a waitlist.
USUAL_NOTICE = (0.1, 12.5)
LONG_NOTICE = (12.5, 20.0)
SOUGHT_AFTER_NOTICE = (9.0, 12.9)
WAITING_NOTICE = (8.0, 8.9)

PLANS_FAR_AHEAD = 0.4
CANCELS = 0.10
LATEST_LEAVE = timedelta(minutes=1)  # before the start: a class that has started cannot be left
FILLED_AT_MOST = 0.85
STAYS_AWAY = 0.06
BOOKED_BY_STAFF = 0.2
# A class that is cancelled is cancelled this long before it would have started.
NOTICE_OF_CANCELLED_CLASS = timedelta(days=2)


@dataclass(frozen=True)
class Seat:
    """``attends`` is the status where it does not follow from the clock; ``skipped`` is why a waiting person was passed
    over."""

    session: Session
    person: Person
    booked_at: datetime
    waits: bool = False
    leaves_at: datetime | None = None
    spot: str | None = None
    attends: str | None = None
    skipped: str | None = None

    def booking_id(self, seed: Seed) -> str:
        return seed.uuid("booking", self.session.id, self.person.id)

    def status(self, seed: Seed, now: datetime) -> str:
        if self.cancelled_at(now) is not None:
            return "cancelled"
        if self.waits:
            return "waitlisted"
        if self.attends is not None:
            return self.attends
        if self.session.starts > now:
            return "confirmed"
        if seed.fraction("stays away", self.session.id, self.person.id) < STAYS_AWAY:
            return "no_show" if self.session.ends <= now else "confirmed"
        return "checked_in"

    def cancelled_at(self, now: datetime) -> datetime | None:
        """When the booking was cancelled, by the person, with its class, or because they still waited at its start."""
        if self.session.cancelled:
            announced = max(self.booked_at + timedelta(minutes=1), self.session.starts - NOTICE_OF_CANCELLED_CLASS)
            return min(now, announced)
        if self.leaves_at is not None and self.leaves_at <= now:
            return self.leaves_at
        return self.session.starts if self.waits and self.session.starts <= now else None


def on_spots(seed: Seed, session: Session, seats: Iterable[Seat]) -> list[Seat]:
    """Give each seat a spot of the room, if the class has any."""
    if not session.slot.spots:
        return list(seats)
    free = seed.shuffled(spot_ids(seed, session.room), str, "spots", session.id)
    return [replace(seat, spot=spot) for seat, spot in zip(seats, free, strict=False)]


def booking_row(seed: Seed, seat: Seat, credits_taken: int, now: datetime) -> dict[str, object]:
    status = seat.status(seed, now)
    by_staff = seed.fraction("by staff", seat.session.id, seat.person.id) < BOOKED_BY_STAFF
    return {
        "id": seat.booking_id(seed),
        "class_id": seat.session.id,
        "member_id": seat.person.id,
        "status": status,
        "booking_source": "staff" if by_staff else "partner_api",
        "membership_id": membership_id(seed, seat.person),
        "class_spot_id": None if status == "cancelled" else seat.spot,
        "credits_taken": credits_taken,
        "created_at": written(seat.booked_at),
    }


def timetable_seats(seed: Seed, persons: list[Person], sessions: list[Session], now: datetime) -> list[Seat]:
    """Everybody who takes a place in these classes, as far ahead as anybody has booked by now."""
    regulars = [person for person in persons if person.weekdays]
    last = (now + timedelta(days=LONG_NOTICE[1] + 1)).date()
    bookable = sorted((session for session in sessions if session.day <= last), key=lambda session: session.day)
    days = groupby(bookable, key=lambda session: session.day)
    return [seat for day, on_day in days for seat in day_roster(seed, regulars, day, list(on_day))]


def day_roster(seed: Seed, regulars: list[Person], day: date, sessions: list[Session]) -> list[Seat]:
    """Everyone who comes on this day, each in one class: nobody can be in two at the same time."""
    coming = seed.shuffled((p for p in regulars if p.comes_on(day)), lambda person: person.id, "roster", day)
    open_to_members = sorted((s for s in sessions if s.slot.visible), key=lambda session: session.id)
    roster: list[Seat] = []
    for session in (each for each in open_to_members if each.slot.sought_after):
        capacity, waiting = session.slot.capacity, seed.whole(3, 7, "waiting", session.id)
        wanting = [each for each in _without(coming, roster) if _may_book(each, session)][: capacity + waiting]
        seated = [_seat(seed, session, person, SOUGHT_AFTER_NOTICE) for person in wanting[:capacity]]
        roster += on_spots(seed, session, seated)
        roster += (replace(_seat(seed, session, each, WAITING_NOTICE), waits=True) for each in wanting[capacity:])
    others = [session for session in open_to_members if not session.slot.sought_after]
    return roster + _usual_seats(seed, others, _without(coming, roster))


def _without(coming: list[Person], roster: list[Seat]) -> list[Person]:
    taken = {seat.person.id for seat in roster}
    return [person for person in coming if person.id not in taken]


def _may_book(person: Person, session: Session) -> bool:
    product = PRODUCT_BY_KEY[str(person.cohort.product)]
    return person.home == session.slot.location and product.covers(session.slot.location, session.slot.class_type)


def _usual_seats(seed: Seed, sessions: list[Session], coming: list[Person]) -> list[Seat]:
    chosen: dict[str, list[Seat]] = {session.id: [] for session in sessions}
    for person in coming:
        room = [s for s in sessions if len(chosen[s.id]) < int(s.slot.capacity * FILLED_AT_MOST)]
        options = [session for session in room if _may_book(person, session)]
        if options:
            session = seed.pick(options, "choice", person.id, options[0].day)
            key = (session.id, person.id)
            far_ahead = person.cohort.months != 1 and seed.fraction("far ahead", *key) < PLANS_FAR_AHEAD
            seat = _seat(seed, session, person, LONG_NOTICE if far_ahead else USUAL_NOTICE)
            if seed.fraction("cancels", *key) < CANCELS:
                # Plans change late more often than early.
                before = max(LATEST_LEAVE, (session.starts - seat.booked_at) * seed.fraction("leaves", *key) ** 3)
                seat = replace(seat, leaves_at=session.starts - before)
            chosen[session.id].append(seat)
    return [seat for session in sessions for seat in on_spots(seed, session, chosen[session.id])]


def _seat(seed: Seed, session: Session, person: Person, notice: tuple[float, float]) -> Seat:
    shortest, longest = notice
    days = shortest + (longest - shortest) * seed.fraction("notice", session.id, person.id)
    return Seat(session, person, session.starts - timedelta(seconds=int(days * 86400)))


class Workshop(NamedTuple):
    """``people`` take the seats, ``waiting`` the waitlist, by what they show in the guide."""

    key: str
    title: str
    in_days: int
    at: time
    capacity: int = 12
    people: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    policy: dict[str, object] | None = None
    more: dict[str, Any] = {}  # noqa: RUF012 - never changed; named tuples have no factories
    cancelled: bool = False


WORKSHOPS = tuple(
    Workshop(**each | {"at": time.fromisoformat(each.get("at", "10:00"))})
    for each in sections("timetable.json")["workshops"]
)

SHOWN_BY = {part.guide: part.name for part in OF_THE_GUIDE if part.guide}


def workshop_sessions(seed: Seed, today: date) -> list[Session]:
    return [_session(seed, workshop, today) for workshop in WORKSHOPS]


def workshop_seats(seed: Seed, people: dict[str, Person], today: date, now: datetime) -> list[Seat]:
    return [
        seat
        for workshop, session in zip(WORKSHOPS, workshop_sessions(seed, today), strict=True)
        for seat in _seats(seed, workshop, session, people, now)
    ]


def _session(seed: Seed, workshop: Workshop, today: date) -> Session:
    slot = Slot(
        key=f"workshop-{workshop.key}",
        location="brooklyn",
        minutes=60,
        room="bk-garden",
        class_type="mat",
        title=workshop.title,
        instructor="mira",
        capacity=workshop.capacity,
        starts=workshop.at,
        policy=workshop.policy,
    )
    slot = replace(slot, **workshop.more)
    if slot.room != "bk-garden":
        slot = replace(slot, instructor="ana")
    day = today + timedelta(days=workshop.in_days)
    starts = datetime.combine(day, workshop.at, zone_of(slot))
    id_ = seed.uuid("class", "workshop", workshop.key)
    return Session(id_, slot, day, starts.astimezone(UTC), workshop.cancelled)


def _seats(seed: Seed, workshop: Workshop, session: Session, people: dict[str, Person], now: datetime) -> list[Seat]:
    """Booked within the last week, the seats before the waitlist."""
    first = min(now, session.starts) - timedelta(days=6)
    spots = spot_ids(seed, ROOM_BY_KEY[session.slot.room]) if session.slot.spots else []
    seats = []
    for place, part in enumerate((*workshop.people, *workshop.waiting)):
        person = people[SHOWN_BY[part]]
        booked_at, waits = first + timedelta(hours=5 * place + 1), place >= len(workshop.people)
        seat = Seat(session, person, booked_at, waits, attends="checked_in" if session.starts <= now else None)
        if part == "cancelled":
            seat = replace(seat, leaves_at=now - timedelta(days=1))
        skipped = "insufficient_credits" if waits and part == "spent" else None
        seats.append(replace(seat, spot=spots[place] if spots else None, skipped=skipped))
    return seats
