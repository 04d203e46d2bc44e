"""Answers: each of the 15 types, all faults at once, and random forms compared with an independent implementation."""

import base64
import hashlib
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studiogate.domain.forms.answer_checks import FormSetting
from studiogate.domain.forms.answers import AnswersJudgement, judge
from studiogate.domain.forms.definition import FieldType
from studiogate.domain.forms.values import as_decimal
from studiogate.web.body import strict_json
from tests.domain.test_forms_visibility import independently
from tests.support.pictures import gif, png, png_url

UPLOAD = "6bd7e4af-304f-484a-b0e6-88dcace67cf8"
OTHER = "51a6405a-3b8a-4e28-8c51-d6ab0f55d145"
SETTING = FormSetting("US", {UPLOAD: "a", OTHER: "another_field"})


def field(kind: str, key: str = "a", **more: Any) -> dict[str, Any]:
    return {"key": key, "label": "A", "type": kind, **more}


def judged(answer: Any, kind: str, **more: Any) -> AnswersJudgement:
    return judge([field(kind, **more)], {"a": answer}, SETTING)


OPTIONS: dict[str, Any] = {"options": ["red", {"value": "blue", "label": "Blue"}]}
GOOD: list[tuple[str, Any, dict[str, Any]]] = [
    ("text", "x", {}),
    ("text", "", {}),
    ("text", "<b>markup</b> 漢字 😀", {}),
    ("textarea", "a\nb\tc\r\nd", {}),
    ("number", "1", {}),
    ("number", "-1.50", {}),
    ("number", "+.5", {}),
    ("number", "1e3", {}),
    ("number", "1", {"min": 1, "max": 1}),
    ("number", "0.3", {"max": 0.3}),
    ("email", "Sam@Example.com", {}),
    ("phone", "(212) 555-0100", {}),
    ("phone", "+44 20 7946 0000", {}),
    ("date", "2026-02-28", {}),
    ("date", "2028-02-29", {}),
    ("select", "red", OPTIONS),
    ("select", "blue", OPTIONS),
    ("select", ["red", "blue"], {**OPTIONS, "multiple": True}),
    ("checkbox", "true", {}),
    ("checkbox", "false", {}),
    ("checkbox_group", ["red"], OPTIONS),
    ("checkbox_group", ["blue", "red"], OPTIONS),
    ("checkbox_group", [], OPTIONS),
    ("checkbox_group", ["A", "a"], {"options": ["A", "a"]}),
    ("signature", png_url(), {}),
    ("file_upload", UPLOAD, {}),
    ("file_upload", UPLOAD.upper(), {}),
    ("file_upload", [UPLOAD], {}),
    ("address", "1 Main St\nBrooklyn", {}),
    ("address", ["1 Main St", "Brooklyn"], {}),
    ("rating", "1", {}),
    ("rating", "5", {}),
    ("rating", "10", {"max_rating": 10}),
    ("rating", "2", {"min": 2, "max": 4}),
    ("consent", "true", {"required": True}),
    ("consent", "false", {}),
]


@pytest.mark.parametrize(("kind", "answer", "more"), GOOD)
def test_good_answers(kind: str, answer: Any, more: dict[str, Any]) -> None:
    verdict = judged(answer, kind, **more)
    assert verdict.faults == []
    # Ids are stored in lower case.
    assert verdict.data == {"a": answer.lower() if kind == "file_upload" and isinstance(answer, str) else answer}


@pytest.mark.parametrize(
    ("kind", "answer", "stored", "more"),
    [
        ("checkbox_group", ["", "red"], ["red"], OPTIONS),
        ("checkbox_group", [" "], [], OPTIONS),
        ("checkbox_group", [" red"], [" red"], {"options": [" red"]}),
        ("select", " ", "", OPTIONS),
        ("select", ["\t", "red"], ["red"], {**OPTIONS, "multiple": True}),
        ("date", " 2026-02-03", "2026-02-03", {}),
        ("date", " ", "", {}),
        ("number", " 1.50\n", "1.50", {}),
        ("email", " A@b.example ", "A@b.example", {}),
        ("phone", " 212 555 0100 ", "212 555 0100", {}),
        ("rating", " ", "", {}),
        ("consent", " ", "", {}),
        ("signature", " ", "", {}),
        ("file_upload", ["", UPLOAD.upper()], [UPLOAD], {"multiple": True}),
        ("file_upload", " ", "", {}),
        ("text", " x ", " x ", {}),
        ("textarea", " ", " ", {}),
        ("address", ["1 High Street", ""], ["1 High Street", ""], {}),
    ],
)
def test_what_a_check_ignores_is_not_stored(kind: str, answer: Any, stored: Any, more: dict[str, Any]) -> None:
    judgement = judged(answer, kind, **more)
    assert judgement.faults == []
    assert judgement.data == {"a": stored}
    assert judged(stored, kind, **more).data == {"a": stored}


def test_good_answers_cover_every_type() -> None:
    assert {kind for kind, _, _ in GOOD} == set(FieldType) - {FieldType.SECTION_BREAK}


