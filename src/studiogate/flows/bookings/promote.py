"""Give free seats to waiting members, inside the transaction that freed them."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings import facts as domain_facts
from studiogate.domain.bookings import waitlist
from studiogate.domain.bookings.entitlement import is_behind
from studiogate.domain.bookings.states import BookingStatus, WaitlistStatus
from studiogate.domain.bookings.waitlist import Promote, PromotionStep, plan_promotions
from studiogate.domain.events import POSITIONS_ANNOUNCED, EventType
from studiogate.flows.memberships import catch_up
from studiogate.flows.staff_flow import undone
from studiogate.storage.bookings import create, facts
from studiogate.storage.bookings import lock as booking_locks
from studiogate.storage.bookings.cancel import NewCancellation
from studiogate.storage.bookings.facts import ClassSituation, LiveEntry, PeopleSituation
from studiogate.storage.db.pool import Connection
from studiogate.storage.events import Change, emit

Entry = domain_facts.WaitingEntry | LiveEntry


class MembersToLoad(NamedTuple):
    """Members of a request, and the seats to be given to waiting members. A preview locks and changes nothing."""

    member_ids: list[UUID]
    seats: int
    lock: bool = True
    preview: bool = False


class PromotionPlan(NamedTuple):
    """What becomes of waiting members. If ``someone_left``, those behind move up even if nobody is promoted."""

    steps: Sequence[PromotionStep]
    at: datetime
    someone_left: bool = False


async def load_members(
    connection: Connection, access: Access, situation: ClassSituation, concerned: MembersToLoad
) -> PeopleSituation:
    """Read the members, and as many waiting members as it takes to decide who gets the free seats. If the first hundred
    leave a seat free, all are read: a newcomer must not overtake one further back. Locks are then taken in two steps,
    out of order; if that causes a deadlock, PostgreSQL breaks it and the transaction is repeated."""
    seats = concerned.seats
    waiting = situation.class_.waitlist_count if seats > 0 else 0
    depth = min(waiting, facts.WAITING_LOOKED_AT)
    while True:
        people = await _read_people(connection, access, situation, concerned, depth)
        if depth == waiting or not _leaves_seats_over(situation, people, seats):
            return people
        depth = waiting


async def _read_people(
    connection: Connection, access: Access, situation: ClassSituation, concerned: MembersToLoad, depth: int
) -> PeopleSituation:
    """Read the members, with their memberships as they are once what is due has been applied."""
    if concerned.lock and not concerned.preview:
        await booking_locks.lock_members(connection, access, situation.class_.id, concerned.member_ids, depth=depth)
    people = await facts.load_members(connection, access, situation, concerned.member_ids, depth=depth)
    behind = members_behind(people)
    if not behind:
        return people
    async with undone(connection) if concerned.preview else nullcontext():
        if concerned.preview:
            await booking_locks.lock_members(connection, access, situation.class_.id, behind)
        await catch_up(connection, access, behind)
        return await facts.load_members(connection, access, situation, concerned.member_ids, depth=depth)


def members_behind(people: PeopleSituation) -> list[UUID]:
    """Return the members with a membership that is usable again once what is due has been applied. Housekeeping may be
    a minute behind, or down: nobody must be refused or overtaken because of that."""
    members = [*people.members.values(), *(entry.member for entry in people.waiting)]
    return [each.id for each in members if any(is_behind(held, people.now) for held in each.memberships)]


def _leaves_seats_over(situation: ClassSituation, people: PeopleSituation, seats: int) -> bool:
    class_ = situation.class_._replace(booked_count=situation.class_.capacity - seats)
    if not waitlist.promotion_is_open(class_, situation.policy, people.now):
        return False
    return waitlist.eligible_waiting(class_, people.waiting, people.spots, people.now) < seats


async def promote(
    connection: Connection, access: Access, situation: ClassSituation, people: PeopleSituation
) -> tuple[ClassSituation, PeopleSituation]:
    """Give free seats to eligible entries in join order; return the class and its people afterwards."""
    class_ = situation.class_
    steps = plan_promotions(class_, situation.policy, people.waiting, people.spots, people.now)
    return after_promotions(
        situation, people, await record_steps(connection, access, class_, PromotionPlan(steps, people.now))
    )


async def record_steps(
    connection: Connection, access: Access, class_: domain_facts.ClassFacts, plan: PromotionPlan
) -> list[tuple[domain_facts.WaitingEntry, Promote]]:
    """Write who is promoted and who is skipped, close the gaps on the waitlist and announce it; return the promoted."""
    promoted, skipped = [], {}
    for step in plan.steps:
        if isinstance(step.verdict, Promote):
            taken = create.TakenSeat(step.verdict, plan.at, promoted=True)
            await create.record_promotion(connection, access, class_.id, step.entry.booking_id, taken)
            promoted.append((step.entry, step.verdict))
        elif step.entry.skip_reason != step.verdict.skip_reason:
            await create.record_skip(connection, access, step.entry.id, step.verdict.skip_reason)
            skipped[step.entry.id] = step.entry.skip_reason
    if promoted or plan.someone_left:
        await close_gaps(connection, access, class_.id, promoted, skipped)
    return promoted


async def close_gaps(
    connection: Connection,
    access: Access,
    class_id: UUID,
    promotions: Sequence[tuple[Entry, Promote]],
    skipped: Mapping[UUID, str | None] = MappingProxyType({}),
) -> None:
    """Number the waitlist again after promotions. Announce these, and the new positions near the front. ``skipped``
    holds the skip reasons that entries had before, where they changed in this transaction."""
    renumbered = await create.renumber(connection, access, class_id)
    bookings = [Change(entry.booking_id, _waitlisted(entry, verdict)) for entry, verdict in promotions]
    await emit(connection, access, EventType.BOOKING_UPDATED, *bookings)
    entries = [Change(entry.id, _waiting(entry)) for entry, _ in promotions]
    await emit(connection, access, EventType.WAITLIST_UPDATED, *entries)
    near = [each for each in renumbered if each.position <= POSITIONS_ANNOUNCED]
    moved = [Change(each.entry_id, _moved(each, skipped)) for each in near]
    await emit(connection, access, EventType.WAITLIST_UPDATED, *moved)


def _waitlisted(entry: Entry, verdict: Promote) -> dict[str, object]:
    previous: dict[str, object] = {"status": BookingStatus.WAITLISTED.value}
    if entry.position is not None:
        previous["waitlist_position"] = entry.position
    return previous if verdict.class_spot_id is None else {**previous, "class_spot_id": None}


def _waiting(entry: Entry) -> dict[str, object]:
    status = entry.status if isinstance(entry, LiveEntry) else WaitlistStatus.WAITING.value
    previous: dict[str, object] = {"status": status, "converted_to_booking": False, "promoted_at": None}
    if entry.position is not None:
        previous["position"] = entry.position
    return previous if entry.skip_reason is None else {**previous, "skip_reason": entry.skip_reason}


def _moved(each: create.Renumbered, skipped: Mapping[UUID, str | None]) -> dict[str, object]:
    previous: dict[str, object] = {"position": each.position_before}
    return {**previous, "skip_reason": skipped[each.entry_id]} if each.entry_id in skipped else previous


def after_promotions(
    situation: ClassSituation, people: PeopleSituation, promoted: list[tuple[domain_facts.WaitingEntry, Promote]]
) -> tuple[ClassSituation, PeopleSituation]:
    class_ = situation.class_
    seated = {entry.id for entry, _ in promoted}
    taken = {verdict.class_spot_id for _, verdict in promoted}
    class_ = class_._replace(
        booked_count=class_.booked_count + len(promoted), waitlist_count=class_.waitlist_count - len(promoted)
    )
    waiting = tuple(entry for entry in people.waiting if entry.id not in seated)
    spots = _with_held(people.spots, taken)
    members = dict(people.members)
    for entry, verdict in promoted:
        if entry.member.id in members:
            live = domain_facts.LiveBooking(entry.booking_id, BookingStatus.CONFIRMED)
            members[entry.member.id] = _paid_by(members[entry.member.id], verdict)._replace(live_booking=live)
    return situation._replace(class_=class_), people._replace(members=members, waiting=waiting, spots=spots)


def after_booking(
    situation: ClassSituation, people: PeopleSituation, new: create.NewBooking
) -> tuple[ClassSituation, PeopleSituation]:
    """Return the class and its people after a new booking, for the next decision. A new waitlist entry is not added to
    ``waiting``: before a cancellation frees a seat, waiting members are read again."""
    decision, class_ = new.decision, situation.class_
    if new.position is not None:
        class_ = class_._replace(waitlist_count=class_.waitlist_count + 1)
    else:
        left = class_.waitlist_count - (decision.converts is not None)
        class_ = class_._replace(booked_count=class_.booked_count + 1, waitlist_count=left)
    taken = Promote(decision.membership, decision.class_spot_id, decision.credits_required)
    live = domain_facts.LiveBooking(new.id, BookingStatus(decision.outcome.value))
    member = _paid_by(people.members[new.member_id], taken)._replace(live_booking=live)
    waiting = tuple(entry for entry in people.waiting if entry.booking_id != new.id) if people.waiting else ()
    spots = _with_held(people.spots, {decision.class_spot_id}) if people.spots else ()
    people.members[new.member_id] = member
    return situation._replace(class_=class_), people._replace(waiting=waiting, spots=spots)


def after_cancellation(people: PeopleSituation, new: NewCancellation) -> PeopleSituation:
    """Return the people of a class without waiting members after a cancellation, for the next decision."""
    booking, cancellation = new.booking, new.cancellation
    member = people.members.get(booking.member_id)
    if member is not None:
        returned, to = cancellation.credits_returned, cancellation.membership_id
        held = tuple(_with_credits(each, returned) if each.id == to else each for each in member.memberships)
        people.members[member.id] = member._replace(memberships=held, live_booking=None)
    spots = tuple(spot._replace(held=spot.held and spot.id != booking.class_spot_id) for spot in people.spots)
    return people._replace(spots=spots)


def _paid_by(member: domain_facts.MemberFacts, verdict: Promote) -> domain_facts.MemberFacts:
    held, taken = member.memberships, -verdict.credits_taken
    paid = (_with_credits(each, taken) if each.id == verdict.membership_id else each for each in held)
    return member._replace(memberships=tuple(paid))


def _with_held(
    spots: tuple[domain_facts.SpotFacts, ...], taken: Collection[UUID | None]
) -> tuple[domain_facts.SpotFacts, ...]:
    return tuple(domain_facts.SpotFacts(spot.id, spot.label, spot.held or spot.id in taken) for spot in spots)


def _with_credits(membership: domain_facts.MembershipFacts, more: int) -> domain_facts.MembershipFacts:
    if membership.credits_remaining is None:
        return membership
    return membership._replace(credits_remaining=membership.credits_remaining + more)


def open_seats(situation: ClassSituation, people: PeopleSituation) -> int:
    """Return how many seats a newcomer may take: the free ones that no eligible member waits for."""
    class_ = situation.class_
    eligible = waitlist.eligible_waiting(class_, people.waiting, people.spots, people.now) if people.waiting else 0
    return waitlist.seats_open_to_newcomers(class_, situation.policy, eligible, people.now)
