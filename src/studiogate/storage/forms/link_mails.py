"""Mails with a signed link to a form, in the queue of all mails (``storage.mails``).

A mail names the member and the form, but no address and no token: the address is read and the link is signed when the
mail is sent, so nothing of an erased member, and no key to a form, is left in the queue.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.forms.settings import FormSettings, read_settings
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id
from studiogate.storage.mails import claimed

CLAIM = f"""{claimed("form_id")}
    select c.id, c.attempts, c.form_id, c.member_id, c.expires_at, p.email, p.first_name, f.title as form_title,
           f.slug as form_slug, f.status as form_status, f.settings::text as settings, s.name as studio,
           s.slug as studio_slug, s.timezone, s.hour_cycle, s.date_order, s.country, k.link_secret,
           clock_timestamp() as now
    from claimed c
    join members p on p.studio_id = $1 and p.id = c.member_id
    join forms f on f.studio_id = $1 and f.id = c.form_id
    join studios s on s.studio_id = $1
    join studio_secrets k on k.studio_id = $1"""


@dataclass(frozen=True, slots=True)
class DueLink:
    id: UUID
    attempts: int
    form_id: UUID
    member_id: UUID
    expires_at: datetime
    email: str | None
    first_name: str
    form_title: str
    form_slug: str
    form_status: str
    settings: FormSettings
    studio: str
    studio_slug: str
    timezone: str
    hour_cycle: str | None
    date_order: str | None
    country: str | None
    link_secret: bytes
    now: datetime


async def queue(connection: Connection, access: Access, form_id: UUID, member_id: UUID, expires_at: datetime) -> None:
    statement = """
        insert into mails (studio_id, id, kind, form_id, member_id, expires_at)
        values ($1, $2, 'form_link', $3, $4, $5)"""
    await connection.execute(statement, access.studio_id, new_id(), form_id, member_id, expires_at)


async def count_within_the_hour(connection: Connection, access: Access, member_id: UUID) -> int:
    """Return how many links were queued for the member within the last hour. The member must be locked."""
    statement = """
        select count(*) from mails
        where studio_id = $1 and member_id = $2 and kind = 'form_link'
          and created_at > clock_timestamp() - interval '1 hour'"""
    return int(await connection.fetchval(statement, access.studio_id, member_id))


async def claim(connection: Connection, access: Access, at_most: int, lease_seconds: int) -> list[DueLink]:
    """Claim due mails with a link to a form until the lease ends; return them with everything that they need."""
    rows = await connection.fetch(CLAIM, access.studio_id, at_most, lease_seconds)
    return [DueLink(**{**row, "settings": read_settings(json.loads(row["settings"]))}) for row in rows]
