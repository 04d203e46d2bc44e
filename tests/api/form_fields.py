"""FormField as the specification tabulates it (2.15)."""

from typing import Any

# The tabulated fields of a FormField that need not be given (specification 2.15), with their defaults.
OPTIONAL: dict[str, Any] = {
    "required": False,
    "placeholder": None,
    "options": None,
    "options_layout": None,
    "order": 0,
    "help_text": None,
    "display_when": None,
    "step_index": None,
    "signature_purpose": None,
    "consent_policy_slug": None,
    "consent_policy_version": None,
    "consent_label": None,
    "accept": None,
    "max_file_size": None,
    "multiple": None,
    "max_rating": None,
    "min": None,
    "max": None,
}


def completed(*fields: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields as they are answered: what is missing is added behind what was given."""
    return [each | {name: value for name, value in OPTIONAL.items() if name not in each} for each in fields]
