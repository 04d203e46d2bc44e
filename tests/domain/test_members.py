"""The profile of two members that are one person."""

from datetime import UTC, datetime

from studiogate.domain.members import Profile, merged_profile

EARLY, LATE = datetime(2020, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)
EMPTY = Profile("A", "B", None, None, "lead", None, None, None)
FULL = Profile("C", "D", "c@example.com", "+1", "member", "gold", LATE, LATE)


def test_what_is_missing_is_filled_in() -> None:
    assert merged_profile(EMPTY, FULL) == FULL._replace(first_name="A", last_name="B")


def test_what_is_there_stays() -> None:
    assert merged_profile(FULL, EMPTY) == FULL
    other = Profile("E", "F", "e@example.com", "+2", "user", "silver", EARLY, EARLY)
    assert merged_profile(FULL, other) == FULL._replace(membership_start_date=EARLY)


def test_the_stronger_role_stays() -> None:
    roles = [("lead", "user", "user"), ("user", "member", "member"), ("member", "lead", "member")]
    for kept, other, expected in roles:
        assert merged_profile(EMPTY._replace(role=kept), EMPTY._replace(role=other)).role == expected
