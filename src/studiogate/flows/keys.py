"""Create, rotate and revoke keys. The key itself is returned once and never stored."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from studiogate.domain import keys
from studiogate.domain.access import Access, operator_access
from studiogate.domain.names import name_fault
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import audit
from studiogate.storage import keys as storage
from studiogate.storage import studio as studios
from studiogate.storage.audit import Entry, Subject
from studiogate.storage.db.pool import Connection, Record

MAXIMUM_OVERLAP = timedelta(days=7)
OPERATOR = "operator"


class KeyProblemError(Exception):
    """A key cannot be created or changed; the text says why and how to fix it."""


@dataclass(frozen=True, slots=True)
class KeyRequest:
    name: str
    scopes: Sequence[str]
    location_ids: Sequence[UUID] | None = None
    expires_at: datetime | None = None
    rate_limit: int | None = None
    created_by: str = "operator"


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """``old_key_expires_at``: when the secret that a rotation replaced stops working; None for a new key."""

    id: str
    key: str
    old_key_expires_at: datetime | None = None


async def create(connection: Connection, studio_slug: str, wanted: KeyRequest) -> IssuedKey:
    """Create the key of a studio that is being loaded; ``issue`` is what people use."""
    async with connection.transaction():
        studio = await studios.find_studio(connection, studio_slug)
        if studio is None:
            raise KeyProblemError(no_studio_text(studio_slug))
        return await _create(connection, operator_access(studio["studio_id"]), studio, wanted)


@staff_flow(Permission.KEYS)
async def issue(connection: Connection, access: Access, wanted: KeyRequest) -> IssuedKey | Refusal:
    """Create a key for a partner, as an operator or a person of the studio, who gives it no more than they have."""
    refusal = keys.giving_refusal(access, wanted.scopes)
    if refusal is not None:
        return refusal
    name, fault = wanted.name.strip(), name_fault(wanted.name)
    faults = [] if name else [Fault(("name",), "string_too_short", "Give the key a name")]
    faults += [Fault(("name",), "name", f"Name should {fault}")] if fault else []
    faults += [] if wanted.scopes else [Fault(("scopes",), "too_short", "Choose at least one scope")]
    studio = await studios.find_studio(connection, await studios.slug_of(connection, access))
    if faults or studio is None:
        return Refusal(Code.VALIDATION_ERROR, faults=faults) if faults else Refusal(Code.NOT_FOUND)
    issued = await _create(connection, access, studio, replace(wanted, name=name))
    await _record(connection, access, "key.create", (None, issued.id))
    return issued


async def _create(connection: Connection, access: Access, studio: Record, wanted: KeyRequest) -> IssuedKey:
    """Insert a key. Must run inside a transaction."""
    await _check_locations(connection, access.studio_id, wanted.location_ids)
    credential_id = keys.new_credential_id()
    key = keys.new_key(credential_id, test=studio["test"])
    details = {
        "id": credential_id,
        "name": wanted.name,
        "scopes": list(wanted.scopes),
        "location_ids": wanted.location_ids,
        "expires_at": wanted.expires_at,
        "rate_limit": wanted.rate_limit,
        "created_by": wanted.created_by,
    }
    await storage.create_credential(connection, access, details, _hash(key))
    return IssuedKey(credential_id, key)


async def _record(connection: Connection, access: Access, action: str, key: tuple[str | None, str | None]) -> None:
    """Record what was done to a key. Ids of keys are no uuids, so the entry is about the studio."""
    await audit.add(connection, access, Entry(action, Subject("studio", access.studio_id), {"key": list(key)}))


async def _check_locations(connection: Connection, studio_id: UUID, wanted: Sequence[UUID] | None) -> None:
    known = await studios.location_ids(connection, operator_access(studio_id))
    for location_id in wanted or ():
        if location_id not in known:
            raise KeyProblemError(f"The studio has no location {location_id}: GET /partner/v1/locations lists them.")


async def rotate(connection: Connection, credential_id: str, overlap: timedelta, operator: str = OPERATOR) -> IssuedKey:
    """Issue a second secret for the same credential; the old one keeps working for the overlap."""
    if not timedelta(0) <= overlap <= MAXIMUM_OVERLAP:
        raise KeyProblemError("The overlap must be between 0 and 7d.")
    async with connection.transaction():
        owner = await storage.studio_of_credential(connection, credential_id)
        if owner is None:
            raise KeyProblemError(_unknown(credential_id))
        if owner["revoked_at"] is not None:
            raise KeyProblemError(f"Key {credential_id} is revoked: make a new one with `studiogate key create`.")
        key = keys.new_key(credential_id, test=owner["test"])
        access = operator_access(owner["studio_id"], operator)
        old_key_ends = await storage.rotate_secret(connection, access, credential_id, _hash(key), overlap)
        await _record(connection, access, "key.rotate", (credential_id, credential_id))
    return IssuedKey(credential_id, key, old_key_ends)


async def revoke(connection: Connection, credential_id: str, operator: str = OPERATOR) -> None:
    """End a key. One that is revoked already stays so."""
    async with connection.transaction():
        owner = await storage.studio_of_credential(connection, credential_id)
        if owner is None:
            raise KeyProblemError(_unknown(credential_id))
        if owner["revoked_at"] is None:
            access = operator_access(owner["studio_id"], operator)
            await storage.revoke(connection, access, credential_id)
            await _record(connection, access, "key.revoke", (credential_id, None))


def _hash(key: str) -> bytes:
    presented = keys.parse(key)
    if presented is None:
        raise AssertionError("a key that we just made must parse")
    return presented.secret_hash


def no_studio_text(slug: str) -> str:
    """Return what to do about a slug that no studio has."""
    return f"There is no studio {slug!r}: `studiogate studio list` shows them, `studiogate studio create` creates one."


def _unknown(credential_id: str) -> str:
    if credential_id.startswith("sgk_"):  # not echoed: the output of commands is often stored
        return "That is a whole key. Give its id, the 8 characters in its middle: `studiogate key list` shows them."
    return f"There is no key {credential_id!r}: `studiogate key list` shows them."
