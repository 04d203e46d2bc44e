"""Members: the fields that staff can set, how each of them is read, and what becomes of two profiles in a merge."""

from collections.abc import Mapping
from typing import TypeAlias

from studiogate.domain.fields import Values
from studiogate.domain.fields.people import MEMBERS, MemberRole
from studiogate.domain.fields.readers import Setting
from studiogate.domain.names import text_fault
from studiogate.domain.refusals import Fault, Refusal
from studiogate.domain.staff_input import Fields, fault, fields_of, read_fields, refused, stripped

MAX_NOTE = 10_000


MEMBER: Fields = {**fields_of(MEMBERS, "suspended", "staff_notes", "erased_at"), "role": MEMBERS["role"].never_null()}
# A new profile is a member's, and has nothing yet that follows from memberships.
NEW_MEMBER: Fields = {
    name: field for name, field in MEMBER.items() if name != "role" and not name.startswith("membership_")
}
Profile: TypeAlias = Values


def read_member(given: Mapping[str, object], country: str | None) -> tuple[Values, list[Fault]]:
    """Return the fields of a new member, and every fault; the names are required."""
    return read_fields(NEW_MEMBER, stripped(given), Setting(country=country), new=True)


def read_member_changes(given: Mapping[str, object], country: str | None) -> tuple[Values, list[Fault]]:
    return read_fields(MEMBER, stripped(given), Setting(country=country))


def note_fault(note: str) -> Refusal | None:
    """Return the refusal of a note that cannot be stored."""
    wrong = text_fault(note, MAX_NOTE)
    return None if wrong is None else refused(fault("note", f"must {wrong}"))


def merged_profile(kept: Profile, other: Profile) -> Profile:
    """Return the profile of two that are one person: the kept one, with what it lacks from the other."""
    starts = [each["membership_start_date"] for each in (kept, other) if each["membership_start_date"] is not None]
    return {
        **{name: kept[name] if field.required else kept[name] or other[name] for name, field in MEMBER.items()},
        "role": min(kept["role"], other["role"], key=[each.value for each in MemberRole].index),
        "membership_start_date": min(starts, default=None),
    }
