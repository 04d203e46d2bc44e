"""The texts of mails: a plain part and an HTML part; every value is escaped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.domain.forms.definition import FieldType
from studiogate.flows.mails import Body, Envelope, Mailbox, write_mail
from studiogate.templating import templates_in

_TEMPLATES = templates_in(Path(__file__).parent / "mail_templates")


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


@dataclass(frozen=True, slots=True)
class LinkContent:
    """A mail with a signed link to a form for one member."""

    recipient: str
    first_name: str
    studio: str
    form_title: str
    url: str
    expires_at: datetime
    timezone: str


def answered(fields: Sequence[Mapping[str, Any]], data: Mapping[str, object]) -> list[Answer]:
    """Return questions and answers in the form's order. Signatures and files are mentioned, not sent."""
    ordered = sorted(fields, key=lambda field: field.get("order") or 0)
    return [
        Answer(str(field.get("label")), _shown(field, data[field["key"]])) for field in ordered if field["key"] in data
    ]


def _shown(field: Mapping[str, Any], value: object) -> str:
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
    values = {"mail": content, "submitted_at": _local(content.submitted_at, content.timezone)}
    is_notification = content.kind == "notification"
    envelope = Envelope(
        mail_id,
        Mailbox(sender, content.studio),
        Mailbox(content.recipient),
        _subject(content),
        Mailbox(content.submitter_email, content.submitter_name or "") if is_notification else None,
    )
    return write_mail(envelope, _body(content.kind, values), now)


def link_message(content: LinkContent, mail_id: UUID, sender: str, now: datetime) -> EmailMessage:
    """Return a mail with a link to a form that is ready to be sent."""
    values = {"mail": content, "expires_at": _local(content.expires_at, content.timezone)}
    subject = f"{content.studio}: {content.form_title}"
    envelope = Envelope(mail_id, Mailbox(sender, content.studio), Mailbox(content.recipient), subject)
    return write_mail(envelope, _body("form_link", values), now)


def _body(template: str, values: Mapping[str, object]) -> Body:
    text, html = (_TEMPLATES.get_template(f"{template}.{part}").render(values) for part in ("txt", "html"))
    return Body(text, html)


def _subject(content: MailContent) -> str:
    if content.kind == "notification":
        return f"{content.form_title}: {content.submitter_name or content.submitter_email}"
    return f"{content.studio}: {content.form_title}"


def _local(at: datetime, timezone: str) -> str:
    return f"{at.astimezone(ZoneInfo(timezone)):%Y-%m-%d %H:%M} ({timezone})"
