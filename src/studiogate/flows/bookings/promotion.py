"""Free seats go to those who wait, inside the transaction that freed them."""

from dataclasses import replace
from datetime import datetime

from studiogate.domain.access import Access
from studiogate.domain.bookings import (
    ClassFacts,
    Promote,
    PromotionStep,
    SpotFacts,
    WaitingEntry,
    eligible_waiting,
    plan_promotions,
    seats_open_to_newcomers,
)
from studiogate.flows.bookings import announcing
from studiogate.storage.bookings import recording
from studiogate.storage.bookings.facts import ClassSituation, PeopleSituation
from studiogate.storage.database import Connection


async def promote(
    connection: Connection, access: Access, situation: ClassSituation, people: PeopleSituation
) -> tuple[ClassSituation, PeopleSituation]:
    """Give free seats to eligible entries in join order; return what the class and its people are then."""
    class_ = situation.class_
    steps = plan_promotions(class_, situation.policy, people.waiting, people.spots, people.now)
    promoted = await record_steps(connection, access, class_, steps, people.now)
    if not promoted:
        return situation, people
    return _after(situation, people, promoted)


async def record_steps(
    connection: Connection, access: Access, class_: ClassFacts, steps: list[PromotionStep], now: datetime
) -> list[tuple[WaitingEntry, Promote]]:
    promoted = []
    for step in steps:
        if isinstance(step.verdict, Promote):
            await recording.record_promotion(connection, access, class_.id, step.entry.booking_id, step.verdict, now)
            promoted.append((step.entry, step.verdict))
        else:
            await recording.record_skip(connection, access, step.entry.id, step.verdict.skip_reason)
    if promoted:
        renumbered = await recording.renumber(connection, access, class_.id)
        await announcing.promoted(connection, access, promoted)
        await announcing.moved_up(connection, access, renumbered)
    return promoted


def _after(
    situation: ClassSituation, people: PeopleSituation, promoted: list[tuple[WaitingEntry, Promote]]
) -> tuple[ClassSituation, PeopleSituation]:
    class_ = situation.class_
    seated = {entry.id for entry, _ in promoted}
    taken = {verdict.class_spot_id for _, verdict in promoted}
    class_ = replace(
        class_,
        booked_count=class_.booked_count + len(promoted),
        waitlist_count=class_.waitlist_count - len(promoted),
    )
    waiting = tuple(entry for entry in people.waiting if entry.id not in seated)
    spots = tuple(SpotFacts(spot.id, spot.label, spot.held or spot.id in taken) for spot in people.spots)
    return replace(situation, class_=class_), replace(people, waiting=waiting, spots=spots)


def open_seats(situation: ClassSituation, people: PeopleSituation) -> int:
    """Seats that a newcomer may take: the free ones that nobody eligible waits for."""
    class_ = situation.class_
    eligible = eligible_waiting(class_, people.waiting, people.spots, people.now) if people.waiting else 0
    return seats_open_to_newcomers(class_, situation.policy, eligible, people.now)
