"""The staff of one studio: which accounts have which role."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.staff import Grant, Known, Owner, Role
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import new_id
from studiogate.storage.mails import claimed

LOCK_STUDIO = "select slug from studios where studio_id = $1 for no key update"
KNOWN = """
    select array(select l.id from locations l where l.studio_id = $1 and l.id = any($2::uuid[])) as locations,
           array(select i.id from instructors i where i.studio_id = $1 and i.id = $3::uuid) as instructors"""
ROLE = """
    select role, location_ids, instructor_id, disabled_at from staff_roles where studio_id = $1 and account_id = $2"""
OWNERS = """
    select r.account_id, a.password_hash is not null
    from staff_roles r join staff_accounts a on a.id = r.account_id
    where r.studio_id = $1 and r.role = 'owner' and r.disabled_at is null and a.disabled_at is null"""
PUT = """
    insert into staff_roles (studio_id, account_id, role, location_ids, instructor_id) values ($1, $2, $3, $4, $5)
    on conflict (studio_id, account_id) do update
    set role = excluded.role, location_ids = excluded.location_ids, instructor_id = excluded.instructor_id"""
DISABLE = """
    update staff_roles set disabled_at = clock_timestamp()
    where studio_id = $1 and account_id = $2 and disabled_at is null"""
ENABLE = "update staff_roles set disabled_at = null where studio_id = $1 and account_id = $2"
LIST = """
    select a.id, a.name, a.email, r.role, a.totp_confirmed_at is not null as second_factor,
           case when a.disabled_at is not null or r.disabled_at is not null then 'disabled'
                when a.password_hash is null then 'invited' else 'active' end as state,
           array(select l.name from locations l
                 where l.studio_id = $1 and l.id = any(r.location_ids) order by l.name, l.id) as locations,
           r.location_ids, r.instructor_id,
           (select i.name from instructors i where i.studio_id = $1 and i.id = r.instructor_id) as instructor
    from staff_roles r join staff_accounts a on a.id = r.account_id
    where r.studio_id = $1 and ($2::uuid is null or r.account_id = $2)
    order by lower(coalesce(nullif(a.name, ''), a.email)), a.id"""
QUEUE_MAIL = "insert into mails (studio_id, id, account_id, kind, recipient) values ($1, $2, $3, $4, $5)"

CLAIM_MAILS = f"""{claimed("account_id")}
    select c.id, c.kind, c.recipient, c.attempts, c.account_id, c.created_at, s.name as studio,
           clock_timestamp() as now, a.password_hash is not null as has_password,
           a.disabled_at is not null or r.disabled_at is not null as is_disabled
    from claimed c
    join staff_roles r on r.studio_id = $1 and r.account_id = c.account_id
    join staff_accounts a on a.id = c.account_id
    join studios s on s.studio_id = $1"""


class StoredRole(NamedTuple):
    grant: Grant
    disabled_at: datetime | None


async def lock_studio(connection: Connection, access: Access) -> str | None:
    """Lock the studio's row, so that two owners cannot remove each other; return its slug."""
    slug: str | None = await connection.fetchval(LOCK_STUDIO, access.studio_id)
    return slug


async def known_rows(connection: Connection, access: Access, grant: Grant) -> Known:
    row = await connection.fetchrow(KNOWN, access.studio_id, list(grant.location_ids or ()), grant.instructor_id)
    return Known(row["locations"], row["instructors"]) if row is not None else Known((), ())


async def find_role(connection: Connection, access: Access, account_id: UUID) -> StoredRole | None:
    row = await connection.fetchrow(ROLE, access.studio_id, account_id)
    if row is None:
        return None
    locations = None if row["location_ids"] is None else tuple(row["location_ids"])
    return StoredRole(Grant(Role(row["role"]), locations, row["instructor_id"]), row["disabled_at"])


async def count_roles(connection: Connection, access: Access) -> int:
    return int(await connection.fetchval("select count(*) from staff_roles where studio_id = $1", access.studio_id))


async def list_staff(connection: Connection, access: Access) -> list[Record]:
    """Return the accounts of the studio with their roles, and the names of the locations to which these are limited."""
    return list(await connection.fetch(LIST, access.studio_id, None))


async def read_person(connection: Connection, access: Access, account_id: UUID) -> Record | None:
    """Return an account of the studio as the list has it."""
    return await connection.fetchrow(LIST, access.studio_id, account_id)


async def list_instructors(connection: Connection, access: Access) -> list[Record]:
    """Return the instructors whose classes an account can be given."""
    statement = "select id, name from instructors where studio_id = $1 and active order by lower(name), id"
    return list(await connection.fetch(statement, access.studio_id))


async def owners(connection: Connection, access: Access) -> list[Owner]:
    return [Owner(*row) for row in await connection.fetch(OWNERS, access.studio_id)]


async def put_role(connection: Connection, access: Access, account_id: UUID, grant: Grant) -> None:
    await connection.execute(
        PUT, access.studio_id, account_id, grant.role.value, grant.location_ids, grant.instructor_id
    )


async def set_disabled(connection: Connection, access: Access, account_id: UUID, disabled: bool) -> None:
    await connection.execute(DISABLE if disabled else ENABLE, access.studio_id, account_id)


async def queue_mail(connection: Connection, access: Access, account_id: UUID, kind: str, recipient: str) -> None:
    """Queue a mail with a one-time link. Must run inside the transaction of what it is about."""
    await connection.execute(QUEUE_MAIL, access.studio_id, new_id(), account_id, kind, recipient)


async def claim_mails(connection: Connection, access: Access, at_most: int, lease_seconds: int) -> list[Record]:
    """Claim due mails with a link for an account until the lease ends."""
    return list(await connection.fetch(CLAIM_MAILS, access.studio_id, at_most, lease_seconds))
