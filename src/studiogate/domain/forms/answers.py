"""Whether a form accepts given answers: every fault at once, and the data to store if there is none."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from studiogate.domain.forms.answer_checks import CHECKS, Field, FormSetting, shape_fault
from studiogate.domain.forms.definition import FieldType
from studiogate.domain.forms.visibility import Answers, given_values, visible_keys
from studiogate.domain.ids import lower_ids
from studiogate.domain.refusals import Fault

DATA = ("body", "data")
FREE_TEXT = (FieldType.TEXT, FieldType.TEXTAREA, FieldType.ADDRESS)
# Types whose check ignores surrounding spaces.
TRIMMED = (FieldType.NUMBER, FieldType.EMAIL, FieldType.PHONE, FieldType.DATE)


class Consent(NamedTuple):
    """What a person agreed to: the policy's slug and version, and a hash of the exact text shown."""

    key: str
    slug: str | None
    version: str | None
    text_sha256: str


class AnswersJudgement(NamedTuple):
    """The answers to visible fields, every fault in what was sent, the consents given and the uploads referenced."""

    data: dict[str, object]
    faults: list[Fault]
    consents: list[Consent]
    upload_ids: list[str]


def judge(fields: Sequence[Field], answers: Answers, setting: FormSetting) -> AnswersJudgement:
    visible = visible_keys(fields, answers)
    by_key = {str(each.get("key")): each for each in reversed(fields)}
    faults = [fault for key in answers if (fault := _misplaced(key, by_key, visible, answers[key]))]
    shown = [each for key, each in by_key.items() if key in visible and each.get("type") != FieldType.SECTION_BREAK]
    shown.reverse()
    for each in shown:
        faults += _faults_of(each, answers, setting)
    data = {key: _stored(by_key[key], answer) for key, answer in answers.items() if key in visible}
    return AnswersJudgement(data, faults, _consents(shown, answers), named_uploads(shown, answers))


def _stored(field: Field, answer: object) -> object:
    """Return an answer as it is stored. Free text stays as it was written; of any other answer, what its check ignores
    is left out: blanks and, in some types, surrounding spaces. The ids of files are in lower case."""
    kind = field.get("type")
    if kind in FREE_TEXT:
        return answer
    if isinstance(answer, list):
        answer = [each for each in answer if not isinstance(each, str) or each.strip()]
    elif isinstance(answer, str) and (kind in TRIMMED or not answer.strip()):
        answer = answer.strip()
    return lower_ids(answer) if kind == FieldType.FILE_UPLOAD else answer


def named_uploads(fields: Sequence[Field], answers: Answers) -> list[str]:
    wanted = [each for each in fields if each.get("type") == FieldType.FILE_UPLOAD]
    return [id_.lower() for each in wanted for id_ in given_values(each["type"], answers.get(str(each.get("key"))))]


def consent_text(field: Field) -> str:
    """Return the text beside the box, as shown on the hosted page; its hash is stored as evidence of consent."""
    return str(field.get("consent_label") or field.get("label") or "")


def _misplaced(key: str, by_key: Mapping[str, Field], visible: frozenset[str], answer: object) -> Fault | None:
    """Return a fault for an answer to a field that is unknown, or hidden or a section break and not left empty."""
    if (field := by_key.get(key)) is None:
        return Fault((*DATA, key), "unknown_field", "This form has no such field")
    kind = field.get("type")
    if answer in ("", []) or (key in visible and kind != FieldType.SECTION_BREAK):
        return None
    if kind == FieldType.SECTION_BREAK:
        return Fault((*DATA, key), "no_answer_taken", "A section break takes no answer")
    return Fault((*DATA, key), "hidden_field", "This field is hidden for these answers")


def _faults_of(field: Field, answers: Answers, setting: FormSetting) -> list[Fault]:
    key, kind = str(field.get("key")), str(field.get("type"))
    answer = answers.get(key)
    if key in answers:
        wrong = shape_fault(field, answer)
        if wrong is not None:
            return [_fault(key, *wrong)]
    values = given_values(kind, answer)
    if not values and field.get("required") is True:
        if kind in (FieldType.CONSENT, FieldType.CHECKBOX):
            return [_fault(key, "missing", 'must be "true"')]
        return [Fault((*DATA, key), "missing", "Field required")]
    written = [answer] if isinstance(answer, str) else answer or []
    texts = [value for value in written if value.strip()]
    # Creating a check reads all options of its field, so it is done only if there is an answer to check.
    # An older version may have stored a field of an unknown type, which takes any text.
    messages = dict.fromkeys(map(CHECKS[kind](field, setting), texts)) if texts and kind in CHECKS else ()
    return [_fault(key, "invalid_answer", message) for message in messages if message]


def _fault(key: str, kind: str, message: str) -> Fault:
    return Fault((*DATA, key), kind, "Answer " + message)


def _consents(fields: Sequence[Field], answers: Answers) -> list[Consent]:
    agreed = [
        each for each in fields if each.get("type") == FieldType.CONSENT and answers.get(str(each.get("key"))) == "true"
    ]
    return [
        Consent(
            str(each.get("key")),
            each.get("consent_policy_slug"),
            each.get("consent_policy_version"),
            hashlib.sha256(consent_text(each).encode()).hexdigest(),
        )
        for each in agreed
    ]
