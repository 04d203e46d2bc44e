"""FormField as tabulated in section 2.15 of the specification."""

from typing import Any

# The optional fields of a FormField (specification 2.15), with their defaults.
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
    """Return the fields as the API returns them: missing members are appended to the given ones."""
    return [each | {name: value for name, value in OPTIONAL.items() if name not in each} for each in fields]
