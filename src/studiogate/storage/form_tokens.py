"""Tokens of the console's forms: each form takes effect at most once.

A claim is a row that the transaction of the effect inserts. A second request with the same token waits for the first
one inside PostgreSQL, on the primary key: it then finds the token used, or, after a rollback, free.
"""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection

KEPT = "interval '2 days'"
CLAIM = """
    insert into staff_form_tokens (studio_id, account_id, token) values ($1, $2, $3)
    on conflict (studio_id, account_id, token) do nothing"""
SET_LOCATION = """
    update staff_form_tokens set location = $4 where studio_id = $1 and account_id = $2 and token = $3"""
LOCATION = "select location from staff_form_tokens where studio_id = $1 and account_id = $2 and token = $3"
SWEEP = f"""
    delete from staff_form_tokens where studio_id = $1 and (account_id, token) in (
        select account_id, token from staff_form_tokens
        where studio_id = $1 and claimed_at <= clock_timestamp() - {KEPT} limit $2)"""
# Studio by studio through the index: one lookup per studio.
STUDIOS = f"""
    select studio_id from studios s where exists (
        select from staff_form_tokens t
        where t.studio_id = s.studio_id and t.claimed_at <= clock_timestamp() - {KEPT})"""


async def claim(connection: Connection, access: Access, account_id: UUID, token: str) -> bool:
    """Claim a token; return whether it was free. Must run inside the transaction of the effect."""
    status: str = await connection.execute(CLAIM, access.studio_id, account_id, token)
    return status.endswith("1")


async def set_location(connection: Connection, access: Access, account_id: UUID, token: str, location: str) -> None:
    """Note where the answer to a form led to."""
    await connection.execute(SET_LOCATION, access.studio_id, account_id, token, location)


async def read_location(connection: Connection, access: Access, account_id: UUID, token: str) -> str | None:
    """Return where the first answer to a form led to, if that is known."""
    location: str | None = await connection.fetchval(LOCATION, access.studio_id, account_id, token)
    return location


async def sweep(connection: Connection, access: Access, at_most: int) -> int:
    """Delete old tokens; return how many."""
    status: str = await connection.execute(SWEEP, access.studio_id, at_most)
    return int(status.rpartition(" ")[2])


async def studios_with_old_tokens(connection: Connection) -> list[UUID]:
    return [row["studio_id"] for row in await connection.fetch(STUDIOS)]
