"""The rules of booking, as pure functions over facts: no I/O, no clock, no HTTP. A flow reads the facts under the
class's lock, asks here, and records the answer.

    policy          what a studio may set; studio < location < class type < class; frozen on the booking
    policy_faults   what is wrong with an override that somebody wants to load
    facts           what the rules look at: class, member, memberships, spots, request, waiting entries
    states          bookings, waitlist entries, classes: the states and the changes that exist
    instants        minutes before a start, the studio's calendar day, overlap
    money           decimal strings in the currency's decimals

Booking (``decide_booking``): all failing rules, in this order, else confirmed or waitlisted.

    the class       cancelled · not visible · started · window not open (before opens_at) · closed (from closes_at)
    the member      already there · suspended · waiver missing
    entitlement     an active, running membership that covers the class, still runs when it starts and has a credit:
                    unlimited first, then the credits that end first                     (entitlement)
    the day         max_bookings_per_day counts seats held in other classes of the studio's day; waiting counts not
    overlap         half-open, with confirmed and checked-in bookings in other classes
    the spot        unknown, missing or taken, where a seat is open                      (spots)
    the seat        class_full, or for those who join: waitlist_not_allowed, waitlist_full

Waiting (``plan_promotions``): a free seat goes to the first in join order who passes all of that again, but for the
booking window, in the transaction that frees it; who fails stays, with a skip_reason. A seat is promised to those who
wait and are eligible until the promotion cutoff (``seats_open_to_newcomers``), then it is anybody's.

Cancelling (``decide_cancellation``), by the frozen policy:

    waitlisted            waitlist_left     nothing was taken
    up to the cutoff      standard          the credit returns
    after it              late              late_action: fee, forfeited credit, both or neither
      just promoted, or
      free ones left      graced            as standard
    by the studio         studio, class_cancelled: as standard, at any time
    after the start       refused to partners

Attendance (``attendance_refusal``): check-in from 12 hours before the start, no-show from the start; undo always.

The decisions behind each rule stand in the docstring of its file.
"""

from studiogate.domain.bookings.cancellation import (
    CANCELLED_BY,
    Cancellation,
    CancellationAttempt,
    CancellationCause,
    CancellationType,
    cancellation_refusal,
    decide_cancellation,
    receipt_json,
)
from studiogate.domain.bookings.eligibility import (
    BookingDecision,
    Outcome,
    decide_booking,
    failing_rules,
    first_refusal,
    waitlist_fault,
)
from studiogate.domain.bookings.entitlement import choose_entitlement, covers, credits_of, is_paused, is_usable
from studiogate.domain.bookings.facts import (
    Attempt,
    BookingFacts,
    BookingRequest,
    ClassFacts,
    LiveBooking,
    MemberFacts,
    MembershipFacts,
    SpotFacts,
    SpotSelectionMode,
    WaitingEntry,
)
from studiogate.domain.bookings.instants import instant_text, local_day_bounds, minutes_before, overlaps
from studiogate.domain.bookings.money import currency_decimals, is_currency, money_text
from studiogate.domain.bookings.policy import (
    POLICY_MEMBERS,
    LateAction,
    LateFee,
    Policy,
    WaitlistMode,
    resolve_policy,
)
from studiogate.domain.bookings.policy_faults import policy_faults
from studiogate.domain.bookings.spots import assigned_spot, free_spots, spot_fault
from studiogate.domain.bookings.states import (
    BOOKING_TRANSITIONS,
    LIVE,
    OCCUPYING,
    SEAT_HOLDING,
    WAITLIST_TRANSITIONS,
    BookingStatus,
    ClassStatus,
    MembershipStatus,
    WaitlistStatus,
    attendance_refusal,
    booking_transition_refusal,
    class_status,
    unannounced_status,
    waitlist_transition_refusal,
)
from studiogate.domain.bookings.waitlist import (
    Promote,
    PromotionStep,
    Skip,
    decide_staff_promotion,
    eligible_waiting,
    plan_promotions,
    promotion_is_open,
    renumber,
    seats_open_to_newcomers,
    try_promotion,
    waitlist_has_expired,
)

__all__ = [
    "BOOKING_TRANSITIONS",
    "CANCELLED_BY",
    "LIVE",
    "OCCUPYING",
    "POLICY_MEMBERS",
    "SEAT_HOLDING",
    "WAITLIST_TRANSITIONS",
    "Attempt",
    "BookingDecision",
    "BookingFacts",
    "BookingRequest",
    "BookingStatus",
    "Cancellation",
    "CancellationAttempt",
    "CancellationCause",
    "CancellationType",
    "ClassFacts",
    "ClassStatus",
    "LateAction",
    "LateFee",
    "LiveBooking",
    "MemberFacts",
    "MembershipFacts",
    "MembershipStatus",
    "Outcome",
    "Policy",
    "Promote",
    "PromotionStep",
    "Skip",
    "SpotFacts",
    "SpotSelectionMode",
    "WaitingEntry",
    "WaitlistMode",
    "WaitlistStatus",
    "assigned_spot",
    "attendance_refusal",
    "booking_transition_refusal",
    "cancellation_refusal",
    "choose_entitlement",
    "class_status",
    "covers",
    "credits_of",
    "currency_decimals",
    "decide_booking",
    "decide_cancellation",
    "decide_staff_promotion",
    "eligible_waiting",
    "failing_rules",
    "first_refusal",
    "free_spots",
    "instant_text",
    "is_currency",
    "is_paused",
    "is_usable",
    "local_day_bounds",
    "minutes_before",
    "money_text",
    "overlaps",
    "plan_promotions",
    "policy_faults",
    "promotion_is_open",
    "receipt_json",
    "renumber",
    "resolve_policy",
    "seats_open_to_newcomers",
    "spot_fault",
    "try_promotion",
    "unannounced_status",
    "waitlist_fault",
    "waitlist_has_expired",
    "waitlist_transition_refusal",
]
