"""What the builder offers for each type of question, and for the form."""

from collections.abc import Mapping

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
# What the type of a question offers beside its text: member, label, type of the input.
SETTINGS_OF: Mapping[str, list[tuple[str, str, str]]] = {
    "text": [("placeholder", "Example inside the field", "text")],
    "textarea": [("placeholder", "Example inside the field", "text")],
    "email": [("placeholder", "Example inside the field", "text")],
    "phone": [("placeholder", "Example inside the field", "text")],
    "number": [("min", "At least", "number"), ("max", "At most", "number")],
    "select": [("options", "Options, one per line", "options"), ("options_layout", "Show as buttons", "buttons")],
    "checkbox_group": [("options", "Options, one per line", "options")],
    "rating": [("max_rating", "Highest rating", "number")],
    "file_upload": [
        ("accept", "Kinds of files, such as image/*, .pdf", "text"),
        ("max_file_size", "Largest file in MB", "megabytes"),
        ("multiple", "Several files", "check"),
    ],
    "consent": [
        ("consent_label", "Text that people agree to", "textarea"),
        ("consent_policy_slug", "Name of the policy", "text"),
        ("consent_policy_version", "Version of the policy", "text"),
    ],
    "signature": [("signature_purpose", "What is signed", "textarea")],
}
FORM_SETTINGS = {
    "visitors": [
        ("submit_label", "Text of the button", "text", "Send"),
        ("confirmation_message", "Text after sending", "textarea", ""),
        ("redirect_url", "Page that opens after sending", "url", "https://"),
    ],
    "limits": [
        ("opens_at", "Opens", "instant", ""),
        ("closes_at", "Closes", "instant", ""),
        ("max_submissions", "Submissions at most", "number", ""),
        ("allow_multiple", "A person may send it several times", "check", ""),
        ("require_auth", "Opens only with a personal link", "check", ""),
    ],
    "afterwards": [
        ("create_lead", "Make a lead of an unknown email", "check", ""),
        ("send_confirmation_email", "Send a confirmation to the person", "check", ""),
        ("notify_on_submit", "Notify the studio by email", "check", ""),
        ("notification_emails", "Addresses for notifications, one per line", "lines", ""),
    ],
}
