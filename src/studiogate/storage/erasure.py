"""Take a person out of every table that names one. The flow holds the locks and has read the rows."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.audit import MASK
from studiogate.domain.erasure import EVENTS_OF_PEOPLE, left_of
from studiogate.domain.fields import ERASED_EMAIL, Section, forms, people
from studiogate.domain.json_values import json_text
from studiogate.storage.csv_import import ERASED_ID
from studiogate.storage.db.pool import Connection
from studiogate.storage.people import PersonRows


def _literal(value: object) -> str:
    if value is None:
        return "null"
    return f"replace('{value}', '{{id}}', id::text)" if value == ERASED_EMAIL else f"'{value}'"


def _cleared(section: Section) -> str:
    """Return the assignments that leave of a row what ``domain.erasure`` says."""
    return ", ".join(f"{name} = {_literal(value)}" for name, value in left_of(section).items())


MEMBER = f"""
    update members set {_cleared(people.MEMBERS)}, suspended = true, erased_at = clock_timestamp()
    where studio_id = $1 and id = $2"""
LEADS = f"update leads set {_cleared(people.LEADS)} where studio_id = $1 and id = any($2::uuid[])"
SUBMISSIONS = f"""
    update form_submissions set {_cleared(forms.SUBMISSIONS)}, page_key = null
    where studio_id = $1 and id = any($2::uuid[])"""
MEMBERSHIPS = f"""
    update memberships set {_cleared(people.MEMBERSHIPS)}
    where studio_id = $1 and id = any($2::uuid[]) and num_nonnulls({", ".join(left_of(people.MEMBERSHIPS))}) > 0"""
MERGED = f"update merged_people set {_cleared(people.MERGED_PEOPLE)} where studio_id = $1 and member_id = $2"
MAILS = """
    delete from mails
    where studio_id = $1 and (submission_id = any($2::uuid[]) or recipient = $3 or member_id = $4)"""
UPLOADS = """
    with gone as (
        delete from form_uploads where studio_id = $1 and submission_id = any($2::uuid[])
        returning studio_id, stored_name)
    insert into removed_files (studio_id, stored_name) select studio_id, stored_name from gone
    returning stored_name"""
AUDIT = "update audit_log set reason = $3 where studio_id = $1 and subject_id = any($2::uuid[]) and reason is not null"

# A person's id in another system says who it was. Its digest keeps a later import from creating the person again.
EXTERNAL_IDS = f"""
    update external_ids set external_id = {ERASED_ID.format(source="source", external_id="external_id")}
    where studio_id = $1 and row_id = any($2::uuid[]) and kind in ('members', 'leads')
      and external_id not like 'erased:%'"""

RECEIPTS = """
    select id, receipt::text as receipt from booking_cancellations
    where studio_id = $1 and booking_id = any($2::uuid[]) and receipt ->> 'reason' is not null"""
SET_RECEIPTS = """
    update booking_cancellations k set receipt = given.receipt::json
    from unnest($2::uuid[], $3::text[]) given(id, receipt) where k.studio_id = $1 and k.id = given.id"""

# Along the index of types, and the events that have no number yet.
EVENTS = """
    select id, object::text as object, previous_attributes::text as previous from events
    where studio_id = $1 and type = any($2::text[]) and sequence is not null and subject = any($3::uuid[])
    union all
    select id, object::text, previous_attributes::text from events
    where studio_id = $1 and sequence is null and type = any($2::text[]) and subject = any($3::uuid[])"""
SET_EVENTS = """
    update events v set object = given.object::json, previous_attributes = given.previous::json
    from unnest($2::uuid[], $3::text[], $4::text[]) given(id, object, previous)
    where v.studio_id = $1 and v.id = given.id"""
# What a receiver answered may repeat what was sent.
ATTEMPTS = """
    update webhook_attempts a set response = null from webhook_deliveries d
    where d.studio_id = $1 and d.event_id = any($2::uuid[]) and a.studio_id = $1 and a.delivery_id = d.id
      and a.response is not null"""

ANSWERS = """
    select credential_id, key, body from idempotency_keys k
    where studio_id = $1 and exists (
        select from unnest($2::text[]) given where position(convert_to(given, 'UTF8') in k.body) > 0)
    for update"""
SET_ANSWERS = """
    update idempotency_keys k set body = given.body
    from unnest($2::text[], $3::text[], $4::bytea[]) given(credential_id, key, body)
    where k.studio_id = $1 and k.credential_id = given.credential_id and k.key = given.key"""

REMOVED = "select stored_name from removed_files where studio_id = $1 order by removed_at limit $2"
FORGET_REMOVED = "delete from removed_files where studio_id = $1 and stored_name = any($2::text[])"
FORGET_OLD = "delete from removed_files where studio_id = $1 and removed_at < clock_timestamp() - interval '30 days'"


class LoggedEvent(NamedTuple):
    id: UUID
    object: dict[str, object]
    previous_attributes: dict[str, Any]


class RememberedAnswer(NamedTuple):
    """A remembered answer to a request."""

    credential_id: str
    key: str
    body: bytes


async def erase_rows(connection: Connection, access: Access, rows: PersonRows, email: str | None) -> list[str]:
    """Empty the person's own rows, delete mails and the rows of files; return the names of the files to remove."""
    studio_id = access.studio_id
    await connection.execute(MEMBER, studio_id, rows.member_id)
    await connection.execute(MERGED, studio_id, rows.member_id)
    await connection.execute(LEADS, studio_id, rows.leads)
    await connection.execute(EXTERNAL_IDS, studio_id, [rows.member_id, *rows.leads])
    await connection.execute(MAILS, studio_id, rows.submissions, email, rows.member_id)
    await connection.execute(SUBMISSIONS, studio_id, rows.submissions)
    return [row["stored_name"] for row in await connection.fetch(UPLOADS, studio_id, rows.submissions)]


