"""Which stored row a row of a CSV file is about, as a pure decision."""

from dataclasses import replace
from typing import Any

import pytest

from studiogate.domain.csv_import.kinds import KINDS
from studiogate.domain.csv_import.matching import Decision, Facts, RowVerdict, decide
from studiogate.domain.csv_import.translate import Translated
from studiogate.flows.csv_rows import load_mapping

MEMBERS, LEADS, PRODUCTS, MEMBERSHIPS = (
    load_mapping("generic", KINDS[name]) for name in ("members", "leads", "products", "memberships")
)
FIRST = replace(MEMBERS, shared_email="first")
ANN = {"first_name": "Ann", "last_name": "Lee", "email": "lee@example.com"}
STORED, OTHER = "stored id", "other id"


def row(external_id: str | None = "1", values: dict[str, Any] | None = None, **more: Any) -> Translated:
    values = ANN if values is None else values
    given = {"key": values.get("email"), "member": None, "member_email": None, "defaults": {}, **more}
    return Translated(line=5, external_id=external_id, values=values, **given)


def facts(**known: Any) -> Facts:
    return Facts(**{"first_line": 5, "key_rows": 1, "key_line": 5, **known})


def owner(name: str = "Ann", **more: Any) -> Facts:
    return facts(owner_id=STORED, owner_name=name, **more)


KNOWN: dict[str, Any] = {"known_id": STORED, "known_exists": True}


@pytest.mark.parametrize(
    ("given", "known", "row_id"),
    [
        (row(), facts(), None),
        (row(None), facts(), None),
        (row(), facts(**KNOWN), STORED),
        (row(), owner(), STORED),
        (row(), owner(" ann "), STORED),
        (row(), owner(""), STORED),
        (row(), owner(owner_external_id="1"), STORED),
        (row(), owner(**KNOWN, owner_external_id="1"), STORED),
        (row(), owner(**KNOWN, key_rows=2), STORED),
    ],
)
def test_rows_that_are_imported(given: Translated, known: Facts, row_id: str | None) -> None:
    decision = decide(given, known, MEMBERS)
    assert (decision.verdict, decision.row_id, decision.values) == (None, row_id, ANN)


@pytest.mark.parametrize(
    ("given", "known", "field"),
    [
        (row(), facts(first_line=3), "external_id"),
        (row(), owner("Bo"), "email"),
        (row(None), owner("Bo"), "email"),
        (row(), owner(owner_external_id="2"), "email"),
        (row(), facts(known_id=OTHER, known_exists=True, owner_id=STORED, owner_name="Ann"), "email"),
        (row(), facts(key_rows=2), "email"),
        (row(), facts(key_rows=3, key_line=2), "email"),
        (row(None, {"first_name": "Ann"}), facts(), "email"),
        (row("1", {"email": "lee@example.com"}), facts(), "first_name"),
    ],
)
def test_rows_that_are_faults(given: Translated, known: Facts, field: str) -> None:
    decision = decide(given, known, MEMBERS)
    assert (decision.verdict, decision.field) == (RowVerdict.FAULT, field)
    assert decision.reason


@pytest.mark.parametrize("known", [owner("Bo"), owner(owner_external_id="2"), facts(key_rows=2, key_line=2)])
def test_a_relative_is_imported_without_the_email(known: Facts) -> None:
    decision = decide(row(), known, FIRST)
    assert (decision.verdict, decision.row_id) == (None, None)
    assert decision.values == {"first_name": "Ann", "last_name": "Lee"}
    assert decision.reason.endswith("and left out")
    assert decide(row(None), known, FIRST).verdict is RowVerdict.FAULT


def test_the_first_of_a_family_keeps_the_email() -> None:
    assert decide(row(), facts(key_rows=2), FIRST) == Decision(values=ANN)


def test_what_was_removed_is_not_created_again() -> None:
    assert decide(row(), facts(known_id=STORED), MEMBERS).verdict is RowVerdict.SKIPPED


def test_defaults_are_for_new_rows() -> None:
    given = row(defaults={"role": "user"})
    assert decide(given, facts(), MEMBERS).values == {**ANN, "role": "user"}
    assert decide(given, facts(**KNOWN), MEMBERS).values == ANN


def test_leads_that_share_an_email() -> None:
    known = facts(key_rows=2, key_line=2)
    assert decide(row(), known, LEADS).verdict is RowVerdict.FAULT
    assert decide(row(), known, replace(LEADS, shared_email="first")).verdict is RowVerdict.SKIPPED
    assert decide(row(values={"email": "a@example.com"}), facts(), LEADS).verdict is None


def test_products_are_matched_by_key() -> None:
    pack = {"key": "pack", "name": "Pack", "product_type": "package"}
    given = row(None, pack, key="pack")
    assert decide(given, facts(owner_id=STORED), PRODUCTS).row_id == STORED
    assert decide(given, facts(key_rows=2), PRODUCTS).reason.endswith("a product needs a key alone")
    assert decide(row(None, {"key": "pack"}, key="pack"), facts(), PRODUCTS).field == "name"


@pytest.mark.parametrize(
    ("given", "known", "field"),
    [
        ({"member": "7"}, {}, "member"),
        ({"member_email": "lee@example.com"}, {}, "member_email"),
        ({}, {}, "member"),
    ],
)
def test_memberships_of_nobody(given: dict[str, str], known: dict[str, str], field: str) -> None:
    decision = decide(row(values={"product_id": "p", "status": "active"}, **given), facts(**known), MEMBERSHIPS)
    assert (decision.verdict, decision.field) == (RowVerdict.FAULT, field)


@pytest.mark.parametrize(
    "known",
    [
        {"member_id": STORED},
        {"email_member_id": STORED},
        {"member_id": STORED, "email_member_id": OTHER},
    ],
)
def test_memberships_of_a_member(known: dict[str, str]) -> None:
    given = row(values={"product_id": "p", "status": "active"}, member="7")
    values = decide(given, facts(**known), MEMBERSHIPS).values
    assert values == {"product_id": "p", "status": "active", "member_id": STORED}


def test_a_known_membership_needs_no_member() -> None:
    assert decide(row(values={"status": "paused"}), facts(**KNOWN), MEMBERSHIPS).values == {"status": "paused"}
