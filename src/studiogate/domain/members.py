"""Members: the fields that staff can set, how each of them is read, and what becomes of two profiles in a merge."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from studiogate.domain.fields.people import MEMBERS, MemberRole
from studiogate.domain.fields.readers import Setting
from studiogate.domain.names import text_fault
from studiogate.domain.refusals import Fault, Refusal
from studiogate.domain.staff_input import Fields, by_name, fault, fields_of, read_fields, refused, stripped

MAX_NOTE = 10_000


class Profile(NamedTuple):
    """The fields of a member that staff can change."""

    first_name: str
    last_name: str
    email: str | None
    phone: str | None
    role: str
    membership_type: str | None
    membership_start_date: datetime | None
    membership_end_date: datetime | None


MEMBER: Fields = {
    **fields_of(MEMBERS, "suspended", "staff_notes", "erased_at"),
    "role": MEMBERS["role"].never_null(),
}
NEW_MEMBER = by_name(*MEMBERS.only("first_name", "last_name", "email", "phone"))


def read_member(given: Mapping[str, object], country: str | None) -> tuple[dict[str, Any], list[Fault]]:
    """Return the fields of a new member, and every fault; the names are required."""
    return read_fields(NEW_MEMBER, stripped(given), Setting(country=country), new=True)


def read_member_changes(given: Mapping[str, object], country: str | None) -> tuple[dict[str, Any], list[Fault]]:
    """Return the fields to change, and every fault."""
    return read_fields(MEMBER, stripped(given), Setting(country=country))


def note_fault(note: str) -> Refusal | None:
    """Return the refusal of a note that cannot be stored."""
    wrong = text_fault(note, MAX_NOTE)
    return None if wrong is None else refused(fault("note", f"must {wrong}"))


def merged_profile(kept: Profile, other: Profile) -> Profile:
    """Return the profile of two that are one person: the kept one, with what it lacks from the other."""
    starts = [each for each in (kept.membership_start_date, other.membership_start_date) if each is not None]
    return kept._replace(
        email=kept.email or other.email,
        phone=kept.phone or other.phone,
        role=min(kept.role, other.role, key=[each.value for each in MemberRole].index),
        membership_type=kept.membership_type or other.membership_type,
        membership_start_date=min(starts, default=None),
        membership_end_date=kept.membership_end_date or other.membership_end_date,
    )
