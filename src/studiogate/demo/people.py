"""The members: who they are, what they hold and how often they come."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from studiogate.demo import names
from studiogate.demo.cast import PARTS
from studiogate.demo.cohorts import COHORTS, Cohort
from studiogate.demo.dates import midnight, read, week_number, written
from studiogate.demo.seed import Seed

AREA_CODES = {"brooklyn": ("718", "347", "917", "646", "929"), "denver": ("303", "720")}


MEMBERSHIP_TYPES = {
    "unlimited": "unlimited",
    "off-peak-brooklyn": "off_peak",
    "reformer-10": "reformer_pack",
    "intro-3": "intro",
    "drop-in": "drop_in",
}


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


def people(seed: Seed) -> list[Person]:
    """All members: those with habits first, then those with a part. A person's number never changes."""
    cohorts = [cohort for cohort in COHORTS for _ in range(cohort.count)]
    known = [*zip(names.members(), cohorts, strict=False), *((names.pair(part.name), part.cohort) for part in PARTS)]
    return [_person(seed, number, name, cohort) for number, (name, cohort) in enumerate(known)]


def by_name(persons: list[Person]) -> dict[str, Person]:
    return {f"{person.first_name} {person.last_name}": person for person in persons}


def _person(seed: Seed, number: int, name: tuple[str, str], cohort: Cohort) -> Person:
    mailbox = names.mailbox(*name)
    home = cohort.only_at or ("denver" if number % 5 in (2, 4) else "brooklyn")
    return Person(
        id=seed.uuid("member", mailbox),
        number=number,
        first_name=name[0],
        last_name=name[1],
        # Some people were signed up at the desk and left no address.
        email=None if number % 23 == 22 else names.email(*name, number),
        phone=None if number % 7 == 5 else _phone(number, home),
        home=home,
        cohort=cohort,
        weekdays=_weekdays(seed, mailbox, cohort),
    )


def _phone(number: int, home: str) -> str:
    """555-0100 to 555-0199 are reserved for fiction in every area code."""
    codes = AREA_CODES[home]
    return f"+1{codes[number % len(codes)]}55501{number // 2 % 100:02d}"


def _weekdays(seed: Seed, mailbox: str, cohort: Cohort) -> frozenset[int]:
    visits = seed.whole(*cohort.visits_a_week, "visits", mailbox)
    return frozenset(seed.shuffled(range(7), int, "weekdays", mailbox)[:visits])


def member_rows(seed: Seed, persons: list[Person], held: dict[str, list[dict[str, object]]], today: date) -> list[Any]:
    """``held``: each person's memberships by member id, the current one last."""
    return [_member_row(seed, person, held.get(person.id, []), today) for person in persons]


def _member_row(seed: Seed, person: Person, held: list[dict[str, object]], today: date) -> dict[str, object]:
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


def _joined(seed: Seed, person: Person, held: list[dict[str, Any]], today: date) -> datetime:
    """Shortly before the first thing they bought; people who bought nothing yet came within the last half year."""
    latest = midnight(today) - timedelta(days=2)
    if not held:
        return latest - timedelta(minutes=seed.whole(0, 180 * 1440, "joined", person.id))
    first = min(latest, read(held[0]["started_at"]))
    return first - timedelta(minutes=seed.whole(4, 2000, "joined", person.id))
