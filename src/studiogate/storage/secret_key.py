"""The secret key that all processes of an installation must share; the database knows only its fingerprint."""

from collections.abc import Sequence
from typing import Literal, NamedTuple
from uuid import UUID

from studiogate.storage.db.pool import Connection

_FINGERPRINT = "select key_fingerprint from deployment"
FINGERPRINTS = {None: _FINGERPRINT, "share": f"{_FINGERPRINT} for share", "update": f"{_FINGERPRINT} for update"}
# An installation without studios has no process of an earlier release, which could not read sealed link secrets.
FIRST = """
    insert into deployment (key_fingerprint, seals_links) select $1, not exists (select from studios)
    on conflict do nothing"""
REPLACE = """
    insert into deployment (key_fingerprint, seals_links) values ($1, true)
    on conflict (only_row) do update set key_fingerprint = excluded.key_fingerprint, seals_links = true"""

# Secrets of all studios: only `secrets rotate` reads them.
ENDPOINT_SECRETS = """
    select studio_id, id, secret, previous_secret, earlier_secrets from webhook_endpoints
    order by studio_id, id for update"""
WRITE_ENDPOINT_SECRETS = """
    update webhook_endpoints set secret = $3, previous_secret = $4, earlier_secrets = $5
    where studio_id = $1 and id = $2"""
# A sealed answer begins with random bytes, any other is a JSON object. One in 16 million sealed answers looks like a
# JSON object. That is accepted: it only means that it cannot be replayed to its caller within a day of a rotation.
SEALED_ANSWERS = """
    select studio_id, credential_id, key, body from idempotency_keys
    where substr(body, 1, 2) <> '\\x7b22'::bytea or substr(body, length(body), 1) <> '\\x7d'::bytea
    order by studio_id, credential_id, key for update"""
WRITE_ANSWER = "update idempotency_keys set body = $4 where studio_id = $1 and credential_id = $2 and key = $3"
ALL_LINKS = "select studio_id, link_secret from studio_secrets order by studio_id for update"
UNSEALED_LINKS = """
    select studio_id from studio_secrets
    where length(link_secret) = 32 and (select seals_links from deployment) limit $1"""
LOCK_LINK = "select link_secret from studio_secrets where studio_id = $1 for update"


class EndpointSecrets(NamedTuple):
    studio_id: UUID
    endpoint_id: UUID
    secret: bytes
    previous: bytes | None
    earlier: Sequence[bytes] = ()


class LinkSecret(NamedTuple):
    studio_id: UUID
    secret: bytes


class SealedAnswer(NamedTuple):
    studio_id: UUID
    credential_id: str
    key: str
    body: bytes


async def key_fingerprint(connection: Connection, lock: Literal["share", "update"] | None = None) -> bytes | None:
    """Return the fingerprint of the key that this database's secrets are sealed with; None before the first start.

    With a lock on it, a rotation (update) and transactions that seal something (share) wait for each other."""
    found: bytes | None = await connection.fetchval(FINGERPRINTS[lock])
    return found


async def write_first(connection: Connection, fingerprint: bytes) -> bytes:
    await connection.execute(FIRST, fingerprint)
    return await key_fingerprint(connection) or fingerprint


async def replace_fingerprint(connection: Connection, fingerprint: bytes) -> None:
    await connection.execute(REPLACE, fingerprint)


async def endpoint_secrets(connection: Connection) -> list[EndpointSecrets]:
    return [EndpointSecrets(*row) for row in await connection.fetch(ENDPOINT_SECRETS)]


async def write_endpoint_secrets(connection: Connection, secrets: Sequence[EndpointSecrets]) -> None:
    """Replace secrets without touching the endpoints' ``updated_at``. Must run inside a transaction."""
    await connection.execute("set local studiogate.resealing = 'on'")
    await connection.executemany(WRITE_ENDPOINT_SECRETS, secrets)
    await connection.execute("set local studiogate.resealing = 'off'")


async def sealed_answers(connection: Connection) -> list[SealedAnswer]:
    return [SealedAnswer(*row) for row in await connection.fetch(SEALED_ANSWERS)]


async def write_answers(connection: Connection, answers: Sequence[SealedAnswer]) -> None:
    await connection.executemany(WRITE_ANSWER, answers)


async def link_secrets(connection: Connection) -> list[LinkSecret]:
    """Lock and return the secrets that studios sign links to hosted forms with."""
    return [LinkSecret(*row) for row in await connection.fetch(ALL_LINKS)]


async def write_link_secrets(connection: Connection, secrets: Sequence[LinkSecret]) -> None:
    await connection.executemany("update studio_secrets set link_secret = $2 where studio_id = $1", secrets)


async def studios_with_unsealed_links(connection: Connection, at_most: int) -> list[UUID]:
    """Find studios whose link secret is not sealed, in an installation that seals them."""
    return [row["studio_id"] for row in await connection.fetch(UNSEALED_LINKS, at_most)]


async def lock_link_secret(connection: Connection, studio_id: UUID) -> bytes | None:
    found: bytes | None = await connection.fetchval(LOCK_LINK, studio_id)
    return found
