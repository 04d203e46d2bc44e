"""The memberships: one current one for whoever holds something, and the intro offers that some began with."""

from datetime import date, datetime, timedelta
from typing import Any

from studiogate.demo.people import Cohort, Person
from studiogate.demo.seed import Seed, daytime, midnight, months_before, read, written
from studiogate.demo.studio import PRODUCT_BY_KEY, price_id

PAUSE_REASONS = ("travel", "injury", "parental leave", "busy season at work")
CANCELLATION_REASONS = ("moving away", "price", "schedule no longer fits", "medical")
INTRO_DAYS = 30


def membership_id(seed: Seed, person: Person) -> str:
    return seed.uuid("membership", person.id, person.cohort.product)


def memberships_of(seed: Seed, person: Person, today: date) -> list[dict[str, object]]:
    """All that the person ever held, the current one last."""
    if not person.cohort.product:
        return []
    current = _current(seed, person, today)
    return [_intro_before(seed, person, current), current] if _began_with_intro(seed, person) else [current]


def _current(seed: Seed, person: Person, today: date) -> dict[str, object]:
    cohort = person.cohort
    ends = daytime(seed, midnight(today), seed.whole(*cohort.ends_in, "ends", person.id), person.id)
    renewals = seed.whole(*cohort.renewals, "renewals", person.id)
    begins = period_before(cohort, ends)
    row = _row(seed, person, str(cohort.product)) | {"price_id": renewal_price_id(seed, cohort)}
    row |= {
        "status": cohort.status,
        "auto_renew": cohort.months > 0,
        "state_version": 1 + renewals,
        "started_at": written(period_before(cohort, begins, renewals)),
        "current_period_start": written(begins),
        "current_period_end": written(ends),
    }
    return row | _state_details(seed, person, today, begins, ends)


def renewal_price_id(seed: Seed, cohort: Cohort) -> str | None:
    """The price by which the membership renews; None for packs, which do not."""
    interval = {1: "month", 12: "year"}.get(cohort.months)
    prices = PRODUCT_BY_KEY[str(cohort.product)].prices
    price = next((price for price in prices if price.interval == interval), None) if interval else None
    return None if price is None else price_id(seed, str(cohort.product), price)


def period_before(cohort: Cohort, moment: datetime, periods: int = 1) -> datetime:
    if cohort.months:
        return months_before(moment, cohort.months * periods)
    return moment - timedelta(days=cohort.days * periods)


def _row(seed: Seed, person: Person, product: str) -> dict[str, object]:
    granted = PRODUCT_BY_KEY[product].credits_granted
    return {
        "id": seed.uuid("membership", person.id, product),
        "member_id": person.id,
        "product_id": seed.uuid("product", product),
        "status": "active",
        "auto_renew": False,
        "state_version": 1,
        "started_at": None,
        "current_period_start": None,
        "current_period_end": None,
        "paused_at": None,
        "pause_starts_at": None,
        "pause_ends_at": None,
        "pause_reason": None,
        "cancel_at_period_end": False,
        "cancel_at": None,
        "cancelled_at": None,
        "cancellation_reason": None,
        "ended_at": None,
        "credits_granted": granted,
        "credits_remaining": granted,
    }


def _state_details(seed: Seed, person: Person, today: date, begins: datetime, ends: datetime) -> dict[str, object]:
    if person.cohort.status == "paused":
        return _pause(seed, person, today)
    if person.cohort.status == "cancelled":
        return _cancellation(seed, person, begins, ends)
    if person.cohort.status == "expired":
        return {"ended_at": written(ends), "credits_remaining": seed.whole(0, 2, "left over", person.id)}
    if person.cohort.status == "active" and person.cohort.months == 1 and person.number % 9 == 0:
        return _cancelling(seed, person, ends)
    return {}


def _pause(seed: Seed, person: Person, today: date) -> dict[str, object]:
    begins = daytime(seed, midnight(today), -seed.whole(3, 20, "pause", person.id), "pause", person.id)
    return {
        "paused_at": written(begins),
        "pause_starts_at": written(begins),
        "pause_ends_at": written(begins + timedelta(days=seed.pick((30, 45, 60), "pause length", person.id))),
        "pause_reason": seed.pick(PAUSE_REASONS, "pause", person.id),
    }


def _cancellation(seed: Seed, person: Person, begins: datetime, ends: datetime) -> dict[str, object]:
    """Every second one stayed to the end of the paid period, the others left at once."""
    decided = begins + timedelta(hours=seed.whole(48, 500, "cancelled", person.id))
    stays = person.number % 2 == 0
    ended = ends if stays else decided
    return {
        "auto_renew": False,
        "cancel_at_period_end": stays,
        "cancel_at": written(ended),
        "cancelled_at": written(decided),
        "cancellation_reason": seed.pick(CANCELLATION_REASONS, "cancelled", person.id),
        "ended_at": written(ended),
    }


def _cancelling(seed: Seed, person: Person, ends: datetime) -> dict[str, object]:
    return {
        "auto_renew": False,
        "cancel_at_period_end": True,
        "cancel_at": written(ends),
        "cancellation_reason": seed.pick(CANCELLATION_REASONS, "leaving", person.id),
    }


def _began_with_intro(seed: Seed, person: Person) -> bool:
    return person.cohort.product == "unlimited" and seed.fraction("began with intro", person.id) < 0.4


def _intro_before(seed: Seed, person: Person, current: dict[str, Any]) -> dict[str, Any]:
    begins = read(current["started_at"]) - timedelta(days=seed.whole(INTRO_DAYS + 1, 45, "intro", person.id))
    ends = written(begins + timedelta(days=INTRO_DAYS))
    return _row(seed, person, "intro-3") | {
        "status": "expired",
        "state_version": 5,
        "started_at": written(begins),
        "current_period_start": written(begins),
        "current_period_end": ends,
        "ended_at": ends,
        "credits_remaining": 0,
    }
