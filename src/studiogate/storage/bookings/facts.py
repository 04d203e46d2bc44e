"""What the rules look at, read in one statement after the locks are held."""

import json
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from asyncpg.pgproto import pgproto

from studiogate.domain.access import Access
from studiogate.domain.bookings import (
    BookingFacts,
    ClassFacts,
    LiveBooking,
    MemberFacts,
    MembershipFacts,
    Policy,
    SpotFacts,
    SpotSelectionMode,
    WaitingEntry,
    local_day_bounds,
    resolve_policy,
)
from studiogate.domain.bookings.states import BookingStatus, ClassStatus, MembershipStatus
from studiogate.storage.database import Connection, Record

# How many waiting entries a transaction looks at for a free seat at first.
WAITING_LOOKED_AT = 100

# A class with its four levels of policy. What its own row says is fresh even after waiting for the lock.
CLASS_COLUMNS = """
    c.id, c.status, c.visible, c.start_time, c.end_time, c.capacity, c.booked_count, c.waitlist_count,
    c.allow_waitlist, c.spot_selection_mode, c.class_type_id, c.location_id, s.timezone, s.currency,
    json_build_array(s.policy, l.policy, t.policy, c.policy) as policies"""

CLASS_SOURCES = """
    join studios s on s.studio_id = c.studio_id
    left join locations l on l.studio_id = c.studio_id and l.id = c.location_id
    left join class_types t on t.studio_id = c.studio_id and t.id = c.class_type_id"""

MEMBERSHIPS = """
    select coalesce(json_agg(row_to_json(each)), '[]') from (
        select s.id, s.status, s.credits_remaining, s.started_at, s.current_period_end, s.pause_starts_at,
               s.pause_ends_at,
               array(select o.class_type_id from product_class_types o
                     where o.studio_id = s.studio_id and o.product_id = s.product_id) as class_type_ids,
               array(select o.location_id from product_locations o
                     where o.studio_id = s.studio_id and o.product_id = s.product_id) as location_ids
        from memberships s
        where s.studio_id = m.studio_id and s.member_id = m.id and s.status in ('active', 'paused')
    ) each"""

# $1 studio, $2 class, $3 members by name, $4 and $5 the class's day, $6 and $7 its times.
# No class lasts longer than a week, so that far back an overlap can begin.
FACTS = f"""
    m.id, m.suspended, ({MEMBERSHIPS}) as memberships,
    (select json_build_object('id', b.id, 'status', b.status) from bookings b
     where b.studio_id = $1 and b.class_id = $2 and b.member_id = m.id and b.status <> 'cancelled') as live_booking,
    (select count(*) from bookings b
     where b.studio_id = $1 and b.member_id = m.id and b.class_id <> $2
       and b.status in ('confirmed', 'checked_in', 'no_show')
       and b.start_time >= $4 and b.start_time < $5) as bookings_that_day,
    exists (select from bookings b
     where b.studio_id = $1 and b.member_id = m.id and b.class_id <> $2 and b.status in ('confirmed', 'checked_in')
       and b.start_time < $7 and b.start_time > $6::timestamptz - interval '7 days' and b.end_time > $6) as overlapping,
    array(select distinct f.form_id from form_submissions f
          where f.studio_id = $1 and f.member_id = m.id and f.status in ('pending', 'confirmed')) as submitted_forms"""

# For one member and a class without spots, where nobody who waits matters: most bookings need no more, and what a
# statement does not contain need not be set up for it. Here $3 is the member.
MEMBER_ALONE = f"""
    select json_build_object(
        'members', coalesce(json_agg(facts), '[]'), 'waiting', '[]'::json, 'spots', '[]'::json,
        'now', clock_timestamp())::text
    from (select {FACTS} from members m where m.studio_id = $1 and m.id = $3) facts"""

# $8 how many who wait.
MEMBERS = f"""
    with waiting as (
        select w.id, w.booking_id, w.member_id, w.position, w.skip_reason, b.policy
        from waitlist_entries w join bookings b on b.studio_id = w.studio_id and b.id = w.booking_id
        where w.studio_id = $1 and w.class_id = $2 and w.status = 'waiting' and w.position <= $8
    ), facts as (
        select {FACTS} from members m
        where m.studio_id = $1 and m.id = any($3::uuid[] || array(select member_id from waiting))
    )
    select json_build_object(
        'members', (select coalesce(json_agg(facts), '[]') from facts),
        'waiting', (select coalesce(json_agg(waiting order by position), '[]') from waiting),
        'spots', (select coalesce(json_agg(json_build_object('id', p.id, 'label', p.label, 'held', exists (
                      select from bookings b where b.studio_id = $1 and b.class_id = $2 and b.class_spot_id = p.id
                      and b.status <> 'cancelled'))), '[]')
                  from classes c join room_spots p on p.studio_id = c.studio_id and p.room_id = c.room_id
                  where c.studio_id = $1 and c.id = $2 and c.spot_selection_mode is not null),
        'now', clock_timestamp())::text"""

# $3: late cancels since then use up the free ones.
BOOKING = """
    select row_to_json(w)::text from (
        select b.id, b.class_id, b.member_id, b.status, b.policy, b.membership_id, b.credits_taken, b.class_spot_id,
               b.promoted_at, k.id as cancellation_id, row_to_json(s) as membership
        from bookings b
        left join booking_cancellations k on k.studio_id = b.studio_id and k.booking_id = b.id
        left join memberships s on s.studio_id = b.studio_id and s.id = b.membership_id
        where b.studio_id = $1 and b.id = $2
    ) w"""