BROKEN_PNG = png()[:-4] + b"\0\0\0\0"
BAD: list[tuple[str, Any, dict[str, Any]]] = [
    ("text", "a\nb", {}),
    ("text", "a\x1b[31m", {}),
    ("text", "a\u2028b", {}),
    ("text", "x" * 5001, {}),
    ("text", ["x"], {}),
    ("textarea", "a\x08", {}),
    ("textarea", "x" * 50_001, {}),
    ("number", "one", {}),
    ("number", "1,5", {}),
    ("number", "1_000", {}),
    ("number", "0x10", {}),
    ("number", "NaN", {}),
    ("number", "Infinity", {}),
    ("number", "1e999", {}),
    ("number", "\u0661", {}),
    ("number", "9" * 50, {}),
    ("number", "0.999", {"min": 1}),
    ("number", "1.0000000000000000000001", {"max": 1}),
    ("number", 5, {}),
    ("email", "broken", {}),
    ("email", "a@b.example\nbcc: c@d.example", {}),
    ("phone", "call me", {}),
    ("phone", "1" * 6000, {}),
    ("date", "28.02.2026", {}),
    ("date", "2026-02-30", {}),
    ("date", "2026-W01-1", {}),
    ("date", "20260228", {}),
    ("date", "2026-02-28T00:00:00Z", {}),
    ("select", "green", OPTIONS),
    ("select", "Blue", OPTIONS),
    ("select", "red ", OPTIONS),
    ("select", ["red"], OPTIONS),
    ("checkbox", "yes", {}),
    ("checkbox", True, {}),
    ("checkbox", "false", {"required": True}),
    ("checkbox_group", "red", OPTIONS),
    ("checkbox_group", ["red", "green"], OPTIONS),
    ("checkbox_group", ["red", "red"], OPTIONS),
    ("checkbox_group", [["red"]], OPTIONS),
    ("checkbox_group", {"red": True}, OPTIONS),
    ("signature", "Sam Lee", {}),
    ("signature", "data:image/svg+xml;base64,PHN2Zz4=", {}),
    ("signature", "data:image/png;base64,!!!!", {}),
    ("signature", "data:image/png;base64," + base64.b64encode(b"no image").decode(), {}),
    ("signature", png_url(gif()), {}),
    ("signature", png_url(BROKEN_PNG), {}),
    ("signature", png_url(png() + b"<script>"), {}),
    ("signature", png_url(png(30_001, 1)), {}),
    ("signature", png_url(png(0, 1)), {}),
    ("signature", "data:image/png;base64," + "A" * 200_000, {}),
    ("signature", [png_url()], {}),
    ("file_upload", "x", {}),
    ("file_upload", "03063a00-a709-438d-ad81-e8bde8afbd43", {}),
    ("file_upload", OTHER, {}),
    ("file_upload", [UPLOAD, UPLOAD], {"multiple": True}),
    ("file_upload", [UPLOAD, OTHER], {}),
    ("file_upload", "../../etc/passwd", {}),
    ("address", {"street": "1 Main St"}, {}),
    ("address", ["x"] * 11, {}),
    ("address", "a\x00b", {}),
    ("rating", "0", {}),
    ("rating", "6", {}),
    ("rating", "4.5", {}),
    ("rating", "\u00b2", {}),
    ("rating", "11", {"max_rating": 10}),
    ("rating", "1", {"min": 2}),
    ("rating", "5", {"max": 4}),
    ("consent", "yes", {}),
    ("consent", "false", {"required": True}),
    ("consent", "TRUE", {}),
]
KINDS = sorted(set(FieldType) - {FieldType.SECTION_BREAK})


@pytest.mark.parametrize(("kind", "answer", "more"), BAD, ids=lambda each: ascii(each)[:60])
def test_bad_answers(kind: str, answer: Any, more: dict[str, Any]) -> None:
    faults = judged(answer, kind, **more).faults
    assert [fault.loc for fault in faults] == [("body", "data", "a")]
    if isinstance(answer, str) and len(answer) > 12:
        assert answer not in faults[0].msg, "the input is never echoed"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", [None, 5, 1.5, True, {}, {"a": "b"}, [None], [5], [["x"]]], ids=repr)
