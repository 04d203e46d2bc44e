"""The cost of saving, judging and showing a form: bounded at the limits, and linear beyond them (older forms)."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import pytest

from studiogate.domain.forms import visibility
from studiogate.domain.forms.answer_checks import CHECKS, FormSetting
from studiogate.domain.forms.answers import judge
from studiogate.domain.forms.definition import MAX_FIELDS, MAX_OPTIONS
from studiogate.domain.forms.rule_checks import MAX_RULE_VALUES, MAX_SEARCHES, definition_faults
from studiogate.domain.forms.visibility import visible_keys
from studiogate.hosted.field_views import Known, step_views
from studiogate.hosted.posted_form import Posted, read_posted
from studiogate.hosted.steps import plan
from tests.support.counted_work import CountedText, bytecodes, comparisons

Fields = list[dict[str, Any]]
# Linear work doubles. The remaining 0.5 allows for slower growth (dictionaries), but not for quadratic work.
DOUBLED = 2.5


def field(key: str, kind: str = "text", **more: Any) -> dict[str, Any]:
    return {"key": key, "label": key, "type": kind, **more}


def rule(key: str, op: str = "equals", value: Any = "x") -> dict[str, Any]:
    return {"field_key": key, "op": op, "value": value}


def chain(count: int) -> Fields:
    """Return fields whose rules each refer to the next field: the longest path to a decision."""
    asked = [field(str(n), display_when=rule(str(n + 1))) for n in range(count - 1)]
    return [*asked, field(str(count - 1))]


def circle(count: int) -> Fields:
    return [field(str(n), display_when=rule(str((n + 1) % count))) for n in range(count)]


def into_a_circle(count: int) -> Fields:
    """Return a long chain of rules that ends in a small cycle."""
    return [*circle(2), *(field(str(n), display_when=rule(str(n - 1))) for n in range(2, count))]


def unknown_rules(count: int) -> Fields:
    return [field(str(n), display_when=rule(f"no {n}", "near")) for n in range(count)]


def all_ask_the_first(count: int) -> Fields:
    group = field("0", "checkbox_group", options=[f"o{n}" for n in range(count)])
    rules = [rule("0", op, "o1") for op in ("in", "equals", "contains", "not_in", "not_equals", "not_contains")]
    return [group, *(field(str(n), display_when=rules[n % len(rules)]) for n in range(1, count))]


SHAPES: Sequence[Callable[[int], Fields]] = (chain, circle, into_a_circle, unknown_rules, all_ask_the_first)


def answers_to(count: int) -> dict[str, Any]:
    return {"0": [f"o{n}" for n in range(count)]} | {str(n): "x" for n in range(1, count)}


def grows_linearly(work: Callable[[int], int], count: int) -> bool:
    return work(2 * count) <= DOUBLED * work(count)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_saving_is_linear(shape: Callable[[int], Fields]) -> None:
    half = MAX_FIELDS // 2
    fields = {count: shape(count) for count in (half, 2 * half)}
    assert grows_linearly(lambda count: bytecodes(lambda: definition_faults(fields[count])), half)
    assert bytecodes(lambda: definition_faults(fields[MAX_FIELDS])) < 1_000 * MAX_FIELDS


def test_a_form_with_more_fields_is_not_looked_at() -> None:
    fields = chain(9_000)
    assert definition_faults(fields) == [((), "must have at most 200 fields")]
    assert bytecodes(lambda: definition_faults(fields)) < 200


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_judging_is_linear(shape: Callable[[int], Fields]) -> None:
    """Also with far more fields than can be saved today, because older forms have them."""
    fields = {count: shape(count) for count in (MAX_FIELDS, 1_500, 3_000)}
    answers = {count: answers_to(count) for count in fields}

    def work(count: int) -> int:
        return bytecodes(lambda: judge(fields[count], answers[count], FormSetting()))

    assert grows_linearly(work, 1_500)
    assert work(MAX_FIELDS) < 1_000 * MAX_FIELDS


def test_a_small_post_to_a_large_form_is_linear() -> None:
    """Covers everything that the hosted page does with the request, except for the template."""

    def work(count: int) -> int:
        fields = [field(str(n), step_index=n % 50) for n in range(count)]

        def show() -> None:
            made = plan(fields)
            posted = read_posted(made, [("submitter_email", "a@b.example")])
            for key in map(str, range(count)):
                made.step_of(key)
            visible = visible_keys(made.fields, posted.answers)
            step_views(made, Known(posted, {}, {}), visible, digest, asks=True)

        digest = uuid4().bytes
        show()  # unanswered fields are rendered the first time only
        return bytecodes(show)

    assert grows_linearly(work, 400)
    assert work(MAX_FIELDS) < 2_000 * MAX_FIELDS


@pytest.mark.parametrize("kind", ["select", "checkbox_group"])
def test_options_are_compared_once_per_answer(kind: str) -> None:
    def work(count: int) -> int:
        options = [CountedText(f"o{n}") for n in range(count)]
        group = field("a", kind, options=options, multiple=True)
        answers = {"a": [f"o{n}" for n in range(count)]}
        return comparisons(lambda: judge([group], answers, FormSetting()))

    assert work(MAX_OPTIONS) <= 10 * MAX_OPTIONS
    assert work(3_000) <= 10 * 3_000


def test_options_are_shown_with_a_comparison_each() -> None:
    options = [CountedText(f"o{n}") for n in range(MAX_OPTIONS)]
    made = plan([field("a", "checkbox_group", options=options)])
    known = Known(Posted(answers={"a": [f"o{n}" for n in range(MAX_OPTIONS)]}), {}, {})
    assert comparisons(lambda: step_views(made, known, {"a"}, b"", asks=False)) <= 10 * MAX_OPTIONS


@pytest.mark.parametrize("op", ["in", "contains", "equals"])
def test_a_list_of_a_rule_is_compared_once_per_value(op: str) -> None:
    def work(count: int) -> int:
        wanted = [f"o{n}" for n in range(count)]
        fields = [field("a", "checkbox_group", options=["x"]), field("b", display_when=rule("a", op, wanted))]
        answers = {"a": [CountedText(f"o{n}") for n in reversed(range(count))]}
        return comparisons(lambda: visible_keys(fields, answers))

    assert work(MAX_RULE_VALUES) <= 10 * MAX_RULE_VALUES
    assert work(10_000) <= 10 * 10_000


def test_a_text_is_searched_a_bounded_number_of_times() -> None:
    """An older form may search for thousands of texts: after ten million characters, nothing more is found."""
    text = CountedText("y" * 49_999 + "x")

    def searching(count: int) -> Fields:
        looking = [field(f"b{n}", display_when=rule("a", "contains", "x")) for n in range(count)]
        return [field("a", "textarea"), *looking]

    most = visibility.MAX_SEARCHED_CHARACTERS // len(text)
    assert most == MAX_SEARCHES
    assert len(visible_keys(searching(MAX_SEARCHES), {"a": text})) == MAX_SEARCHES + 1
    assert comparisons(lambda: visible_keys(searching(5_000), {"a": text})) < 3 * 5_000
    assert len(visible_keys(searching(5_000), {"a": text})) == most + 1


def test_a_form_cannot_search_more_than_that() -> None:
    def searching(*counts: int, kind: str = "text") -> Fields:
        wanted = [[f"w{n}" for n in range(count)] for count in counts]
        asked = field("a", kind, **({"options": ["x"]} if kind != "text" else {}))
        return [asked, *(field(f"b{n}", display_when=rule("a", "contains", each)) for n, each in enumerate(wanted))]

    assert definition_faults(searching(100, 100)) == []
    assert [loc for loc, _ in definition_faults(searching(100, 101, 50))] == [(2, "display_when", "value")]
    assert definition_faults(searching(200, 200, kind="checkbox_group")) == []
    assert [loc for loc, _ in definition_faults(searching(201, kind="checkbox_group"))] == [
        (1, "display_when", "value")
    ]


HOSTILE = {
    "text": ["x" * 1_000_000, "\u0300" * 1_000_000],
    "textarea": ["x" * 1_000_000],
    "address": ["x" * 1_000_000],
    "number": ["1" * 1_000_000, "1e999999999", "0." + "0" * 1_000_000 + "1", " " * 1_000_000 + "1"],
    "email": ["\u0300" * 1_000_000 + "@b.example", "a@" + "b." * 500_000 + "example"],
    "phone": ["+" * 1_000_000, "1" * 1_000_000, "\uff11" * 1_000_000],
    "date": ["2" * 1_000_000, " " * 1_000_000 + "2026-01-01"],
    "rating": ["1" * 1_000_000, "\u0661" * 1_000_000],
    "checkbox": ["true" * 250_000],
    "consent": ["true" * 250_000],
    "signature": ["data:image/png;base64," + "A" * 1_000_000],
    "file_upload": ["a" * 1_000_000],
    "select": ["a" * 1_000_000],
    "checkbox_group": ["a" * 1_000_000],
}


def test_every_type_is_tried_with_hostile_answers() -> None:
    assert set(HOSTILE) == set(CHECKS)


@pytest.mark.parametrize(("kind", "answer"), [(kind, each) for kind, answers in HOSTILE.items() for each in answers])
def test_a_long_answer_is_refused_before_anything_is_done_with_it(kind: str, answer: str) -> None:
    """A library that normalizes or parses a megabyte in Python executes far more than a few hundred bytecodes."""
    check = CHECKS[kind](field("a", kind, options=["x"]), FormSetting("US"))
    assert check(answer) is not None
    assert bytecodes(lambda: check(answer)) < 300
