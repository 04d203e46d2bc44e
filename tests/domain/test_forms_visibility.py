"""The rule evaluator: each op, cascades, cycles, and the same result as an independent evaluator on random forms."""

from decimal import Decimal, InvalidOperation
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studiogate.domain.forms.definition import FieldType, RuleOp
from studiogate.domain.forms.visibility import visible_keys

Field = dict[str, Any]


def field(key: str, kind: str = "text", when: tuple[str, str, Any] | None = None, **more: Any) -> Field:
    rule = None if when is None else {"field_key": when[0], "op": when[1], "value": when[2]}
    return {"key": key, "label": key, "type": kind, "display_when": rule, **more}


def shows(kind: str, op: str, value: Any, answer: Any, **more: Any) -> bool:
    """Return whether field b is visible for this answer to field a."""
    fields = [field("a", kind, **more), field("b", when=("a", op, value))]
    return "b" in visible_keys(fields, {} if answer is None else {"a": answer})


@pytest.mark.parametrize(
    ("kind", "op", "value", "answer", "visible"),
    [
        ("text", "equals", "x", "x", True),
        ("text", "equals", "x", "y", False),
        ("text", "equals", "x", None, False),
        ("text", "equals", "", None, True),
        ("text", "equals", None, "  ", True),
        ("text", "not_equals", "x", None, True),
        ("text", "not_equals", "x", "x", False),
        ("select", "in", ["a", "b"], "b", True),
        ("select", "in", "b", "b", True),
        ("select", "in", ["a", "b"], "c", False),
        ("select", "in", ["a", "b"], None, False),
        ("select", "not_in", ["a", "b"], "c", True),
        ("select", "not_in", ["a", "b"], None, True),
        ("select", "not_in", ["a", "b"], "a", False),
        ("select", "equals", 5, "5", True),
        ("select", "equals", 5.0, "5", True),
        ("checkbox_group", "in", ["a", "b"], ["b", "c"], True),
        ("checkbox_group", "in", ["a", "b"], ["c"], False),
        ("checkbox_group", "not_in", ["a", "b"], ["c"], True),
        ("checkbox_group", "contains", "a", ["a", "b"], True),
        ("checkbox_group", "contains", ["a", "b"], ["a", "b", "c"], True),
        ("checkbox_group", "contains", ["a", "b"], ["a"], False),
        ("checkbox_group", "not_contains", "a", ["b"], True),
        ("checkbox_group", "not_contains", "a", None, True),
        ("checkbox_group", "equals", ["b", "a"], ["a", "b"], True),
        ("checkbox_group", "is_empty", None, [], True),
        ("text", "contains", "oat", "boats", True),
        ("text", "contains", "Oat", "boats", False),
        ("text", "contains", "", "boats", False),
        ("text", "not_contains", "oat", None, True),
        ("number", "gt", 9, "10", True),
        ("number", "gt", "9", "10.0", True),
        ("number", "gt", 10, "10", False),
        ("number", "gte", 10, "10.00", True),
        ("number", "lt", 0.3, "0.29999999999999999999", True),
        ("number", "lte", 0.3, "0.30", True),
        ("number", "gt", 9, None, False),
        ("number", "lte", 9, "many", False),
        ("number", "equals", 5, "5.0", True),
        ("number", "in", [1, 2.5], "2.50", True),
        ("rating", "gte", 4, "5", True),
        ("date", "lt", "2026-10-01", "2026-09-30", True),
        ("date", "gt", "2026-10-01", "2026-09-30", False),
        ("date", "gt", "not a date", "2026-09-30", False),
        ("text", "gt", "9", "10", True),
        ("text", "gt", "a", "b", False),
        ("text", "is_empty", None, None, True),
        ("text", "is_empty", None, "\t", True),
        ("text", "is_not_empty", None, "x", True),
        ("checkbox", "equals", True, "true", True),
        ("checkbox", "equals", "true", "false", False),
        ("checkbox", "equals", False, None, True),
        ("checkbox", "is_empty", None, "false", True),
        ("consent", "is_not_empty", None, "true", True),
        ("text", "unknown", "x", "x", False),
        ("section_break", "is_empty", None, None, False),
        ("text", "equals", {"deep": 1}, "x", False),
        ("text", "equals", "x", {"a": 1}, False),
        ("text", "equals", "x", 5, False),
        (["text"], "equals", "x", "x", True),
    ],
)
def test_ops(kind: Any, op: str, value: Any, answer: Any, visible: bool) -> None:
    assert shows(kind, op, value, answer) is visible


def test_hiding_cascades() -> None:
    fields = [
        field("a"),
        field("b", when=("a", "equals", "yes")),
        field("c", when=("b", "equals", "yes")),
        field("d", when=("c", "is_empty", None)),
    ]
    assert visible_keys(fields, {"a": "yes", "b": "yes", "c": "x"}) == {"a", "b", "c"}
    assert visible_keys(fields, {"a": "no", "b": "yes", "c": "x"}) == {"a", "d"}


def test_a_cycle_is_hidden_and_what_asks_about_it_is_not_lost() -> None:
    fields = [
        field("a", when=("c", "is_empty", None)),
        field("b", when=("a", "is_empty", None)),
        field("c", when=("b", "is_empty", None)),
        field("d", when=("a", "is_empty", None)),
        field("e", when=("a", "equals", "x")),
        field("self", when=("self", "is_empty", None)),
        field("lost", when=("nowhere", "is_empty", None)),
    ]
    for order in (fields, fields[::-1], fields[3:] + fields[:3]):
        assert visible_keys(order, {"a": "x"}) == {"d", "lost"}


