"""Test forms in addition to the demo studio's: every type of field, hostile texts, forms that cannot be opened."""

from typing import Any
from uuid import UUID, uuid5

SPACE = UUID("6f6c7a30-4a6e-4c4e-9a55-2b7d1c9d5e01")
HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)> javascript:alert(3) {{ 7*7 }}"


def _form(slug: str, fields: list[dict[str, Any]], status: str = "published", **settings: Any) -> dict[str, Any]:
    title = slug.replace("-", " ").capitalize()
    given = {"id": str(uuid5(SPACE, slug)), "title": title, "slug": slug, "description": None}
    ordered = [each | {"order": number} for number, each in enumerate(fields)]
    return {**given, "fields": ordered, "settings": settings, "status": status}


def _field(key: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"key": key, "label": key.replace("_", " ").capitalize(), "type": kind, **more}


def everything(required: bool) -> list[dict[str, Any]]:
    """Return fields of all fifteen types, and both layouts of options."""
    options = [{"value": "red", "label": "Red"}, {"value": "blue", "label": "Blue"}, "green"]
    fields = [
        _field("heading", "section_break", help_text="A few words about what follows."),
        _field("line", "text", placeholder="One line", help_text="Help for the line."),
        _field("story", "textarea", placeholder="As long as you like"),
        _field("amount", "number", min=1, max=99.5),
        _field("mail", "email"),
        _field("call", "phone"),
        _field("day", "date"),
        _field("menu", "select", options=options),
        _field("buttons", "select", options=options, options_layout="buttons"),
        _field("many", "select", options=options, multiple=True),
        _field("box", "checkbox"),
        _field("boxes", "checkbox_group", options=options),
        _field("sign", "signature", signature_purpose="Agreement to everything"),
        _field("files", "file_upload", accept="application/pdf,image/png", max_file_size=3_000_000),
        _field("home", "address"),
        _field("stars", "rating", max_rating=5),
        _field("scale", "rating", max_rating=10),
        _field("agree", "consent", consent_label="I agree to everything.", consent_policy_slug="all"),
    ]
    return [each | {"required": required and each["type"] != "section_break"} for each in fields]


def hostile() -> list[dict[str, Any]]:
    """Return fields with markup in every text."""
    fields = []
    for each in everything(required=False):
        each = each | {"key": f"{each['key']}\"'><b>&", "label": HOSTILE, "help_text": HOSTILE, "placeholder": HOSTILE}
        if "options" in each:
            each["options"] = [HOSTILE, {"value": HOSTILE + "2", "label": HOSTILE}]
        if each["type"] == "consent":
            each |= {"consent_label": HOSTILE}
        if each["type"] == "signature":
            each |= {"signature_purpose": HOSTILE}
        fields.append(each)
    return fields


def own_forms() -> list[dict[str, Any]]:
    line = [_field("line", "text")]
    hostile_form = _form("hostile", hostile(), confirmation_message=HOSTILE, submit_label=HOSTILE)
    return [
        _form("everything", everything(required=False)),
        _form("all-required", everything(required=True)),
        hostile_form | {"title": HOSTILE, "description": HOSTILE},
        _form("not-yet", line, opens_at="2100-06-03T12:00:00Z"),
        _form("closed", line, closes_at="2020-06-03T12:00:00Z"),
        _form("full", line, max_submissions=1),
        _form("once", line, allow_multiple=False),
        _form("members-only", [_field("line", "text", required=True)], require_auth=True),
        _form("own-email", [_field("email", "email", required=True), _field("full_name", "text")]),
    ]
