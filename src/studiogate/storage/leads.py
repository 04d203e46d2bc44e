"""Leads."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.leads import LeadContact, first_state
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.storage.audit import changes_by_key, recorded_for_keys
from studiogate.storage.db.pool import Connection, Record, TransactionConflictError
from studiogate.storage.db.statement import Statement, json_rows, new_id
from studiogate.storage.events import announced
from studiogate.storage.idempotency import ANSWERS, StoredAnswer, answer_rows, check_stored, stored_answers
from studiogate.storage.paging import Filter, read_page
from studiogate.storage.people import IS_MEMBER
from studiogate.storage.resources import LEAD


async def list_leads(
    connection: Connection, access: Access, page: PageRequest, email: str | None, updated_after: datetime | None
) -> Page | Refusal:
    filters = [] if email is None else [Filter("e.email = {}", email)]
    return await read_page(connection, access, LEAD, page, filters=filters, updated_after=updated_after)


KEPT = "id, first_name, last_name, phone, source, metadata, status, octet_length(staff_notes) as notes_bytes"
# Locks the row: concurrent transactions that fill in the same lead run one after the other.
LOCK = f"select {KEPT} from leads where studio_id = $1 and id = $2 for no key update"

# A new lead with its event, its entry in the audit log and the response that is stored, or else the lead that has this
# email, which is then locked. ``states`` has the state of a lead that is a member and of one that is not. The other
# leads are looked at only if none was made: a plan from before the table grew may read all of them.
MAKE_OR_LOCK = Statement(f"""
    with state as (
        select given.* from json_to_recordset(:states::json)
            as given(is_member boolean, status text, lifecycle_stage text, changes jsonb)
        where given.is_member = (select {IS_MEMBER.format(studio=":studio", email=":email")})
    ), made as (
        insert into leads (studio_id, id, email, first_name, last_name, phone, source, metadata, status,
                           lifecycle_stage)
        select :studio, :id, :email, :first_name, :last_name, :phone, :source, :metadata, status, lifecycle_stage
        from state
        on conflict (studio_id, email) do nothing returning *
    ), wire as (
        select e.id, :event_id::uuid as event_id, :credential_id::text as credential_id, :address::text as address,
               state.changes, row_to_json(w) as object
        from made e cross join state cross join lateral (select {LEAD.columns}) w
    ), announced as (
        {announced(EventType.LEAD_CREATED, "wire")}
    ), recorded as (
        {recorded_for_keys("lead.create", "lead", "wire")}
    ), stored as (
        {stored_answers(f"select each.* from {ANSWERS} cross join made")}
    ), kept as (
        select {KEPT} from leads where studio_id = :studio and email = :email and not (select count(*) > 0 from made)
        for no key update
    )
    select exists (select from made) as is_new, (select count(*) from stored) as stored, kept.*
    from (values (true)) always left join kept on true""")

METADATA = "select metadata from leads where studio_id = $1 and"


@dataclass(frozen=True, slots=True)
class KeptLead:
    id: UUID
    contact: LeadContact
    status: str
    notes_bytes: int


class LeadChange(NamedTuple):
    """The values that an update sets; None leaves one unchanged. ``metadata`` is replaced; a phone can be removed."""

    first_name: str | None = None
    last_name: str | None = None
    sets_phone: bool = False
    phone: str | None = None
    status: str | None = None
    notes: str | None = None
    metadata: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class NewLead:
    """A lead to insert. If a key makes it, it ``is_recorded`` in the audit log; ``answers`` are stored with it."""

    id: UUID
    email: str
    contact: LeadContact
    is_recorded: bool = False
    answers: Sequence[StoredAnswer] = ()


async def make_or_lock(connection: Connection, access: Access, new: NewLead) -> KeptLead | None:
    """Insert a lead and emit its event, or lock and return the lead that has its email. The email must be locked."""
    contact = new.contact
    row = await MAKE_OR_LOCK.row(
        connection,
        studio=access.studio_id,
        id=new.id,
        email=new.email,
        first_name=contact.first_name,
        last_name=contact.last_name,
        phone=contact.phone,
        source=contact.source,
        metadata=json.dumps(dict(contact.metadata)),
        states=json_rows(_states(access, new)),
        event_id=new_id(),
        actor=access.actor.value,
        credential_id=access.credential_id,
        address=access.address,
        answers=answer_rows(new.answers),
    )
    if row["is_new"]:
        check_stored(row["stored"], len(new.answers))
        return None
    if row["id"] is None:
        raise TransactionConflictError("a lead with this email was created without a lock of the email")
    return _kept(row)


def _states(access: Access, new: NewLead) -> Iterator[dict[str, object]]:
    """Return the state of a lead that is no member, and of one that is, with what the audit log records of it."""
    recorded = {name: getattr(new.contact, name) for name in ("first_name", "last_name", "phone", "source", "metadata")}
    for is_member in (False, True):
        state = first_state(is_member=is_member)._asdict()
        after = {"email": new.email, **recorded, **state}
        changes = changes_by_key(access, "lead", None, after) if new.is_recorded else None
        yield {"is_member": is_member, **state, "changes": changes}


async def lock_lead(connection: Connection, access: Access, lead_id: str | UUID) -> KeptLead | None:
    row = await connection.fetchrow(LOCK, access.studio_id, lead_id)
    return None if row is None else _kept(row)


def _kept(row: Record) -> KeptLead:
    contact = LeadContact(row["first_name"], row["last_name"], row["phone"], row["source"], json.loads(row["metadata"]))
    return KeptLead(row["id"], contact, row["status"], row["notes_bytes"])


async def metadata_of(connection: Connection, access: Access, lead_id: str) -> dict[str, object] | None:
    return _read(await connection.fetchval(f"{METADATA} id = $2", access.studio_id, lead_id))


async def metadata_with_email(connection: Connection, access: Access, email: str) -> dict[str, object] | None:
    """Return the metadata of the lead that has this email, without locking it."""
    return _read(await connection.fetchval(f"{METADATA} email = $2", access.studio_id, email))


def _read(metadata: str | None) -> dict[str, object] | None:
    return None if metadata is None else json.loads(metadata)


async def fill_lead(connection: Connection, access: Access, lead_id: UUID, contact: LeadContact) -> None:
    values = (contact.first_name, contact.last_name, contact.phone, contact.source, json.dumps(dict(contact.metadata)))
    statement = """
        update leads set first_name = $3, last_name = $4, phone = $5, source = $6, metadata = $7
        where studio_id = $1 and id = $2
          and (first_name, last_name, phone, source, metadata) is distinct from ($3, $4, $5, $6, $7::jsonb)"""
    await connection.execute(statement, access.studio_id, lead_id, *values)


async def change_lead(connection: Connection, access: Access, lead_id: UUID, change: LeadChange) -> None:
    metadata = None if change.metadata is None else json.dumps(dict(change.metadata))
    statement = """
        update leads set
            first_name = coalesce($3, first_name),
            last_name = coalesce($4, last_name),
            phone = case when $5 then $6 else phone end,
            status = coalesce($7, status),
            staff_notes = case when $8::text is null then staff_notes
                               when staff_notes = '' then $8 else staff_notes || E'\\n' || $8 end,
            metadata = coalesce($9, metadata)
        where studio_id = $1 and id = $2"""
    await connection.execute(statement, access.studio_id, lead_id, *change[:-1], metadata)


async def set_metadata(connection: Connection, access: Access, lead_id: UUID, metadata: Mapping[str, object]) -> None:
    statement = "update leads set metadata = $3 where studio_id = $1 and id = $2"
    await connection.execute(statement, access.studio_id, lead_id, json.dumps(dict(metadata)))


async def email_of_lead(connection: Connection, access: Access, lead_id: UUID) -> str | None:
    statement = "select email from leads where studio_id = $1 and id = $2"
    email: str | None = await connection.fetchval(statement, access.studio_id, lead_id)
    return email
