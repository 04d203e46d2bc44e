"""The words of the screens Members and Sales for what the domain names by codes, and a member's history in words."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from studiogate.console.framework.formats import date_and_time, money
from studiogate.console.framework.words import WORDS, badges
from studiogate.domain.audit import MASK
from studiogate.domain.fields.catalog import PaidBy, ProductType, PurchaseStatus
from studiogate.domain.fields.schedule import DAY_NAMES
from studiogate.domain.instants import parse_instant
from studiogate.domain.purchases import PURCHASE_MARKS, RECEIVED, REFUNDABLE, WAIVABLE
from studiogate.storage.db.pool import Record

MEMBERSHIP, PURCHASE = badges("membership"), badges("purchase")
BOOKING, SUBMISSION = badges("booking"), badges("submission")
PAID_BY: Mapping[str, str] = WORDS["paid_by"]
LEDGER: Mapping[str, str] = WORDS["ledger"]
MEMBER_STATUS: Mapping[str, str] = WORDS["member_status"]
PARTNER_SOURCE = "partner_api"
WAYS = [(each.value, PAID_BY[each].capitalize()) for each in PaidBy]


def status(kind: Mapping[str, tuple[str, str]], name: str) -> tuple[str, str]:
    """Return text and kind of the badge for a status."""
    return kind.get(name, (name.replace("_", " "), ""))


def paid_by(name: str | None) -> str:
    """Return how something was paid, or nothing if nobody has said so."""
    return "" if name is None else PAID_BY.get(name, name)


def product(purchase: Record) -> str:
    """Return what was bought; a key of something that is not in the catalog reads as words."""
    return str(purchase["product"]).replace("_", " ")


def source(name: str) -> str:
    return "a partner" if name == PARTNER_SOURCE else name.replace("_", " ")


def action(name: str) -> str:
    """Return what an entry of the audit log did, such as "Membership: adjust credits"."""
    word, _, verb = name.partition(".")
    return f"{word.replace('_', ' ').capitalize()}: {verb.replace('_', ' ')}"


def payments(purchase: Record) -> list[str]:
    """Return what staff can record about a purchase now: paid, how it was paid, failed, waive, refund."""
    status = PurchaseStatus(purchase["status"])
    marks = PURCHASE_MARKS.get(status, frozenset())
    offered = {
        "paid": PurchaseStatus.COMPLETED in marks,
        "paid-by": status in RECEIVED,
        "failed": PurchaseStatus.FAILED in marks,
        "waive": status in WAIVABLE and purchase["product_type"] == ProductType.FEE,
        "refund": status in REFUNDABLE and purchase["amount_total"] != 0,
    }
    return [name for name, is_offered in offered.items() if is_offered]


# A member's history in words: the audit log keeps codes, ids, instants in UTC and amounts without a currency.

STATUSES = {"membership": MEMBERSHIP, "purchase": PURCHASE}
AMOUNTS = frozenset({"amount_total", "refunded_amount"})
# What the line says otherwise: the product beside the action, the currency with the amount, the name in its two parts.
LEFT_OUT = frozenset({"product_key", "currency", "name", "merged_into", "made_by"})
LABELS: Mapping[str, str] = WORDS["fields"]
_ORDER = {name: number for number, name in enumerate(LABELS)}


class StudioFacts(NamedTuple):
    """What values are read with: the studio's time zone and currency, and the names of its locations by id."""

    timezone: str
    currency: str
    locations: Mapping[str, str]


def changes_of(entry: Mapping[str, object], studio: StudioFacts) -> list[str]:
    """Return what an entry changed, such as "status: pending → paid"."""
    changes = entry["changes"]
    if not isinstance(changes, Mapping):
        return []
    # Ids of rows without a name say nothing.
    named = (each for each in changes if each == "location_id" or not each.endswith(("_id", "_ids")))
    shown = sorted((each for each in named if each not in LEFT_OUT), key=lambda name: _ORDER.get(name, len(_ORDER)))
    texts = (_change(name, changes[name], _reader(name, entry, studio)) for name in shown)
    return [text for text in texts if text is not None]


def _change(name: str, pair: object, read: Callable[[object], str]) -> str | None:
    label = LABELS.get(name, name.removesuffix("_at").replace("_", " "))
    if isinstance(pair, Mapping):  # an import counts what it did
        return f"{label}: {', '.join(f'{count} {word}' for word, count in pair.items() if count)}"
    if not isinstance(pair, list):
        return None
    before, after = pair
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        parts = (_change(each, [before.get(each), after.get(each)], read) for each in {**before, **after})
        return f"{label}: {', '.join(found)}" if (found := [each for each in parts if each]) else None
    if any(_is_nested(each) for each in pair):
        return None if before is None else f"{label} changed"
    if MASK in pair:
        return f"{label} {'entered' if before is None else 'removed' if after is None else 'changed'}"
    if before == after:
        return None
    if before is None:
        # A row that is new has all of its fields: those that say nothing are left out.
        return None if after is None or after is False else f"{label}: {read(after)}"
    return f"{label}: {read(before)} → {'none' if after is None else read(after)}"


def _is_nested(value: object) -> bool:
    return any(isinstance(each, Mapping) for each in (value if isinstance(value, list) else [value]))


def _reader(name: str, entry: Mapping[str, object], studio: StudioFacts) -> Callable[[object], str]:
    """Return what writes a value of a field."""
    if name in AMOUNTS:
        currency = str(entry["currency"] or studio.currency)
        return lambda value: money(str(value), currency)
    if name == "location_id":
        return lambda value: studio.locations.get(str(value), "another location")
    if name == "status":
        kind = STATUSES.get(str(entry["subject_type"]), {})
        return lambda value: status(kind, str(value))[0]
    if name == "weekdays":
        return lambda value: ", ".join(_weekday(each) for each in value) if isinstance(value, list) else str(value)
    return lambda value: _plain(value, studio.timezone)


def _weekday(number: object) -> str:
    return DAY_NAMES[number - 1].capitalize() if isinstance(number, int) and 1 <= number <= 7 else str(number)


def _plain(value: object, timezone: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_plain(each, timezone) for each in value)
    instant = parse_instant(value) if isinstance(value, str) else None
    if instant is not None:
        return date_and_time(instant, timezone)
    return source(str(value))
