"""The members: who they are, what they hold and how often they come."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from studiogate.demo import names
from studiogate.demo.dates import midnight, read, week_number, written
from studiogate.demo.seed import Seed

AREA_CODES = {"brooklyn": ("718", "347", "917", "646", "929"), "denver": ("303", "720")}


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


# Whoever comes to classes holds something that began more than six weeks ago and lasts beyond the longest notice
# of their bookings (see bookings.py), and has more credits than six weeks of their habits can use.
# A month that has begun ends within 26 days: February is that short.
COHORTS = (
    Cohort(1, "pack-20", days=180, ends_in=(150, 150), only_at="brooklyn"),
    Cohort(42, "unlimited", months=1, ends_in=(14, 26), renewals=(2, 9), visits_a_week=(4, 6)),
    Cohort(8, "unlimited", months=12, ends_in=(60, 250), visits_a_week=(4, 6)),
    Cohort(12, "pack-20", days=180, ends_in=(100, 135), visits_a_week=(2, 2)),
    Cohort(12, "pack-10", days=180, ends_in=(100, 135), visits_a_week=(1, 1)),
    Cohort(6, "pack-5", days=180, ends_in=(100, 135), visits_a_week=(1, 1), fortnightly=True),
    Cohort(
        6, "off-peak-brooklyn", months=1, ends_in=(14, 26), renewals=(2, 5), visits_a_week=(3, 4), only_at="brooklyn"
    ),
    Cohort(9, "reformer-10", days=180, ends_in=(100, 135), visits_a_week=(1, 1)),
    Cohort(6, "intro-3", days=30, ends_in=(21, 28)),
    Cohort(3, "drop-in", days=30, ends_in=(21, 28), role="user"),
    Cohort(3, "unlimited", "pending", months=1, ends_in=(34, 38)),
    Cohort(5, "unlimited", "paused", months=1, ends_in=(8, 25), renewals=(2, 9)),
    Cohort(4, "unlimited", "past_due", months=1, ends_in=(-6, -2), renewals=(1, 9)),
    Cohort(6, "unlimited", "cancelled", months=1, ends_in=(-50, -8), renewals=(1, 9)),
    Cohort(3, "pack-10", "expired", days=180, ends_in=(-60, -10)),
    Cohort(3, "intro-3", "expired", days=30, ends_in=(-60, -10)),
    Cohort(3, "unlimited", months=1, ends_in=(14, 26), renewals=(2, 5), suspended=True),
    Cohort(5, role="user"),
    Cohort(7, role="lead"),
)

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
    cohorts = [cohort for cohort in COHORTS for _ in range(cohort.count)]
    return [
        _person(seed, number, name, cohort)
        for number, (name, cohort) in enumerate(zip(names.members(), cohorts, strict=False))
    ]


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


def member_rows(seed: Seed, persons: list[Person], held: dict[str, list[dict[str, Any]]], today: date) -> list[Any]:
    """``held``: each person's memberships by member id, the current one last."""
    return [_member_row(seed, person, held.get(person.id, []), today) for person in persons]


def _member_row(seed: Seed, person: Person, held: list[dict[str, Any]], today: date) -> dict[str, Any]:
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
