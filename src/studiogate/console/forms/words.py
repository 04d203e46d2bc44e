"""The words of the screen Forms: types of questions, rules and faults as sentences."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from studiogate.console.answers import FieldGiven, label_of, option_labels
from studiogate.console.forms import questions
from studiogate.domain.forms.definition import BOUNDS_FAULT, MAX_OPTION, OPTION_FAULT, FieldType, RuleOp
from studiogate.domain.forms.settings import CLOSED_FAULT, URL_FAULT
from studiogate.domain.refusals import Fault

# Text and kind of badge by status.
FORM: Mapping[str, tuple[str, str]] = {
    "draft": ("draft", ""),
    "published": ("published", "good"),
    "archived": ("archived", "warn"),
}
# In the order in which the builder offers them; each with what it is for.
TYPES: Mapping[str, tuple[str, str]] = {
    FieldType.TEXT: ("Short text", "One line, such as a name"),
    FieldType.TEXTAREA: ("Long text", "Several lines"),
    FieldType.SELECT: ("Choice", "One of several options"),
    FieldType.CHECKBOX_GROUP: ("Several choices", "Any number of options"),
    FieldType.CHECKBOX: ("Tick box", "Ticked or not"),
    FieldType.NUMBER: ("Number", "Within limits, if you set any"),
    FieldType.DATE: ("Date", "A day of the calendar"),
    FieldType.EMAIL: ("Email", "Checked for its form"),
    FieldType.PHONE: ("Phone", "With or without a country code"),
    FieldType.ADDRESS: ("Address", "Street, city, postcode, country"),
    FieldType.RATING: ("Rating", "From one up to ten"),
    FieldType.FILE_UPLOAD: ("File", "A picture or a document"),
    FieldType.CONSENT: ("Consent", "A text that people agree to; kept as evidence"),
    FieldType.SIGNATURE: ("Signature", "Drawn or typed"),
    FieldType.SECTION_BREAK: ("Heading", "Divides the form"),
}
# How a rule reads: "Which injury?" if "Any injuries?" IS "yes". Those without a value end with the sentence.
OPS: Mapping[str, str] = {
    RuleOp.EQUALS: "is",
    RuleOp.NOT_EQUALS: "is not",
    RuleOp.IN: "is one of",
    RuleOp.NOT_IN: "is none of",
    RuleOp.CONTAINS: "contains",
    RuleOp.NOT_CONTAINS: "does not contain",
    RuleOp.GT: "is more than",
    RuleOp.GTE: "is at least",
    RuleOp.LT: "is less than",
    RuleOp.LTE: "is at most",
    RuleOp.IS_EMPTY: "is not answered",
    RuleOp.IS_NOT_EMPTY: "is answered",
}
WITHOUT_VALUE = (RuleOp.IS_EMPTY, RuleOp.IS_NOT_EMPTY)
# What a member of a field is called in faults, where its label in the builder does not say it.
MEMBERS: Mapping[str, str] = {
    "key": "internal name",
    "label": "question",
    "options": "options",
    "display_when": "condition",
    "field_key": "the question of the condition",
    "op": "the comparison",
    "value": "the value",
    "accept": "kinds of files",
    "notification_emails": "addresses for notifications",
    "slug": "address",
}
_NAMED = [each[:2] for settings in questions.SETTINGS_OF.values() for each in settings]
_NAMED += [each[:2] for settings in questions.FORM_SETTINGS.values() for each in settings]
_LABELS = {**{name: label[:1].lower() + label[1:] for name, label in _NAMED}, **MEMBERS}
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
    return [
        ShownField(label_of(each), type_of(each), _details(each), rule_of(each, by_key), _is_heading(each))
        for each in fields
        if isinstance(each, Mapping)
    ]


def _is_heading(field: FieldGiven) -> bool:
    return field.get("type") == FieldType.SECTION_BREAK


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
