"""The leads: people who asked, and members who once did."""

from datetime import date, datetime, timedelta
from typing import Any

from studiogate.demo.people import LEAD_NAMES, Person, email_of, first_and_last
from studiogate.demo.seed import Seed, daytime, midnight, read, written

CONVERTED = 10
# (status, longest time ago in days): fresh leads are new, old ones are decided.
STATUSES = (
    ("new", 9),
    ("new", 5),
    ("contacted", 21),
    ("contacted", 30),
    ("qualified", 45),
    ("qualified", 30),
    ("unqualified", 90),
    ("lost", 120),
)
SOURCES = ("partner_api", "website", "waitlist", "referral", "walk_in", "form", "event")
CAMPAIGNS = (
    ("instagram", "first-reformer"),
    ("google", "pilates-near-me"),
    ("newsletter", "bring-a-friend"),
    ("partner-app", "new-in-town"),
    ("flyer", "street-fair"),
)
INTERESTS = ("reformer", "cycle", "yoga", "strength", "prenatal", "mobility")
GOALS = ("get stronger", "move without pain", "meet people", "train for a race", "sleep better")


def lead_rows(
    seed: Seed, persons: list[Person], members: list[dict[str, object]], today: date
) -> list[dict[str, object]]:
    asked = [_open_lead(seed, number, name, today) for number, name in enumerate(map(first_and_last, LEAD_NAMES))]
    rows = [*asked, *_converted_leads(seed, persons, members)]
    return sorted(rows, key=lambda row: (row["created_at"], row["id"]))


def _open_lead(seed: Seed, number: int, name: tuple[str, str], today: date) -> dict[str, object]:
    status, longest_ago = STATUSES[number % len(STATUSES)]
    mail = email_of(*name, number)
    asked_at = daytime(seed, midnight(today), -seed.whole(1, longest_ago, "asked", mail), "asked", mail)
    first_name = "" if number % 13 == 12 else name[0]
    return _row(seed, mail, first_name, (status, "lead"), asked_at)


def _converted_leads(seed: Seed, persons: list[Person], members: list[dict[str, object]]) -> list[dict[str, object]]:
    """A lead is converted by the member with its email: so each of these asked before that member joined."""
    customers = [pair for pair in zip(persons, members, strict=True) if pair[0].cohort.product and pair[0].email]
    return [_converted(seed, person, member) for person, member in customers[1 :: len(customers) // CONVERTED]]


def _converted(seed: Seed, person: Person, member: dict[str, Any]) -> dict[str, Any]:
    asked_at = read(member["created_at"]) - timedelta(hours=seed.whole(5, 400, "asked", person.id))
    return _row(seed, str(person.email), person.first_name, ("converted", _stage(person)), asked_at)


def _stage(person: Person) -> str:
    if person.cohort.status in ("cancelled", "expired"):
        return "former_member"
    return "trial" if person.cohort.product in ("intro-3", "drop-in") else "member"


def _row(seed: Seed, mail: str, first_name: str, reached: tuple[str, str], asked_at: datetime) -> dict[str, object]:
    status, stage = reached
    return {
        "id": seed.uuid("lead", mail),
        "email": mail,
        "first_name": first_name,
        "source": seed.pick(SOURCES, "source", mail),
        "status": status,
        "lifecycle_stage": stage,
        "metadata": _metadata(seed, mail),
        "created_at": written(asked_at),
    }


def _metadata(seed: Seed, mail: str) -> dict[str, object]:
    medium, campaign = seed.pick(CAMPAIGNS, "campaign", mail)
    metadata: dict[str, object] = {"interests": sorted(seed.shuffled(INTERESTS, str, "interests", mail)[:2])}
    if seed.fraction("utm", mail) < 0.7:
        metadata["utm"] = {"utm_source": medium, "utm_campaign": campaign}
    if seed.fraction("goal", mail) < 0.5:
        metadata["goal"] = seed.pick(GOALS, "goal", mail)
    return metadata
