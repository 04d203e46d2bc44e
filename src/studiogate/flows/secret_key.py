"""The installation's secret key: make sure that all processes have the same one, and replace it."""

from collections.abc import Callable, Sequence
from secrets import token_bytes
from typing import NamedTuple

from studiogate.domain.access import operator_access
from studiogate.domain.encryption import Sealer, SealError, fingerprint
from studiogate.domain.forms.signed_links import SECRET_BYTES, is_sealed_link, link_purpose, open_link_secret
from studiogate.domain.staff.tokens import totp_purpose
from studiogate.flows.idempotency import answer_purpose
from studiogate.flows.webhooks import purpose_of
from studiogate.storage import secret_key
from studiogate.storage.accounts import accounts
from studiogate.storage.db.failures import transaction_on
from studiogate.storage.db.pool import Connection, Database

AT_ONCE = 100
Choose = Callable[[bytes | None], Sequence[bytes] | None]
"""Maps the fingerprint of the present key to all keys, the next one last; None if the present key is the next one.
Called under the lock of the fingerprint, so that rotations are serialized."""


class Rotated(NamedTuple):
    """Counts of webhook secrets that were sealed anew and that did not open, of link secrets, and of lost factors."""

    sealed: int
    unreadable: int
    links: int
    lost_second_factors: int


async def agree(connection: Connection, key: bytes) -> bytes:
    """Return the fingerprint that the database knows; the first call stores that of this key."""
    return await secret_key.write_first(connection, fingerprint(key))


async def prepare(connection: Connection, choose: Choose) -> None:
    async with transaction_on(connection):
        choose(await secret_key.key_fingerprint(connection, "update"))


async def rotate(connection: Connection, choose: Choose, *, links: bool) -> Rotated | None:
    """Reseal every secret under another key, in one transaction; return None if that was done already. What cannot be
    opened stays: a webhook secret has to be rotated, a second factor to be removed by an operator."""
    async with transaction_on(connection):
        if (keys := choose(await secret_key.key_fingerprint(connection, "update"))) is None:
            return None
        old, new = Sealer(lambda: keys), Sealer(lambda: keys[-1:])
        endpoints = await secret_key.endpoint_secrets(connection)
        answers = await secret_key.sealed_answers(connection)
        resealed = [each for each in (_endpoint(old, new, row) for row in endpoints) if each]
        readable = [
            row._replace(body=body)
            for row in answers
            if (body := _anew(old, new, row.body, answer_purpose(row.studio_id, row.credential_id)))
        ]
        await secret_key.write_endpoint_secrets(connection, resealed)
        await secret_key.write_answers(connection, readable)
        stored = await secret_key.link_secrets(connection)
        await secret_key.write_link_secrets(connection, [_link(old, new, row, renew=links) for row in stored])
        factors = await accounts.sealed_secrets(connection)
        opened = [
            row._replace(secret=secret)
            for row in factors
            if (secret := _anew(old, new, row.secret, totp_purpose(row.account_id)))
        ]
        await accounts.write_secrets(connection, opened)
        await secret_key.replace_fingerprint(connection, fingerprint(keys[-1]))
    return Rotated(len(resealed), len(endpoints) - len(resealed), len(stored), len(factors) - len(opened))


def _endpoint(old: Sealer, new: Sealer, row: secret_key.EndpointSecrets) -> secret_key.EndpointSecrets | None:
    purpose = purpose_of(operator_access(row.studio_id), row.endpoint_id)
    if (secret := _anew(old, new, row.secret, purpose)) is None:
        return None
    # An earlier secret that cannot be opened stays in its place, beside its end; nothing is signed with it.
    earlier = [_anew(old, new, each, purpose) or each for each in row.earlier]
    return row._replace(
        secret=secret, previous=row.previous and _anew(old, new, row.previous, purpose), earlier=earlier
    )


def _link(old: Sealer, new: Sealer, row: secret_key.LinkSecret, *, renew: bool) -> secret_key.LinkSecret:
    """Seal the same secret under the new key; or a new one, with ``renew`` or if it does not open: old links end."""
    try:
        secret = token_bytes(SECRET_BYTES) if renew else open_link_secret(old, row.studio_id, row.secret)
    except SealError:
        secret = token_bytes(SECRET_BYTES)
    return row._replace(secret=new.seal(secret, link_purpose(row.studio_id)))


async def seal_links(database: Database, sealer: Sealer) -> int:
    """Seal the link secrets of studios that are new since the last run, if the installation seals them."""
    async with database.connection() as connection:
        studios = await secret_key.studios_with_unsealed_links(connection, AT_ONCE)
    for studio_id in studios:
        async with database.transaction() as connection:
            sealer.use(await secret_key.key_fingerprint(connection, "share"))
            stored = await secret_key.lock_link_secret(connection, studio_id)
            if stored is not None and not is_sealed_link(stored):
                sealed = sealer.seal(stored, link_purpose(studio_id))
                await secret_key.write_link_secrets(connection, [secret_key.LinkSecret(studio_id, sealed)])
    return len(studios)


def _anew(old: Sealer, new: Sealer, sealed: bytes, purpose: str) -> bytes | None:
    try:
        return new.seal(old.open(sealed, purpose), purpose)
    except SealError:
        return None
