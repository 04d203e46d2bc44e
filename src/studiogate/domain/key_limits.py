"""What a key may be given when it is made or changed: its name, scopes, locations, end and rate. Null lifts a limit."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from studiogate.domain.access import Scope, unknown_scopes
from studiogate.domain.fields import Values, optional, required
from studiogate.domain.fields import readers as v
from studiogate.domain.fields.readers import Setting, WrongValueError
from studiogate.domain.names import name_fault
from studiogate.domain.refusals import Fault
from studiogate.domain.staff_input import by_name, read_fields

# The largest number of the column.
MAX_RATE = 2**31 - 1


def _name(value: object, _setting: Setting) -> str:
    name = value.strip() if isinstance(value, str) else ""
    fault = name_fault(name) if name else "not be empty"
    if fault is not None:
        raise WrongValueError(((), f"must {fault}"))
    return name


def _scopes(value: object, _setting: Setting) -> list[str]:
    if not isinstance(value, list | tuple) or not value:
        raise WrongValueError(((), "must have at least one scope"))
    unknown = unknown_scopes(value)
    if unknown:
        raise WrongValueError(((), f"has {unknown[0]!r}, which is none of {', '.join(Scope)}"))
    return sorted(set(value))


def _location_ids(value: object, setting: Setting) -> list[UUID]:
    if not isinstance(value, list | tuple) or not value:
        raise WrongValueError(((), "must have at least one location, or be null for all"))
    return list(dict.fromkeys(UUID(str(v.identifier(str(each), setting))) for each in value))


def _expiry(value: object, setting: Setting) -> datetime:
    return value if isinstance(value, datetime) else v.instant(value, setting)


def _rate(value: object, _setting: Setting) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_RATE:
        raise WrongValueError(((), f"must be a number from 1 to {MAX_RATE}, or null for the default"))
    return value


KEY_LIMITS = by_name(
    required("name", _name, personal=False),
    required("scopes", _scopes, personal=False),
    optional("location_ids", _location_ids, personal=False),
    optional("expires_at", _expiry, personal=False),
    optional("rate_limit", _rate, personal=False),
)


def read_key_limits(given: Mapping[str, object]) -> tuple[Values, list[Fault]]:
    """Return the given limits of a key in the form in which they are stored, and all faults."""
    return read_fields(KEY_LIMITS, given)
