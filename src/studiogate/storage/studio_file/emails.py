"""The emails that an import gives to members and leads, and those of submissions that it links to them."""

from collections.abc import AsyncIterator

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection
from studiogate.storage.people import BUCKETS, EMAIL_LOCK
from studiogate.storage.studio_file import submission_links

EMAILS = "select email from change_members where email is not null union select email from change_leads"

LOCK_EMAILS = f"""
    select {EMAIL_LOCK.format(studio="$1", email="email")} from (
        select distinct on (hashtext(email) & {BUCKETS - 1}) email from ({EMAILS} union {submission_links.EMAILS}) given
        order by hashtext(email) & {BUCKETS - 1}) ordered"""


async def lock_emails(connection: Connection, access: Access) -> None:
    """Lock the emails in a fixed order, so that two imports, or an import and a request, do not deadlock."""
    await connection.execute(LOCK_EMAILS, str(access.studio_id))


async def changed_emails(connection: Connection, at_most: int) -> AsyncIterator[list[str]]:
    """Yield the emails of new and changed members and leads, in batches."""
    cursor = await connection.cursor(f"{EMAILS} order by email")
    while rows := await cursor.fetch(at_most):
        yield [row["email"] for row in rows]
