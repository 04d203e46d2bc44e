"""Which events are worth a mail to the member, of which kind, and whether the studio wants it.

- A mail repeats what is still true: if the booking has changed since the event, only the later event is worth a mail.
  Somebody who books and cancels while the worker is down gets one mail, about the cancellation.
- Events older than a day are no news, for example after a long downtime.
- Nothing is sent about a class that has started, except receipts of cancellations.
- What only time has made worthless is kept as a failed mail, so that staff see what their members did not get.
- A queued mail is checked again by the same rules when it is sent: retries run for longer than a mail stays true.
- Studios that are marked as test studios send only the kinds that were switched on for them."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.bookings.cancellation import CancellationType
from studiogate.domain.bookings.states import LIVE, SEAT_HOLDING, BookingStatus, ClassStatus
from studiogate.domain.events import EventType

NEWS_LASTS = timedelta(days=1)
# Why a mail was dropped, as its ``problem``.
TOO_LATE = "too late"
UNTRUE = "no longer true"
# Per member: a partner's runaway program must not flood a mailbox.
MAILS_PER_HOUR = 30
# Changes of a class that its members need to know.
CLASS_FIELDS = {"start_time", "end_time", "location_id", "room_id", "instructor_id"}


class MailKind(StrEnum):
    """The kinds of mails to members: how each begins, and when it is sent."""

    _value_: str
    headline: str
    sent_when: str

    def __new__(cls, value: str, headline: str = "", sent_when: str = "") -> "MailKind":
        kind = str.__new__(cls, value)
        kind._value_, kind.headline, kind.sent_when = value, headline, sent_when
        return kind

    BOOKED = "booked", "You are booked", "a booking is confirmed"
    WAITLISTED = "waitlisted", "You are on the waitlist", "a member joins a waitlist"
    PROMOTED = "promoted", "You have a place now", "a waiting member gets a place"
    CLASS_CHANGED = "class_changed", "Your class has changed", "the time, place or instructor of a class changes"
    CLASS_CANCELLED = "class_cancelled", "Your class is cancelled", "a class is cancelled"
    BOOKING_CANCELLED = "booking_cancelled", "Your booking is cancelled", "a booking is cancelled, with its receipt"


class News(NamedTuple):
    """An event with what has become of its booking and class since. An event about a class has no booking until its
    mails are queued; each of these then has the booking of its member."""

    event_id: UUID
    type: EventType
    status: str
    previous_attributes: Mapping[str, object]
    created_at: datetime
    class_id: UUID
    class_status: ClassStatus
    class_start: datetime
    booking_status: BookingStatus | None = None
    was_promoted: bool = False
    cancellation_type: CancellationType | None = None


def kind_of(news: News, now: datetime) -> MailKind | None:
    """Return the kind of mail that the event is worth now, or None."""
    if now - news.created_at > NEWS_LASTS:
        return None
    kind = _KINDS[news.type](news)
    if kind is None or news.cancellation_type is not None:
        return kind
    is_ahead = news.class_status != ClassStatus.CANCELLED and now < news.class_start
    return kind if is_ahead else None


def late_kind_of(news: News, now: datetime) -> MailKind | None:
    """Return the kind of mail that the event was worth when it happened, if only time makes it worth none now."""
    return kind_of(news, news.created_at) if kind_of(news, now) is None else None


def is_still_news(kind: MailKind, news: News, now: datetime) -> bool:
    """Return whether a mail that was queued as this kind may be sent now."""
    return kind_of(news, now) is kind


def is_switched_on(kind: MailKind, switches: Mapping[str, bool], *, test: bool) -> bool:
    """Return whether the studio sends this kind: by its own switch, else everywhere but in a test studio."""
    return switches.get(kind.value, not test)


def _of_new_booking(news: News) -> MailKind | None:
    if news.booking_status is None or news.booking_status == BookingStatus.CANCELLED:
        return None
    if news.status == BookingStatus.WAITLISTED:
        return MailKind.WAITLISTED if news.booking_status == BookingStatus.WAITLISTED else None
    return MailKind.BOOKED


def _of_changed_booking(news: News) -> MailKind | None:
    """A member who takes an open seat by a request of their own was not promoted, but booked."""
    left_waitlist = news.previous_attributes.get("status") == BookingStatus.WAITLISTED
    if not left_waitlist or news.status != BookingStatus.CONFIRMED or news.booking_status not in SEAT_HOLDING:
        return None
    return MailKind.PROMOTED if news.was_promoted else MailKind.BOOKED


def _of_cancelled_booking(news: News) -> MailKind | None:
    """A booking that an import cancelled has no receipt: it cost nothing and took no credit."""
    by_class = news.cancellation_type == CancellationType.CLASS_CANCELLED
    return MailKind.CLASS_CANCELLED if by_class else MailKind.BOOKING_CANCELLED


def _of_changed_class(news: News) -> MailKind | None:
    if news.booking_status is not None and news.booking_status not in LIVE:
        return None
    return MailKind.CLASS_CHANGED if CLASS_FIELDS & set(news.previous_attributes) else None


_KINDS = {
    EventType.BOOKING_CREATED: _of_new_booking,
    EventType.BOOKING_UPDATED: _of_changed_booking,
    EventType.BOOKING_CANCELLED: _of_cancelled_booking,
    EventType.CLASS_UPDATED: _of_changed_class,
}
MAILED_TYPES = tuple(_KINDS)
