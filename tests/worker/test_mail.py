"""Mails: queued with the submission, sent to a real SMTP server, retried, and safe from header and HTML injection."""

import asyncio
import dataclasses
import email
import email.policy
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from studiogate import settings
from studiogate.domain.access import operator_access, visitor_access
from studiogate.domain.forms.signed_links import Verification, read_verification
from studiogate.flows import housekeeping
from studiogate.flows.forms import mail_texts
from studiogate.flows.forms import submit as submission_flow
from studiogate.flows.forms.submit import WantedSubmission
from studiogate.runtime import Runtime
from studiogate.worker.mail import mail_once
from tests.support.postman import Postman, postman
from tests.support.seed import Studio, insert, seed_studio

__all__ = ["postman"]
pytestmark = pytest.mark.anyio

SETTINGS = {
    "notify_on_submit": True,
    "notification_emails": ["desk@studio.example", "owner@studio.example"],
    "send_confirmation_email": True,
    "confirmation_message": "Thank you, <b>see you</b> soon.",
}
FIELDS = [
    {
        "key": "second",
        "label": "Second",
        "type": "select",
        "order": 2,
        "options": [{"value": "a", "label": "Option A"}],
    },
    {"key": "first", "label": "First <i>", "type": "text", "order": 1},
    {"key": "agree", "label": "Agree", "type": "consent", "order": 3},
]


@dataclass
class Office:
    runtime: Runtime
    connection: Any
    studio: Studio
    form: Any
    postman: Postman

    async def submit(self, mails: bool = True, **more: Any) -> Any:
        wanted = WantedSubmission(
            more.pop("email", "sam@example.com"), more.pop("name", "Sam"), more.pop("data", {"first": "x"})
        )
        access = operator_access(self.studio.studio_id)
        return await submission_flow.submit_from_page(self.runtime.database, access, self.form, wanted, mails=mails)

    async def make_due(self) -> None:
        await self.connection.execute("update mails set due_at = now() - interval '1 second'")

    async def states(self) -> list[tuple[str, int]]:
        rows = await self.connection.fetch("select status, attempts from mails order by recipient")
        return [(row["status"], row["attempts"]) for row in rows]


@pytest.fixture
async def office(database_url: str, postman: Postman) -> AsyncIterator[Office]:
    url = postman.url  # type: ignore[attr-defined]
    runtime = Runtime.open(settings.load(database_url=database_url, smtp_url=url, mail_from="forms@studio.example"))
    connection = await asyncpg.connect(database_url, server_settings={"timezone": "UTC"})
    studio = await seed_studio(connection)
    # A test studio sends its members no mails by itself, so that these tests see those of forms only.
    await connection.execute("update studios set test = true")
    form = await insert(
        connection,
        "forms",
        studio_id=studio.studio_id,
        title="Intro offer",
        slug="intro",
        fields=FIELDS,
        settings=SETTINGS,
        status="published",
    )
    await insert_version(connection, studio, form)
    yield Office(runtime, connection, studio, form, postman)
    await connection.close()
    await runtime.close()


async def insert_version(connection: Any, studio: Studio, form: Any) -> None:
    await connection.execute(
        "insert into form_versions select studio_id, id, version, fields from forms where studio_id = $1 and id = $2",
        studio.studio_id,
        form,
    )


async def test_studio_and_submitter_get_their_mails(office: Office) -> None:
    await office.submit(data={"first": "<script>x</script>", "second": "a", "agree": "true"}, name="Sam Lee")
    assert await mail_once(office.runtime) == 3
    assert sorted(office.postman.recipients) == ["desk@studio.example", "owner@studio.example", "sam@example.com"]
    by_recipient = {mail["To"]: mail for mail in office.postman.taken}
    notification, confirmation = by_recipient["desk@studio.example"], by_recipient["sam@example.com"]
    assert notification["Subject"] == "Intro offer: Sam Lee"
    assert notification["Reply-To"] == "Sam Lee <sam@example.com>"
    assert "forms@studio.example" in notification["From"]
    assert confirmation["Subject"] == f"{office.studio.canary}: Intro offer"
    assert confirmation["Reply-To"] is None
    for mail in (notification, confirmation):
        text, html = (mail.get_body((kind,)).get_content() for kind in ("plain", "html"))  # type: ignore[union-attr]
        assert text.index("First <i>") < text.index("<script>x</script>") < text.index("Option A")
        assert "&lt;script&gt;x&lt;/script&gt;" in html
        assert "<script" not in html
        assert "<i>" not in html
        assert "Option A" in html
        assert mail["Auto-Submitted"] == "auto-generated"
    assert "&lt;b&gt;see you&lt;/b&gt;" in confirmation.get_body(("html",)).get_content()  # type: ignore[union-attr]
    assert await mail_once(office.runtime) == 0
    assert {status for status, _ in await office.states()} == {"sent"}


