"""The profile of two members that are one person."""

from datetime import UTC, datetime

from studiogate.domain.fields.people import MEMBERS
from studiogate.domain.fields.readers import MAX_RESTORED_NAME, Setting
from studiogate.domain.members import MEMBER, Profile, merged_profile, read_member
from studiogate.domain.names import MAX_NAME

EARLY, LATE = datetime(2020, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)


def profile(*values: object) -> Profile:
    return dict(zip(MEMBER, values, strict=True))


EMPTY = profile("A", "B", None, None, "lead", None, None, None)
FULL = profile("C", "D", "c@example.com", "+1", "member", "gold", LATE, LATE)


def test_what_is_missing_is_filled_in() -> None:
    assert merged_profile(EMPTY, FULL) == {**FULL, "first_name": "A", "last_name": "B"}


def test_what_is_there_stays() -> None:
    assert merged_profile(FULL, EMPTY) == FULL
    other = profile("E", "F", "e@example.com", "+2", "user", "silver", EARLY, EARLY)
    assert merged_profile(FULL, other) == {**FULL, "membership_start_date": EARLY}


def test_the_stronger_role_stays() -> None:
    roles = [("lead", "user", "user"), ("user", "member", "member"), ("member", "lead", "member")]
    for kept, other, expected in roles:
        assert merged_profile({**EMPTY, "role": kept}, {**EMPTY, "role": other})["role"] == expected


def test_staff_give_shorter_names_than_a_file_restores() -> None:
    """What `domain/staff_input.py` says about both; a message speaks of characters."""
    read = next(field.read for field in MEMBERS.fields if field.name == "first_name")
    restored = "x" * MAX_RESTORED_NAME
    assert (read(restored, Setting()), MAX_RESTORED_NAME, MAX_NAME) == (restored, 2_000, 200)
    assert read_member({"first_name": "x" * MAX_NAME, "last_name": "y"}, None)[1] == []
    for name in ("", "x" * (MAX_NAME + 1)):
        (fault,) = read_member({"first_name": name, "last_name": "y"}, None)[1]
        assert (fault.loc, fault.msg) == (("first_name",), "must have 1 to 200 characters")
    (fault,) = read_member({"first_name": 5, "last_name": "y"}, None)[1]
    assert fault.msg == "must be text"
    (fault,) = read_member({"first_name": "\x00", "last_name": "y"}, None)[1]
    assert fault.msg == "must be text without null characters or unpaired surrogates"
