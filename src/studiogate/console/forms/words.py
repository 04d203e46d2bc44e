"""The words of the screen Forms: types of questions, rules and faults as sentences; and what the builder offers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from studiogate.console.answers import FieldGiven, label_of, option_labels
from studiogate.console.framework.words import WORDS, badges
from studiogate.domain.forms.definition import BOUNDS_FAULT, MAX_OPTION, OPTION_FAULT, FieldType, RuleOp
from studiogate.domain.forms.settings import CLOSED_FAULT, URL_FAULT
from studiogate.domain.refusals import Fault

FORM = badges("form")  # by status
TYPES = badges("question_types")  # each with what it is for, in the order in which the builder offers them
OPS: Mapping[str, str] = WORDS["rule_ops"]
WITHOUT_VALUE = (RuleOp.IS_EMPTY, RuleOp.IS_NOT_EMPTY)
_ANSWERED = (RuleOp.IS_NOT_EMPTY, RuleOp.IS_EMPTY)
_TEXT = (RuleOp.EQUALS, RuleOp.NOT_EQUALS, RuleOp.CONTAINS, RuleOp.NOT_CONTAINS, *_ANSWERED)
_ORDERED = (RuleOp.EQUALS, RuleOp.NOT_EQUALS, RuleOp.GTE, RuleOp.LTE, RuleOp.GT, RuleOp.LT, *_ANSWERED)
# The comparisons with the answer to a question, by its type. A box is ticked or not.
OPS_OF: Mapping[str, tuple[RuleOp, ...]] = {
    **dict.fromkeys(FieldType, _TEXT),
    FieldType.SELECT: (RuleOp.EQUALS, RuleOp.NOT_EQUALS, RuleOp.IN, RuleOp.NOT_IN, *_ANSWERED),
    FieldType.CHECKBOX_GROUP: (RuleOp.CONTAINS, RuleOp.NOT_CONTAINS, RuleOp.IN, RuleOp.NOT_IN, *_ANSWERED),
    FieldType.NUMBER: _ORDERED,
    FieldType.RATING: _ORDERED,
    FieldType.DATE: _ORDERED,
    FieldType.CHECKBOX: (RuleOp.EQUALS, RuleOp.NOT_EQUALS),
    FieldType.CONSENT: (RuleOp.EQUALS, RuleOp.NOT_EQUALS),
    FieldType.SIGNATURE: _ANSWERED,
    FieldType.FILE_UPLOAD: _ANSWERED,
    FieldType.SECTION_BREAK: (),
}
# What the builder offers for each type of question, and for the form: member, label, type of the input.
SETTINGS_OF = WORDS["question_settings"]
FORM_SETTINGS = WORDS["form_settings"]
_NAMED = [each[:2] for settings in SETTINGS_OF.values() for each in settings]
_NAMED += [each[:2] for settings in FORM_SETTINGS.values() for each in settings]
_LABELS = {**{name: label[:1].lower() + label[1:] for name, label in _NAMED}, **WORDS["form_members"]}
# Where the message for programs is not one for people.
FAULTS: Mapping[str, str] = {
    OPTION_FAULT: f"must have at most {MAX_OPTION} characters each",
    BOUNDS_FAULT: "must not be less than \N{LEFT DOUBLE QUOTATION MARK}at least\N{RIGHT DOUBLE QUOTATION MARK}",
    URL_FAULT: "must be an address that begins with https://",
    CLOSED_FAULT: "must be after the time at which it opens",
}


class ShownField(NamedTuple):
    """A question as the page of a form lists it."""

    label: str
    kind: str
    details: Sequence[str]
    rule: str
    heading: bool


def shown_fields(fields: Sequence[FieldGiven]) -> list[ShownField]:
    by_key = {str(each.get("key")): each for each in fields}
    shown = []
    for each in fields:
        if isinstance(each, Mapping):
            is_heading = each.get("type") == FieldType.SECTION_BREAK
            shown.append(ShownField(label_of(each), type_of(each), _details(each), rule_of(each, by_key), is_heading))
    return shown


def type_of(field: FieldGiven) -> str:
    kind = str(field.get("type"))
    return TYPES[kind][0] if kind in TYPES else kind.replace("_", " ")


def rule_of(field: FieldGiven, by_key: Mapping[str, FieldGiven]) -> str:
    """Return when a question is shown, such as "Any injuries?" is "yes"; nothing if it always is."""
    rule = field.get("display_when")
    if not isinstance(rule, Mapping):
        return ""
    asked = by_key.get(str(rule.get("field_key")), {})
    name, op = _quoted(label_of(asked) or str(rule.get("field_key"))), str(rule.get("op"))
    return f"{name} {OPS[op]}" if op in WITHOUT_VALUE else f"{name} {OPS.get(op, op)} {_values(rule, asked)}"


def _quoted(text: str) -> str:
    return f"\N{LEFT DOUBLE QUOTATION MARK}{text}\N{RIGHT DOUBLE QUOTATION MARK}"


def _values(rule: FieldGiven, asked: FieldGiven) -> str:
    labels, value = option_labels(asked), rule.get("value")
    if asked.get("type") in (FieldType.CHECKBOX, FieldType.CONSENT):
        return "ticked" if value in (True, "true") else "not ticked"
    values = value if isinstance(value, list) else [value]
    return " or ".join(_quoted(labels.get(str(each), str(each))) for each in values if each is not None)


def _details(field: FieldGiven) -> list[str]:
    least, most, options = field.get("min"), field.get("max"), list(option_labels(field).values())
    bounds = [f"at least {least}"] * (least is not None) + [f"at most {most}"] * (most is not None)
    required = ["required"] * (field.get("required") is True)
    return [*required, *bounds, *([", ".join(options)] if options else [])]


class ShownFault(NamedTuple):
    """A fault of a form: the number of its question (None: of the form), the member that is wrong, where that is in
    words, and what to do."""

    field: int | None
    member: str
    where: str
    text: str


def shown_faults(faults: Sequence[Fault], content: FieldGiven) -> list[ShownFault]:
    return [_shown(each, content) for each in faults]


def _shown(fault: Fault, content: FieldGiven) -> ShownFault:
    loc = fault.loc[fault.loc[:1] == ("body",) :]
    index = loc[1] if loc[:1] == ("fields",) and len(loc) > 1 else None
    names = [str(each) for each in loc if isinstance(each, str) and each not in ("fields", "settings")]
    words = ", ".join(_LABELS.get(each, each.replace("_", " ")) for each in names)
    text, member = FAULTS.get(fault.msg, fault.msg.removeprefix("Value ")), names[0] if names else ""
    if isinstance(index, int):
        return ShownFault(index, member, f"{_name(index, content)}{words and ', '}{words}", text)
    return ShownFault(None, member, words.capitalize() or "The form", text)


def _name(index: int, content: FieldGiven) -> str:
    fields = content.get("fields")
    field = fields[index] if isinstance(fields, list) and index < len(fields) else None
    label = field.get("label") if isinstance(field, Mapping) else None
    is_named = isinstance(label, str) and label.strip()
    return f"Question {index + 1} {_quoted(str(label)[:60])}" if is_named else f"Question {index + 1}"
