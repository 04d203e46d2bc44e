"""Rotate and revoke keys as an operator, who knows their ids only."""

from datetime import timedelta

from studiogate.domain.access import OPERATOR, Access, operator_access
from studiogate.flows import keys
from studiogate.flows.keys import IssuedKey
from studiogate.storage import keys as storage
from studiogate.storage.db.pool import Connection


async def rotate(connection: Connection, credential_id: str, overlap: timedelta, operator: str = OPERATOR) -> IssuedKey:
    access = await _access(connection, credential_id, operator)
    issued = await keys.rotate_key(connection, access, credential_id, overlap)
    assert isinstance(issued, IssuedKey), issued
    return issued


async def revoke(connection: Connection, credential_id: str, operator: str = OPERATOR) -> None:
    access = await _access(connection, credential_id, operator)
    revoked = await keys.revoke_key(connection, access, credential_id)
    assert isinstance(revoked, bool), revoked


async def _access(connection: Connection, credential_id: str, operator: str) -> Access:
    studio_id = await storage.studio_of_credential(connection, credential_id)
    assert studio_id is not None, credential_id
    return operator_access(studio_id, operator)
