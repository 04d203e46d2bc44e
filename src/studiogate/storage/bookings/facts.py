"""The facts that the booking rules need, read in one statement after the locks are held."""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.domain.access import Access
from studiogate.domain.bookings.facts import (
    BookingFacts,
    ClassFacts,
    LiveBooking,
    MemberFacts,
    MembershipFacts,
    SpotFacts,
    SpotSelectionMode,
    WaitingEntry,
)
from studiogate.domain.bookings.policy import Policy, resolve_policy
from studiogate.domain.bookings.states import OCCUPYING, SEAT_HOLDING, BookingStatus, ClassStatus, MembershipStatus
from studiogate.domain.instants import local_day_bounds, overlaps
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import read_id
from studiogate.storage.status_lists import OPEN_ENTRY

# How many waiting entries a transaction considers at first for a free seat.
WAITING_LOOKED_AT = 100

# A class with its four levels of policy. The columns of its own row are fresh even after waiting for the lock.
CLASS_COLUMNS = """
    c.id, c.status, c.visible, c.start_time, c.end_time, c.capacity, c.booked_count, c.waitlist_count,
    c.allow_waitlist, c.spot_selection_mode, c.class_type_id, c.location_id, s.timezone, s.currency,
    json_build_array(s.policy, l.policy, t.policy, c.policy) as policies"""

CLASS_SOURCES = """
    join studios s on s.studio_id = c.studio_id
    left join locations l on l.studio_id = c.studio_id and l.id = c.location_id
    left join class_types t on t.studio_id = c.studio_id and t.id = c.class_type_id"""

# $1 studio, $2 class, $3 the given members, $4 and $5 the class's times, $6 how many waiting members.
MEMBERS = """
    with waiting as (
        select w.id, w.booking_id, w.member_id, w.position, w.skip_reason, b.policy::text
        from waitlist_entries w join bookings b on b.studio_id = w.studio_id and b.id = w.booking_id
        where w.studio_id = $1 and w.class_id = $2 and w.status = 'waiting' and w.position <= $6
    )
    select json_build_object(
        'members', booking_facts($1, $2, $3::uuid[] || array(select member_id from waiting), $4, $5),
        'waiting', (select coalesce(json_agg(waiting order by position), '[]') from waiting),
        'spots', class_spots($1, $2),
        'now', clock_timestamp())::text"""

BOOKINGS = "select cancellation_facts($1, $2)::text"

# $3: late cancellations since then count against the free ones, but for those that were undone: another booking in the
# same class replaces theirs.
LATE_CANCELS = """
    select count(*) from booking_cancellations k
    where k.studio_id = $1 and k.member_id = $2 and k.late and not k.graced_for_promotion and k.cancelled_at >= $3
      and not exists (select from bookings b where b.studio_id = $1 and b.id = k.booking_id
                      and b.moved_to_booking_id is not null)"""


class ClassSituation(NamedTuple):
    """A class with its resolved policy and its studio's time zone and currency."""

    class_: ClassFacts
    policy: Policy
    policy_json: str  # as it is frozen on a booking
    timezone: ZoneInfo
    currency: str

    @property
    def has_seat_and_waitlist(self) -> bool:
        return self.class_.available_count > 0 and self.class_.waitlist_count > 0


class PeopleSituation(NamedTuple):
    """Members by id, waiting members in order, and the class's spots."""

    members: dict[UUID, MemberFacts]
    waiting: tuple[WaitingEntry, ...]
    spots: tuple[SpotFacts, ...]
    now: datetime


class LiveEntry(NamedTuple):
    """A waitlist entry, usually one that has not ended."""

    id: UUID
    booking_id: UUID
    status: str
    position: int | None
    skip_reason: str | None


class BookingSituation(NamedTuple):
    """A booking with the membership that it was made on and its live waitlist entry."""

    booking: BookingFacts
    membership: MembershipFacts | None
    entry: LiveEntry | None
    now: datetime


