"""What the audit log keeps of a change: the fields that differ, with personal values masked.

The log outlives the data that it is about, so nothing identifies a person: a masked value says that there was one."""

from collections.abc import Iterable, Mapping

from studiogate.domain.fields.schedule import LOCATIONS
from studiogate.domain.json_values import same_json
from studiogate.domain.studio_file.rows import EVERY_SECTION

MASK = "•••"
# Personal fields, masked in any row: free text and answers may name anybody.
PERSONAL = frozenset(field.name for section in EVERY_SECTION.values() for field in section.fields if field.personal) | {
    "name",
    "note",
    "page_key",
    "notification_emails",
}
# ``name`` is personal only where it names a person.
KINDS_OF_PEOPLE = frozenset({"member", "lead", "submission", "staff_account"})
# The telephone number and the address of a place are no person's.
OF_PLACES = frozenset(field.name for field in LOCATIONS.fields if not field.personal)
# Columns that change with every write, or repeat others.
IGNORED = frozenset({"studio_id", "id", "created_at", "updated_at", "revision", "state_version"})
SECRET = frozenset(
    {"secret", "secret_hash", "password_hash", "totp_secret", "sealed_secret", "previous_secret", "earlier_secrets"}
)


def changed_fields(
    kind: str, before: Mapping[str, object] | None, after: Mapping[str, object] | None
) -> dict[str, object]:
    """Return the fields that differ as ``{name: [old, new]}``; a row that is new or gone has null on one side."""
    old, new = before or {}, after or {}
    both = ((name, old.get(name), new.get(name)) for name in sorted({*old, *new}) if is_recorded(name))
    return {
        name: [_shown(kind, name, was), _shown(kind, name, becomes)]
        for name, was, becomes in both
        if not same_json(was, becomes)
    }


def is_recorded(name: str) -> bool:
    """Return whether entries have this field."""
    return name not in IGNORED and name not in SECRET


def is_masked(kind: str, name: str) -> bool:
    """Return whether the values of a field are personal."""
    if kind == "location" and name in OF_PLACES:
        return False
    return name in PERSONAL and (name != "name" or kind in KINDS_OF_PEOPLE)


def overridden_rules(codes: Iterable[str]) -> dict[str, object]:
    """Return the rules that staff overrode, as an addition to the fields that changed."""
    named = [str(code) for code in codes]
    return {"overridden_rules": [None, named]} if named else {}


def _shown(kind: str, name: str, value: object) -> object:
    if value in (None, "", [], {}):
        return None
    return MASK if is_masked(kind, name) else value
