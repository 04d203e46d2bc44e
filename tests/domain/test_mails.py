"""Which events are worth a mail, as pure rules."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from studiogate.domain.bookings.cancellation import CancellationType
from studiogate.domain.bookings.states import BookingStatus, ClassStatus
from studiogate.domain.events import EventType
from studiogate.domain.mails import (
    MAILED_TYPES,
    NEWS_LASTS,
    MailKind,
    News,
    is_still_news,
    is_switched_on,
    kind_of,
    late_kind_of,
)

NOW = datetime(2031, 5, 1, 12, tzinfo=UTC)
TOMORROW = NOW + timedelta(days=1)
CREATED, UPDATED = EventType.BOOKING_CREATED, EventType.BOOKING_UPDATED
CANCELLED, CLASS = EventType.BOOKING_CANCELLED, EventType.CLASS_UPDATED


def news(type_: EventType, status: str, previous: dict[str, Any] | None = None, **more: Any) -> News:
    given = {"booking_status": BookingStatus(status) if type_ is not CLASS else None, **more}
    base = (UUID(int=1), type_, status, previous or {}, given.pop("created_at", NOW), UUID(int=2))
    class_status, start = given.pop("class_status", ClassStatus.SCHEDULED), given.pop("class_start", TOMORROW)
    return News(*base, class_status, start, **given)


BY_STUDIO = CancellationType.STUDIO
WAITED = {"status": "waitlisted"}
WORTH = [
    (news(CREATED, "confirmed"), MailKind.BOOKED),
    (news(CREATED, "confirmed", booking_status=BookingStatus.CHECKED_IN), MailKind.BOOKED),
    (news(CREATED, "confirmed", booking_status=BookingStatus.CANCELLED), None),
    (news(CREATED, "waitlisted"), MailKind.WAITLISTED),
    (news(CREATED, "waitlisted", booking_status=BookingStatus.CONFIRMED), None),
    (news(CREATED, "confirmed", class_start=NOW), None),
    (news(CREATED, "confirmed", class_status=ClassStatus.CANCELLED), None),
    (news(UPDATED, "confirmed", WAITED, was_promoted=True), MailKind.PROMOTED),
    (news(UPDATED, "confirmed", WAITED), MailKind.BOOKED),
    (news(UPDATED, "confirmed", WAITED, was_promoted=True, booking_status=BookingStatus.CANCELLED), None),
    (news(UPDATED, "checked_in", {"status": "confirmed"}), None),
    (news(UPDATED, "confirmed", {"status": "checked_in"}), None),
    (news(UPDATED, "waitlisted", {"waitlist_position": 2}), None),
    (news(CANCELLED, "cancelled", cancellation_type=CancellationType.LATE), MailKind.BOOKING_CANCELLED),
    (news(CANCELLED, "cancelled", cancellation_type=CancellationType.CLASS_CANCELLED), MailKind.CLASS_CANCELLED),
    (
        news(CANCELLED, "cancelled", cancellation_type=CancellationType.STUDIO, class_start=NOW),
        MailKind.BOOKING_CANCELLED,
    ),
    (news(CANCELLED, "cancelled"), MailKind.BOOKING_CANCELLED),
    (news(CANCELLED, "cancelled", class_start=NOW), None),
    (news(CLASS, "scheduled", {"start_time": "x"}), MailKind.CLASS_CHANGED),
    (news(CLASS, "scheduled", {"instructor_id": None}), MailKind.CLASS_CHANGED),
    (news(CLASS, "scheduled", {"room_id": "x"}, booking_status=BookingStatus.WAITLISTED), MailKind.CLASS_CHANGED),
    (news(CLASS, "scheduled", {"room_id": "x"}, booking_status=BookingStatus.CANCELLED), None),
    (news(CLASS, "scheduled", {"title": "x", "capacity": 3}), None),
    (news(CLASS, "in_progress", {"status": "scheduled"}, class_start=NOW), None),
    (news(CLASS, "scheduled", {"room_id": "x"}, class_start=NOW), None),
]


@pytest.mark.parametrize(("event", "kind"), WORTH)
def test_what_an_event_is_worth(event: News, kind: MailKind | None) -> None:
    assert kind_of(event, NOW) is kind
    old = event._replace(created_at=NOW - NEWS_LASTS - timedelta(microseconds=1))
    assert kind_of(old, NOW) is None
    assert late_kind_of(old, NOW) is kind_of(old, old.created_at)
    assert late_kind_of(event, NOW) is None
    assert kind_of(event._replace(created_at=NOW - NEWS_LASTS), NOW) is kind


@pytest.mark.parametrize(("event", "kind"), WORTH)
def test_a_queued_mail_is_sent_only_as_what_it_was_queued(event: News, kind: MailKind | None) -> None:
    assert [each for each in MailKind if is_still_news(each, event, NOW)] == [kind] * (kind is not None)


def test_every_kind_and_every_type_occurs() -> None:
    assert {kind for _, kind in WORTH} == {None, *MailKind}
    assert {event.type for event, _ in WORTH} == set(MAILED_TYPES)
    assert all(kind.sent_when for kind in MailKind)


@pytest.mark.parametrize("kind", MailKind)
def test_a_switch_wins_over_the_default(kind: MailKind) -> None:
    assert is_switched_on(kind, {}, test=False)
    assert not is_switched_on(kind, {}, test=True)
    assert not is_switched_on(kind, {kind.value: False}, test=False)
    assert is_switched_on(kind, {kind.value: True}, test=True)
