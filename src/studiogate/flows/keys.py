"""Create, rotate and revoke keys, and note their use. The key itself is returned once and never stored."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any
from uuid import UUID

from studiogate.domain import keys
from studiogate.domain.access import OPERATOR, Access, operator_access
from studiogate.domain.fields import Values
from studiogate.domain.instants import instant_text
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import read_fields
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import audit
from studiogate.storage import keys as storage
from studiogate.storage import studio as studios
from studiogate.storage.db.failures import transaction_on
from studiogate.storage.db.pool import Connection, Database, Record

MAX_OVERLAP = timedelta(days=7)
REVOKED = Refusal(Code.INVALID_TRANSITION, {"from": "revoked", "to": "changed"})


@dataclass(frozen=True, slots=True)
class KeyRequest:
    name: str
    scopes: Sequence[str]
    location_ids: Sequence[UUID] | None = None
    expires_at: datetime | None = None
    rate_limit: int | None = None
    created_by: str = OPERATOR


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A key with its secret, its name, scopes and locations as they are stored. ``old_key_expires_at``: when the secret
    that a rotation replaced stops working; None for a new key."""

    id: str
    key: str
    name: str
    scopes: Sequence[str]
    location_ids: Sequence[UUID] | None
    old_key_expires_at: datetime | None = None


async def create(connection: Connection, studio_slug: str, wanted: KeyRequest) -> IssuedKey:
    """Create the key of a studio that is being loaded; ``issue`` is what people use."""
    async with transaction_on(connection):
        if (studio := await studios.find_studio(connection, studio_slug)) is None:
            raise AssertionError("a studio is loaded before its key is created")
        return await _create(connection, operator_access(studio["studio_id"]), studio, wanted)


@staff_flow(Permission.KEYS)
async def issue(connection: Connection, access: Access, wanted: KeyRequest) -> IssuedKey | Refusal:
    """Create a key for a partner, as an operator or a person of the studio, who gives it no more than they have."""
    if refusal := keys.giving_refusal(access, wanted.scopes):
        return refusal
    given = {name: getattr(wanted, name) for name in keys.KEY_LIMITS}
    values, faults = await _read_limits(connection, access, given)
    studio = await studios.find_studio(connection, await studios.slug_of(connection, access))
    if faults or studio is None:
        return Refusal(Code.VALIDATION_ERROR, faults=faults) if faults else Refusal(Code.NOT_FOUND)
    issued = await _create(connection, access, studio, replace(wanted, **values))
    await _record(connection, access, "key.create", (None, issued.id), values)
    return issued


async def _read_limits(
    connection: Connection, access: Access, given: Mapping[str, object]
) -> tuple[Values, list[Fault]]:
    """Return the limits of a new or changed key in the form in which they are stored, and all faults."""
    values, faults = read_fields(keys.KEY_LIMITS, given)
    unknown = set(values.get("location_ids") or ()) - await studios.location_ids(connection, access)
    faults += [Fault(("location_ids",), "value_error", f"{each} is not in this studio") for each in sorted(unknown)]
    return values, faults


async def _create(connection: Connection, access: Access, studio: Record, wanted: KeyRequest) -> IssuedKey:
    """Insert a key. Must run inside a transaction."""
    credential_id = keys.new_credential_id()
    key = keys.new_key(credential_id, test=studio["test"])
    details = {"id": credential_id, **asdict(wanted), "scopes": list(wanted.scopes), "created_by": wanted.created_by}
    await storage.create_credential(connection, access, details, _hash(key))
    return IssuedKey(credential_id, key, wanted.name, wanted.scopes, wanted.location_ids)


async def _record(
    connection: Connection,
    access: Access,
    action: str,
    key: tuple[str | None, str | None],
    new: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Record what was done to a key, never its secret. Ids of keys are no uuids: the entry is about the studio."""
    changes = {name: [None, _as_json(value)] for name, value in new.items() if value is not None}
    changes = {"key": list(key), **changes}
    await audit.add(connection, access, audit.Entry(action, audit.Subject("studio", access.studio_id), changes))


@staff_flow(Permission.KEYS)
async def rotate_key(
    connection: Connection, access: Access, credential_id: str, overlap: timedelta
) -> IssuedKey | Refusal:
    """Issue a second secret for the same credential; the old one keeps working for the overlap."""
    if not timedelta(0) <= overlap <= MAX_OVERLAP:
        return Refusal(Code.VALIDATION_ERROR, faults=[Fault(("overlap",), "value_error", "must be between 0 and 7d")])
    if (stored := await storage.lock_credential(connection, access, credential_id)) is None:
        return Refusal(Code.NOT_FOUND)
    if stored["revoked_at"] is not None:
        return REVOKED
    if refusal := keys.giving_refusal(access, stored["scopes"]):  # the person gets a working key
        return refusal
    key = keys.new_key(credential_id, test=stored["test"])
    old_key_ends = await storage.rotate_secret(connection, access, credential_id, _hash(key), overlap)
    ended = {"old_key_expires_at": old_key_ends}
    await _record(connection, access, "key.rotate", (credential_id, credential_id), ended)
    limits = stored["name"], stored["scopes"], stored["location_ids"]
    return IssuedKey(credential_id, key, *limits, old_key_expires_at=old_key_ends)


@staff_flow(Permission.KEYS)
async def revoke_key(connection: Connection, access: Access, credential_id: str) -> bool | Refusal:
    """End a key; return whether it was in use. One that is revoked already stays so."""
    if (stored := await storage.lock_credential(connection, access, credential_id)) is None:
        return Refusal(Code.NOT_FOUND)
    if stored["revoked_at"] is not None:
        return False
    await storage.revoke(connection, access, credential_id)
    await _record(connection, access, "key.revoke", (credential_id, None))
    return True


@staff_flow(Permission.KEYS)
async def change_key(
    connection: Connection, access: Access, credential_id: str, given: Mapping[str, object]
) -> dict[str, Any] | Refusal:
    """Change the given limits of a key; null lifts one. Return what differs, old and new. Effective in 5 seconds."""
    values, faults = await _read_limits(connection, access, given)
    if (stored := await storage.lock_credential(connection, access, credential_id)) is None:
        return Refusal(Code.NOT_FOUND)
    if faults or stored["revoked_at"] is not None:
        return Refusal(Code.VALIDATION_ERROR, faults=faults) if faults else REVOKED
    if refusal := keys.giving_refusal(access, sorted(set(values.get("scopes", ())) - set(stored["scopes"]))):
        return refusal
    differing = {name: [stored[name], value] for name, value in values.items() if stored[name] != value}
    if differing:
        await storage.change_credential(connection, access, credential_id, values)
        shown = {name: [_as_json(old), _as_json(new)] for name, (old, new) in differing.items()}
        entry = {"key": [credential_id, credential_id], **shown}
        await audit.add(connection, access, audit.Entry("key.change", audit.Subject("studio", access.studio_id), entry))
    return differing


def _as_json(value: object) -> object:
    if isinstance(value, datetime):
        return instant_text(value)
    return [str(each) for each in value] if isinstance(value, list | tuple) else value


async def record_use(database: Database, used_at: Mapping[str, datetime]) -> None:
    """Store when keys were used last; an earlier use changes nothing."""
    async with database.transaction() as connection:
        await storage.record_use(connection, used_at)


def _hash(key: str) -> bytes:
    presented = keys.parse(key)
    if presented is None:
        raise AssertionError("a key that we just made must parse")
    return presented.secret_hash
