"""The installation's secret key: that all processes have the same one, and how it is replaced."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from studiogate.domain.access import operator_access
from studiogate.domain.webhooks.secrets import Sealer, SealError, fingerprint
from studiogate.flows.once import answer_purpose
from studiogate.flows.webhooks import purpose_of
from studiogate.storage import deployment
from studiogate.storage.database import Connection
from studiogate.storage.deployment import EndpointSecrets, SealedAnswer

Choose = Callable[[bytes | None], Sequence[bytes] | None]
"""From the fingerprint of the present key to all keys, the next one last; None where the present one is the next.
Called under the lock of the fingerprint, so that two rotations come one after the other."""


class Rotated(NamedTuple):
    """How many secrets are sealed under the new key, and how many could not be opened."""

    sealed: int
    unreadable: int


async def agree(connection: Connection, key: bytes) -> bytes:
    """The fingerprint that the database knows; this key's is written the first time."""
    return await deployment.write_first(connection, fingerprint(key))


async def prepare(connection: Connection, choose: Choose) -> None:
    """Choose the next key without using it yet."""
    async with connection.transaction():
        choose(await deployment.lock_fingerprint(connection))


async def rotate(connection: Connection, choose: Choose, *, links: bool) -> Rotated | None:
    """Seal every secret anew under another key, in one transaction; None where that was done already. What cannot be
    opened stays as it is: its endpoint has to rotate its secret."""
    async with connection.transaction():
        keys = choose(await deployment.lock_fingerprint(connection))
        if keys is None:
            return None
        old, new = Sealer(lambda: keys), Sealer(lambda: keys[-1:])
        endpoints = await deployment.endpoint_secrets(connection)
        answers = await deployment.sealed_answers(connection)
        resealed = [each for each in (_endpoint(old, new, row) for row in endpoints) if each]
        readable = [each for each in (_answer(old, new, row) for row in answers) if each]
        await deployment.write_endpoint_secrets(connection, resealed)
        await deployment.write_answers(connection, readable)
        if links:
            await deployment.renew_link_secrets(connection)
        await deployment.replace_fingerprint(connection, fingerprint(keys[-1]))
    return Rotated(len(resealed), len(endpoints) - len(resealed))


def _endpoint(old: Sealer, new: Sealer, row: EndpointSecrets) -> EndpointSecrets | None:
    purpose = purpose_of(operator_access(row.studio_id), row.endpoint_id)
    secret = _anew(old, new, row.secret, purpose)
    if secret is None:
        return None
    return row._replace(secret=secret, previous=row.previous and _anew(old, new, row.previous, purpose))


def _answer(old: Sealer, new: Sealer, row: SealedAnswer) -> SealedAnswer | None:
    body = _anew(old, new, row.body, answer_purpose(row.studio_id, row.credential_id))
    return None if body is None else row._replace(body=body)


def _anew(old: Sealer, new: Sealer, sealed: bytes, purpose: str) -> bytes | None:
    try:
        return new.seal(old.open(sealed, purpose), purpose)
    except SealError:
        return None
