"""The audit log keeps what changed, and nothing that identifies a person."""

from studiogate.domain.audit import MASK, changed_fields

BEFORE = {"id": "1", "first_name": "Ada", "email": None, "suspended": False, "role": "member", "updated_at": "x"}


def test_only_fields_that_differ_are_kept_with_both_values() -> None:
    after = {**BEFORE, "suspended": True, "updated_at": "y"}
    assert changed_fields("member", BEFORE, after) == {"suspended": [False, True]}


def test_personal_values_are_masked_and_absent_ones_are_not() -> None:
    after = {**BEFORE, "first_name": "Grace", "email": "grace@example.com"}
    assert changed_fields("member", BEFORE, after) == {"first_name": [MASK, MASK], "email": [None, MASK]}


def test_a_name_is_personal_only_where_it_names_a_person() -> None:
    assert changed_fields("room", {"name": "A"}, {"name": "B"}) == {"name": ["A", "B"]}
    assert changed_fields("lead", {"name": "A"}, {"name": "B"}) == {"name": [MASK, MASK]}


def test_a_new_row_has_null_on_the_old_side() -> None:
    assert changed_fields("room", None, {"id": "1", "capacity": 3, "active": None}) == {"capacity": [None, 3]}


def test_secrets_never_appear() -> None:
    assert changed_fields("key", {"secret_hash": "a"}, {"secret_hash": "b"}) == {}
