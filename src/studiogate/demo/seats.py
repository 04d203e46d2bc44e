"""A person's place in a class, over its whole life, and the booking that it is at a moment."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from studiogate.demo.dates import written
from studiogate.demo.memberships import membership_id
from studiogate.demo.people import Person
from studiogate.demo.schedule import Session
from studiogate.demo.seed import Seed
from studiogate.demo.studio import spot_ids

STAYS_AWAY = 0.06
BOOKED_BY_STAFF = 0.2
# A class that is cancelled is cancelled this long before it would have started.
NOTICE_OF_CANCELLED_CLASS = timedelta(days=2)


@dataclass(frozen=True)
class Seat:
    """``attends`` is the status where it does not follow from the clock; ``skipped`` is why a waiting person was passed
    over."""

    session: Session
    person: Person
    booked_at: datetime
    waits: bool = False
    leaves_at: datetime | None = None
    spot: str | None = None
    attends: str | None = None
    skipped: str | None = None

    def booking_id(self, seed: Seed) -> str:
        return seed.uuid("booking", self.session.id, self.person.id)

    def status(self, seed: Seed, now: datetime) -> str:
        if self.cancelled_at(now) is not None:
            return "cancelled"
        if self.waits:
            return "waitlisted"
        if self.attends is not None:
            return self.attends
        if self.session.starts > now:
            return "confirmed"
        if seed.fraction("stays away", self.session.id, self.person.id) < STAYS_AWAY:
            return "no_show" if self.session.ends <= now else "confirmed"
        return "checked_in"

    def cancelled_at(self, now: datetime) -> datetime | None:
        """When the booking was cancelled, by the person, with its class, or because they still waited at its start."""
        if self.session.cancelled:
            announced = max(self.booked_at + timedelta(minutes=1), self.session.starts - NOTICE_OF_CANCELLED_CLASS)
            return min(now, announced)
        if self.leaves_at is not None and self.leaves_at <= now:
            return self.leaves_at
        return self.session.starts if self.waits and self.session.starts <= now else None


def on_spots(seed: Seed, session: Session, seats: Iterable[Seat]) -> list[Seat]:
    """Give each seat a spot of the room, if the class has any."""
    if not session.slot.spots:
        return list(seats)
    free = seed.shuffled(spot_ids(seed, session.room), str, "spots", session.id)
    return [replace(seat, spot=spot) for seat, spot in zip(seats, free, strict=False)]


def booking_row(seed: Seed, seat: Seat, credits_taken: int, now: datetime) -> dict[str, object]:
    status = seat.status(seed, now)
    by_staff = seed.fraction("by staff", seat.session.id, seat.person.id) < BOOKED_BY_STAFF
    return {
        "id": seat.booking_id(seed),
        "class_id": seat.session.id,
        "member_id": seat.person.id,
        "status": status,
        "booking_source": "staff" if by_staff else "partner_api",
        "membership_id": membership_id(seed, seat.person),
        "class_spot_id": None if status == "cancelled" else seat.spot,
        "credits_taken": credits_taken,
        "created_at": written(seat.booked_at),
    }
