"""What the templates of the front desk show, computed from the rows: cards, rosters, spot maps, rules in sentences."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from studiogate.console.framework.formats import clock_time, counted, day, local, money
from studiogate.domain.bookings.policy import LateAction, Policy, WaitlistMode
from studiogate.domain.bookings.roster import RosterWarning, roster_warnings
from studiogate.domain.bookings.states import BookingStatus, ClassStatus, attendance_refusal, class_status
from studiogate.storage.bookings.roster import Seat
from studiogate.storage.schedule.day import DayClass, Spot

ALL = "all"  # locations
SOON_MINUTES = 60
OPENS_BEFORE_START = timedelta(minutes=20)
RECENT_DAYS = 7
PARTS_OF_DAY = ((12, "Morning"), (15, "Midday"), (17, "Afternoon"), (24, "Evening"))


class Badge(NamedTuple):
    """A short label; ``kind`` is one of the design system's: good, warn, danger, info or none."""

    text: str
    kind: str = ""


class ClassCard(NamedTuple):
    class_: DayClass
    status: ClassStatus
    badges: tuple[Badge, ...]

    @property
    def is_over(self) -> bool:
        return self.status in (ClassStatus.COMPLETED, ClassStatus.CANCELLED)

    @property
    def booked_share(self) -> int:
        """The percentage of seats that are booked."""
        return _percentage(self.class_.booked_count, self.class_.capacity)

    @property
    def checked_in_share(self) -> int:
        return _percentage(self.class_.checked_in_count, self.class_.capacity)


def _percentage(part: int, whole: int) -> int:
    return min(100, round(100 * part / max(1, whole)))


class SeatRow(NamedTuple):
    seat: Seat
    warnings: tuple[RosterWarning, ...]
    can_check_in: bool
    can_mark_absent: bool

    @property
    def is_open(self) -> bool:
        """Whether neither a check-in nor a no-show was noted."""
        return self.seat.status == BookingStatus.CONFIRMED

    @property
    def waiver_is_missing(self) -> bool:
        return RosterWarning.WAIVER_MISSING in self.warnings


def card_of(class_: DayClass) -> ClassCard:
    status = class_status(class_.status, class_.start_time, class_.end_time, class_.now)
    return ClassCard(class_, status, tuple(_badges(class_, status)))


