"""Which fields are visible for given answers: the only evaluator, for both the API and the hosted page.

A field with a rule is visible while the rule holds for the answer that it refers to. The answer to a hidden field
counts as empty, so hiding cascades. An unticked box (checkbox, consent) is empty whether its answer is missing, blank
or "false". Every function here is total: any answers and rules produce a result, even rules that cannot be saved."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from datetime import date
from decimal import Decimal
from typing import Any, TypeAlias

from studiogate.domain.forms.definition import FieldType, RuleOp
from studiogate.domain.forms.values import as_date, as_decimal

Field: TypeAlias = Mapping[str, Any]
Answers: TypeAlias = Mapping[str, Any]
Comparable: TypeAlias = str | Decimal | date

# Tuples rather than sets: the value tested for membership can be anything, including unhashable values.
BOXES = (FieldType.CHECKBOX, FieldType.CONSENT)
NUMERIC = (FieldType.NUMBER, FieldType.RATING)
UNTICKED = "false"
MAX_SEARCHED_CHARACTERS = 10_000_000


def visible_keys(fields: Sequence[Field], answers: Answers) -> frozenset[str]:
    """Return the keys of the fields that are visible with these answers. Section breaks are fields too. Takes time
    linear in the size of fields and answers: an answer is read once, however many rules refer to it."""
    by_key = {str(field.get("key")): field for field in reversed(fields)}
    state = _State(by_key, answers)
    for key in by_key:
        _settle(key, state)
    return frozenset(key for key, visible in state.known.items() if visible)


@dataclass(frozen=True, slots=True)
class _Given:
    """The values of an answer, in order and as a set."""

    values: Sequence[Comparable] = ()
    distinct: frozenset[Comparable] = frozenset()


@dataclass(slots=True)
class _State:
    """The state of one evaluation: a form, its answers, and the results so far."""

    by_key: Mapping[str, Field]
    answers: Answers
    known: dict[str, bool] = dataclass_field(default_factory=dict)
    given: dict[str, _Given] = dataclass_field(default_factory=dict)
    # The remaining number of characters that text searches may scan; no form that can be saved exhausts it.
    searchable: int = MAX_SEARCHED_CHARACTERS

    def given_to(self, key: str) -> _Given:
        """Return the values of the answer to a field, or no values if the field is hidden."""
        if not self.known.get(key, False):
            return _NOTHING
        if key not in self.given:
            kind = self.by_key.get(key, {}).get("type")
            values = [_comparable(text, kind) for text in given_values(kind, self.answers.get(key))]
            self.given[key] = _Given(values, frozenset(values))
        return self.given[key]


_NOTHING = _Given()


def _settle(key: str, state: _State) -> None:
    """Follow rules until a field is known or has none, then decide in reverse order. Fields on a cycle are hidden."""
    way: list[str] = []
    place: dict[str, int] = {}
    while key in state.by_key and key not in state.known:
        if key in place:
            state.known |= dict.fromkeys(way[place[key] :], False)
            break
        place[key] = len(way)
        way.append(key)
        asked = asked_key(state.by_key[key])
        if asked is None:
            break
        key = asked
    for each in reversed(way):
        if each not in state.known:
            state.known[each] = _visible(state.by_key[each], state)


def asked_key(field: Field) -> str | None:
    """Return the key of the field that this field's rule refers to, or None if it has no rule."""
    rule = field.get("display_when")
    return str(rule.get("field_key")) if isinstance(rule, Mapping) else None


def _visible(field: Field, state: _State) -> bool:
    """Return whether a field's rule holds for the answer to the field that it refers to."""
    if (asked := asked_key(field)) is None:
        return True
    rule, kind = field["display_when"], state.by_key.get(asked, {}).get("type")
    test = _TESTS.get(str(rule.get("op")))
    if test is None or kind == FieldType.SECTION_BREAK:
        return False
    wanted = [_comparable(text, kind) for text in _without_unticked(kind, rule_texts(rule.get("value")))]
    return test(state.given_to(asked), wanted, state)


def given_values(kind: object, answer: object) -> list[str]:
    """Return the values in an answer; none if it is empty, blank or not of a valid answer type."""
    values = [answer] if isinstance(answer, str) else answer if isinstance(answer, list) else []
    return _without_unticked(kind, [each for each in values if isinstance(each, str) and each.strip()])


def _without_unticked(kind: object, values: list[str]) -> list[str]:
    return [each for each in values if each != UNTICKED] if kind in BOXES else values


def rule_texts(value: object) -> list[str]:
    """Return a rule's value in the notation of answers, in which the hosted page's script gets it as well."""
    values = value if isinstance(value, list) else [value]
    return [text for text in map(_text, values) if text.strip()]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int | float) else ""


def _comparable(text: str, kind: object) -> Comparable:
    """Return the value to compare: a decimal for numbers, a date for dates, otherwise the text itself."""
    parsed = as_decimal(text) if kind in NUMERIC else as_date(text) if kind == FieldType.DATE else None
    return text if parsed is None else parsed


Test: TypeAlias = Callable[[_Given, list[Comparable], _State], bool]


def _contains(given: _Given, wanted: list[Comparable], state: _State) -> bool:
    """Return whether each wanted value is one of the given values, or a substring of a single given text."""
    return bool(given.values and wanted) and all(_has(given, each, state) for each in wanted)


def _has(given: _Given, wanted: Comparable, state: _State) -> bool:
    if wanted in given.distinct:
        return True
    single = given.values[0]
    if len(given.values) != 1 or not isinstance(single, str) or not isinstance(wanted, str):
        return False
    state.searchable -= len(single)
    return state.searchable >= 0 and wanted in single


def _ordered(compare: Callable[[object, Any], bool]) -> Test:
    def test(given: _Given, wanted: list[Comparable], _state: _State) -> bool:
        if len(given.values) != 1 or len(wanted) != 1:
            return False
        pair = _in_order(given.values[0], wanted[0])
        return pair is not None and compare(*pair)

    return test


def _in_order(one: Comparable, other: Comparable) -> tuple[Comparable, Comparable] | None:
    """Return both as decimals, else both as dates, else None: texts have no universally accepted order."""
    for parse in (as_decimal, as_date):
        pair = [each if not isinstance(each, str) else parse(each) for each in (one, other)]
        if None not in pair and type(pair[0]) is type(pair[1]):
            return pair[0], pair[1]  # type: ignore[return-value]  # None is excluded above
    return None


_TESTS: Mapping[str, Test] = {
    RuleOp.EQUALS: lambda given, wanted, _state: given.distinct == set(wanted),
    RuleOp.NOT_EQUALS: lambda given, wanted, _state: given.distinct != set(wanted),
    RuleOp.IN: lambda given, wanted, _state: not given.distinct.isdisjoint(wanted),
    RuleOp.NOT_IN: lambda given, wanted, _state: given.distinct.isdisjoint(wanted),
    RuleOp.CONTAINS: _contains,
    RuleOp.NOT_CONTAINS: lambda given, wanted, state: not _contains(given, wanted, state),
    RuleOp.GT: _ordered(lambda one, other: one > other),
    RuleOp.GTE: _ordered(lambda one, other: one >= other),
    RuleOp.LT: _ordered(lambda one, other: one < other),
    RuleOp.LTE: _ordered(lambda one, other: one <= other),
    RuleOp.IS_EMPTY: lambda given, _wanted, _state: not given.values,
    RuleOp.IS_NOT_EMPTY: lambda given, _wanted, _state: bool(given.values),
}
