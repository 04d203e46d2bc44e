"""The mail queue. A mail is claimed by moving its due time ahead: if the claimer dies, it becomes due again.

An attempt is counted when its outcome is recorded, not when the mail is claimed: a worker may claim more mails than it
gets to before its lease ends.

A mail with a signed link to a form names the member and the form, but no address and no token: the address is read and
the link is signed when the mail is sent, so nothing of an erased member, and no key to a form, is left in the queue.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id

# Serializes submissions per address: the count that follows then sees what the previous submission queued.
LOCK_RECIPIENT = (
    "select pg_advisory_xact_lock(hashtextextended('confirmation ' || $1::uuid::text || ' ' || $2::text, 0))"
)


def claimed(about: str) -> str:
    """Return the beginning of a statement that claims due mails: those about something that the column names. It has
    them as ``claimed``. $1 is the studio, $2 how many at most, $3 the lease in seconds."""
    return f"""
    with due as (
        select m.id from mails m
        where m.studio_id = $1 and m.status = 'queued' and m.due_at <= clock_timestamp() and m.{about} is not null
        order by m.due_at limit $2 for update skip locked
    ), claimed as (
        update mails m set due_at = clock_timestamp() + $3::integer * interval '1 second'
        from due where m.studio_id = $1 and m.id = due.id
        returning m.*
    )"""


# By what the mails are about, with everything that their texts need.
CLAIMS = {
    "submission": f"""{claimed("submission_id")}
    select c.id, c.kind, c.recipient, c.attempts, c.submission_id, s.name as studio, s.slug as studio_slug,
           f.id as form_id, f.slug as form_slug, f.title, f.settings, v.fields, n.submitter_name, n.submitter_email,
           n.data, n.created_at, n.verified, s.timezone, s.hour_cycle, s.date_order, s.country, k.link_secret
    from claimed c
    join form_submissions n on n.studio_id = $1 and n.id = c.submission_id
    join forms f on f.studio_id = $1 and f.id = n.form_id
    join form_versions v on v.studio_id = $1 and v.form_id = n.form_id and v.version = n.form_version
    join studios s on s.studio_id = $1
    join studio_secrets k on k.studio_id = $1""",
    "link": f"""{claimed("form_id")}
    select c.id, c.attempts, c.form_id, c.member_id, c.expires_at, p.email, p.first_name, f.title as form_title,
           f.slug as form_slug, f.status as form_status, f.settings::text as settings, s.name as studio,
           s.slug as studio_slug, s.timezone, s.hour_cycle, s.date_order, s.country, k.link_secret,
           clock_timestamp() as now
    from claimed c
    join members p on p.studio_id = $1 and p.id = c.member_id
    join forms f on f.studio_id = $1 and f.id = c.form_id
    join studios s on s.studio_id = $1
    join studio_secrets k on k.studio_id = $1""",
}

# $3 is the number of seconds until the next attempt; null: there is none. A mail that was dropped while it was being
# sent stays dropped.
FAILED = """
    update mails set problem = $4, status = case when $3::integer is null then 'failed' else 'queued' end,
                     attempts = attempts + 1,
                     due_at = clock_timestamp() + coalesce($3, 0) * interval '1 second'
    where studio_id = $1 and id = $2 and status = 'queued'"""


@dataclass(frozen=True, slots=True)
class QueuedMail:
    kind: str
    recipient: str


async def queue(connection: Connection, access: Access, submission_id: UUID, mails: Sequence[QueuedMail]) -> None:
    ids = [new_id() for _ in mails]
    kinds, recipients = [each.kind for each in mails], [each.recipient for each in mails]
    statement = """
        insert into mails (studio_id, id, submission_id, kind, recipient)
        select $1, wanted.id, $2, wanted.kind, wanted.recipient
        from unnest($3::uuid[], $4::text[], $5::text[]) wanted(id, kind, recipient)"""
    await connection.execute(statement, access.studio_id, submission_id, ids, kinds, recipients)


async def lock_and_count_confirmations(connection: Connection, access: Access, recipient: str) -> int:
    """Lock an address until the commit; return how many confirmations were queued for it within the last hour."""
    await connection.execute(LOCK_RECIPIENT, access.studio_id, recipient)
    statement = """
        select count(*) from mails
        where studio_id = $1 and recipient = $2 and kind = 'confirmation'
          and created_at > clock_timestamp() - interval '1 hour'"""
    return int(await connection.fetchval(statement, access.studio_id, recipient))


async def claim(
    connection: Connection, access: Access, about: str, at_most: int, lease_seconds: int
) -> list[dict[str, Any]]:
    """Claim due mails of a kind of ``CLAIMS`` until the lease ends, and return them."""
    return [dict(row) for row in await connection.fetch(CLAIMS[about], access.studio_id, at_most, lease_seconds)]


async def queue_link(
    connection: Connection, access: Access, form_id: UUID, member_id: UUID, expires_at: datetime
) -> None:
    statement = """
        insert into mails (studio_id, id, kind, form_id, member_id, expires_at)
        values ($1, $2, 'form_link', $3, $4, $5)"""
    await connection.execute(statement, access.studio_id, new_id(), form_id, member_id, expires_at)


async def count_links_within_the_hour(connection: Connection, access: Access, member_id: UUID) -> int:
    """Return how many links were queued for the member within the last hour. The member must be locked."""
    statement = """
        select count(*) from mails
        where studio_id = $1 and member_id = $2 and kind = 'form_link'
          and created_at > clock_timestamp() - interval '1 hour'"""
    return int(await connection.fetchval(statement, access.studio_id, member_id))


async def mark_sent(connection: Connection, access: Access, mail_id: UUID) -> None:
    """Record a success. A repetition changes nothing."""
    statement = """
        update mails set status = 'sent', attempts = attempts + 1, sent_at = clock_timestamp(), problem = null
        where studio_id = $1 and id = $2 and status <> 'sent'"""
    await connection.execute(statement, access.studio_id, mail_id)


async def mark_failed(
    connection: Connection, access: Access, mail_id: UUID, retry_after: int | None, problem: str
) -> None:
    await connection.execute(FAILED, access.studio_id, mail_id, retry_after, problem)


async def silence(connection: Connection) -> None:
    """Let no member get a mail about the events of this transaction: it loads data, nothing has happened."""
    await connection.execute("select set_config('studiogate.silent', 'on', true)")


async def note_worker(connection: Connection, *, sends: bool) -> None:
    await connection.execute("update deployment set worker_seen_at = clock_timestamp(), worker_sends_mail = $1", sends)


async def worker_sends(connection: Connection) -> bool | None:
    """Return whether the worker that reported last has a server for mails; None if none has for two minutes."""
    statement = """
        select worker_sends_mail from deployment where worker_seen_at > clock_timestamp() - interval '2 minutes'"""
    found: bool | None = await connection.fetchval(statement)
    return found
