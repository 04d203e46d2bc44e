"""Which fields are visible for given answers: the one evaluator, for the API and for the hosted page.

A field with a rule is visible while the rule holds for the answer it asks about. The answer of a hidden field counts
as empty, so hiding cascades. An unticked box (checkbox, consent) is empty however it is spelled. Everything here is
total: any answers and any rules, also ones that could never have been saved, give a result.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, TypeAlias

from studiogate.domain.forms.definition import FieldType, RuleOp
from studiogate.domain.forms.values import as_date, as_decimal

Field: TypeAlias = Mapping[str, Any]
Answers: TypeAlias = Mapping[str, Any]
Comparable: TypeAlias = str | Decimal | date

# Tuples and not sets: what is looked for in them can be anything, also something without a hash.
BOXES = (FieldType.CHECKBOX, FieldType.CONSENT)
NUMERIC = (FieldType.NUMBER, FieldType.RATING)
UNTICKED = "false"


def visible_keys(fields: Sequence[Field], answers: Answers) -> frozenset[str]:
    """The keys of the fields that a person with these answers sees. Section breaks are fields too."""
    by_key = {str(field.get("key")): field for field in reversed(fields)}
    known: dict[str, bool] = {}
    for key in by_key:
        _settle(key, by_key, answers, known)
    return frozenset(key for key, visible in known.items() if visible)


def _settle(key: str, by_key: Mapping[str, Field], answers: Answers, known: dict[str, bool]) -> None:
    """Walk from rule to rule until something is known, then decide on the way back. Fields on a cycle are hidden."""
    way: list[str] = []
    place: dict[str, int] = {}
    while key in by_key and key not in known:
        if key in place:
            known |= dict.fromkeys(way[place[key] :], False)
            break
        place[key] = len(way)
        way.append(key)
        asked = asked_key(by_key[key])
        if asked is None:
            break
        key = asked
    for each in reversed(way):
        if each not in known:
            known[each] = _visible(by_key[each], by_key, answers, known)


def asked_key(field: Field) -> str | None:
    """The field that the rule of this one asks about; None where there is no rule."""
    rule = field.get("display_when")
    return str(rule.get("field_key")) if isinstance(rule, Mapping) else None


def _visible(field: Field, by_key: Mapping[str, Field], answers: Answers, known: Mapping[str, bool]) -> bool:
    asked = asked_key(field)
    if asked is None:
        return True
    target = by_key.get(asked, {})
    answer = answers.get(asked) if known.get(asked, False) else None
    return holds(field["display_when"], target, answer)


def holds(rule: Mapping[str, Any], target: Field, answer: object) -> bool:
    """Whether a rule holds for the answer to the field it asks about."""
    kind = target.get("type")
    test = _TESTS.get(str(rule.get("op")))
    if test is None or kind == FieldType.SECTION_BREAK:
        return False
    given = [_comparable(text, kind) for text in given_values(kind, answer)]
    wanted = [_comparable(text, kind) for text in _without_unticked(kind, rule_texts(rule.get("value")))]
    return test(given, wanted)


def given_values(kind: object, answer: object) -> list[str]:
    """The values in an answer; none where it is empty, blank or of a type that no answer has."""
    values = [answer] if isinstance(answer, str) else answer if isinstance(answer, list) else []
    return _without_unticked(kind, [each for each in values if isinstance(each, str) and each.strip()])


def _without_unticked(kind: object, values: list[str]) -> list[str]:
    return [each for each in values if each != UNTICKED] if kind in BOXES else values


def rule_texts(value: object) -> list[str]:
    """A rule's value as answers are spelled. The hosted page hands its script these, so that both read the same."""
    values = value if isinstance(value, list) else [value]
    return [text for text in map(_text, values) if text.strip()]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int | float) else ""


def _comparable(text: str, kind: object) -> Comparable:
    """Numbers compare as decimals, dates as dates; what is neither stays the text it is."""
    if kind in NUMERIC:
        return _first_of(as_decimal(text), text)
    return _first_of(as_date(text), text) if kind == FieldType.DATE else text


def _first_of(parsed: Comparable | None, text: str) -> Comparable:
    return text if parsed is None else parsed


Test: TypeAlias = Callable[[list[Comparable], list[Comparable]], bool]


def _equals(given: list[Comparable], wanted: list[Comparable]) -> bool:
    return set(given) == set(wanted)


def _in(given: list[Comparable], wanted: list[Comparable]) -> bool:
    return not set(given).isdisjoint(wanted)


def _contains(given: list[Comparable], wanted: list[Comparable]) -> bool:
    """Each wanted value is one of several given ones, or a part of a single text."""
    return bool(given and wanted) and all(_has(given, each) for each in wanted)


def _has(given: list[Comparable], wanted: Comparable) -> bool:
    if wanted in given:
        return True
    single = given[0]
    return len(given) == 1 and isinstance(single, str) and isinstance(wanted, str) and wanted in single


def _ordered(compare: Callable[[Any, Any], bool]) -> Test:
    def test(given: list[Comparable], wanted: list[Comparable]) -> bool:
        if len(given) != 1 or len(wanted) != 1:
            return False
        pair = _in_order(given[0], wanted[0])
        return pair is not None and compare(*pair)

    return test


def _in_order(one: Comparable, other: Comparable) -> tuple[Comparable, Comparable] | None:
    """Both as decimals, else both as dates. Texts have no order that everybody would agree on."""
    for parse in (as_decimal, as_date):
        pair = [each if not isinstance(each, str) else parse(each) for each in (one, other)]
        if None not in pair and type(pair[0]) is type(pair[1]):
            return pair[0], pair[1]  # type: ignore[return-value]  # None is excluded above
    return None


_TESTS: Mapping[str, Test] = {
    RuleOp.EQUALS: _equals,
    RuleOp.NOT_EQUALS: lambda given, wanted: not _equals(given, wanted),
    RuleOp.IN: _in,
    RuleOp.NOT_IN: lambda given, wanted: not _in(given, wanted),
    RuleOp.CONTAINS: _contains,
    RuleOp.NOT_CONTAINS: lambda given, wanted: not _contains(given, wanted),
    RuleOp.GT: _ordered(lambda one, other: one > other),
    RuleOp.GTE: _ordered(lambda one, other: one >= other),
    RuleOp.LT: _ordered(lambda one, other: one < other),
    RuleOp.LTE: _ordered(lambda one, other: one <= other),
    RuleOp.IS_EMPTY: lambda given, _wanted: not given,
    RuleOp.IS_NOT_EMPTY: lambda given, _wanted: bool(given),
}
