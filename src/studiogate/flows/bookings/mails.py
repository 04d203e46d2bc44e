"""Turn committed events into queued mails to members, exactly once; claim these mails for the worker.

The event of a booking is the outbox, so that mails do not lengthen the time for which a class is locked. The mails and
the studio's cursor are written in one transaction: a worker that dies leaves both or neither."""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from uuid import UUID

from studiogate.domain import mails as rules
from studiogate.domain.access import Access, system_access
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.bookings import mail_texts
from studiogate.flows.changes import audited
from studiogate.flows.mails import LEASE_SECONDS, ClaimedMail
from studiogate.flows.retry import studios_with
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage.audit import Subject
from studiogate.storage.bookings import mails
from studiogate.storage.bookings.mails import DueMail, MailedEvent, MemberMail, Place
from studiogate.storage.db.pool import Connection, Database
from studiogate.storage.mails import mark_failed

EVENTS_AT_ONCE = 500
NEWS = "news"


async def queue_news(database: Database, studio_id: UUID) -> bool:
    """Queue the mails of the next events, those that come too late as failed; return whether there are more events."""
    access = system_access(studio_id)
    async with database.transaction() as connection:
        seen = await mails.lock_cursor(connection, access)
        place = await mails.read_place(connection, access)
        until = min(place.head, seen + EVENTS_AT_ONCE)
        if until <= seen:
            return False
        events = await mails.read_news(connection, access, seen, until)
        wanted = await _wanted(connection, access, place, events, rules.kind_of)
        await mails.queue(connection, access, await _within_limits(connection, access, wanted))
        late = await _wanted(connection, access, place, events, rules.late_kind_of)
        await mails.queue(connection, access, late, rules.TOO_LATE)
        await mails.advance(connection, access, until)
    return until < place.head


async def skip_old_news(database: Database) -> None:
    """Pass over the events that are too old for mails, while no mail server is configured: nobody was promised mails
    then, so that these do not count as dropped once there is a server."""
    for studio_id in await studios_with(database, NEWS):
        access, has_more = system_access(studio_id), True
        while has_more:
            async with database.transaction() as connection:
                seen = await mails.lock_cursor(connection, access)
                until = await mails.last_old_event(connection, access, seen, EVENTS_AT_ONCE, rules.NEWS_LASTS)
                has_more = until is not None
                if until is not None:
                    await mails.advance(connection, access, until)


async def _wanted(
    connection: Connection,
    access: Access,
    place: Place,
    events: Iterable[MailedEvent],
    kind_of_news: Callable[[rules.News, datetime], rules.MailKind | None],
) -> list[MemberMail]:
    wanted = []
    for event in events:
        kind = kind_of_news(event.news, place.now)
        if kind is None or not rules.is_switched_on(kind, place.switches, test=place.test):
            continue
        recipients = [] if event.recipient is None else [event.recipient]
        if kind is rules.MailKind.CLASS_CHANGED:
            news = event.news
            recipients = await mails.members_of_class(connection, access, news.class_id, news.created_at)
        wanted += [MemberMail(kind, event.news.event_id, recipient) for recipient in recipients]
    return wanted


async def _within_limits(connection: Connection, access: Access, wanted: list[MemberMail]) -> list[MemberMail]:
    """Return the mails that do not exceed the limit per member and hour. The cursor is locked, so the count holds."""
    members = list({mail.recipient.member_id for mail in wanted})
    counts = Counter(await mails.mails_within_the_hour(connection, access, members) if members else {})
    kept = []
    for mail in wanted:
        counts[mail.recipient.member_id] += 1
        if counts[mail.recipient.member_id] <= rules.MAILS_PER_HOUR:
            kept.append(mail)
    return kept


async def claim(database: Database, studio_id: UUID, at_most: int) -> list[ClaimedMail]:
    """Claim mails that are due. All that are no news any more are dropped, so that they do not hold up the others."""
    while True:
        async with database.transaction() as connection:
            due = await mails.claim(connection, system_access(studio_id), at_most, LEASE_SECONDS)
            kept = await _without_old_news(connection, system_access(studio_id), due)
        if kept or not due:
            rows = [each.columns for each in kept]
            return [
                ClaimedMail(studio_id, row["id"], row["attempts"], partial(mail_texts.content, row)) for row in rows
            ]


async def _without_old_news(connection: Connection, access: Access, due: Iterable[DueMail]) -> list[DueMail]:
    kept = []
    for mail in due:
        if rules.is_still_news(mail.kind, mail.news, mail.now):
            kept.append(mail)
        else:
            problem = rules.TOO_LATE if rules.late_kind_of(mail.news, mail.now) is mail.kind else rules.UNTRUE
            await mark_failed(connection, access, mail.columns["id"], None, problem)
    return kept


@staff_flow(Permission.STUDIO)
async def switch_mails(connection: Connection, access: Access, kind: rules.MailKind, on: bool) -> bool | Refusal:
    """Switch one kind of mail on or off; return the new state. Mails that are already queued are still sent."""
    if refusal := access.refusal_without_all_locations(Permission.STUDIO):
        return refusal
    switches = await mails.lock_switches(connection, access)
    async with audited(connection, access, "studio.switch_mails", Subject("studio", access.studio_id)):
        await mails.set_switches(connection, access, {**switches, kind.value: on})
    return on
