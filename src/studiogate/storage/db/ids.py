"""Row ids. All are instances of the driver's own UUID class, which is far cheaper to create and send."""

from uuid import UUID

import uuid_utils
from asyncpg.pgproto import pgproto


def new_id() -> UUID:
    """Return a new id. Ids are ordered by time, so that new rows are adjacent in the indexes."""
    return pgproto.UUID(uuid_utils.uuid7().bytes)


def read_id(text: str) -> UUID:
    """Convert an id that the database or ``domain.ids.parse_id`` returned. It is not validated again."""
    return pgproto.UUID(text)
