"""The demo studio's members, their memberships and purchases, its leads and its forms."""

from datetime import datetime
from decimal import Decimal
from typing import Any

import phonenumbers
import pytest

from tests.support.demo_rows import MOMENTS, Row, by_id, moment, studio_at

FIELD_TYPES = {
    "text", "textarea", "number", "email", "phone", "date", "select", "checkbox", "checkbox_group", "signature",
    "file_upload", "address", "rating", "section_break", "consent",
}  # fmt: skip
OPERATORS = {
    "equals", "not_equals", "in", "not_in", "contains", "not_contains", "gt", "gte", "lt", "lte", "is_empty",
    "is_not_empty",
}  # fmt: skip
DECIMALS = {"USD": 2, "EUR": 2, "JPY": 0}


@pytest.fixture(params=MOMENTS, ids=lambda moment: moment.date().isoformat())
def now(request: pytest.FixtureRequest) -> datetime:
    moment: datetime = request.param
    return moment


@pytest.fixture
def studio(now: datetime) -> Row:
    return studio_at(now)


# People and money


def test_members_can_be_reached(studio: Row) -> None:
    emails = [row["email"] for row in studio["members"] if row["email"]]
    assert len(emails) == len(set(emails)) < len(studio["members"])
    assert all(email.rpartition("@")[2] in {"example.com", "example.org", "example.net"} for email in emails)
    assert all(email == email.lower() and email.isascii() for email in emails)
    phones = [row["phone"] for row in studio["members"] if row["phone"]]
    assert len(phones) == len(set(phones))
    for phone in phones:
        assert phonenumbers.is_valid_number(phonenumbers.parse(phone))
        assert phone[5:10] == "55501"


def test_membership_fields_agree_with_their_state(studio: Row, now: datetime) -> None:
    for row in studio["memberships"]:
        status = row["status"]
        assert (row["paused_at"] is not None) == (row["pause_reason"] is not None) == (status == "paused")
        assert (row["cancelled_at"] is not None) == (status == "cancelled")
        assert (row["ended_at"] is not None) == (status in {"cancelled", "expired"})
        assert (moment(row["started_at"]) > now) == (status == "pending")
        assert (moment(row["current_period_start"]) > now) == (status == "pending")
        assert row["started_at"] <= row["current_period_start"] < row["current_period_end"]
        if status in {"active", "paused", "pending"}:
            assert moment(row["current_period_end"]) > now
        if status == "paused":
            assert row["pause_starts_at"] <= row["paused_at"] < row["pause_ends_at"]
            assert moment(row["paused_at"]) < now < moment(row["pause_ends_at"])
        if row["ended_at"]:
            assert moment(row["ended_at"]) < now
            assert not row["auto_renew"]
        if row["cancel_at_period_end"]:
            assert row["cancel_at"] == row["current_period_end"]
    assert {row["credits_granted"] is None for row in studio["memberships"]} == {True, False}


def assert_money(amount: str, currency: str) -> None:
    assert -int(Decimal(amount).as_tuple().exponent) == DECIMALS[currency]


def test_money_has_the_decimals_of_its_currency(studio: Row) -> None:
    prices = [price for product in studio["products"] for price in product["prices"]]
    assert {price["currency"] for price in prices} == {"USD", "EUR", "JPY"}
    assert {price["interval"] for price in prices} == {None, "month", "year"}
    for price in prices:
        assert_money(price["amount"], price["currency"])
        assert (price["interval"] is None) == (price["price_type"] == "one_time")
    assert all(sum(price["default"] for price in product["prices"]) == 1 for product in studio["products"])
    assert {product["active"] for product in studio["products"]} == {True, False}
    assert {row["currency"] for row in studio["purchases"]} == {"USD", "EUR", "JPY"}


def test_purchases_add_up(studio: Row, now: datetime) -> None:
    members, products = by_id(studio["members"]), by_id(studio["products"])
    for row in studio["purchases"]:
        assert_money(row["amount_total"], row["currency"])
        assert_money(row["refunded_amount"], row["currency"])
        assert moment(members[row["member_id"]]["created_at"]) < moment(row["created_at"]) <= now
        total, refunded = Decimal(row["amount_total"]), Decimal(row["refunded_amount"])
        if row["status"] == "refunded":
            assert refunded == total > 0
        elif row["status"] == "partially_refunded":
            assert 0 < refunded < total
        else:
            assert refunded == 0
        if row["product_id"]:
            product = products[row["product_id"]]
            assert (row["product_key"], row["product_type"]) == (product["key"], product["product_type"])
            amounts = {Decimal(p["amount"]) for p in product["prices"] if p["currency"] == row["currency"]}
            assert total / row["quantity"] in amounts
        else:
            assert (row["product_key"], row["product_type"]) == ("late_cancel_fee", "fee")


def test_a_lead_is_converted_exactly_when_a_member_has_its_email(studio: Row, now: datetime) -> None:
    members = {row["email"]: row for row in studio["members"] if row["email"]}
    emails = [row["email"] for row in studio["leads"]]
    assert len(emails) == len(set(emails))
    for lead in studio["leads"]:
        member = members.get(lead["email"])
        assert (lead["status"] == "converted") == (member is not None)
        assert moment(lead["created_at"]) < now
        assert member is None or lead["created_at"] < member["created_at"]
    assert any("utm" in lead["metadata"] for lead in studio["leads"])


# Forms


def test_forms_use_every_field_type(studio: Row) -> None:
    fields = [field for form in studio["forms"] for field in form["fields"]]
    assert {field["type"] for field in fields} == FIELD_TYPES
    assert len({form["slug"] for form in studio["forms"]}) == len(studio["forms"]) == 5
    assert sum(form["status"] == "published" for form in studio["forms"]) == 3


def test_fields_obey_the_rules_of_their_type(studio: Row) -> None:
    for form in studio["forms"]:
        keys = [field["key"] for field in form["fields"]]
        assert all(keys)
        assert len(set(keys)) == len(keys)
        for field in form["fields"]:
            assert bool(field.get("options")) == (field["type"] in {"select", "checkbox_group"})
            assert field["type"] != "rating" or 1 <= field["max_rating"] <= 10
            assert field.get("min", 0) <= field.get("max", field.get("min", 0))
            assert field["type"] != "section_break" or not field["required"]


def test_display_rules_look_back_at_fields_that_can_be_answered(studio: Row) -> None:
    """Rules that refer only to earlier fields cannot form a cycle."""
    rules = 0
    for form in studio["forms"]:
        answerable: dict[str, Row] = {}
        for field in sorted(form["fields"], key=lambda field: int(field["order"])):
            rule = field.get("display_when")
            if rule:
                rules += 1
                assert rule["op"] in OPERATORS
                assert_value_is_an_option(rule["value"], answerable[rule["field_key"]])
            if field["type"] != "section_break":
                answerable[field["key"]] = field
    assert rules >= 5


def assert_value_is_an_option(value: Any, field: Row) -> None:
    if not field.get("options") or value is None:
        return
    options = {option["value"] if isinstance(option, dict) else option for option in field["options"]}
    assert set(value if isinstance(value, list) else [value]) <= options
