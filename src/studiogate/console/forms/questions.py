"""What the builder offers for each type of question, and for the form."""

from collections.abc import Mapping

from studiogate.console.framework import words
from studiogate.domain.forms.definition import FieldType, RuleOp

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
SETTINGS_OF = words.WORDS["question_settings"]
FORM_SETTINGS = words.WORDS["form_settings"]