def class_situation(row: Record) -> ClassSituation:
    facts = ClassFacts(
        id=row["id"],
        status=ClassStatus(row["status"]),
        visible=row["visible"],
        start_time=row["start_time"],
        end_time=row["end_time"],
        capacity=row["capacity"],
        booked_count=row["booked_count"],
        waitlist_count=row["waitlist_count"],
        allow_waitlist=row["allow_waitlist"],
        spot_selection_mode=SpotSelectionMode(row["spot_selection_mode"]) if row["spot_selection_mode"] else None,
        class_type_id=row["class_type_id"],
        location_id=row["location_id"],
    )
    policy, policy_json = _policy_of(row["policies"], row["currency"])
    return ClassSituation(facts, policy, policy_json, ZoneInfo(row["timezone"]), row["currency"])


@lru_cache(maxsize=1000)
def _policy_of(levels: str, currency: str) -> tuple[Policy, str]:
    """Return the resolved policy and its JSON; cached, because many classes have identical policy texts."""
    studio, location, class_type, own = json.loads(levels)
    policy = resolve_policy(studio, location, class_type, own).in_currency(currency)
    return policy, json.dumps(policy.as_json())


@lru_cache(maxsize=1000)
def _frozen(policy: str | None) -> Policy | None:
    """Return a booking's frozen policy; cached, because many bookings have identical policy texts. An imported booking
    has none: SQL null, JSON null or an empty object."""
    members = json.loads(policy or "null")
    return Policy.from_json(members) if members else None


async def load_members(
    connection: Connection, access: Access, situation: ClassSituation, member_ids: list[UUID], *, depth: int
) -> PeopleSituation:
    """Return the facts of the given members and of the first ``depth`` waiting members."""
    class_ = situation.class_
    arguments = (access.studio_id, class_.id, member_ids, class_.start_time, class_.end_time, depth)
    row = json.loads(await connection.fetchval(MEMBERS, *arguments))
    rows = {read_id(each["id"]): each for each in row["members"]}
    return PeopleSituation(
        {member_id: _member(situation, each, situation.policy) for member_id, each in rows.items()},
        tuple(_waiting(situation, each, rows[read_id(each["member_id"])]) for each in row["waiting"]),
        _spots(row["spots"] or []),
        _instant(row["now"]),
    )


def people_who_book(situation: ClassSituation, members: str, spots: str | None, now: datetime) -> PeopleSituation:
    """Return the facts of members, as ``booking_facts`` returned them, for when no waiting members matter."""
    found = [_member(situation, each, situation.policy) for each in json.loads(members)]
    return PeopleSituation({member.id: member for member in found}, (), _spots(json.loads(spots or "[]")), now)


def _spots(rows: list[dict[str, Any]]) -> tuple[SpotFacts, ...]:
    return tuple([SpotFacts(read_id(each["id"]), each["label"], each["held"]) for each in rows])


async def look_at_bookings(
    connection: Connection, access: Access, booking_ids: Sequence[UUID | str], classes: Sequence[ClassSituation]
) -> dict[UUID, BookingSituation]:
    """Return the facts of bookings of these classes by id. One without a policy (an imported one) has its class's."""
    return bookings_to_cancel(await connection.fetchval(BOOKINGS, access.studio_id, booking_ids), classes)


def bookings_to_cancel(rows: str, classes: Sequence[ClassSituation]) -> dict[UUID, BookingSituation]:
    """Return the facts of bookings of these classes, as ``cancellation_facts`` returned them."""
    policy_of = {each.class_.id: each.policy for each in classes}
    found = [_booking_situation(row, policy_of) for row in json.loads(rows)]
    return {each.booking.id: each for each in found}


async def look_at_booking(
    connection: Connection, access: Access, booking_id: UUID | str, situation: ClassSituation
) -> BookingSituation:
    """Return the same for one booking that exists."""
    (found,) = (await look_at_bookings(connection, access, [booking_id], [situation])).values()
    return found


