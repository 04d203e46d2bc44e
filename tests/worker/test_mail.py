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
from functools import partial
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from studiogate import settings
from studiogate.domain.access import operator_access, visitor_access
from studiogate.domain.encryption import Sealer
from studiogate.domain.forms.signed_links import SECRET_BYTES, Verification, read_signed
from studiogate.flows import housekeeping, mails
from studiogate.flows.forms import mails as form_mails
from studiogate.flows.forms import submit as submission_flow
from studiogate.flows.forms.submit import SubmissionToStore
from studiogate.flows.mails import ClaimedMail
from studiogate.runtime import Runtime
from studiogate.worker.mail import mail_once
from tests.support.failing_studios import failing_studio
from tests.support.seed import Studio, insert, seed_studio
from tests.support.smtp_server import SmtpServer, smtp_server

__all__ = ["smtp_server"]
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
class FormMailStudio:
    runtime: Runtime
    connection: Any
    studio: Studio
    form: Any
    smtp_server: SmtpServer

    async def submit(self, mails: bool = True, **more: Any) -> Any:
        wanted = SubmissionToStore(
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
async def form_mail_studio(database_url: str, smtp_server: SmtpServer) -> AsyncIterator[FormMailStudio]:
    url = smtp_server.url  # type: ignore[attr-defined]
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
    yield FormMailStudio(runtime, connection, studio, form, smtp_server)
    await connection.close()
    await runtime.close()


async def insert_version(connection: Any, studio: Studio, form: Any) -> None:
    await connection.execute(
        "insert into form_versions select studio_id, id, version, fields from forms where studio_id = $1 and id = $2",
        studio.studio_id,
        form,
    )


async def test_studio_and_submitter_get_their_mails(form_mail_studio: FormMailStudio) -> None:
    await form_mail_studio.submit(data={"first": "<script>x</script>", "second": "a", "agree": "true"}, name="Sam Lee")
    assert await mail_once(form_mail_studio.runtime) == 3
    assert sorted(form_mail_studio.smtp_server.recipients) == [
        "desk@studio.example",
        "owner@studio.example",
        "sam@example.com",
    ]
    by_recipient = {mail["To"]: mail for mail in form_mail_studio.smtp_server.taken}
    notification, confirmation = by_recipient["desk@studio.example"], by_recipient["sam@example.com"]
    assert notification["Subject"] == "Intro offer: Sam Lee"
    assert notification["Reply-To"] == "Sam Lee <sam@example.com>"
    assert "forms@studio.example" in notification["From"]
    assert confirmation["Subject"] == f"{form_mail_studio.studio.canary}: Intro offer"
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
    assert await mail_once(form_mail_studio.runtime) == 0
    assert {status for status, _ in await form_mail_studio.states()} == {"sent"}


async def test_only_what_the_settings_say(form_mail_studio: FormMailStudio) -> None:
    for wanted, count in [({}, 0), ({"notify_on_submit": True}, 0), ({"notification_emails": ["a@b.example"]}, 0)]:
        await form_mail_studio.connection.execute(
            "update forms set settings = $1 where id = $2", json.dumps(wanted), form_mail_studio.form
        )
        await form_mail_studio.submit()
        assert await form_mail_studio.connection.fetchval("select count(*) from mails") == count
    await form_mail_studio.connection.execute(
        "update forms set settings = $1 where id = $2",
        json.dumps({"send_confirmation_email": True}),
        form_mail_studio.form,
    )
    await form_mail_studio.submit()
    assert await form_mail_studio.connection.fetchval("select recipient from mails") == "sam@example.com"


async def test_without_a_server_nothing_is_queued(form_mail_studio: FormMailStudio) -> None:
    await form_mail_studio.submit(mails=False)
    assert await form_mail_studio.connection.fetchval("select count(*) from mails") == 0


async def test_a_refused_submission_queues_nothing(form_mail_studio: FormMailStudio) -> None:
    await form_mail_studio.submit(data={"nobody": "x"})
    await form_mail_studio.submit(email="broken")
    assert await form_mail_studio.connection.fetchval("select count(*) from mails") == 0


async def test_a_server_that_is_busy_is_tried_again(form_mail_studio: FormMailStudio) -> None:
    await form_mail_studio.connection.execute(
        "update forms set settings = $1", json.dumps({"send_confirmation_email": True})
    )
    await form_mail_studio.submit()
    form_mail_studio.smtp_server.answers = ["451 later", "451 later"]
    assert await mail_once(form_mail_studio.runtime) == 1
    assert await form_mail_studio.states() == [("queued", 1)]
    assert await mail_once(form_mail_studio.runtime) == 0, "not before its time"
    await form_mail_studio.make_due()
    assert await mail_once(form_mail_studio.runtime) == 1
    assert await form_mail_studio.states() == [("queued", 2)]
    await form_mail_studio.make_due()
    assert await mail_once(form_mail_studio.runtime) == 1
    assert await form_mail_studio.states() == [("sent", 3)]
    assert len(form_mail_studio.smtp_server.taken) == 1


async def test_a_mail_refused_for_good_is_not_tried_again(form_mail_studio: FormMailStudio) -> None:
    await form_mail_studio.submit()
    form_mail_studio.smtp_server.answers = ["550 no"] * 3
    await mail_once(form_mail_studio.runtime)
    assert set(await form_mail_studio.states()) == {("failed", 1)}
    await form_mail_studio.make_due()
    assert await mail_once(form_mail_studio.runtime) == 0


async def test_it_is_given_up_in_the_end(form_mail_studio: FormMailStudio) -> None:
    await form_mail_studio.submit()
    await form_mail_studio.connection.execute("update mails set attempts = 8")
    form_mail_studio.smtp_server.answers = ["451 later"] * 3
    await mail_once(form_mail_studio.runtime)
    assert set(await form_mail_studio.states()) == {("failed", 9)}
    await form_mail_studio.connection.execute("update mails set created_at = created_at - interval '8 days'")
    assert await housekeeping.forget_mails(form_mail_studio.runtime.database) == 3


async def test_it_waits_longer_after_each_failure(form_mail_studio: FormMailStudio) -> None:
    await form_mail_studio.submit()
    form_mail_studio.smtp_server.answers = ["451 later"] * 3 * len(mails.RETRY_SECONDS)
    for seconds in mails.RETRY_SECONDS:
        await form_mail_studio.make_due()
        before = await form_mail_studio.connection.fetchval("select clock_timestamp()")
        assert await mail_once(form_mail_studio.runtime) == 3
        after = await form_mail_studio.connection.fetchval("select clock_timestamp()")
        wait = timedelta(seconds=seconds)
        for row in await form_mail_studio.connection.fetch("select due_at from mails"):
            assert before + wait <= row["due_at"] <= after + wait


async def test_no_server_at_all(form_mail_studio: FormMailStudio, smtp_server: SmtpServer) -> None:
    await form_mail_studio.submit()
    nowhere = form_mail_studio.runtime.settings.model_copy(update={"smtp_url": "smtp://127.0.0.1:9"})
    broken = dataclasses.replace(form_mail_studio.runtime, settings=nowhere)
    assert await mail_once(broken) == 3
    assert set(await form_mail_studio.states()) == {("queued", 1)}


async def test_a_claimed_mail_is_nobody_else_s(form_mail_studio: FormMailStudio) -> None:
    await form_mail_studio.submit()
    tried = await asyncio.gather(*(mail_once(form_mail_studio.runtime) for _ in range(4)))
    assert sum(tried) == 3
    assert len(form_mail_studio.smtp_server.taken) == 3


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
    row: dict[str, object] = {"kind": "notification", "recipient": "desk@studio.example", "studio": text}
    row |= {"title": text, "submitter_name": text, "submitter_email": "sam@example.com", "settings": "{}"}
    row |= {"fields": "[]", "data": "{}", "created_at": datetime.now(UTC), "timezone": "UTC"}
    row |= {"hour_cycle": None, "date_order": None, "country": "US"}
    links = form_mails.Links("https://studio.example", Sealer(lambda: [bytes(32)]))
    content = partial(form_mails.submission_content, uuid4(), row, links)
    made = ClaimedMail(uuid4(), uuid4(), 0, content).message("forms@studio.example", datetime.now(UTC))
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


async def test_an_address_beyond_ascii(form_mail_studio: FormMailStudio) -> None:
    await form_mail_studio.submit(email="Zoë@Bücher.example", name="Zoë 漢字")
    assert await mail_once(form_mail_studio.runtime) == 3
    assert "zoë@xn--bcher-kva.example" in form_mail_studio.smtp_server.recipients
    assert {status for status, _ in await form_mail_studio.states()} == {"sent"}


async def test_a_password_is_not_sent_unencrypted(form_mail_studio: FormMailStudio) -> None:
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
    changed = form_mail_studio.runtime.settings.model_copy(update={"smtp_url": url})
    await form_mail_studio.submit()
    assert await mail_once(dataclasses.replace(form_mail_studio.runtime, settings=changed)) > 0
    server.close()
    assert {line.split()[0] for line in said} <= {b"EHLO", b"QUIT"}
    assert {status for status, _ in await form_mail_studio.states()} == {"queued"}, "it is tried again"


async def test_a_studio_whose_mails_cannot_be_claimed_does_not_stop_the_other(form_mail_studio: FormMailStudio) -> None:
    """Each of the two fails once, because nothing says which one comes first."""
    connection = form_mail_studio.connection
    south = await seed_studio(connection, "south", test=True)
    form = await insert(
        connection,
        "forms",
        studio_id=south.studio_id,
        title="Intro offer",
        slug="intro",
        fields=[],
        settings={"send_confirmation_email": True},
        status="published",
    )
    await insert_version(connection, south, form)
    both = [form_mail_studio, dataclasses.replace(form_mail_studio, studio=south, form=form)]
    for broken in both:
        for each in both:
            await each.submit(data={})
        await form_mail_studio.make_due()
        async with failing_studio(connection, "mails", broken.studio.studio_id):
            with pytest.raises(ExceptionGroup):
                await mail_once(form_mail_studio.runtime)
        waiting = await connection.fetch("select distinct studio_id from mails where status = 'queued'")
        assert [row["studio_id"] for row in waiting] == [broken.studio.studio_id]
    assert await mail_once(form_mail_studio.runtime) > 0, "what failed is sent in the next round"
    assert {status for status, _ in await form_mail_studio.states()} == {"sent"}


# Mails to an unverified address.


async def submit_as_visitor(form_mail_studio: FormMailStudio, **more: Any) -> Any:
    wanted = SubmissionToStore(more.get("email", "victim@example.com"), "Cheap Pills", {"first": "visit spam.example"})
    access = visitor_access(form_mail_studio.studio.studio_id)
    return await submission_flow.submit_from_page(
        form_mail_studio.runtime.database, access, form_mail_studio.form, wanted, mails=True
    )


async def test_a_stranger_s_mailbox_gets_nothing_that_was_typed(form_mail_studio: FormMailStudio) -> None:
    await submit_as_visitor(form_mail_studio)
    assert await mail_once(form_mail_studio.runtime) == 3
    by_recipient = {mail["To"]: mail for mail in form_mail_studio.smtp_server.taken}
    confirmation, notification = by_recipient["victim@example.com"], by_recipient["desk@studio.example"]
    for typed in ("spam.example", "Cheap Pills"):
        assert typed not in confirmation.as_string()
        assert all(typed not in part.get_content() for part in confirmation.iter_parts())
        assert typed in notification.get_body(("plain",)).get_content(), "staff read the answers"  # type: ignore[union-attr]
    assert "/f/north/intro/verify?token=" in confirmation.get_body(("plain",)).get_content()  # type: ignore[union-attr]


async def test_the_mail_s_link_leads_to_the_public_url(form_mail_studio: FormMailStudio) -> None:
    public = form_mail_studio.runtime.settings.model_copy(update={"public_url": "https://forms.example/"})
    await submit_as_visitor(form_mail_studio)
    await mail_once(dataclasses.replace(form_mail_studio.runtime, settings=public))
    confirmation = next(mail for mail in form_mail_studio.smtp_server.taken if mail["To"] == "victim@example.com")
    text = confirmation.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    token = re.search(r"https://forms\.example/f/north/intro/verify\?token=([\w.-]+)\s", text)
    assert token is not None
    secret = await form_mail_studio.connection.fetchval("select link_secret from studio_secrets")
    read = read_signed(Verification, secret, form_mail_studio.form, token[1], datetime.now(UTC))
    assert isinstance(read, Verification)
    assert read.submission_id == await form_mail_studio.connection.fetchval(
        "select id from form_submissions where form_id = $1", form_mail_studio.form
    )
    assert read.expires_at > datetime.now(UTC) + timedelta(days=6)


async def test_a_mail_whose_link_cannot_be_signed_does_not_stop_the_others(form_mail_studio: FormMailStudio) -> None:
    """The link secret was sealed with a key that is lost; the mail is sent once the secret can be opened."""
    await submit_as_visitor(form_mail_studio)
    replace = "update studio_secrets set link_secret = $1"
    await form_mail_studio.connection.execute(replace, b"sealed with another key".ljust(60))
    assert await mail_once(form_mail_studio.runtime) == 3
    assert sorted(form_mail_studio.smtp_server.recipients) == ["desk@studio.example", "owner@studio.example"]
    assert await form_mail_studio.states() == [("sent", 1), ("sent", 1), ("queued", 1)]
    problem = "select problem from mails where recipient = 'victim@example.com'"
    assert await form_mail_studio.connection.fetchval(problem) == "SealError"
    assert await mail_once(form_mail_studio.runtime) == 0, "not before its time"
    await form_mail_studio.connection.execute(replace, b"k" * SECRET_BYTES)
    await form_mail_studio.make_due()
    assert await mail_once(form_mail_studio.runtime) == 1
    assert form_mail_studio.smtp_server.recipients[-1] == "victim@example.com"


async def test_an_address_gets_three_confirmations_an_hour(form_mail_studio: FormMailStudio) -> None:
    """Also if they are requested at the same moment, and by two forms."""
    other = await insert(
        form_mail_studio.connection,
        "forms",
        studio_id=form_mail_studio.studio.studio_id,
        title="Other",
        slug="other",
        fields=[],
        settings={"send_confirmation_email": True},
        status="published",
    )
    await insert_version(form_mail_studio.connection, form_mail_studio.studio, other)
    both = [dataclasses.replace(form_mail_studio, form=form) for form in (form_mail_studio.form, other)]

    async def submit(each: FormMailStudio) -> Any:
        wanted = SubmissionToStore("Victim@Example.com ")
        access = visitor_access(form_mail_studio.studio.studio_id)
        return await submission_flow.submit_from_page(
            form_mail_studio.runtime.database, access, each.form, wanted, mails=True
        )

    for _ in range(2):
        made = await asyncio.gather(*(submit(each) for each in both * 2))
        assert all(isinstance(each, str) for each in made), "the submissions themselves are taken"
    confirmations = "select count(*) from mails where kind = 'confirmation' and recipient = 'victim@example.com'"
    assert await form_mail_studio.connection.fetchval(confirmations) == 3
    await submit_as_visitor(form_mail_studio, email="somebody@example.com")
    assert await form_mail_studio.connection.fetchval(confirmations.replace("victim", "somebody")) == 1, (
        "others get theirs"
    )
    await form_mail_studio.connection.execute("update mails set created_at = created_at - interval '61 minutes'")
    await submit(form_mail_studio)
    assert await form_mail_studio.connection.fetchval(confirmations) == 4
