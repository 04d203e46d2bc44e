"""Mails with a signed link to a form: signed when they are sent, to a real SMTP server; the link opens the form."""

import re
from datetime import timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from studiogate.flows.forms import staff as flow
from studiogate.flows.forms.staff import FormLinkToSend
from studiogate.hosted.app import HostedApp
from studiogate.worker.mail import mail_once
from tests.support import booking_studio
from tests.support.console import new_client
from tests.support.mail_studio import MailStudio, html_of, mail_studio, text_of
from tests.support.smtp_server import smtp_server
from tests.support.staff import did

__all__ = ["mail_studio", "smtp_server"]
pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
HOSTILE = '<b>Hi</b> & "you"\r\nBcc: all@example.com'


async def queue(mail_studio: MailStudio, life: timedelta = timedelta(days=7), **columns: Any) -> tuple[UUID, UUID, str]:
    """Queue a mail; return the form, the member and the address."""
    studio, (member, address) = mail_studio.studio, await mail_studio.member(**columns)
    form = await studio.new_form()
    await did(studio, flow.send_link, FormLinkToSend(form, member, life))
    return form, member, address


async def outcome(mail_studio: MailStudio) -> tuple[str, str | None]:
    (row,) = await mail_studio.studio.rows("mails", "kind = 'form_link'")
    return row["status"], row["problem"]


async def test_the_link_in_the_mail_opens_the_form_for_the_member(mail_studio: MailStudio) -> None:
    studio = mail_studio.studio
    form, _, address = await queue(mail_studio, first_name="Ada", last_name="Moss")
    await studio.change("forms", form, settings='{"require_auth": true}')
    await studio.sql("update studios set hour_cycle = '24h', date_order = 'day_month' where studio_id = $1")
    await mail_studio.work()
    (mail,) = mail_studio.arrived(address)
    assert mail_studio.smtp_server.recipients == [address]
    assert mail["Subject"] == f"{studio.studio.slug}: Waiver"
    assert mail["From"].endswith("<desk@studio.example>")
    assert studio.studio.slug in mail["From"], "in the studio's name"
    text, html = text_of(mail), html_of(mail)
    (row,) = await studio.rows("mails", "kind = 'form_link'")
    local = row["expires_at"].astimezone(ZoneInfo("America/New_York"))
    for part in (text, html):
        assert "Hello Ada," in part
        assert "Waiver" in part
        assert f"The link works until {local.day} {local:%b %Y, %H:%M} (America/New_York)." in part
        assert "It is personal" in part
    found = re.search(r"^https?://[^/]+(/f/\S+)", text, re.MULTILINE)
    assert found is not None
    assert html.count(f'href="{found[0]}"') == 2, "a button, and the link as text"
    client = new_client(HostedApp(mail_studio.runtime))
    page = await client.get(found[1])
    await client.aclose()
    assert page.status_code == 200
    assert "Ada Moss" in page.text
    assert found[1].rpartition(".")[2] not in str([dict(each) for each in await studio.rows("mails")])
    assert await outcome(mail_studio) == ("sent", None)


async def test_names_are_escaped_and_add_no_headers(mail_studio: MailStudio) -> None:
    form, _, address = await queue(mail_studio, first_name=HOSTILE)
    await mail_studio.studio.change("forms", form, title=HOSTILE)
    await mail_studio.studio.sql("update studios set name = $2 where studio_id = $1", HOSTILE)
    await mail_studio.work()
    (mail,) = mail_studio.arrived(address)
    assert mail["Bcc"] is None
    assert mail_studio.smtp_server.recipients == [address]
    assert "<b>" not in html_of(mail)
    assert html_of(mail).count("&lt;b&gt;Hi&lt;/b&gt; &amp;") >= 4


async def test_the_address_is_read_when_the_mail_is_sent(mail_studio: MailStudio) -> None:
    _, member, address = await queue(mail_studio)
    await mail_studio.studio.change("members", member, email="new@example.com")
    await mail_studio.work()
    assert mail_studio.arrived(address) == []
    assert len(mail_studio.arrived("new@example.com")) == 1


@pytest.mark.parametrize(
    ("table", "columns", "problem"),
    [
        ("members", {"email": None}, "no address"),
        ("forms", {"status": "archived"}, "the form is not published"),
        ("forms", {"settings": '{"closes_at": "2020-01-01T00:00:00Z"}'}, "the form is closed"),
    ],
)
async def test_a_link_of_no_use_is_not_sent(
    mail_studio: MailStudio, table: str, columns: dict[str, Any], problem: str
) -> None:
    form, member, _ = await queue(mail_studio)
    await mail_studio.studio.change(table, form if table == "forms" else member, **columns)
    assert await mail_once(mail_studio.runtime) == 0
    assert mail_studio.smtp_server.taken == []
    assert await outcome(mail_studio) == ("failed", problem)


async def test_an_expired_link_is_not_sent(mail_studio: MailStudio) -> None:
    await queue(mail_studio, timedelta(hours=2))
    await mail_studio.studio.sql("update mails set expires_at = now() - interval '1 second' where studio_id = $1")
    assert await mail_once(mail_studio.runtime) == 0
    assert await outcome(mail_studio) == ("failed", "the link has expired")


async def test_a_failed_attempt_is_repeated_and_the_link_keeps_its_end(mail_studio: MailStudio) -> None:
    _, _, address = await queue(mail_studio, timedelta(hours=30))
    (before,) = await mail_studio.studio.rows("mails", "kind = 'form_link'")
    mail_studio.smtp_server.answers.append("451 try later")
    assert await mail_once(mail_studio.runtime) == 1
    assert await outcome(mail_studio) == ("queued", "SMTPDataError 451")
    await mail_studio.studio.sql("update mails set due_at = now() - interval '1 second' where studio_id = $1")
    await mail_studio.work()
    (mail,) = mail_studio.arrived(address)
    assert f".{int(before['expires_at'].timestamp())}." in text_of(mail)
    assert await outcome(mail_studio) == ("sent", None)
