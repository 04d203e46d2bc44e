"""Tokens of the console's forms: each form takes effect at most once.

A claim is a row that the transaction of the effect inserts. A second request with the same token waits for the first
one inside PostgreSQL, on the primary key: it then finds the token used, or, after a rollback, free. Several flows of
one request share its claim.
"""

from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection

CLAIM = """
    insert into staff_form_tokens as kept (studio_id, account_id, token, request_id) values ($1, $2, $3, $4)
    on conflict (studio_id, account_id, token) do update set request_id = excluded.request_id
    where kept.request_id = excluded.request_id"""
SET_LOCATION = """
    update staff_form_tokens set location = $5
    where studio_id = $1 and account_id = $2 and token = $3 and request_id = $4"""
LOCATION = "select location from staff_form_tokens where studio_id = $1 and account_id = $2 and token = $3"


class SentForm(NamedTuple):
    """A form that a request sends: whose it is, its token, and the request."""

    account_id: UUID
    token: str
    request_id: UUID


def sent_form(access: Access) -> SentForm | None:
    staff = access.staff
    if staff is None or staff.form is None or staff.account_id is None:
        return None
    return SentForm(staff.account_id, staff.form.value, staff.form.request_id)


async def claim(connection: Connection, access: Access, form: SentForm) -> bool:
    """Claim a form for its request; return whether no other request has claimed it. Must run inside the transaction of
    the effect."""
    status: str = await connection.execute(CLAIM, access.studio_id, *form)
    return status.endswith("1")


async def set_location(connection: Connection, access: Access, form: SentForm, location: str) -> None:
    """Note where the answer to a form leads, if the request has claimed it."""
    await connection.execute(SET_LOCATION, access.studio_id, *form, location)


async def read_location(connection: Connection, access: Access, form: SentForm) -> str | None:
    """Return where the first answer to a form led to, if that is known."""
    location: str | None = await connection.fetchval(LOCATION, access.studio_id, form.account_id, form.token)
    return location