LATE_CANCELS = """
    select count(*) from booking_cancellations k
    where k.studio_id = $1 and k.member_id = $2 and k.late and not k.graced_for_promotion and k.cancelled_at >= $3"""


@dataclass(frozen=True, slots=True)
class ClassSituation:
    """A class with its resolved policy, in its studio's terms."""

    class_: ClassFacts
    policy: Policy
    timezone: ZoneInfo
    currency: str

    @property
    def has_seat_and_waitlist(self) -> bool:
        return self.class_.available_count > 0 and self.class_.waitlist_count > 0


@dataclass(frozen=True, slots=True)
class PeopleSituation:
    """Members by id, those who wait in their order, and the class's spots."""

    members: dict[UUID, MemberFacts]
    waiting: tuple[WaitingEntry, ...]
    spots: tuple[SpotFacts, ...]
    now: datetime


@dataclass(frozen=True, slots=True)
class BookingSituation:
    booking: BookingFacts
    membership: MembershipFacts | None


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
    return ClassSituation(facts, _policy_of(row["policies"]), ZoneInfo(row["timezone"]), row["currency"])


@lru_cache(maxsize=1000)
def _policy_of(levels: str) -> Policy:
    """Many classes have the same policies, to the letter."""
    studio, location, class_type, own = json.loads(levels)
    return resolve_policy(studio, location, class_type, own)


async def look_at_people(
    connection: Connection, access: Access, situation: ClassSituation, member_ids: list[UUID], *, depth: int
) -> PeopleSituation:
    """The members by name, and the first ``depth`` of those who wait."""
    class_ = situation.class_
    day = local_day_bounds(class_.start_time, situation.timezone)
    times = (class_.start_time, class_.end_time)
    studio_and_class = (access.studio_id, class_.id)
    if depth == 0 and class_.spot_selection_mode is None and len(member_ids) == 1:
        text = await connection.fetchval(MEMBER_ALONE, *studio_and_class, *member_ids, *day, *times)
    else:
        text = await connection.fetchval(MEMBERS, *studio_and_class, member_ids, *day, *times, depth)
    row = json.loads(text)
    raw_members = {_uuid(each["id"]): each for each in row["members"]}
    policy = situation.policy
    return PeopleSituation(
        {member_id: _member(each, policy) for member_id, each in raw_members.items()},
        tuple(_waiting(each, raw_members, policy) for each in row["waiting"]),
        tuple(SpotFacts(_uuid(each["id"]), each["label"], each["held"]) for each in row["spots"]),
        _instant(row["now"]),
    )


async def look_at_booking(
    connection: Connection, access: Access, booking_id: UUID | str, policy: Policy
) -> BookingSituation:
    """``policy`` is the class's own, for a booking that has none frozen on it (an imported one)."""
    row = json.loads(await connection.fetchval(BOOKING, access.studio_id, booking_id))
    booking = BookingFacts(
        id=_uuid(row["id"]),
        class_id=_uuid(row["class_id"]),
        member_id=_uuid(row["member_id"]),
        status=BookingStatus(row["status"]),
        policy=Policy.from_json(row["policy"]) if row["policy"] else policy,
        membership_id=_id(row["membership_id"]),
        credits_taken=row["credits_taken"],
        class_spot_id=_id(row["class_spot_id"]),
        promoted_at=_optional_instant(row["promoted_at"]),
        cancellation_id=_id(row["cancellation_id"]),
    )
    membership = row["membership"]
    return BookingSituation(booking, None if membership is None else _membership(membership))


async def count_late_cancels(connection: Connection, access: Access, member_id: UUID, since: datetime) -> int:
    return int(await connection.fetchval(LATE_CANCELS, access.studio_id, member_id, since))


async def look_at_clock(connection: Connection) -> datetime:
    instant: datetime = await connection.fetchval("select clock_timestamp()")
    return instant


def _member(row: dict[str, Any], policy: Policy) -> MemberFacts:
    live = row["live_booking"]
    return MemberFacts(
        id=_uuid(row["id"]),
        suspended=row["suspended"],
        waiver_submitted=str(policy.waiver_form_id) in row["submitted_forms"],
        live_booking=LiveBooking(_uuid(live["id"]), BookingStatus(live["status"])) if live else None,
        bookings_that_day=row["bookings_that_day"],
        overlapping=row["overlapping"],
        memberships=tuple(_membership(each) for each in row["memberships"]),
    )


def _waiting(row: dict[str, Any], members: dict[UUID, dict[str, Any]], policy: Policy) -> WaitingEntry:
    frozen = Policy.from_json(row["policy"]) if row["policy"] else policy
    member = _member(members[_uuid(row["member_id"])], frozen)
    return WaitingEntry(_uuid(row["id"]), _uuid(row["booking_id"]), row["position"], member, frozen, row["skip_reason"])


def _membership(row: dict[str, Any]) -> MembershipFacts:
    return MembershipFacts(
        id=_uuid(row["id"]),
        status=MembershipStatus(row["status"]),
        credits_remaining=row["credits_remaining"],
        started_at=_optional_instant(row["started_at"]),
        current_period_end=_optional_instant(row["current_period_end"]),
        class_type_ids=frozenset(map(_uuid, row.get("class_type_ids", ()))),
        location_ids=frozenset(map(_uuid, row.get("location_ids", ()))),
        pause_starts_at=_optional_instant(row["pause_starts_at"]),
        pause_ends_at=_optional_instant(row["pause_ends_at"]),
    )


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _optional_instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _uuid(text: str) -> UUID:
    """The driver's own kind of UUID is made at a tenth of the cost."""
    return pgproto.UUID(text)


def _id(text: str | None) -> UUID | None:
    return None if text is None else _uuid(text)
