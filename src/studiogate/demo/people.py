"""Members and leads of the demo studio."""

import unicodedata
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from studiogate.demo.seed import Seed, daytime, midnight, read, sections, week_number, written

Row = dict[str, Any]


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
    codes, visits = _PEOPLE["area_codes"][home], seed.whole(*cohort.visits_a_week, "visits", local_part)
    return Person(
        id=seed.uuid("member", local_part),
        number=number,
        first_name=name[0],
        last_name=name[1],
        # Some people were signed up at the desk and left no address.
        email=None if number % 23 == 22 else email_of(*name, number),
        # 555-0100 to 555-0199 are reserved for fiction in every area code.
        phone=None if number % 7 == 5 else f"+1{codes[number % len(codes)]}55501{number // 2 % 100:02d}",
        home=home,
        cohort=cohort,
        weekdays=frozenset(seed.shuffled(range(7), int, "weekdays", local_part)[:visits]),
    )


def member_rows(seed: Seed, persons: list[Person], held: dict[str, list[Row]], today: date) -> list[Row]:
    """``held``: each person's memberships by member id, the current one last."""
    return [_member_row(seed, person, held.get(person.id, []), today) for person in persons]


def _member_row(seed: Seed, person: Person, held: list[Row], today: date) -> Row:
    current = held[-1] if held else {}
    starts, product = current.get("started_at"), person.cohort.product
    lasts_on = current.get("auto_renew") and current["status"] != "cancelled"
    # Shortly before the first thing they bought; people who bought nothing yet came within the last half year.
    latest = midnight(today) - timedelta(days=2)
    joined = latest - timedelta(minutes=seed.whole(0, 180 * 1440, "joined", person.id))
    if held:
        first = min(latest, read(held[0]["started_at"]))
        joined = first - timedelta(minutes=seed.whole(4, 2000, "joined", person.id))
    return {
        "id": person.id,
        "first_name": person.first_name,
        "last_name": person.last_name,
        "email": person.email,
        "phone": person.phone,
        "role": person.cohort.role,
        "membership_type": _PEOPLE["membership_types"].get(product, "class_pack") if product else None,
        "membership_start_date": starts,
        "membership_end_date": None if lasts_on else current.get("ended_at") or current.get("current_period_end"),
        "suspended": person.cohort.suspended,
        "created_at": written(joined),
    }


def first_and_last(full_name: str) -> tuple[str, str]:
    first, _, last = full_name.partition(" ")
    return first, last


def mailbox(first: str, last: str) -> str:
    """The part before the @: plain letters, as people write their names when a form asks for an address."""
    plain = unicodedata.normalize("NFKD", f"{first}.{last}").encode("ascii", "ignore").decode().lower()
    return "".join(letter for letter in plain if letter.isalnum() or letter in ".-")


def email_of(first: str, last: str, number: int) -> str:
    domains = _PEOPLE["domains"]
    return f"{mailbox(first, last)}@{domains[number % len(domains)]}"


CONVERTED = 10


def lead_rows(seed: Seed, persons: list[Person], members: list[Row], today: date) -> list[Row]:
    rows = []
    for number, (first_name, last_name) in enumerate(map(first_and_last, LEAD_NAMES)):
        status, longest_ago = _PEOPLE["lead_statuses"][number % len(_PEOPLE["lead_statuses"])]
        mail = email_of(first_name, last_name, number)
        asked_at = daytime(seed, midnight(today), -seed.whole(1, longest_ago, "asked", mail), "asked", mail)
        rows.append(_row(seed, mail, "" if number % 13 == 12 else first_name, (status, "lead"), asked_at))
    # A lead is converted by the member with its email, so each of these asked before that member joined.
    customers = [pair for pair in zip(persons, members, strict=True) if pair[0].cohort.product and pair[0].email]
    for person, member in customers[1 :: len(customers) // CONVERTED]:
        asked_at = read(member["created_at"]) - timedelta(hours=seed.whole(5, 400, "asked", person.id))
        stage = "trial" if person.cohort.product in ("intro-3", "drop-in") else "member"
        stage = "former_member" if person.cohort.status in ("cancelled", "expired") else stage
        rows.append(_row(seed, str(person.email), person.first_name, ("converted", stage), asked_at))
    return sorted(rows, key=lambda row: (row["created_at"], row["id"]))


def _row(seed: Seed, mail: str, first_name: str, reached: tuple[str, str], asked_at: datetime) -> Row:
    status, stage = reached
    medium, campaign = seed.pick(_PEOPLE["campaigns"], "campaign", mail)
    metadata: Row = {"interests": sorted(seed.shuffled(_PEOPLE["interests"], str, "interests", mail)[:2])}
    if seed.fraction("utm", mail) < 0.7:
        metadata["utm"] = {"utm_source": medium, "utm_campaign": campaign}
    if seed.fraction("goal", mail) < 0.5:
        metadata["goal"] = seed.pick(_PEOPLE["goals"], "goal", mail)
    return {
        "id": seed.uuid("lead", mail),
        "email": mail,
        "first_name": first_name,
        "source": seed.pick(_PEOPLE["lead_sources"], "source", mail),
        "status": status,
        "lifecycle_stage": stage,
        "metadata": metadata,
        "created_at": written(asked_at),
    }