def test_a_long_chain_needs_no_recursion_and_no_time() -> None:
    fields = [field("0")] + [field(str(n), when=(str(n - 1), "equals", "x")) for n in range(1, 20_000)]
    answers = {str(n): "x" for n in range(20_000)}
    assert len(visible_keys(fields, answers)) == 20_000
    assert len(visible_keys(fields[::-1], answers)) == 20_000
    del answers["10000"]
    assert len(visible_keys(fields, answers)) == 10_001


KEYS = "abcdefgh"
WORDS = ["x", "y", "xy", "1", "2", "10", "1.0", "2026-01-01", "2026-01-02", "true", "false", "", " "]
KINDS = [each.value for each in FieldType if each is not FieldType.SECTION_BREAK]
VALUES = st.one_of(
    st.sampled_from(WORDS),
    st.lists(st.sampled_from(WORDS), max_size=3),
    st.sampled_from([None, True, False, 1, 2, 10, 1.0]),
)


@st.composite
def forms(draw: st.DrawFn) -> list[Field]:
    """Draw any rule graph: chains, trees, cycles, rules on unknown fields."""
    fields = []
    for key in draw(st.lists(st.sampled_from(KEYS), unique=True, min_size=1)):
        rule = st.tuples(st.sampled_from(KEYS), st.sampled_from([op.value for op in RuleOp]), VALUES)
        fields.append(field(key, draw(st.sampled_from(KINDS)), draw(st.none() | rule)))
    return fields


ANSWERS = st.dictionaries(
    st.sampled_from(KEYS), st.one_of(st.sampled_from(WORDS), st.lists(st.sampled_from(WORDS), max_size=3))
)


@settings(max_examples=600, deadline=None)
@given(forms(), ANSWERS)
def test_it_agrees_with_an_independent_evaluator(fields: list[Field], answers: dict[str, Any]) -> None:
    assert visible_keys(fields, answers) == independently(fields, answers)


@settings(max_examples=200, deadline=None)
@given(forms(), ANSWERS, st.randoms())
def test_the_order_of_fields_does_not_matter(fields: list[Field], answers: dict[str, Any], random: Any) -> None:
    shuffled = random.sample(fields, len(fields))
    assert visible_keys(shuffled, answers) == visible_keys(fields, answers)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["key", "type", "op", "a"]), inner),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "key": JSON,
                "type": JSON,
                "display_when": JSON | st.fixed_dictionaries({"field_key": JSON, "op": JSON, "value": JSON}),
            },
        )
    ),
    st.dictionaries(st.text(max_size=3), JSON),
)
def test_it_ends_for_anything(fields: list[Field], answers: dict[str, Any]) -> None:
    visible_keys(fields, answers)


def independently(fields: list[Field], answers: dict[str, Any]) -> set[str]:
    """Evaluate the same rules in another way: recursively, by definition, one op after the other."""
    by_key = {each["key"]: each for each in fields}

    def on_cycle(key: str) -> bool:
        at = key
        for _ in range(len(fields) + 1):
            rule = by_key[at]["display_when"] if at in by_key else None
            if rule is None:
                return False
            at = rule["field_key"]
            if at == key:
                return True
        return False

    def visible(key: str) -> bool:
        rule = by_key[key]["display_when"]
        if rule is None:
            return True
        if on_cycle(key):
            return False
        asked = rule["field_key"]
        kind = by_key[asked]["type"] if asked in by_key else None
        answer = answers.get(asked) if asked in by_key and visible(asked) else None
        return rule_holds(kind, rule["op"], rule["value"], answer)

    return {key for key in by_key if visible(key)}


def rule_holds(kind: str | None, op: str, value: Any, answer: Any) -> bool:
    have = listed(kind, answer)
    want = listed(kind, value)
    if op in ("not_equals", "not_in", "not_contains"):
        return not rule_holds(kind, op.removeprefix("not_"), value, answer)
    if op in ("is_empty", "is_not_empty"):
        return (not have) == (op == "is_empty")
    if op == "equals":
        return all(any(same(kind, a, b) for b in want) for a in have) and all(
            any(same(kind, a, b) for a in have) for b in want
        )
    if op == "in":
        return any(same(kind, a, b) for a in have for b in want)
    if op == "contains":
        part = len(have) == 1 and not is_special(kind, have[0])
        return (
            bool(have)
            and bool(want)
            and all(
                any(same(kind, a, b) for a in have) or (part and not is_special(kind, b) and b in have[0]) for b in want
            )
        )
    if len(have) != 1 or len(want) != 1:
        return False
    one: Any = number(have[0])
    other: Any = number(want[0])
    if one is None or other is None:
        if kind in ("number", "rating") and (one is None) != (other is None):
            return False
        if not (is_date(have[0]) and is_date(want[0])):
            return False
        one, other = have[0], want[0]
    return bool({"gt": one > other, "gte": one >= other, "lt": one < other, "lte": one <= other}[op])


def listed(kind: str | None, value: Any) -> list[str]:
    many = value if isinstance(value, list) else [value]
    texts: list[Any] = [
        {True: "true", False: "false", None: ""}.get(each, each) if not _counts(each) else each for each in many
    ]
    texts = [str(int(each)) if _counts(each) else each for each in texts]
    unticked = {"false"} if kind in ("checkbox", "consent") else set()
    return [each for each in texts if each.strip() and each not in unticked]


def _counts(value: Any) -> bool:
    return type(value) in (int, float)


def number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def is_date(text: str) -> bool:
    return text.startswith("2026-")


def is_special(kind: str | None, text: str) -> bool:
    """Return whether the text is compared as a number or a date instead of as text."""
    return (kind in ("number", "rating") and number(text) is not None) or (kind == "date" and is_date(text))


def same(kind: str | None, one: str, other: str) -> bool:
    if kind in ("number", "rating") and number(one) is not None and number(other) is not None:
        return number(one) == number(other)
    return one == other
