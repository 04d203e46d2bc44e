"""The texts of mails: a plain part and an HTML part; every value is escaped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from studiogate.domain.forms.definition import FieldType
from studiogate.flows import mail_message
from studiogate.flows.mail_message import Body, Envelope, Mailbox

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "mail_templates"),
    autoescape=select_autoescape(["html"]),
    undefined=StrictUndefined,
    auto_reload=False,
    trim_blocks=True,
    lstrip_blocks=True,
)


def warm() -> None:
    """Compile every template now: a process that drops root privileges may not be able to read them later."""
    for name in _TEMPLATES.list_templates():
        _TEMPLATES.get_template(name)


class Answer(NamedTuple):
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class MailContent:
    kind: str
    recipient: str
    studio: str
    form_title: str
    confirmation_message: object
    submitter_name: str | None
    submitter_email: str
    answers: Sequence[Answer]
    submitted_at: datetime
    timezone: str
    # Where the recipient verifies the submission; None if it is verified.
    verify_url: str | None = None


def answered(fields: Sequence[Mapping[str, Any]], data: Mapping[str, Any]) -> list[Answer]:
    """Return questions and answers in the form's order. Signatures and files are mentioned, not sent."""
    ordered = sorted(fields, key=lambda field: field.get("order") or 0)
    return [
        Answer(str(field.get("label")), _shown(field, data[field["key"]])) for field in ordered if field["key"] in data
    ]


def _shown(field: Mapping[str, Any], value: Any) -> str:
    kind = field.get("type")
    if kind == FieldType.SIGNATURE:
        return "(signed)" if value else ""
    if kind == FieldType.FILE_UPLOAD:
        count = len(value) if isinstance(value, list) else int(bool(value))
        return f"({count} file{'' if count == 1 else 's'})"
    if kind in (FieldType.CHECKBOX, FieldType.CONSENT):
        return "yes" if value == "true" else "no"
    labels = {each["value"]: each["label"] for each in field.get("options") or () if isinstance(each, dict)}
    values = value if isinstance(value, list) else [value]
    return ", ".join(str(labels.get(each, each)) for each in values)


def message(content: MailContent, mail_id: UUID, sender: str, now: datetime) -> EmailMessage:
    """Return a mail that is ready to be sent."""
    values = {"mail": content, "submitted_at": _local(content)}
    text, html = (_TEMPLATES.get_template(f"{content.kind}.{part}").render(values) for part in ("txt", "html"))
    is_notification = content.kind == "notification"
    envelope = Envelope(
        mail_id,
        Mailbox(sender, content.studio),
        Mailbox(content.recipient),
        _subject(content),
        Mailbox(content.submitter_email, content.submitter_name or "") if is_notification else None,
    )
    return mail_message.write(envelope, Body(text, html), now)


def _subject(content: MailContent) -> str:
    if content.kind == "notification":
        return f"{content.form_title}: {content.submitter_name or content.submitter_email}"
    return f"{content.studio}: {content.form_title}"


def _local(content: MailContent) -> str:
    return f"{content.submitted_at.astimezone(ZoneInfo(content.timezone)):%Y-%m-%d %H:%M} ({content.timezone})"
