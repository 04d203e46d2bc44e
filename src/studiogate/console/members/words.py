"""The words of the screens Members and Sales for what the domain names by codes."""

from collections.abc import Mapping
from types import MappingProxyType

from studiogate.domain.bookings.states import BookingStatus, MembershipStatus
from studiogate.domain.fields.catalog import ProductType, PurchaseStatus
from studiogate.domain.purchases import PURCHASE_MARKS, REFUNDABLE, WAIVABLE
from studiogate.storage.db.pool import Record

# Text and kind of badge by status.
MEMBERSHIP: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        MembershipStatus.PENDING: ("pending", "info"),
        MembershipStatus.ACTIVE: ("active", "good"),
        MembershipStatus.PAUSED: ("paused", "warn"),
        MembershipStatus.PAST_DUE: ("past due", "danger"),
        MembershipStatus.CANCELLED: ("cancelled", ""),
        MembershipStatus.EXPIRED: ("expired", ""),
    }
)
PURCHASE: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        PurchaseStatus.PENDING: ("pending", "warn"),
        PurchaseStatus.COMPLETED: ("paid", "good"),
        PurchaseStatus.FAILED: ("failed", "danger"),
        PurchaseStatus.CANCELLED: ("cancelled", ""),
        PurchaseStatus.PARTIALLY_REFUNDED: ("partly refunded", "info"),
        PurchaseStatus.REFUNDED: ("refunded", "info"),
    }
)
BOOKING: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        BookingStatus.WAITLISTED: ("waiting", "info"),
        BookingStatus.CONFIRMED: ("booked", "good"),
        BookingStatus.CHECKED_IN: ("checked in", "good"),
        BookingStatus.NO_SHOW: ("no-show", "danger"),
        BookingStatus.CANCELLED: ("cancelled", ""),
    }
)
SUBMISSION: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "pending": ("to review", "info"),
        "confirmed": ("confirmed", "good"),
        "rejected": ("rejected", "danger"),
        "spam": ("spam", "danger"),
    }
)
LEDGER: Mapping[str, str] = MappingProxyType(
    {
        "booked": "Booked",
        "promoted": "Promoted from the waitlist",
        "returned": "Returned by a cancellation",
        "forfeited": "Kept by a late cancellation",
        "renewed": "Renewed",
        "granted": "Granted",
        "opening": "Opening balance",
        "adjusted": "Adjusted by staff",
    }
)
PARTNER_SOURCE = "partner_api"
MEMBER_STATUS: Mapping[str, str] = MappingProxyType(
    {"active": "Active", "paused": "Paused", "past_due": "Past due", "suspended": "Suspended"}
)


def status(kind: Mapping[str, tuple[str, str]], name: str) -> tuple[str, str]:
    """Return text and kind of the badge for a status."""
    return kind.get(name, (name.replace("_", " "), ""))


def source(name: str) -> str:
    """Return where a booking came from."""
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