async def test_only_what_the_settings_say(office: Office) -> None:
    for wanted, count in [({}, 0), ({"notify_on_submit": True}, 0), ({"notification_emails": ["a@b.example"]}, 0)]:
        await office.connection.execute("update forms set settings = $1 where id = $2", json.dumps(wanted), office.form)
        await office.submit()
        assert await office.connection.fetchval("select count(*) from mails") == count
    await office.connection.execute(
        "update forms set settings = $1 where id = $2", json.dumps({"send_confirmation_email": True}), office.form
    )
    await office.submit()
    assert await office.connection.fetchval("select recipient from mails") == "sam@example.com"


async def test_without_a_server_nothing_is_queued(office: Office) -> None:
    await office.submit(mails=False)
    assert await office.connection.fetchval("select count(*) from mails") == 0


async def test_a_refused_submission_queues_nothing(office: Office) -> None:
    await office.submit(data={"nobody": "x"})
    await office.submit(email="broken")
    assert await office.connection.fetchval("select count(*) from mails") == 0


async def test_a_server_that_is_busy_is_tried_again(office: Office) -> None:
    await office.connection.execute("update forms set settings = $1", json.dumps({"send_confirmation_email": True}))
    await office.submit()
    office.postman.answers = ["451 later", "451 later"]
    assert await mail_once(office.runtime) == 1
    assert await office.states() == [("queued", 1)]
    assert await mail_once(office.runtime) == 0, "not before its time"
    await office.make_due()
    assert await mail_once(office.runtime) == 1
    assert await office.states() == [("queued", 2)]
    await office.make_due()
    assert await mail_once(office.runtime) == 1
    assert await office.states() == [("sent", 3)]
    assert len(office.postman.taken) == 1


async def test_a_mail_refused_for_good_is_not_tried_again(office: Office) -> None:
    await office.submit()
    office.postman.answers = ["550 no"] * 3
    await mail_once(office.runtime)
    assert set(await office.states()) == {("failed", 1)}
    await office.make_due()
    assert await mail_once(office.runtime) == 0


async def test_it_is_given_up_in_the_end(office: Office) -> None:
    await office.submit()
    await office.connection.execute("update mails set attempts = 8")
    office.postman.answers = ["451 later"] * 3
    await mail_once(office.runtime)
    assert set(await office.states()) == {("failed", 9)}
    await office.connection.execute("update mails set created_at = created_at - interval '8 days'")
    assert await housekeeping.forget_mails(office.runtime.database) == 3


async def test_no_server_at_all(office: Office, postman: Postman) -> None:
    await office.submit()
    nowhere = office.runtime.settings.model_copy(update={"smtp_url": "smtp://127.0.0.1:9"})
    broken = dataclasses.replace(office.runtime, settings=nowhere)
    assert await mail_once(broken) == 3
    assert set(await office.states()) == {("queued", 1)}


async def test_a_claimed_mail_is_nobody_else_s(office: Office) -> None:
    await office.submit()
    tried = await asyncio.gather(*(mail_once(office.runtime) for _ in range(4)))
    assert sum(tried) == 3
    assert len(office.postman.taken) == 3


HEADERS = [
    "a\r\nBcc: victim@example.com",
    "a\nSubject: x",
    "a\u2028b",
    "\x00",
    "=?utf-8?q?x?=",
    "x" * 500,
    '"><script>',
]


@pytest.mark.parametrize("text", HEADERS, ids=ascii)
def test_no_header_can_be_smuggled_in(text: str) -> None:
    content = mail_texts.MailContent(
        "notification", "desk@studio.example", text, text, text, text, "sam@example.com", [], datetime.now(UTC), "UTC"
    )
    made = mail_texts.message(content, uuid4(), "forms@studio.example", datetime.now(UTC))
    parsed = email.message_from_bytes(made.as_bytes(), policy=email.policy.default)
    names = [
        "Subject",
        "From",
        "To",
        "Reply-To",
        "Date",
        "Message-ID",
        "Auto-Submitted",
        "MIME-Version",
        "Content-Type",
    ]
    assert sorted(parsed.keys()) == sorted(names)
    assert parsed["Bcc"] is None
    assert parsed["To"] == "desk@studio.example"
    assert "<script>" not in made.get_body(("html",)).get_content()  # type: ignore[union-attr]


