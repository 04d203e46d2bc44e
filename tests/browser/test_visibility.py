"""The page's script and the server agree on the visible fields: for a table of cases, and for random forms."""

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from studiogate.domain.forms.definition import FieldType, RuleOp
from studiogate.domain.forms.visibility import rule_texts, visible_keys
from studiogate.hosted import templating

CASES = json.loads((Path(__file__).parent / "visibility_cases.json").read_text())
SCRIPT = Path(templating.__file__).parent / "static" / "visibility.js"
RUNNER = """
    require(process.argv[1]);
    const cases = JSON.parse(require('fs').readFileSync(0, 'utf8'));
    const seen = cases.map(({fields, answers}) => [...globalThis.studiogateVisibility.visibleKeys(fields, answers)]);
    console.log(JSON.stringify(seen));
"""


def _for_script(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the fields as the page passes them to its script."""
    return [
        {
            "key": each["key"],
            "type": each["type"],
            "rule": [rule["field_key"], rule["op"], rule_texts(rule.get("value"))]
            if (rule := each.get("display_when"))
            else None,
        }
        for each in fields
    ]


def _seen_by_script(cases: list[dict[str, Any]]) -> list[set[str]]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed; the browser tests run the script too")
    given = json.dumps([{"fields": _for_script(each["fields"]), "answers": each["answers"]} for each in cases])
    ran = subprocess.run(
        [node, "-e", RUNNER, str(SCRIPT)], input=given, capture_output=True, text=True, check=True, timeout=60
    )
    return [set(each) for each in json.loads(ran.stdout)]


@pytest.mark.parametrize("case", CASES, ids=[each["name"] for each in CASES])
def test_the_table_holds_on_the_server(case: dict[str, Any]) -> None:
    assert visible_keys(case["fields"], case["answers"]) == set(case["visible"])


def test_the_table_holds_in_the_script() -> None:
    seen = _seen_by_script(CASES)
    assert {each["name"]: got for each, got in zip(CASES, seen, strict=True)} == {
        each["name"]: set(each["visible"]) for each in CASES
    }


VALUES = [
    "", " ", "a", "ab", "b", "true", "false", "1", "1.0", "01", "2", "-2", "+2.50", "2.5e0", ".5", "5.", "1e2", "100",
    "1e99", "9" * 40, "2026-01-01", "2026-02-30", " 2026-01-01 ", "0000-01-01", "٣", "1_0", "0x1", "NaN", "Infinity",
]  # fmt: skip


def _random_case(chance: random.Random) -> dict[str, Any]:
    keys = [f"k{number}" for number in range(chance.randint(1, 7))]
    fields = []
    for key in keys:
        field: dict[str, Any] = {"key": key, "type": chance.choice(list(FieldType)).value}
        if chance.random() < 0.7:
            value = chance.choice([*VALUES, True, False, None, 1, 2.5, 100, [], VALUES[2:6], [1, "a", None]])
            op = chance.choice([*(each.value for each in RuleOp), "toString"])
            field["display_when"] = {"field_key": chance.choice([*keys, "gone"]), "op": op, "value": value}
        fields.append(field)
    answers: dict[str, Any] = {}
    for key in keys:
        if chance.random() < 0.8:
            several = chance.random() < 0.3
            answers[key] = chance.sample(VALUES, chance.randint(0, 3)) if several else chance.choice(VALUES)
    return {"fields": fields, "answers": answers}


def test_script_and_server_agree_on_random_forms() -> None:
    chance = random.Random(20260802)
    cases = [_random_case(chance) for _ in range(4_000)]
    for case, seen in zip(cases, _seen_by_script(cases), strict=True):
        assert seen == visible_keys(case["fields"], case["answers"]), json.dumps(case)
