"""The classes around the moment for which the studio is made: the day looks alive whatever the hour.

One class is over, one is under way, one starts soon with a free seat and a waitlist that staff work by hand, one is
full, one has no instructor. Earlier classes gave their people a past: only newcomers are on their first visit.
"""

from dataclasses import replace
from datetime import datetime, time, timedelta

from studiogate.demo.people import OF_THE_DAY, Person
from studiogate.demo.rosters import Seat, on_spots
from studiogate.demo.schedule import Session, Slot, read_slot, zone_of
from studiogate.demo.seed import Seed, sections

# The past classes were so many days ago.
PAST_DAYS = (3, 5, 7, 10, 13)
# Minutes from the moment, rounded down to five minutes.
UNDER_WAY, SOON, FULL, UNCOVERED = -35, 15, 75, 135
_TIMETABLE = sections("timetable.json")
SLOTS = {int(begins): read_slot(entry) for begins, entry in _TIMETABLE["moment"].items()}
PAST, DENVER = read_slot(_TIMETABLE["past"]), read_slot(_TIMETABLE["denver"])

# Who is in which class, by their place among the people of the day. Everybody else in a class that is over or under way
# is checked in.
SEATS = {int(begins): seats for begins, seats in _TIMETABLE["seats"].items()}
# Who left a past class so late that it cost a fee: by name, the days ago.
LEFT_LATE = {"Hanna Lind": 5, "Dylan Redbird": 7, "James Abara": 10}


def moment_sessions(seed: Seed, now: datetime) -> list[Session]:
    return [*past(seed, now).values(), *around(seed, now).values(), denver_session(seed, now)]


def moment_seats(seed: Seed, people: dict[str, Person], now: datetime) -> list[Seat]:
    day = [people[part.name] for part in OF_THE_DAY]
    seats = [seat for begins, session in around(seed, now).items() for seat in _seats(seed, session, begins, day)]
    visits = [seat for ago, session in past(seed, now).items() for seat in _visits(seed, session, ago, people)]
    denver = denver_session(seed, now)
    at_denver = [person for person in day if person.home == "denver"]
    booked = [Seat(denver, each, _booked_at(seed, denver, each), attends="confirmed") for each in at_denver]
    return [*visits, *seats, *booked]


def around(seed: Seed, now: datetime) -> dict[int, Session]:
    """The classes of the day by the minutes from now."""
    start = _rounded(now)
    return {begins: _session(seed, slot, start + timedelta(minutes=begins)) for begins, slot in SLOTS.items()}


def denver_session(seed: Seed, now: datetime) -> Session:
    """A class in Denver that somebody has yet to be found for."""
    return _session(seed, DENVER, _rounded(now) + timedelta(minutes=40))


def past(seed: Seed, now: datetime) -> dict[int, Session]:
    """The past classes by the days ago: at nine in the morning, local time, in a room of its own."""
    today = now.astimezone(zone_of(PAST))
    mornings = {ago: datetime.combine(today.date() - timedelta(days=ago), time(9), zone_of(PAST)) for ago in PAST_DAYS}
    return {ago: _session(seed, PAST, morning.astimezone(now.tzinfo)) for ago, morning in mornings.items()}


def _rounded(now: datetime) -> datetime:
    return now - timedelta(minutes=now.minute % 5, seconds=now.second, microseconds=now.microsecond)


def _session(seed: Seed, slot: Slot, starts: datetime) -> Session:
    if slot.key == "soon":
        waiver = seed.uuid("form", "liability-waiver")
        slot = replace(slot, policy={"waitlist_mode": "manual", "waiver_form_id": waiver})
    day = starts.astimezone(zone_of(slot)).date()
    return Session(seed.uuid("class", slot.location, slot.key, starts), slot, day, starts, cancelled=False)


def _seats(seed: Seed, session: Session, begins: int, day: list[Person]) -> list[Seat]:
    seated = [
        Seat(session, day[number], _booked_at(seed, session, day[number]), attends=_attendance(begins, number))
        for number in SEATS[begins]["seated"]
    ]
    seated.sort(key=lambda seat: seat.booked_at)
    queue = [
        Seat(
            session,
            day[number],
            session.starts - timedelta(hours=20 - place),
            waits=True,
            skipped="insufficient_credits" if begins == SOON and place == 0 else None,
        )
        for place, number in enumerate(SEATS[begins].get("waiting", ()))
    ]
    return [*on_spots(seed, session, seated), *queue]


def _booked_at(seed: Seed, session: Session, person: Person) -> datetime:
    """One to five days ahead: before anybody waits."""
    return session.starts - timedelta(seconds=seed.whole(86_400, 5 * 86_400, "notice", session.slot.key, person.id))


def _attendance(begins: int, number: int) -> str | None:
    """The status of a seat in a class around the moment; None where it follows from the clock."""
    if number in SEATS[begins].get("no_show", ()):
        return "no_show"
    if number in SEATS[begins].get("not_yet_here", ()) or begins > SOON:
        return "confirmed"
    return "checked_in" if begins < SOON or number in SEATS[begins]["early"] else "confirmed"


def _visits(seed: Seed, session: Session, ago: int, people: dict[str, Person]) -> list[Seat]:
    """Who came that day: about half of the people of the day, but no newcomer; and whoever spent all credits."""
    names = ["Otto Lindgren"]
    for part in (each for each in OF_THE_DAY if each.situation not in ("intro", "in_denver")):
        if part.situation == "five_classes":
            # Ada's five credits are spent, which is why she is skipped on the waitlist.
            came = part.name == "Ada Moss" or ago in PAST_DAYS[::2]
        else:
            came = ago in (LEFT_LATE.get(part.name), PAST_DAYS[0]) or seed.fraction("came", part.name, ago) < 0.3
        names += [part.name] if came else []
    left = {name: session.starts - timedelta(hours=2) for name in names if LEFT_LATE.get(name) == ago}
    visitors = {name: people[name] for name in names}
    return [
        Seat(session, person, _booked_at(seed, session, person), leaves_at=left.get(name), attends="checked_in")
        for name, person in visitors.items()
    ]
