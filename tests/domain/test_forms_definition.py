"""Validation of a form's fields when the form is saved."""

from typing import Any

import pytest

from studiogate.demo.forms import form_rows
from studiogate.demo.seed import Seed
from studiogate.domain.forms.definition import RuleOp
from studiogate.domain.forms.rule_checks import definition_faults


def field(key: str = "a", kind: Any = "text", **more: Any) -> dict[str, Any]:
    return {"key": key, "label": "A", "type": kind, **more}


def shown_when(key: str, op: str = "equals", value: object = "x") -> dict[str, Any]:
    return {"field_key": key, "op": op, "value": value}


def faulty(*fields: object) -> list[tuple[str | int, ...]]:
    return [loc for loc, _message in definition_faults(list(fields))]


@pytest.mark.parametrize("form", form_rows(Seed(1)), ids=lambda form: form["slug"])
def test_the_demo_forms_are_fine(form: dict[str, Any]) -> None:
    assert definition_faults(form["fields"]) == []


@pytest.mark.parametrize("fields", [None, {}, "text", 5])
def test_fields_are_an_array(fields: object) -> None:
    assert definition_faults(fields) == [((), "must be an array of fields")]


def test_extra_members_are_kept() -> None:
    assert faulty(field(colour={"deep": [1]}, min=None, options=None)) == []


@pytest.mark.parametrize(
    ("fields", "loc"),
    [
        ([5], (0,)),
        ([field("")], (0, "key")),
        ([field("  ")], (0, "key")),
        ([{"label": "A", "type": "text"}], (0, "key")),
        ([{"key": "a", "type": "text"}], (0, "label")),
        ([field(kind="colour")], (0, "type")),
        ([field(kind=["text"])], (0, "type")),
        ([field(), field()], (1, "key")),
        ([field(required="yes")], (0, "required")),
        ([field(order=1.5)], (0, "order")),
        ([field(kind="select")], (0, "options")),
        ([field(kind="checkbox_group", options=[])], (0, "options")),
        ([field(kind="select", options="ab")], (0, "options")),
        ([field(kind="select", options=["a", 5])], (0, "options", 1)),
        ([field(kind="select", options=[{"value": "a"}])], (0, "options", 0)),
        ([field(options_layout="wheel")], (0, "options_layout")),
        ([field(kind="number", min=3, max=2)], (0, "max")),
        ([field(kind="number", min="3")], (0, "min")),
        ([field(kind="number", max=True)], (0, "max")),
        ([field(kind="rating", max_rating=0)], (0, "max_rating")),
        ([field(kind="rating", max_rating=11)], (0, "max_rating")),
        ([field(kind="rating", min=0)], (0, "min")),
        ([field(kind="rating", max=11)], (0, "max")),
        ([field(max_file_size=0)], (0, "max_file_size")),
        ([field(display_when="b")], (0, "display_when")),
        ([field(display_when=shown_when("b"))], (0, "display_when", "field_key")),
        ([field(display_when={"op": "in"})], (0, "display_when", "field_key")),
        ([field(), field("b", display_when=shown_when("a", "like"))], (1, "display_when", "op")),
        ([field(), field("b", display_when={"field_key": "a"})], (1, "display_when", "op")),
        ([field(kind="section_break"), field("b", display_when=shown_when("a"))], (1, "display_when", "field_key")),
        ([field(display_when=shown_when("a"))], (0, "display_when")),
    ],
)
def test_what_is_refused(fields: list[object], loc: tuple[str | int, ...]) -> None:
    assert faulty(*fields) == [loc]


def test_a_cycle_is_named_where_it_runs_and_not_where_it_is_reached() -> None:
    fields = [
        field("a", display_when=shown_when("c")),
        field("b", display_when=shown_when("a")),
        field("c", display_when=shown_when("b")),
        field("d", display_when=shown_when("a")),
    ]
    assert faulty(*fields) == [(0, "display_when"), (1, "display_when"), (2, "display_when")]


@pytest.mark.parametrize("op", RuleOp)
def test_every_op_of_the_contract(op: RuleOp) -> None:
    assert faulty(field(), field("b", display_when=shown_when("a", op))) == []
