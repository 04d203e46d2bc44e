"""The fields of bookings and of what has happened: waitlist entries, the credit ledger, cancellation receipts,
sales and renewals.

The import that creates a studio loads history, so that an export restores it. Later, no file changes history."""

from collections.abc import Iterator, Mapping

from studiogate.domain.bookings.cancellation import CancellationType
from studiogate.domain.bookings.states import BookingStatus, WaitlistStatus
from studiogate.domain.fields import BY_ROW, CREATED_AT, ID, RECORD, Row, Rule, documents, optional, required, section
from studiogate.domain.fields import readers as v
from studiogate.domain.fields.readers import Loc, Setting

# By reason: the deltas that a line of the ledger may have (None: any), and whether it is about a booking.
LEDGER_REASONS: Mapping[str, tuple[int | None, bool]] = {
    "booked": (-1, True),
    "promoted": (-1, True),
    "returned": (1, True),
    "forfeited": (0, True),
    "renewed": (None, False),
    "granted": (None, False),
    "opening": (None, False),
    "adjusted": (None, False),
}


# This service promotes without asking, so it could do nothing with a place that another system has offered.
ENTRY_STATUSES = tuple(each for each in WaitlistStatus if each is not WaitlistStatus.OFFERED)


def _position(values: Row, _setting: Setting) -> Iterator[tuple[Loc, str]]:
    if (values["status"] == WaitlistStatus.WAITING) != (values["position"] is not None):
        yield ("position",), "is set exactly while the entry is waiting"


def _delta(values: Row, _setting: Setting) -> Iterator[tuple[Loc, str]]:
    delta, of_booking = LEDGER_REASONS[values["reason"]]
    if delta is not None and values["delta"] != delta:
        yield ("delta",), f"must be {delta} where the reason is {values['reason']}"
    if of_booking != (values["booking_id"] is not None):
        yield ("booking_id",), f"is {'required' if of_booking else 'null'} where the reason is {values['reason']}"


def _settled(values: Row, _setting: Setting) -> Iterator[tuple[Loc, str]]:
    if values["credits_forfeited"] + values["credits_returned"] > 1:
        yield ("credits_returned",), "must be 0 where a credit is forfeited"


def _period(values: Row, _setting: Setting) -> Iterator[tuple[Loc, str]]:
    if values["period_end"] <= values["period_start"]:
        yield ("period_end",), "must be after period_start"


def _waiting(values: Row, _setting: Setting) -> Iterator[tuple[Loc, str]]:
    if values["status"] == BookingStatus.WAITLISTED and values["class_spot_id"] is not None:
        yield ("class_spot_id",), "must be null: a waitlisted booking holds no spot"


BOOKINGS = section(
    "bookings",
    ID,
    required("class_id", v.identifier, personal=False),
    required("member_id", v.identifier, personal=False),
    required("status", v.one_of(BookingStatus), personal=False),
    optional("booking_source", v.text(v.MAX_INDEXED, 1), personal=False),
    optional("membership_id", v.identifier, personal=False),
    optional("class_spot_id", v.identifier, personal=False),
    # History.
    optional("credits_taken", v.whole(0, 1), 0, personal=False),
    optional("policy", documents.json_object, personal=False),
    optional("promoted_at", v.instant, personal=False),
    optional("moved_to_booking_id", v.identifier, personal=False),
    optional("moved_from_booking_id", v.identifier, personal=False),
    *RECORD,
    derived=frozenset({"waitlist_position", "updated_at"}),
    rules=(Rule(("status", "class_spot_id"), _waiting),),
)

# An entry has its class and its member from its booking.
WAITLIST = section(
    "waitlist",
    ID,
    required("booking_id", v.identifier, personal=False),
    optional("position", v.whole(1), personal=False),
    required("status", v.one_of(ENTRY_STATUSES), personal=False),
    optional("promoted_at", v.instant, personal=False),
    optional("skip_reason", v.text(v.MAX_INDEXED), personal=False),
    CREATED_AT,
    rules=(Rule(("status", "position"), _position),),
)

LEDGER = section(
    "ledger",
    ID,
    required("membership_id", v.identifier, personal=False),
    optional("booking_id", v.identifier, personal=False),
    required("delta", v.whole(-v.MAX_WHOLE), personal=False),
    required("reason", v.one_of(LEDGER_REASONS), personal=False),
    CREATED_AT,
    rules=(Rule(("reason", "delta", "booking_id"), _delta),),
)

CANCELLATIONS = section(
    "cancellations",
    ID,
    required("booking_id", v.identifier, personal=False),
    required("cancelled_at", v.instant, personal=False),
    required("cancellation_type", v.one_of(CancellationType), personal=False),
    required("late", v.boolean, personal=False),
    required("graced_for_promotion", v.boolean, personal=False),
    required("credits_forfeited", v.whole(0, 1), personal=False),
    required("credits_returned", v.whole(0, 1), personal=False),
    optional("purchase_id", v.identifier, personal=False),
    required("receipt", documents.json_object, personal=True, erased=BY_ROW),
    rules=(Rule(("credits_forfeited", "credits_returned"), _settled),),
)

# The id is that of the purchase by which staff sold the membership.
SALES = section(
    "sales",
    ID,
    required("membership_id", v.identifier, personal=False),
    required("price_id", v.identifier, personal=False),
    CREATED_AT,
)

# The id is that of the renewal's purchase.
RENEWALS = section(
    "renewals",
    ID,
    required("membership_id", v.identifier, personal=False),
    required("period_start", v.instant, personal=False),
    required("period_end", v.instant, personal=False),
    CREATED_AT,
    rules=(Rule(("period_start", "period_end"), _period),),
)
