"""The members: who they are, what they hold and how often they come.

None of them exists; every address is under a reserved example domain. content/people.json has their names, the groups
of the same situation (``cohorts``) and those with a part: in the classes around the moment of loading
(``of_the_day``) or in the guide (``of_the_guide``). Those with a part come to no class of the timetable by habit, so
that what each of them holds and has booked is known.

Those who come to classes hold something that began more than six weeks ago and lasts beyond the longest notice of their
bookings (rosters.py), with more credits than six weeks of their habits can use. A month that has begun ends within 26
days: February is that short.
"""

import unicodedata
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from studiogate.demo.content_files import sections
from studiogate.demo.seed import Seed, midnight, read, week_number, written

Row = dict[str, Any]
DOMAINS = ("example.com", "example.org", "example.net")
AREA_CODES = {"brooklyn": ("718", "347", "917", "646", "929"), "denver": ("303", "720")}


MEMBERSHIP_TYPES = {
    "unlimited": "unlimited",
    "off-peak-brooklyn": "off_peak",
    "reformer-10": "reformer_pack",
    "intro-3": "intro",
    "drop-in": "drop_in",
}


@dataclass(frozen=True)
class Cohort:
    """People in the same situation. ``ends_in`` is when the current period ends, in days from today."""

    count: int
    product: str | None = None
    status: str = "active"
    months: int = 0
    days: int = 0
    ends_in: tuple[int, int] = (0, 0)
    renewals: tuple[int, int] = (0, 0)
    visits_a_week: tuple[int, int] = (0, 0)
    fortnightly: bool = False
    role: str = "member"
    suspended: bool = False
    only_at: str | None = None


class Part(NamedTuple):
    """``guide`` is what the person shows in the guide to the demo studio; None for the people of the day."""

    name: str
    situation: str
    guide: str | None = None

    @property
    def cohort(self) -> Cohort:
        return SITUATIONS[self.situation]


@dataclass(frozen=True)
class Person:
    id: str
    number: int
    first_name: str
    last_name: str
    email: str | None
    phone: str | None
    home: str
    cohort: Cohort
    weekdays: frozenset[int]

    def comes_on(self, day: date) -> bool:
        rests = self.cohort.fortnightly and (week_number(day) + self.number) % 2
        return day.weekday() in self.weekdays and not rests


_PEOPLE = sections("people.json")
COHORTS = tuple(Cohort(**each) for each in _PEOPLE["cohorts"])
SITUATIONS = {name: Cohort(1, **each) for name, each in _PEOPLE["situations"].items()}
OF_THE_DAY = tuple(Part(each["name"], each["cohort"]) for each in _PEOPLE["of_the_day"])
OF_THE_GUIDE = tuple(Part(each["name"], each["cohort"], each["guide"]) for each in _PEOPLE["of_the_guide"])
LEAD_NAMES: tuple[str, ...] = _PEOPLE["leads"]


def people(seed: Seed) -> list[Person]:
    """All members: those with habits first, then those with a part. A person's number never changes."""
    cohorts = [cohort for cohort in COHORTS for _ in range(cohort.count)]
    parts = ((part.name, part.cohort) for part in OF_THE_DAY + OF_THE_GUIDE)
    known = [*zip(_PEOPLE["members"], cohorts, strict=False), *parts]
    return [_person(seed, number, first_and_last(name), cohort) for number, (name, cohort) in enumerate(known)]


def by_name(persons: list[Person]) -> dict[str, Person]:
    return {f"{person.first_name} {person.last_name}": person for person in persons}


def _person(seed: Seed, number: int, name: tuple[str, str], cohort: Cohort) -> Person:
    local_part = mailbox(*name)
    home = cohort.only_at or ("denver" if number % 5 in (2, 4) else "brooklyn")
    return Person(
        id=seed.uuid("member", local_part),
        number=number,
        first_name=name[0],
        last_name=name[1],
        # Some people were signed up at the desk and left no address.
        email=None if number % 23 == 22 else email_of(*name, number),
        phone=None if number % 7 == 5 else _phone(number, home),
        home=home,
        cohort=cohort,
        weekdays=_weekdays(seed, local_part, cohort),
    )


def _phone(number: int, home: str) -> str:
    """555-0100 to 555-0199 are reserved for fiction in every area code."""
    codes = AREA_CODES[home]
    return f"+1{codes[number % len(codes)]}55501{number // 2 % 100:02d}"


def _weekdays(seed: Seed, local_part: str, cohort: Cohort) -> frozenset[int]:
    visits = seed.whole(*cohort.visits_a_week, "visits", local_part)
    return frozenset(seed.shuffled(range(7), int, "weekdays", local_part)[:visits])


def member_rows(seed: Seed, persons: list[Person], held: dict[str, list[Row]], today: date) -> list[Row]:
    """``held``: each person's memberships by member id, the current one last."""
    return [_member_row(seed, person, held.get(person.id, []), today) for person in persons]


def _member_row(seed: Seed, person: Person, held: list[Row], today: date) -> Row:
    current = held[-1] if held else {}
    starts = current.get("started_at")
    lasts_on = current.get("auto_renew") and current["status"] != "cancelled"
    return {
        "id": person.id,
        "first_name": person.first_name,
        "last_name": person.last_name,
        "email": person.email,
        "phone": person.phone,
        "role": person.cohort.role,
        "membership_type": _membership_type(person),
        "membership_start_date": starts,
        "membership_end_date": None if lasts_on else current.get("ended_at") or current.get("current_period_end"),
        "suspended": person.cohort.suspended,
        "created_at": written(_joined(seed, person, held, today)),
    }


def _membership_type(person: Person) -> str | None:
    product = person.cohort.product
    return MEMBERSHIP_TYPES.get(product, "class_pack") if product else None


def _joined(seed: Seed, person: Person, held: list[Row], today: date) -> datetime:
    """Shortly before the first thing they bought; people who bought nothing yet came within the last half year."""
    latest = midnight(today) - timedelta(days=2)
    if not held:
        return latest - timedelta(minutes=seed.whole(0, 180 * 1440, "joined", person.id))
    first = min(latest, read(held[0]["started_at"]))
    return first - timedelta(minutes=seed.whole(4, 2000, "joined", person.id))


def first_and_last(full_name: str) -> tuple[str, str]:
    first, _, last = full_name.partition(" ")
    return first, last


def mailbox(first: str, last: str) -> str:
    """The part before the @: plain letters, as people write their names when a form asks for an address."""
    plain = unicodedata.normalize("NFKD", f"{first}.{last}").encode("ascii", "ignore").decode().lower()
    return "".join(letter for letter in plain if letter.isalnum() or letter in ".-")


def email_of(first: str, last: str, number: int) -> str:
    return f"{mailbox(first, last)}@{DOMAINS[number % len(DOMAINS)]}"
