"""The words of the screens Members and Sales for what the domain names by codes, and a member's history in words."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from studiogate.console.framework.formats import clock_time, full_date, money
from studiogate.domain.audit import MASK
from studiogate.domain.bookings.states import BookingStatus, MembershipStatus
from studiogate.domain.fields.catalog import ProductType, PurchaseStatus
from studiogate.domain.instants import parse_instant
from studiogate.domain.purchases import PURCHASE_MARKS, REFUNDABLE, WAIVABLE
from studiogate.storage.db.pool import Record

# Text and kind of badge by status.
MEMBERSHIP: Mapping[str, tuple[str, str]] = {
    MembershipStatus.PENDING: ("pending", "info"),
    MembershipStatus.ACTIVE: ("active", "good"),
    MembershipStatus.PAUSED: ("paused", "warn"),
    MembershipStatus.PAST_DUE: ("past due", "danger"),
    MembershipStatus.CANCELLED: ("cancelled", ""),
    MembershipStatus.EXPIRED: ("expired", ""),
}
PURCHASE: Mapping[str, tuple[str, str]] = {
    PurchaseStatus.PENDING: ("pending", "warn"),
    PurchaseStatus.COMPLETED: ("paid", "good"),
    PurchaseStatus.FAILED: ("failed", "danger"),
    PurchaseStatus.CANCELLED: ("cancelled", ""),
    PurchaseStatus.PARTIALLY_REFUNDED: ("partly refunded", "info"),
    PurchaseStatus.REFUNDED: ("refunded", "info"),
}
BOOKING: Mapping[str, tuple[str, str]] = {
    BookingStatus.WAITLISTED: ("waiting", "info"),
    BookingStatus.CONFIRMED: ("booked", "good"),
    BookingStatus.CHECKED_IN: ("checked in", "good"),
    BookingStatus.NO_SHOW: ("no-show", "danger"),
    BookingStatus.CANCELLED: ("cancelled", ""),
}
SUBMISSION: Mapping[str, tuple[str, str]] = {
    "pending": ("to review", "info"),
    "confirmed": ("confirmed", "good"),
    "rejected": ("rejected", "danger"),
    "spam": ("spam", "danger"),
}
LEDGER: Mapping[str, str] = {
    "booked": "Booked",
    "promoted": "Promoted from the waitlist",
    "returned": "Returned by a cancellation",
    "forfeited": "Kept by a late cancellation",
    "renewed": "Renewed",
    "granted": "Granted",
    "opening": "Opening balance",
    "adjusted": "Adjusted by staff",
}
PARTNER_SOURCE = "partner_api"
MEMBER_STATUS: Mapping[str, str] = {
    "active": "Active",
    "paused": "Paused",
    "past_due": "Past due",
    "suspended": "Suspended",
}


def status(kind: Mapping[str, tuple[str, str]], name: str) -> tuple[str, str]:
    """Return text and kind of the badge for a status."""
    return kind.get(name, (name.replace("_", " "), ""))


def source(name: str) -> str:
    return "a partner" if name == PARTNER_SOURCE else name.replace("_", " ")


def action(name: str) -> str:
    """Return what an entry of the audit log did, such as "Membership: adjust credits"."""
    word, _, verb = name.partition(".")
    return f"{word.replace('_', ' ').capitalize()}: {verb.replace('_', ' ')}"


def payments(purchase: Record) -> list[str]:
    """Return what staff can record about a purchase now: paid, failed, waive, refund."""
    status = PurchaseStatus(purchase["status"])
    marks = PURCHASE_MARKS.get(status, frozenset())
    offered = {
        "paid": PurchaseStatus.COMPLETED in marks,
        "failed": PurchaseStatus.FAILED in marks,
        "waive": status in WAIVABLE and purchase["product_type"] == ProductType.FEE,
        "refund": status in REFUNDABLE and purchase["amount_total"] != 0,
    }
    return [name for name, is_offered in offered.items() if is_offered]


# A member's history in words: the audit log keeps codes, ids, instants in UTC and amounts without a currency.

STATUSES = {"membership": MEMBERSHIP, "purchase": PURCHASE}
AMOUNTS = frozenset({"amount_total", "refunded_amount"})
# What the line says otherwise: the product beside the action, the currency with the amount, the name in its two parts.
LEFT_OUT = frozenset({"product_key", "currency", "name", "merged_into"})
# What fields are called, where their name does not say it, and the order in which they are shown.
LABELS: Mapping[str, str] = {
    "status": "status",
    "first_name": "first name",
    "last_name": "last name",
    "staff_notes": "notes",
    "location_id": "location",
    "amount_total": "amount",
    "refunded_amount": "refunded",
    "product_type": "kind",
    "credits_remaining": "credits",
    "auto_renew": "renews",
    "started_at": "start",
    "ended_at": "end",
    "current_period_start": "period from",
    "current_period_end": "period until",
    "pause_starts_at": "pause from",
    "pause_ends_at": "pause until",
    "cancel_at": "ends on",
    "cancel_at_period_end": "ends with its period",
}
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


def _change(name: str, pair: list[object], read: Callable[[object], str]) -> str | None:
    before, after = pair
    label = LABELS.get(name, name.removesuffix("_at").replace("_", " "))
    if MASK in pair:
        return f"{label} {'entered' if before is None else 'removed' if after is None else 'changed'}"
    if before is None:
        # A row that is new has all of its fields: those that say nothing are left out.
        return None if after is None or after is False else f"{label}: {read(after)}"
    return f"{label}: {read(before)} → {'none' if after is None else read(after)}"


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
    return lambda value: _plain(value, studio.timezone)


def _plain(value: object, timezone: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_plain(each, timezone) for each in value)
    instant = parse_instant(value) if isinstance(value, str) else None
    if instant is not None:
        return f"{full_date(instant, timezone)}, {clock_time(instant, timezone)}"
    return source(str(value))
