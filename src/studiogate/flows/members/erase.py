"""Erase a person: who it was goes, what was booked and paid stays, anonymous.

One transaction. Events, remembered answers and audit entries are redacted last, those of the erasure itself included.
Files leave the disk after the commit: ``remove_files`` does it at once, and housekeeping whatever a crash left."""

import json
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import structlog

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import ATTENDABLE
from studiogate.domain.erasure import redacted, redacted_event
from studiogate.domain.events import EventType
from studiogate.domain.json_values import json_text
from studiogate.domain.memberships import cancelled_now
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.bookings import staff_bookings
from studiogate.flows.bookings.staff_bookings import StaffCancellation
from studiogate.flows.changes import changing, recorded
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import erasure as storage
from studiogate.storage import event_numbering, members, memberships, people
from studiogate.storage.audit import Subject
from studiogate.storage.db.failures import transaction_on
from studiogate.storage.db.pool import Connection
from studiogate.storage.people import PersonRows
from studiogate.storage.upload_store import FAILURES, UploadStore, in_thread

log = structlog.get_logger()


class Erased(NamedTuple):
    """What an erasure did; ``files`` are the names of the files that must leave the disk."""

    member_id: UUID
    bookings_cancelled: int
    memberships_cancelled: int
    submissions: int
    leads: int
    files: list[str]


@staff_flow(Permission.MEMBERS_ERASE)
async def erase(connection: Connection, access: Access, member_id: UUID) -> Erased | Refusal:
    """Erase a member with everything that names the person, and cancel what lies ahead, free of charge."""
    if refusal := access.refusal_without_all_locations(Permission.MEMBERS_ERASE):
        return refusal
    ahead = await people.lock_with_classes(connection, access, [member_id], ATTENDABLE, True)
    if (kept := await members.lock_member(connection, access, member_id)) is None:
        return Refusal(Code.NOT_FOUND)
    if kept.erased:
        return Refusal(Code.INVALID_TRANSITION, {"from": "erased", "to": "erased"})
    email = kept.profile["email"]
    await people.lock_emails(connection, access, [] if email is None else [email])
    rows = await people.rows_of_person(connection, access, member_id, email)
    states = {each: await memberships.read_state(connection, access, each) for each in rows.memberships}
    live = [each for each, state in states.items() if cancelled_now(state, kept.now) != state]
    # One event per membership, with the credits that its cancelled bookings return.
    async with changing(connection, access, EventType.MEMBERSHIP_UPDATED, *live):
        for booking in ahead:
            outcome = await staff_bookings.cancel_by_staff(connection, access, StaffCancellation(booking.id))
            if isinstance(outcome, Refusal):
                raise AssertionError(f"the studio can cancel a booking that lies ahead: {outcome.code}")
        for membership_id in live:
            state = await memberships.read_state(connection, access, membership_id)
            await memberships.write_state(connection, access, membership_id, cancelled_now(state, kept.now))
        await storage.erase_reasons(connection, access, live)
    # Also the reasons that were given for changes of memberships that ended earlier.
    async with changing(connection, access, EventType.MEMBERSHIP_UPDATED, *rows.memberships):
        await storage.erase_reasons(connection, access, rows.memberships)
    files = await _erase_rows(connection, access, rows, email)
    await _redact(connection, access, rows)
    return Erased(member_id, len(ahead), len(live), len(rows.submissions), len(rows.leads), files)


async def _erase_rows(connection: Connection, access: Access, rows: PersonRows, email: str | None) -> list[str]:
    async with (
        recorded(connection, access, "member.erase", Subject("member", rows.member_id)),
        changing(connection, access, EventType.MEMBER_ERASED, rows.member_id),
        changing(connection, access, EventType.LEAD_UPDATED, *rows.leads),
    ):
        return await storage.erase_rows(connection, access, rows, email)


async def _redact(connection: Connection, access: Access, rows: PersonRows) -> None:
    """Take the person out of receipts, events, remembered answers and reasons in the audit log."""
    people = [rows.member_id, *rows.merged, *rows.leads, *rows.submissions]
    ids = {str(each) for each in (*people, *rows.uploads, *rows.memberships)}
    receipts = await storage.receipts_with_reasons(connection, access, rows.bookings)
    await storage.write_receipts(connection, access, {key: redacted(each, ids) for key, each in receipts.items()})
    answers = await storage.answers_naming(connection, access, [*people, *rows.uploads])
    changed = [each._replace(body=_answer(each.body, ids)) for each in answers]
    await storage.write_answers(
        connection, access, [new for old, new in zip(answers, changed, strict=True) if new != old]
    )
    await storage.mask_audit(connection, access, rows)
    # Numbering updates the rows that it has read; it would leave a gap where one of them has changed since.
    await event_numbering.lock_head(connection, access)
    events = await storage.events_about(connection, access, [*people, *rows.memberships])
    redacted_events = [
        storage.LoggedEvent(each.id, *redacted_event(each.object, each.previous_attributes, ids)) for each in events
    ]
    await storage.write_events(connection, access, redacted_events)


def _answer(body: bytes, ids: set[str]) -> bytes:
    """Return a remembered answer without the person; one that does not name the person stays byte for byte."""
    kept = json.loads(body)
    replaced = redacted(kept, ids)
    return body if replaced == kept else json_text(replaced).encode()


async def remove_files(connection: Connection, access: Access, folder: UploadStore, names: Sequence[str]) -> int:
    """Remove files of an erased person, and the rows that ask for it; return how many. The person is erased by now:
    files that cannot be removed yet are left to housekeeping, which reports them."""
    gone = []
    try:
        for name in names:
            gone += await remove_from_disk(access, folder, [name])
    except FAILURES as error:
        log.warning("a file that was erased cannot be removed yet", problem=str(error))
    async with transaction_on(connection):
        await storage.forget_removed_files(connection, access, gone)
    return len(gone)


async def remove_from_disk(access: Access, folder: UploadStore, names: Sequence[str]) -> list[str]:
    """Remove those of the files that are here, and return their names."""
    gone = []
    for name in names:
        if await in_thread(folder.has, access.studio_id, name):
            await in_thread(folder.remove, access.studio_id, name)
            gone.append(name)
    return gone