def test_wrong_types(kind: str, wrong: Any) -> None:
    assert [fault.loc[-1] for fault in judged(wrong, kind, **OPTIONS).faults] == ["a"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("empty", ["", "  ", "absent"])
def test_required_answers(kind: str, empty: str) -> None:
    answers = {} if empty == "absent" else {"a": [] if kind == "checkbox_group" else empty}
    verdict = judge([field(kind, required=True, **OPTIONS)], answers, SETTING)
    assert [(fault.loc[-1], fault.type) for fault in verdict.faults] == [("a", "missing")]
    assert judge([field(kind, **OPTIONS)], answers, SETTING).faults == []


def test_a_section_takes_no_answer_and_needs_none() -> None:
    section = field("section_break", required=True)
    assert judge([section], {}, SETTING).faults == []
    assert [fault.type for fault in judge([section], {"a": "x"}, SETTING).faults] == ["no_answer_taken"]


def test_all_faults_at_once_in_the_order_of_the_form() -> None:
    fields = [
        field("text", "name", required=True),
        field("section_break", "part"),
        field("number", "age", min=18),
        field("text", "hidden", display_when={"field_key": "age", "op": "gt", "value": 100}),
        field("consent", "terms", required=True),
    ]
    answers = {"age": "5", "hidden": "x", "part": "y", "nobody": "z"}
    faults = judge(fields, answers, SETTING).faults
    assert sorted((fault.loc[-1], fault.type) for fault in faults) == [
        ("age", "invalid_answer"),
        ("hidden", "hidden_field"),
        ("name", "missing"),
        ("nobody", "unknown_field"),
        ("part", "no_answer_taken"),
        ("terms", "missing"),
    ]


def test_a_hidden_required_field_is_not_missing_and_an_empty_answer_to_it_is_none() -> None:
    fields = [
        field("checkbox", "injured"),
        field("text", "where", required=True, display_when={"field_key": "injured", "op": "equals", "value": "true"}),
    ]
    assert judge(fields, {"injured": "false"}, SETTING).faults == []
    assert judge(fields, {"where": ""}, SETTING).data == {}
    assert [fault.type for fault in judge(fields, {"injured": "true"}, SETTING).faults] == ["missing"]


def test_consents_are_kept_as_evidence() -> None:
    fields = [
        field("consent", "risk", consent_policy_slug="risk", consent_policy_version="2", consent_label="My own risk."),
        field("consent", "news"),
        field("consent", "no"),
    ]
    verdict = judge(fields, {"risk": "true", "news": "true", "no": "false"}, SETTING)
    assert [tuple(each) for each in verdict.consents] == [
        ("risk", "risk", "2", hashlib.sha256(b"My own risk.").hexdigest()),
        ("news", None, None, hashlib.sha256(b"A").hexdigest()),
    ]


def test_uploads_are_named() -> None:
    assert judged([UPLOAD.upper()], "file_upload").upload_ids == [UPLOAD]


KEYS = "abcdef"
ANSWERS_OF = {
    "text": st.sampled_from(["x", "", "a\nb"]),
    "number": st.sampled_from(["1", "5", "x", ""]),
    "checkbox": st.sampled_from(["true", "false", "x"]),
    "select": st.sampled_from(["red", "green", ""]),
    "checkbox_group": st.sampled_from([["red"], ["green"], [], ["red", "blue"]]),
    "consent": st.sampled_from(["true", "false"]),
}


@st.composite
def filled_forms(draw: st.DrawFn) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    fields, answers = [], {}
    for key in draw(st.lists(st.sampled_from(KEYS), unique=True, min_size=1)):
        kind = draw(st.sampled_from(sorted(ANSWERS_OF)))
        asked = st.fixed_dictionaries(
            {
                "field_key": st.sampled_from(KEYS),
                "op": st.sampled_from(["equals", "not_equals", "in", "is_empty", "is_not_empty"]),
                "value": st.sampled_from(["x", "1", "true", "red"]),
            }
        )
        required = draw(st.booleans())
        fields.append(field(kind, key, required=required, min=2, display_when=draw(st.none() | asked), **OPTIONS))
        if draw(st.booleans()):
            answers[key] = draw(ANSWERS_OF[kind])
    return fields, answers


@settings(max_examples=500, deadline=None)
@given(filled_forms())
def test_it_agrees_with_an_independent_judge(form: tuple[list[dict[str, Any]], dict[str, Any]]) -> None:
    fields, answers = form
    wrong = set()
    visible = independently(fields, answers)
    for each in fields:
        key, answer = each["key"], answers.get(each["key"])
        empty = answer in (None, "", []) or (each["type"] in ("checkbox", "consent") and answer == "false")
        if key not in visible:
            bad = answer not in (None, "", [])
        elif empty:
            bad = each["required"]
        else:
            good = {"text": "x", "number": "5", "checkbox": "true", "select": "red", "consent": "true"}
            fits = set(answer) <= {"red", "blue"} if isinstance(answer, list) else answer == good[each["type"]]
            bad = not fits
        if bad:
            wrong.add(key)
    verdict = judge(fields, answers, FormSetting())
    assert {fault.loc[-1] for fault in verdict.faults} == wrong
    assert set(verdict.data) == set(answers) & visible


@given(
    st.integers(-(10**15) + 1, 10**15 - 1),
    st.integers(-20, 20),
    st.integers(-(10**40) + 1, 10**40 - 1),
)
def test_bounds_that_are_kept_exactly(digits: int, exponent: int, whole: int) -> None:
    """As the guide says: 15 significant digits with a fraction or an exponent, and any whole number."""
    for bound in (f"{digits}e{exponent}", str(whole)):
        answer = f"{Decimal(bound):f}"
        if as_decimal(answer) is None:
            continue  # more digits than an answer has
        number = strict_json(bound.encode())
        assert not judged(answer, "number", min=number, max=number).faults, bound
