"""Lists of statuses as SQL literals, rendered from the domain: ``b.status in ({SEAT_HOLDING})``.

They are literals, not parameters, because PostgreSQL uses a partial index only for a statement that repeats the
condition of the index. Each list has the order of its enum, which is also that of the indexes.
"""

from collections.abc import Container, Iterable
from enum import StrEnum

from studiogate.domain import membership_changes, memberships, purchases
from studiogate.domain.bookings import cancellation, states
from studiogate.domain.fields.catalog import PurchaseStatus
from studiogate.domain.forms.states import COUNTED, SubmissionStatus
from studiogate.domain.staff import UNLIMITED, Role


def _literals(statuses: Iterable[StrEnum]) -> str:
    return ", ".join(f"'{each.value}'" for each in statuses)


def _among(every: Iterable[StrEnum], listed: Container[StrEnum]) -> str:
    return _literals(each for each in every if each in listed)


# Bookings.
SEAT_HOLDING = _among(states.BookingStatus, states.SEAT_HOLDING)
OCCUPYING = _among(states.BookingStatus, states.OCCUPYING)
ATTENDABLE = _among(states.BookingStatus, states.ATTENDABLE)

# Cancellations: of somebody who does not come, unlike those of the studio, of a move and of the waitlist.
CANCELLED_BY_MEMBER = _literals(cancellation.CANCELLED_BY_MEMBER)

# Waitlist entries.
OPEN_ENTRY = _among(states.WaitlistStatus, states.OPEN_ENTRY)

# Memberships.
LIVE = _among(states.MembershipStatus, memberships.LIVE_STATUSES)
CHANGEABLE = _among(states.MembershipStatus, membership_changes.CHANGEABLE)
STATUS_DISPLAY_ORDER = _literals(memberships.STATUS_DISPLAY_ORDER)

# Purchases, submissions of forms, and roles of staff.
WAIVABLE = _among(PurchaseStatus, purchases.WAIVABLE)
RECEIVED = _among(PurchaseStatus, purchases.RECEIVED)
COUNTED_SUBMISSION = _among(SubmissionStatus, COUNTED)
UNLIMITED_ROLE = _among(Role, UNLIMITED)