def _booking_situation(row: dict[str, Any], policy_of: dict[UUID, Policy]) -> BookingSituation:
    class_id = read_id(row["class_id"])
    booking = BookingFacts(
        id=read_id(row["id"]),
        class_id=class_id,
        member_id=read_id(row["member_id"]),
        status=BookingStatus(row["status"]),
        policy=_frozen(row["policy"]) or policy_of[class_id],
        membership_id=_id(row["membership_id"]),
        credits_taken=row["credits_taken"],
        class_spot_id=_id(row["class_spot_id"]),
        promoted_at=_optional_instant(row["promoted_at"]),
        cancellation_id=_id(row["cancellation_id"]),
    )
    membership = None if row["membership"] is None else _membership(row["membership"])
    if (entry := row["entry"]) is not None:
        ids = (read_id(entry["id"]), read_id(entry["booking_id"]))
        entry = LiveEntry(*ids, entry["status"], entry["position"], entry["skip_reason"])
    return BookingSituation(booking, membership, entry, _instant(row["now"]))


_ENTRY = "select id, booking_id, status, position, skip_reason from waitlist_entries where studio_id = $1"
ENTRY = f"{_ENTRY} and id = $2"
ENTRY_OF_BOOKING = f"{_ENTRY} and booking_id = $2 and status in ({OPEN_ENTRY})"


async def entry_of_booking(connection: Connection, access: Access, booking_id: UUID | None) -> LiveEntry:
    """Return the live waitlist entry of a waitlisted booking, whose class is locked."""
    (row,) = await connection.fetch(ENTRY_OF_BOOKING, access.studio_id, booking_id)
    return LiveEntry(*row)


async def look_at_entry(connection: Connection, access: Access, entry_id: UUID) -> LiveEntry:
    """Return an existing waitlist entry of any status, whose class is locked."""
    (row,) = await connection.fetch(ENTRY, access.studio_id, entry_id)
    return LiveEntry(*row)


async def count_late_cancels(connection: Connection, access: Access, member_id: UUID, since: datetime) -> int:
    return int(await connection.fetchval(LATE_CANCELS, access.studio_id, member_id, since))


def _waiting(situation: ClassSituation, row: dict[str, Any], member_row: dict[str, object]) -> WaitingEntry:
    frozen = _frozen(row["policy"]) or situation.policy
    member = _member(situation, member_row, frozen)
    return WaitingEntry(
        read_id(row["id"]), read_id(row["booking_id"]), row["position"], member, frozen, row["skip_reason"]
    )


def _member(situation: ClassSituation, row: dict[str, Any], policy: Policy) -> MemberFacts:
    live, begins, ends = row["live_booking"], situation.class_.start_time, situation.class_.end_time
    others = [(BookingStatus(status), _instant(start), _instant(end)) for status, start, end in row["bookings_nearby"]]
    overlapping = any(status in OCCUPYING and overlaps(begins, ends, *times) for status, *times in others)
    return MemberFacts(
        id=read_id(row["id"]),
        suspended=row["suspended"],
        waiver_submitted=str(policy.waiver_form_id) in row["submitted_forms"],
        live_booking=LiveBooking(read_id(live["id"]), BookingStatus(live["status"])) if live else None,
        bookings_that_day=_of_that_day(situation, others),
        overlapping=overlapping,
        memberships=tuple([_membership(each) for each in row["memberships"]]),
        erased=row["erased"],
    )


def _of_that_day(situation: ClassSituation, others: list[tuple[BookingStatus, datetime, datetime]]) -> int:
    if not others:
        return 0
    first, following = local_day_bounds(situation.class_.start_time, situation.timezone)
    return sum(status in SEAT_HOLDING and first <= start < following for status, start, _ in others)


def _membership(row: dict[str, Any]) -> MembershipFacts:
    return MembershipFacts(
        id=read_id(row["id"]),
        status=MembershipStatus(row["status"]),
        credits_remaining=row["credits_remaining"],
        started_at=_optional_instant(row["started_at"]),
        current_period_end=_optional_instant(row["current_period_end"]),
        class_type_ids=frozenset(map(read_id, row.get("class_type_ids", ()))),
        location_ids=frozenset(map(read_id, row.get("location_ids", ()))),
        pause_starts_at=_optional_instant(row["pause_starts_at"]),
        pause_ends_at=_optional_instant(row["pause_ends_at"]),
        auto_renew=row["auto_renew"],
        cancel_at_period_end=row["cancel_at_period_end"],
        cancel_at=_optional_instant(row["cancel_at"]),
    )


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _optional_instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _id(text: str | None) -> UUID | None:
    return None if text is None else read_id(text)
