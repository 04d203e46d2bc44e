"""Credentials. Looking one up by the id in a key is the listed exception to "every statement names one studio":
the studio is not known before the lookup.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.keys import Credential, Secret, credential_access
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.paging import ListPage, comes_after, list_page

CHANGEABLE = ("name", "scopes", "location_ids", "expires_at", "rate_limit")
SHOWN = """
    c.id, c.name, c.scopes, c.location_ids, c.expires_at, c.rate_limit, c.created_by, c.last_used_at, c.revoked_at,
    c.created_at, (select slug from studios where studio_id = c.studio_id) as studio,
    (select count(*) from credential_secrets s where s.studio_id = c.studio_id and s.credential_id = c.id
     and (s.expires_at is null or s.expires_at > now())) as live_secrets"""


async def find_credential(connection: Connection, credential_id: str) -> Credential | None:
    # Includes expired secrets: a match with one explains "expired".
    statement = """
        select c.studio_id, c.id, c.scopes, c.location_ids, c.expires_at, c.revoked_at, c.rate_limit,
               array_agg(s.secret_hash order by s.created_at desc) as hashes,
               array_agg(s.expires_at order by s.created_at desc) as hash_expiries
        from credentials c join credential_secrets s on s.studio_id = c.studio_id and s.credential_id = c.id
        where c.id = $1
        group by c.studio_id, c.id"""
    row = await connection.fetchrow(statement, credential_id)
    if row is None:
        return None
    secrets = tuple(Secret(hash_, expiry) for hash_, expiry in zip(row["hashes"], row["hash_expiries"], strict=True))
    access = credential_access(row["studio_id"], row["id"], row["scopes"], row["location_ids"])
    return Credential(access, secrets, row["expires_at"], row["revoked_at"], row["rate_limit"])


async def read_key(connection: Connection, access: Access) -> str | None:
    """Return the caller's own key in wire form."""
    statement = """
        select row_to_json(w)::text from (
            select c.id, 'service_key' as object, c.name, c.scopes, c.location_ids, s.test, c.expires_at
            from credentials c join studios s on s.studio_id = c.studio_id
            where c.studio_id = $1 and c.id = $2) w"""
    wire: str | None = await connection.fetchval(statement, access.studio_id, access.credential_id)
    return wire


async def record_use(connection: Connection, used_at: Mapping[str, datetime]) -> None:
    """Store the last use of many credentials, in a transaction. They are locked first, by id: an UPDATE of many rows
    promises no order, and two processes that note the same keys would deadlock."""
    await connection.execute(
        "select from credentials where id = any($1::text[]) order by id for no key update", list(used_at)
    )
    await connection.execute(
        """
        update credentials c set last_used_at = greatest(c.last_used_at, u.used_at)
        from unnest($1::text[], $2::timestamptz[]) u(id, used_at) where c.id = u.id""",
        list(used_at),
        list(used_at.values()),
    )


async def create_credential(
    connection: Connection, access: Access, details: Mapping[str, object], secret: bytes
) -> None:
    statement = """
        with made as (
            insert into credentials (studio_id, id, name, scopes, location_ids, expires_at, rate_limit, created_by)
            values ($1, $2, $3, $4, $5, $6, $7, $8) returning studio_id, id
        )
        insert into credential_secrets (studio_id, credential_id, secret_hash) select studio_id, id, $9 from made"""
    given = (details[name] for name in ("id", *CHANGEABLE, "created_by"))
    await connection.execute(statement, access.studio_id, *given, secret)


async def list_credentials(connection: Connection, studio_id: UUID | None) -> Sequence[Record]:
    """Return the credentials of one studio, or of all studios. Operators only."""
    statement = f"select {SHOWN} from credentials c where $1::uuid is null or c.studio_id = $1 order by c.created_at"
    return await connection.fetch(statement, studio_id)


