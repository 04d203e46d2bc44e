"""Let the worker claim the mails of submissions and those with a signed link to a form, and write them.

``submit`` queues the former, ``staff.send_link`` the latter. Every value in a text is escaped."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.domain.access import operator_access, system_access
from studiogate.domain.encryption import Sealer
from studiogate.domain.forms import signed_links
from studiogate.domain.forms.definition import FieldType
from studiogate.domain.forms.settings import read_settings
from studiogate.domain.time_format import TimeFormat, time_format_of
from studiogate.flows.mails import LEASE_SECONDS, ClaimedMail, Mailbox, MailContent, rendered
from studiogate.storage import mails
from studiogate.storage.db.pool import Database
from studiogate.templating import templates_in

VERIFICATION_LIFE = timedelta(days=7)
_TEMPLATES = templates_in(Path(__file__).parent / "mail_templates")


class AnswerText(NamedTuple):
    label: str
    value: str


class Links(NamedTuple):
    """The origin of links in mails, and the sealer that opens the secrets that they are signed with."""

    origin: str
    sealer: Sealer


async def claim(database: Database, studio_id: UUID, at_most: int, links: Links) -> list[ClaimedMail]:
    async with database.transaction() as connection:
        rows = await mails.claim(connection, operator_access(studio_id), "submission", at_most, LEASE_SECONDS)
    return [
        ClaimedMail(studio_id, row["id"], row["attempts"], partial(submission_content, studio_id, row, links))
        for row in rows
    ]


def submission_content(studio_id: UUID, row: Mapping[str, Any], links: Links) -> MailContent:
    """Return the content of the mail, which repeats to an unverified address nothing that somebody typed."""
    to_stranger = row["kind"] == "confirmation" and not row["verified"]
    studio, title, email = row["studio"], row["title"], row["submitter_email"]
    name = None if to_stranger else row["submitter_name"]
    verify_url = None
    if to_stranger:
        verification = signed_links.Verification(row["submission_id"], row["created_at"] + VERIFICATION_LIFE)
        secret = signed_links.open_link_secret(links.sealer, studio_id, row["link_secret"])
        query = urlencode({"token": signed_links.sign(secret, row["form_id"], verification)})
        verify_url = f"{links.origin}/f/{row['studio_slug']}/{row['form_slug']}/verify?{query}"
    mail = {
        "studio": studio,
        "form_title": title,
        "confirmation_message": json.loads(row["settings"]).get("confirmation_message"),
        "submitter_name": name,
        "submitter_email": email,
        "answers": [] if to_stranger else answered(json.loads(row["fields"]), json.loads(row["data"])),
        "verify_url": verify_url,
    }
    written = time_format_of(row["hour_cycle"], row["date_order"], row["country"])
    values = {"mail": mail, "submitted_at": _local(row["created_at"], row["timezone"], written)}
    text, html = rendered(_TEMPLATES, row["kind"], values)
    if row["kind"] == "notification":
        subject, reply_to = f"{title}: {name or email}", Mailbox(email, name or "")
        return MailContent(studio, row["recipient"], subject, text, html, reply_to)
    return MailContent(studio, row["recipient"], f"{studio}: {title}", text, html)


def answered(fields: Sequence[Mapping[str, Any]], data: Mapping[str, object]) -> list[AnswerText]:
    """Return questions and answers in the form's order. Signatures and files are mentioned, not sent."""
    ordered = sorted(fields, key=lambda field: field.get("order") or 0)
    return [
        AnswerText(str(field.get("label")), _shown(field, data[field["key"]]))
        for field in ordered
        if field["key"] in data
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


def _local(at: datetime, timezone: str, written: TimeFormat) -> str:
    local = at.astimezone(ZoneInfo(timezone))
    return f"{written.full_date(local)}, {written.time_of_day(local)} ({timezone})"


async def claim_links(database: Database, studio_id: UUID, at_most: int, links: Links) -> list[ClaimedMail]:
    """Claim mails with a link that are due. Those whose link would not open the form any more are dropped."""
    access, claimed = system_access(studio_id), []
    async with database.transaction() as connection:
        for due in await mails.claim(connection, access, "link", at_most, LEASE_SECONDS):
            settings = read_settings(json.loads(due["settings"]))
            facts = signed_links.Delivery(due["email"], due["form_status"], settings, due["expires_at"], due["now"])
            problem = signed_links.problem_of(facts)
            if problem is not None:
                await mails.mark_failed(connection, access, due["id"], None, problem)
            else:
                content = partial(_link_content, studio_id, due, links)
                claimed.append(ClaimedMail(studio_id, due["id"], due["attempts"], content))
    return claimed


def _link_content(studio_id: UUID, due: Mapping[str, Any], links: Links) -> MailContent:
    secret = signed_links.open_link_secret(links.sealer, studio_id, due["link_secret"])
    token = signed_links.sign(secret, due["form_id"], signed_links.Link(due["member_id"], due["expires_at"]))
    mail = {
        "studio": due["studio"],
        "form_title": due["form_title"],
        "first_name": due["first_name"],
        "url": links.origin + signed_links.link_path(due["studio_slug"], due["form_slug"], token),
    }
    written = time_format_of(due["hour_cycle"], due["date_order"], due["country"])
    values = {"mail": mail, "expires_at": _local(due["expires_at"], due["timezone"], written)}
    text, html = rendered(_TEMPLATES, "form_link", values)
    return MailContent(due["studio"], due["email"] or "", f"{due['studio']}: {due['form_title']}", text, html)