def _badges(class_: DayClass, status: ClassStatus) -> Iterator[Badge]:
    """Yield when the class is, then whether somebody has to do something about it."""
    if status == ClassStatus.CANCELLED:
        yield Badge("cancelled")
        return
    if status == ClassStatus.COMPLETED:
        yield Badge("done", "good")
        return
    if status == ClassStatus.IN_PROGRESS:
        yield Badge("on now", "good")
    elif (minutes := int((class_.start_time - class_.now).total_seconds() // 60) + 1) <= SOON_MINUTES:
        yield Badge(f"in {minutes} min", "warn")
    if class_.instructor is None:
        yield Badge("needs cover", "danger")
    if class_.waitlist_count:
        yield Badge(f"{class_.waitlist_count} waiting", "info")
    elif class_.booked_count >= class_.capacity:
        yield Badge("full", "info")


def by_part_of_day(cards: Sequence[ClassCard]) -> list[tuple[str, list[ClassCard]]]:
    """Return the cards in groups: morning, midday, afternoon, evening of the place where each class is."""

    def part_of_day(card: ClassCard) -> str:
        hour = local(card.class_.start_time, card.class_.timezone).hour
        return next(name for before, name in PARTS_OF_DAY if hour < before)

    return [(part, list(group)) for part, group in groupby(cards, key=part_of_day)]


def by_location(cards: Sequence[ClassCard]) -> list[tuple[str, list[ClassCard]]]:
    """Return the cards in groups by location, for a list of all locations; classes without one come last."""
    ordered = sorted(cards, key=lambda card: (card.class_.location is None, card.class_.location or ""))
    return [
        (place or "No location", list(group))
        for place, group in groupby(ordered, key=lambda card: card.class_.location)
    ]


def chosen_class(cards: Sequence[ClassCard]) -> ClassCard | None:
    """Return the class that the desk works on now: the next one shortly before its start, else the first that is not
    over, else the last of the day."""
    open_ = [card for card in cards if not card.is_over]
    soon = (each for each in open_ if timedelta() < each.class_.start_time - each.class_.now <= OPENS_BEFORE_START)
    return next(soon, open_[0] if open_ else cards[-1] if cards else None)


def neighbours(cards: Sequence[ClassCard], class_: DayClass) -> tuple[UUID | None, UUID | None]:
    """Return the classes before and after one of the list, in the order of their starts."""
    ids = [each.class_.id for each in cards]
    if class_.id not in ids:
        return None, None
    at = ids.index(class_.id)
    return ids[at - 1] if at else None, ids[at + 1] if at + 1 < len(ids) else None


def seat_row(seat: Seat, class_: DayClass, policy: Policy, *, sees_fees: bool) -> SeatRow:
    day = local(class_.start_time, class_.timezone).date()
    warnings = roster_warnings(seat.person.attendee, policy, day)
    if not sees_fees:
        warnings = tuple(each for each in warnings if each is not RosterWarning.FEE_OPEN)
    return SeatRow(
        seat,
        warnings,
        _may_become(BookingStatus.CHECKED_IN, seat, class_),
        _may_become(BookingStatus.NO_SHOW, seat, class_),
    )


def _may_become(status: BookingStatus, seat: Seat, class_: DayClass) -> bool:
    """Return whether staff can mark a booking that has not been marked yet."""
    if class_.status == ClassStatus.CANCELLED or seat.status != BookingStatus.CONFIRMED:
        return False
    return attendance_refusal(seat.status, status, class_.start_time, class_.now) is None


def membership_text(seat: Seat) -> str:
    """Return what the booking was made on, such as "10-pack, 3 left"."""
    if seat.membership is None:
        return "no membership used"
    if seat.credits_remaining is None:
        return seat.membership
    return f"{seat.membership}, {seat.credits_remaining} left"


def free_seats(class_: DayClass) -> int:
    return max(0, class_.capacity - class_.booked_count)


class Place(NamedTuple):
    """A day and a location, as they are in the URL of Today."""

    day: str
    location: str

    def url(self, *, day: str = "", location: str = "") -> str:
        return "/console/today?" + urlencode({"day": day or self.day, "location": location or self.location})

    def url_of(self, class_id: UUID) -> str:
        """Return the address of a class in this list, as a relative one: the class implies its day and location."""
        return f"?location={ALL}&class={class_id}" if self.location == ALL else f"?class={class_id}"


def today_url(class_: DayClass) -> str:
    """Return where Today shows a class, on its day and at its location."""
    return f"/console/today?class={class_.id}"


def day_url(class_: DayClass) -> str:
    """Return the day of a class, without opening the class."""
    day = local(class_.start_time, class_.timezone).date()
    return Place(day.isoformat(), str(class_.location_id or ALL)).url()


class SpotView(NamedTuple):
    """A spot on the map, in the units of the map, and who has it."""

    id: UUID
    label: str
    x: float
    y: float
    seat: Seat | None


class SpotMap(NamedTuple):
    """The spots of a room on a map that is 100 units wide."""

    spots: list[SpotView]
    height: float

    @property
    def taken(self) -> int:
        return sum(spot.seat is not None for spot in self.spots)


SPOTS_PER_ROW, ROW_HEIGHT, MAX_HEIGHT, MARGIN = 6, 17.0, 120.0, 8.0


def spot_map(spots: Sequence[Spot], seats: Sequence[Seat]) -> SpotMap:
    """Return the spots with their people. Coordinates are scaled to the map; without them, spots are put in rows."""
    held = {seat.spot_id: seat for seat in seats if seat.spot_id is not None}
    points = [(spot.x, spot.y) for spot in spots if spot.x is not None and spot.y is not None]
    if len(points) < len(spots):
        points = [(float(number % SPOTS_PER_ROW), float(number // SPOTS_PER_ROW)) for number in range(len(spots))]
    columns, rows = [x for x, _ in points], [y for _, y in points]
    height = min(MAX_HEIGHT, ROW_HEIGHT * max(1, len(set(rows))))
    views = []
    for spot, (x, y) in zip(spots, points, strict=True):
        place = (_scaled(x, columns, 100.0), _scaled(y, rows, height))
        views.append(SpotView(spot.id, spot.label, *place, held.get(spot.id)))
    return SpotMap(views, height)


def _scaled(value: float, all_values: Sequence[float], size: float) -> float:
    """Return a coordinate between the margins of the map."""
    low, high = min(all_values), max(all_values)
    return size / 2 if high == low else round(MARGIN + (size - 2 * MARGIN) * (value - low) / (high - low), 1)


def moment(instant: datetime, class_: DayClass) -> str:
    """Return when something happened: the time of today, the weekday of this week, else the date."""
    then, now = local(instant, class_.timezone), local(class_.now, class_.timezone)
    days = (now.date() - then.date()).days
    if days <= 0:
        return clock_time(then)
    return f"{then:%a} {clock_time(then)}" if days < RECENT_DAYS else day(then)


# The booking rules of a class in sentences, for the help beside them.

MINUTES_PER_HOUR = 60


def duration(minutes: int) -> str:
    """Return a number of minutes in words, such as "12 h" or "90 min"."""
    hours, rest = divmod(minutes, MINUTES_PER_HOUR)
    return f"{hours} h" if hours and not rest else f"{minutes} min"


def late_cancellation(policy: Policy, currency: str) -> str:
    if not policy.cancellation_window_minutes:
        return "Cancelling is free until the class starts."
    when = f"Cancelling later than {duration(policy.cancellation_window_minutes)} before the start"
    fee = policy.late_fee(currency)
    amount = None if fee is None else f"a fee of {money(fee.amount, fee.currency)}"
    cost = {
        LateAction.NONE: None,
        LateAction.FEE: amount,
        LateAction.FORFEIT_CREDIT: "the credit",
        LateAction.FEE_AND_FORFEIT: f"the credit and {amount}" if amount else "the credit",
    }[policy.late_action]
    if cost is None:
        return f"{when} is free as well."
    text = f"{when} costs {cost}."
    if policy.free_late_cancels:
        number, days = policy.free_late_cancels, policy.free_late_cancels_days
        text += (
            f" {counted(number, 'late cancellation')} in {counted(days, 'day')} {'is' if number == 1 else 'are'} free."
        )
    return text


def waitlist_text(policy: Policy) -> str:
    if policy.waitlist_mode is WaitlistMode.OFF:
        return "Nobody can wait for a seat in this class."
    if policy.waitlist_mode is WaitlistMode.MANUAL:
        return "A free seat is kept for waiting members until the desk promotes one."
    cutoff = duration(policy.promotion_cutoff_minutes)
    text = f"A free seat goes to the first waiting member who may book, until {cutoff} before the start."
    return f"{text} Then anybody can book it."