# What people of the studio see of a key: also when the last replaced secret ends, and its endpoints.
OF_STUDIO = f"""
    select {SHOWN},
           array(select l.name from locations l where l.studio_id = $1 and l.id = any(c.location_ids) order by l.name)
               as locations,
           (select max(s.expires_at) from credential_secrets s
            where s.studio_id = $1 and s.credential_id = c.id and s.expires_at > now()) as old_secret_ends,
           (select count(*) from webhook_endpoints e
            where e.studio_id = $1 and e.credential_id = c.id and e.deleted_at is null) as endpoints
    from credentials c where c.studio_id = $1"""


async def list_keys(
    connection: Connection, access: Access, *, revoked: bool, after: str | None, limit: int
) -> ListPage:
    """Return the keys of a studio, newest first: those that are revoked, or the others."""
    statement = f"""{OF_STUDIO} and (c.revoked_at is not null) = $2
          and ($3::text is null or {comes_after("credentials", "c", "$3")})
        order by c.created_at desc, c.id desc limit $4"""
    return list_page(await connection.fetch(statement, access.studio_id, revoked, after, limit + 1), limit)


async def read_credential(connection: Connection, access: Access, credential_id: str) -> Record | None:
    """Return a key of the studio as its people see it."""
    return await connection.fetchrow(f"{OF_STUDIO} and c.id = $2", access.studio_id, credential_id)


async def key_names(connection: Connection, access: Access, limit: int) -> Sequence[Record]:
    """Return ids, names and scopes of keys that are in use, by name, for choices."""
    statement = """
        select id, name, scopes, location_ids from credentials where studio_id = $1 and revoked_at is null
          and (expires_at is null or expires_at > now())
        order by name, id limit $2"""
    return await connection.fetch(statement, access.studio_id, limit)


async def studio_of_credential(connection: Connection, credential_id: str) -> UUID | None:
    """Return the studio that has a key. Operators only."""
    found: UUID | None = await connection.fetchval("select studio_id from credentials where id = $1", credential_id)
    return found


async def lock_credential(connection: Connection, access: Access, credential_id: str) -> Record | None:
    statement = """
        select c.name, c.scopes, c.location_ids, c.expires_at, c.rate_limit, c.revoked_at, s.test
        from credentials c join studios s on s.studio_id = c.studio_id
        where c.studio_id = $1 and c.id = $2 for no key update of c"""
    return await connection.fetchrow(statement, access.studio_id, credential_id)


async def change_credential(
    connection: Connection, access: Access, credential_id: str, values: Mapping[str, object]
) -> None:
    """Change the given columns of a credential; the others stay."""
    statement = """
        update credentials set
            name = coalesce($3, name), scopes = coalesce($4, scopes),
            location_ids = case when 'location_ids' = any($8::text[]) then $5 else location_ids end,
            expires_at = case when 'expires_at' = any($8) then $6 else expires_at end,
            rate_limit = case when 'rate_limit' = any($8) then $7 else rate_limit end
        where studio_id = $1 and id = $2"""
    await connection.execute(statement, access.studio_id, credential_id, *map(values.get, CHANGEABLE), list(values))


async def rotate_secret(
    connection: Connection, access: Access, credential_id: str, secret: bytes, overlap: timedelta
) -> datetime | None:
    """Add a secret; earlier ones expire after the overlap, or at their own expiry if that comes first. Return when the
    last of them expires, or the key itself, if that comes first."""
    statement = """
        with ended as (
            update credential_secrets set expires_at = least(expires_at, now() + $3)
            where studio_id = $1 and credential_id = $2 returning expires_at
        )
        select least(max(e.expires_at), (select c.expires_at from credentials c where c.studio_id = $1 and c.id = $2))
        from ended e"""
    ends: datetime | None = await connection.fetchval(statement, access.studio_id, credential_id, overlap)
    insert = "insert into credential_secrets (studio_id, credential_id, secret_hash) values ($1, $2, $3)"
    await connection.execute(insert, access.studio_id, credential_id, secret)
    return ends


async def revoke(connection: Connection, access: Access, credential_id: str) -> None:
    statement = "update credentials set revoked_at = coalesce(revoked_at, now()) where studio_id = $1 and id = $2"
    await connection.execute(statement, access.studio_id, credential_id)