async def erase_reasons(connection: Connection, access: Access, membership_ids: Sequence[UUID]) -> None:
    await connection.execute(MEMBERSHIPS, access.studio_id, list(membership_ids))


async def mask_audit(connection: Connection, access: Access, rows: PersonRows) -> None:
    """Mask the reasons that staff gave for changes of the person's rows; everything else is masked from the start."""
    await connection.execute(AUDIT, access.studio_id, rows.all, MASK)


async def receipts_with_reasons(
    connection: Connection, access: Access, booking_ids: Sequence[UUID]
) -> dict[UUID, dict[str, object]]:
    rows = await connection.fetch(RECEIPTS, access.studio_id, list(booking_ids))
    return {row["id"]: json.loads(row["receipt"]) for row in rows}


async def write_receipts(connection: Connection, access: Access, receipts: dict[UUID, dict[str, object]]) -> None:
    texts = [json_text(each) for each in receipts.values()]
    await connection.execute(SET_RECEIPTS, access.studio_id, list(receipts), texts)


async def events_about(connection: Connection, access: Access, row_ids: Sequence[UUID]) -> list[LoggedEvent]:
    """Return the events about these rows that carry people's data, those of this transaction included."""
    types = [each.value for each in EVENTS_OF_PEOPLE]
    rows = await connection.fetch(EVENTS, access.studio_id, types, list(row_ids))
    return [LoggedEvent(row["id"], json.loads(row["object"]), json.loads(row["previous"])) for row in rows]


async def write_events(connection: Connection, access: Access, events: Sequence[LoggedEvent]) -> None:
    ids = [each.id for each in events]
    objects = [json_text(each.object) for each in events]
    previous = [json_text(each.previous_attributes) for each in events]
    await connection.execute(SET_EVENTS, access.studio_id, ids, objects, previous)
    await connection.execute(ATTEMPTS, access.studio_id, ids)


async def answers_naming(connection: Connection, access: Access, row_ids: Sequence[UUID]) -> list[RememberedAnswer]:
    """Return the remembered answers in which one of the ids occurs."""
    rows = await connection.fetch(ANSWERS, access.studio_id, [str(each) for each in row_ids])
    return [RememberedAnswer(row["credential_id"], row["key"], row["body"]) for row in rows]


async def write_answers(connection: Connection, access: Access, answers: Sequence[RememberedAnswer]) -> None:
    columns = [list(column) for column in zip(*answers, strict=True)] or [[], [], []]
    await connection.execute(SET_ANSWERS, access.studio_id, *columns)


async def removed_files(connection: Connection, access: Access, at_most: int) -> list[str]:
    return [row["stored_name"] for row in await connection.fetch(REMOVED, access.studio_id, at_most)]


async def forget_removed_files(connection: Connection, access: Access, names: Sequence[str]) -> None:
    """Delete the rows of files that are gone, and those of files that no machine has had for 30 days."""
    await connection.execute(FORGET_REMOVED, access.studio_id, list(names))
    await connection.execute(FORGET_OLD, access.studio_id)
