"""Where the answer to a form of the console led to: a form that is sent twice leads to the same page."""

from studiogate.domain.access import Access
from studiogate.storage import form_tokens
from studiogate.storage.db.pool import Database

MAX_LOCATION = 2_000


async def note_location(database: Database, access: Access, location: str) -> None:
    """Note where the answer to the form leads, if a flow has claimed its token."""
    staff = access.staff
    if staff is None or staff.form is None or staff.account_id is None or not staff.form.is_claimed:
        return
    async with database.transaction() as connection:
        token, noted = staff.form.value, location[:MAX_LOCATION]
        await form_tokens.set_location(connection, access, staff.account_id, token, noted)


async def first_location(database: Database, access: Access) -> str | None:
    """Return where the first answer to the form led to."""
    staff = access.staff
    if staff is None or staff.form is None or staff.account_id is None:
        return None
    async with database.connection() as connection:
        return await form_tokens.read_location(connection, access, staff.account_id, staff.form.value)