async def test_an_address_beyond_ascii(office: Office) -> None:
    await office.submit(email="Zoë@Bücher.example", name="Zoë 漢字")
    assert await mail_once(office.runtime) == 3
    assert "zoë@xn--bcher-kva.example" in office.postman.recipients
    assert {status for status, _ in await office.states()} == {"sent"}


async def test_a_password_is_not_told_in_the_clear(office: Office) -> None:
    """The server offers no TLS, or a man in the middle removed the offer: then the password is not sent."""
    said: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        while line := await reader.readline():
            said.append(line)
            writer.write(b"250-here\r\n250 AUTH PLAIN LOGIN\r\n" if line.startswith(b"EHLO") else b"235 ok\r\n")
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    url = f"smtp://user:password@127.0.0.1:{server.sockets[0].getsockname()[1]}"
    changed = office.runtime.settings.model_copy(update={"smtp_url": url})
    await office.submit()
    assert await mail_once(dataclasses.replace(office.runtime, settings=changed)) > 0
    server.close()
    assert {line.split()[0] for line in said} <= {b"EHLO", b"QUIT"}
    assert {status for status, _ in await office.states()} == {"queued"}, "it is tried again"


# Mails to an unverified address.


async def submit_as_visitor(office: Office, **more: Any) -> Any:
    wanted = WantedSubmission(more.get("email", "victim@example.com"), "Cheap Pills", {"first": "visit spam.example"})
    access = visitor_access(office.studio.studio_id)
    return await submission_flow.submit_from_page(office.runtime.database, access, office.form, wanted, mails=True)


async def test_a_stranger_s_mailbox_gets_nothing_that_was_typed(office: Office) -> None:
    await submit_as_visitor(office)
    assert await mail_once(office.runtime) == 3
    by_recipient = {mail["To"]: mail for mail in office.postman.taken}
    confirmation, notification = by_recipient["victim@example.com"], by_recipient["desk@studio.example"]
    for typed in ("spam.example", "Cheap Pills"):
        assert typed not in confirmation.as_string()
        assert all(typed not in part.get_content() for part in confirmation.iter_parts())
        assert typed in notification.get_body(("plain",)).get_content(), "staff read the answers"  # type: ignore[union-attr]
    assert "/f/north/intro/verify?token=" in confirmation.get_body(("plain",)).get_content()  # type: ignore[union-attr]


async def test_the_mail_s_link_leads_to_the_public_url(office: Office) -> None:
    public = office.runtime.settings.model_copy(update={"public_url": "https://forms.example/"})
    await submit_as_visitor(office)
    await mail_once(dataclasses.replace(office.runtime, settings=public))
    confirmation = next(mail for mail in office.postman.taken if mail["To"] == "victim@example.com")
    text = confirmation.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    token = re.search(r"https://forms\.example/f/north/intro/verify\?token=([\w.-]+)\s", text)
    assert token is not None
    secret = await office.connection.fetchval("select link_secret from studio_secrets")
    read = read_verification(secret, office.form, token[1], datetime.now(UTC))
    assert isinstance(read, Verification)
    assert read.submission_id == await office.connection.fetchval(
        "select id from form_submissions where form_id = $1", office.form
    )
    assert read.expires_at > datetime.now(UTC) + timedelta(days=6)


async def test_an_address_gets_three_confirmations_an_hour(office: Office) -> None:
    """Also if they are requested at the same moment, and by two forms."""
    other = await insert(
        office.connection,
        "forms",
        studio_id=office.studio.studio_id,
        title="Other",
        slug="other",
        fields=[],
        settings={"send_confirmation_email": True},
        status="published",
    )
    await insert_version(office.connection, office.studio, other)
    both = [dataclasses.replace(office, form=form) for form in (office.form, other)]

    async def submit(each: Office) -> Any:
        wanted = WantedSubmission("Victim@Example.com ")
        access = visitor_access(office.studio.studio_id)
        return await submission_flow.submit_from_page(office.runtime.database, access, each.form, wanted, mails=True)

    for _ in range(2):
        made = await asyncio.gather(*(submit(each) for each in both * 2))
        assert all(isinstance(each, str) for each in made), "the submissions themselves are taken"
    confirmations = "select count(*) from mails where kind = 'confirmation' and recipient = 'victim@example.com'"
    assert await office.connection.fetchval(confirmations) == 3
    await submit_as_visitor(office, email="somebody@example.com")
    assert await office.connection.fetchval(confirmations.replace("victim", "somebody")) == 1, "others get theirs"
    await office.connection.execute("update mails set created_at = created_at - interval '61 minutes'")
    await submit(office)
    assert await office.connection.fetchval(confirmations) == 4
