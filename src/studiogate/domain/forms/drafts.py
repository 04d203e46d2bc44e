"""What a preview shows of a form that is being edited, which may have faults anywhere."""

from collections.abc import Mapping
from typing import NamedTuple

from studiogate.domain.forms.rule_checks import definition_faults


class PreviewContent(NamedTuple):
    title: str
    description: str | None
    fields: list[dict[str, object]]
    settings: Mapping[str, object]


def preview_of(content: Mapping[str, object]) -> PreviewContent:
    """Return what can be shown: questions without a fault. Their faults are shown where they are edited."""
    title, description = content.get("title"), content.get("description")
    fields, settings = content.get("fields"), content.get("settings")
    return PreviewContent(
        title if isinstance(title, str) else "",
        description if isinstance(description, str) and description else None,
        _without_faults(fields) if isinstance(fields, list) else [],
        settings if isinstance(settings, Mapping) else {},
    )


def _without_faults(fields: list[object]) -> list[dict[str, object]]:
    faults = definition_faults(fields)
    if any(not loc for loc, _ in faults):
        return []
    wrong = {loc[0] for loc, _ in faults}
    return [each for number, each in enumerate(fields) if isinstance(each, dict) and number not in wrong]
