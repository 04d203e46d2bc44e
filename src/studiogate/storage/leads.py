"""Leads."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.leads import LeadContact
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.storage.db.ids import new_id
from studiogate.storage.db.pool import Connection, Record, TransactionConflictError
from studiogate.storage.db.statement import Statement
from studiogate.storage.events import announced
from studiogate.storage.paging import Filter, read_one, read_page
from studiogate.storage.people import IS_MEMBER
from studiogate.storage.resources import LEAD


async def list_leads(
    connection: Connection, access: Access, page: PageRequest, email: str | None, updated_after: datetime | None
) -> Page | Refusal:
    filters = [] if email is None else [Filter("e.email = {}", email)]
    return await read_page(connection, access, LEAD, page, filters=filters, updated_after=updated_after)


async def read_lead(connection: Connection, access: Access, lead_id: str) -> str | None:
    return await read_one(connection, access, LEAD, lead_id)


KEPT = "id, first_name, last_name, phone, source, metadata, status, octet_length(staff_notes) as notes_bytes"
# Locks the row: concurrent transactions that fill in the same lead run one after the other.
LOCK = f"select {KEPT} from leads where studio_id = $1 and id = $2 for no key update"

# A new lead with its event, or else the lead that has this email, which is then locked. A lead whose email already
# belongs to a member is created as converted. The other leads are looked at only if none was made: a plan from before
# the table grew may read all of them.
MAKE_OR_LOCK = Statement(f"""
    with made as (
        insert into leads (studio_id, id, email, first_name, last_name, phone, source, metadata, status,
                           lifecycle_stage)
        select :studio, :id, :email, :first_name, :last_name, :phone, :source, :metadata,
               case when known then 'converted' else 'new' end, case when known then 'member' else 'lead' end
        from (select {IS_MEMBER.format(studio=":studio", email=":email")} as known offset 0) member
        on conflict (studio_id, email) do nothing returning *
    ), wire as (
        select e.id, :event_id::uuid as event_id, row_to_json(w) as object
        from made e cross join lateral (select {LEAD.columns}) w
    ), announced as (
        {announced(EventType.LEAD_CREATED, "wire")}
    ), kept as (
        select {KEPT} from leads where studio_id = :studio and email = :email and not (select count(*) > 0 from made)
        for no key update
    )
    select to_jsonb(made)::text as made, kept.* from (values (true)) always left join made on true
    left join kept on true""")

FILL = """
    update leads set first_name = $3, last_name = $4, phone = $5, source = $6, metadata = $7
    where studio_id = $1 and id = $2
      and (first_name, last_name, phone, source, metadata) is distinct from ($3, $4, $5, $6, $7::jsonb)"""

CHANGE = """
    update leads set
        first_name = coalesce($3, first_name),
        last_name = coalesce($4, last_name),
        phone = case when $5 then $6 else phone end,
        status = coalesce($7, status),
        staff_notes = case when $8::text is null then staff_notes
                           when staff_notes = '' then $8 else staff_notes || E'\\n' || $8 end,
        metadata = coalesce($9, metadata)
    where studio_id = $1 and id = $2"""

NOTE = "update leads set metadata = $3 where studio_id = $1 and id = $2"


@dataclass(frozen=True, slots=True)
class KeptLead:
    id: UUID
    contact: LeadContact
    status: str
    notes_bytes: int


@dataclass(frozen=True, slots=True)
class LeadChange:
    """The values that an update sets; None leaves a value unchanged. ``metadata`` is replaced as a whole; a phone can
    also be removed."""

    first_name: str | None = None
    last_name: str | None = None
    sets_phone: bool = False
    phone: str | None = None
    status: str | None = None
    note: str | None = None
    metadata: Mapping[str, Any] | None = None


class NewLead(NamedTuple):
    id: UUID
    row: Mapping[str, Any]  # as stored


async def make_or_lock(connection: Connection, access: Access, email: str, contact: LeadContact) -> NewLead | KeptLead:
    """Insert a lead and emit its event, or lock the lead that has this email. The email must be locked."""
    lead_id = new_id()
    row = await MAKE_OR_LOCK.row(
        connection,
        studio=access.studio_id,
        id=lead_id,
        email=email,
        first_name=contact.first_name,
        last_name=contact.last_name,
        phone=contact.phone,
        source=contact.source,
        metadata=json.dumps(dict(contact.metadata)),
        event_id=new_id(),
        actor=access.actor.value,
    )
    if row["made"] is not None:
        return NewLead(lead_id, json.loads(row["made"]))
    if row["id"] is None:
        raise TransactionConflictError("a lead with this email was created without a lock of the email")
    return _kept(row)


async def lock_lead(connection: Connection, access: Access, lead_id: str | UUID) -> KeptLead | None:
    row = await connection.fetchrow(LOCK, access.studio_id, lead_id)
    return None if row is None else _kept(row)


def _kept(row: Record) -> KeptLead:
    contact = LeadContact(row["first_name"], row["last_name"], row["phone"], row["source"], json.loads(row["metadata"]))
    return KeptLead(row["id"], contact, row["status"], row["notes_bytes"])


async def fill_lead(connection: Connection, access: Access, lead_id: UUID, contact: LeadContact) -> None:
    values = (contact.first_name, contact.last_name, contact.phone, contact.source, json.dumps(dict(contact.metadata)))
    await connection.execute(FILL, access.studio_id, lead_id, *values)


async def change_lead(connection: Connection, access: Access, lead_id: UUID, change: LeadChange) -> None:
    metadata = None if change.metadata is None else json.dumps(dict(change.metadata))
    await connection.execute(
        CHANGE,
        access.studio_id,
        lead_id,
        change.first_name,
        change.last_name,
        change.sets_phone,
        change.phone,
        change.status,
        change.note,
        metadata,
    )


async def set_metadata(connection: Connection, access: Access, lead_id: UUID, metadata: Mapping[str, Any]) -> None:
    await connection.execute(NOTE, access.studio_id, lead_id, json.dumps(dict(metadata)))


async def email_of_lead(connection: Connection, access: Access, lead_id: UUID) -> str | None:
    email: str | None = await connection.fetchval(
        "select email from leads where studio_id = $1 and id = $2", access.studio_id, lead_id
    )
    return email
