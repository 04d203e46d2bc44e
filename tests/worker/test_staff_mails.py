"""Mails with one-time links for staff: queued with their cause, made when they are sent, sent to a real SMTP server."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from studiogate import settings
from studiogate.domain.access import operator_access
from studiogate.domain.staff import Grant, Role
from studiogate.domain.staff.sign_in import Origin
from studiogate.flows import mails
from studiogate.flows.staff import mails as staff_mails
from studiogate.flows.staff import operators, passwords, roles, sessions, sign_in
from studiogate.flows.staff.passwords import Acceptance
from studiogate.flows.staff.roles import Invitation
from studiogate.flows.staff.sign_in import Credentials
from studiogate.flows.staff.visits import Visit
from studiogate.runtime import Runtime
from studiogate.storage.accounts import accounts
from studiogate.storage.accounts.accounts import Account
from studiogate.worker.mail import mail_once
from tests.support import smtp_server as smtp
from tests.support.seed import Studio, seed_studio
from tests.support.smtp_server import SmtpServer
from tests.support.staff_people import PASSWORD, code_of, done

pytestmark = pytest.mark.anyio
smtp_server = smtp.smtp_server
EMAIL = "jo@example.com"


@dataclass
class StaffMailStudio:
    runtime: Runtime
    connection: Any
    studio: Studio
    smtp_server: SmtpServer

    @property
    def visit(self) -> Visit:
        return Visit(self.runtime.database, self.runtime.sealer, Origin("192.0.2.1"))

    async def invite(self) -> roles.Invited:
        access = operator_access(self.studio.studio_id)
        wanted = Invitation(EMAIL, Grant(Role.OWNER), mail=True)
        return done(await roles.invite(self.connection, access, wanted))

    async def token(self) -> str:
        """Send what is due, and return the token in the only mail."""
        assert await mail_once(self.runtime) == 1
        (mail,) = self.smtp_server.taken
        self.smtp_server.taken.clear()
        assert mail["To"] == EMAIL
        body = mail.get_body(("plain",)).get_content()  # type: ignore[union-attr]
        assert mail["Auto-Submitted"] == "auto-generated"
        return re.search(r"^https://studio\.example/console/link/([\w-]{43})\s*$", body, re.MULTILINE)[1]  # type: ignore[index]

    async def mails(self) -> list[tuple[str, str]]:
        return [tuple(row) for row in await self.connection.fetch("select kind, status from mails order by created_at")]


@pytest.fixture
async def staff_mail_studio(
    database_url: str, smtp_server: SmtpServer, tmp_path: Path
) -> AsyncIterator[StaffMailStudio]:
    url = smtp_server.url  # type: ignore[attr-defined]
    read = settings.load(
        database_url=database_url, smtp_url=url, public_url="https://studio.example/", data_dir=tmp_path
    )
    runtime = Runtime.open(read)
    connection = await asyncpg.connect(database_url)
    studio = await seed_studio(connection, "north")
    await connection.execute("update events set silent = true")  # no mails to members about what was seeded
    yield StaffMailStudio(runtime, connection, studio, smtp_server)
    await connection.close()
    await runtime.close()


async def test_an_invitation_is_mailed_with_a_link_of_its_own(staff_mail_studio: StaffMailStudio) -> None:
    invited = await staff_mail_studio.invite()
    assert invited.link is not None
    token = await staff_mail_studio.token()
    assert token != invited.link.token
    started = done(await passwords.accept_invitation(staff_mail_studio.visit, token, Acceptance("Jo", PASSWORD)))
    assert started.studio_id == staff_mail_studio.studio.studio_id
    printed = await passwords.accept_invitation(staff_mail_studio.visit, invited.link.token, Acceptance("Jo", PASSWORD))
    assert code_of(printed) == "link_expired", "whoever used one link has no need of the other"
    assert await staff_mail_studio.mails() == [("staff_invitation", "sent")]


async def test_the_queue_holds_no_secret(staff_mail_studio: StaffMailStudio) -> None:
    invited = await staff_mail_studio.invite()
    assert invited.link is not None
    dump = await staff_mail_studio.connection.fetchval("select string_agg(t::text, '') from mails t")
    links = await staff_mail_studio.connection.fetchval("select string_agg(t::text, '') from staff_links t")
    assert invited.link.token not in dump + links


async def test_a_reset_is_mailed(staff_mail_studio: StaffMailStudio) -> None:
    await staff_mail_studio.invite()
    token = await staff_mail_studio.token()
    done(await passwords.accept_invitation(staff_mail_studio.visit, token, Acceptance("Jo", PASSWORD)))
    assert await passwords.request_reset(staff_mail_studio.visit, "JO@example.com") is None
    assert (
        await passwords.reset_password(
            staff_mail_studio.visit, await staff_mail_studio.token(), "another long password"
        )
        is None
    )


async def test_a_sign_in_link_is_mailed(staff_mail_studio: StaffMailStudio) -> None:
    await staff_mail_studio.invite()
    await staff_mail_studio.token()
    account = await accounts.find(staff_mail_studio.connection, EMAIL)
    assert account is not None
    done(
        await operators.make_link(
            staff_mail_studio.connection, operator_access, account, operators.SIGN_IN_LINK, mail=True
        )
    )
    done(await sign_in.sign_in_by_link(staff_mail_studio.visit, await staff_mail_studio.token()))


async def test_a_failed_attempt_is_repeated_with_another_link(staff_mail_studio: StaffMailStudio) -> None:
    await staff_mail_studio.invite()
    staff_mail_studio.smtp_server.answers.append("451 try later")
    assert await mail_once(staff_mail_studio.runtime) == 1
    assert staff_mail_studio.smtp_server.taken == []
    await staff_mail_studio.connection.execute("update mails set due_at = now() - interval '1 second'")
    token = await staff_mail_studio.token()
    done(await passwords.accept_invitation(staff_mail_studio.visit, token, Acceptance("Jo", PASSWORD)))


async def test_what_nobody_needs_any_more_is_not_sent(staff_mail_studio: StaffMailStudio) -> None:
    invited = await staff_mail_studio.invite()
    assert invited.link is not None
    done(await passwords.accept_invitation(staff_mail_studio.visit, invited.link.token, Acceptance("Jo", PASSWORD)))
    assert await mail_once(staff_mail_studio.runtime) == 0
    assert staff_mail_studio.smtp_server.taken == []
    assert await staff_mail_studio.mails() == [("staff_invitation", "failed")]


async def with_account(staff_mail_studio: StaffMailStudio) -> Account:
    """Invite somebody, who accepts; return the account."""
    await staff_mail_studio.invite()
    token = await staff_mail_studio.token()
    done(await passwords.accept_invitation(staff_mail_studio.visit, token, Acceptance("Jo", PASSWORD)))
    account = await accounts.find(staff_mail_studio.connection, EMAIL)
    assert account is not None
    return account


async def put_off(staff_mail_studio: StaffMailStudio) -> None:
    """Let the mail server put off the only mail, which is due again at once."""
    staff_mail_studio.smtp_server.answers.append("421 try later")
    assert await mail_once(staff_mail_studio.runtime) == 1
    await staff_mail_studio.connection.execute("update mails set due_at = now() - interval '1 second'")


async def assert_dropped(staff_mail_studio: StaffMailStudio, kind: str) -> None:
    assert await mail_once(staff_mail_studio.runtime) == 0
    assert staff_mail_studio.smtp_server.taken == []
    assert (kind, "failed") in await staff_mail_studio.mails()


@pytest.mark.parametrize("tried", [True, False])
async def test_using_another_link_drops_a_mail_that_was_not_sent(
    staff_mail_studio: StaffMailStudio, tried: bool
) -> None:
    account = await with_account(staff_mail_studio)
    link = done(
        await operators.make_link(
            staff_mail_studio.connection, operator_access, account, operators.SIGN_IN_LINK, mail=True
        )
    )
    if tried:
        await put_off(staff_mail_studio)
    done(await sign_in.sign_in_by_link(staff_mail_studio.visit, link.token))
    await assert_dropped(staff_mail_studio, "staff_sign_in")


async def test_setting_a_password_drops_a_reset_that_was_not_sent(staff_mail_studio: StaffMailStudio) -> None:
    await with_account(staff_mail_studio)
    started = done(await sign_in.sign_in(staff_mail_studio.visit, Credentials(EMAIL, PASSWORD)))
    visit = staff_mail_studio.visit
    signed_in = done(await sessions.resolve(visit.database, started.token, visit.origin))
    assert await passwords.request_reset(visit, EMAIL) is None
    done(await passwords.change_password(visit, signed_in, PASSWORD, "another long password"))
    await assert_dropped(staff_mail_studio, "staff_password_reset")


async def test_a_mail_that_is_dropped_while_it_is_sent_stays_dropped(staff_mail_studio: StaffMailStudio) -> None:
    """The link of the mail is used up, too: the worker has made it before."""
    account = await with_account(staff_mail_studio)
    link = done(
        await operators.make_link(
            staff_mail_studio.connection, operator_access, account, operators.SIGN_IN_LINK, mail=True
        )
    )
    database, studio_id = staff_mail_studio.runtime.database, staff_mail_studio.studio.studio_id
    (claimed,) = await staff_mails.claim(database, studio_id, 10, "https://studio.example")
    done(await sign_in.sign_in_by_link(staff_mail_studio.visit, link.token))
    await mails.settle_failed(database, claimed, "SMTPServerDisconnected", for_good=False)
    await assert_dropped(staff_mail_studio, "staff_sign_in")
    assert await staff_mail_studio.connection.fetchval("select count(*) from staff_links where used_at is null") == 0


async def test_a_reset_is_not_mailed_an_hour_after_it_was_asked_for(staff_mail_studio: StaffMailStudio) -> None:
    await with_account(staff_mail_studio)
    assert await passwords.request_reset(staff_mail_studio.visit, EMAIL) is None
    await put_off(staff_mail_studio)
    await staff_mail_studio.connection.execute(
        "update mails set created_at = created_at - interval '1 hour' where status = 'queued'"
    )
    await assert_dropped(staff_mail_studio, "staff_password_reset")


async def test_a_new_invitation_replaces_the_mail_of_the_last(staff_mail_studio: StaffMailStudio) -> None:
    await staff_mail_studio.invite()
    await put_off(staff_mail_studio)
    await staff_mail_studio.invite()
    token = await staff_mail_studio.token()
    done(await passwords.accept_invitation(staff_mail_studio.visit, token, Acceptance("Jo", PASSWORD)))
    assert sorted(await staff_mail_studio.mails()) == [("staff_invitation", "failed"), ("staff_invitation", "sent")]


async def test_a_studio_s_name_cannot_add_headers(staff_mail_studio: StaffMailStudio) -> None:
    name = "North\r\nBcc: all@example.com\r\n\r\nEvil"
    await staff_mail_studio.connection.execute("update studios set name = $1", name)
    await staff_mail_studio.invite()
    assert await mail_once(staff_mail_studio.runtime) == 1
    (mail,) = staff_mail_studio.smtp_server.taken
    assert mail["Bcc"] is None
    assert staff_mail_studio.smtp_server.recipients == [EMAIL]
