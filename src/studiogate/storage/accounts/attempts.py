"""Attempts to sign in, counted per key (an email, a device, a link, a session) and per address."""

from datetime import timedelta
from uuid import UUID

from studiogate.domain.staff.sign_in import Attempt, Tried
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id

ADD = "insert into staff_sign_in_attempts (id, kind, email_key, address) values ($1, $2, $3, $4)"
COUNT = """
    select of_key.count, of_address.count, of_key.oldest, of_address.oldest, clock_timestamp()
    from (select count(*), min(attempted_at) as oldest from staff_sign_in_attempts
          where kind = $1 and email_key = $2 and attempted_at > clock_timestamp() - $4::interval) of_key,
         (select count(*), min(attempted_at) as oldest from staff_sign_in_attempts
          where kind = $1 and address = $3 and attempted_at > clock_timestamp() - $4::interval) of_address"""


async def add(connection: Connection, kind: Attempt, key: bytes, address: str) -> UUID:
    """Record an attempt before anything is checked, so that attempts made at the same time count too."""
    attempt_id = new_id()
    await connection.execute(ADD, attempt_id, kind.value, key, address)
    return attempt_id


async def count(connection: Connection, kind: Attempt, key: bytes, address: str, window: timedelta) -> Tried:
    """Count what was committed. Must run after the transaction of ``add``: of attempts made at the same time, each then
    sees those that were recorded before it."""
    (row,) = await connection.fetch(COUNT, kind.value, key, address, window)
    return Tried(*row)


async def remove(connection: Connection, attempt_id: UUID) -> None:
    """Remove an attempt that does not count: it succeeded, or was refused by the limit."""
    await connection.execute("delete from staff_sign_in_attempts where id = $1", attempt_id)
