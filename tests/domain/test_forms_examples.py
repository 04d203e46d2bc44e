"""The forms of the demo, the reference and the guide pass the checks that every form must pass."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from studiogate.api.resources.forms.write import FIELDS, SETTINGS
from studiogate.demo.forms import form_rows
from studiogate.demo.seed import Seed
from studiogate.domain.forms.answer_checks import FormSetting
from studiogate.domain.forms.answers import judge
from studiogate.domain.forms.definition import FieldType, RuleOp
from studiogate.domain.forms.rule_checks import definition_faults
from studiogate.domain.forms.settings import FormSettings, read_settings, setting_faults

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "leads-and-forms.md").read_text()
BLOCKS = re.findall(r"```(?:json|http)\n(?:(?:POST|PATCH) \S+\n\n)?(\{.*?)```", GUIDE, re.DOTALL)


@pytest.mark.parametrize("form", form_rows(Seed(1)), ids=lambda form: form["slug"])
def test_the_demo_forms(form: dict[str, Any]) -> None:
    assert definition_faults(form["fields"]) == []
    assert setting_faults(form["settings"]) == []


def test_the_example_of_the_reference() -> None:
    assert definition_faults(FIELDS) == []
    assert setting_faults(SETTINGS) == []


def test_the_guide() -> None:
    examples = [json.loads(block) for block in BLOCKS]
    (form,) = [each for each in examples if "fields" in each]
    (submission,) = [each for each in examples if "data" in each]
    assert definition_faults(form["fields"]) == []
    assert setting_faults(form["settings"]) == []
    assert judge(form["fields"], submission["data"], FormSetting("US")).faults == []
    for word in [*FieldType, *RuleOp]:
        assert f"`{word}`" in GUIDE


def test_settings_that_slipped_in_count_as_absent() -> None:
    assert read_settings({"max_submissions": "many", "opens_at": 5, "notification_emails": [1]}) == FormSettings()
