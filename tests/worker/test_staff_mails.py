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
from studiogate.domain.staff import Role
from studiogate.domain.staff.roles import Grant
from studiogate.domain.staff.sessions import Origin
from studiogate.flows.staff import operators, passwords, roles, sign_in
from studiogate.flows.staff.passwords import Acceptance
from studiogate.flows.staff.roles import Invitation
from studiogate.flows.staff.visits import Visit
from studiogate.runtime import Runtime
from studiogate.storage.accounts import accounts
from studiogate.worker.mail import mail_once
from tests.support import postman as smtp
from tests.support.postman import Postman
from tests.support.seed import Studio, seed_studio
from tests.support.staff_people import PASSWORD, code_of, done

pytestmark = pytest.mark.anyio
postman = smtp.postman
EMAIL = "jo@example.com"


@dataclass
class Office:
    runtime: Runtime
    connection: Any
    studio: Studio
    postman: Postman

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
        (mail,) = self.postman.taken
        self.postman.taken.clear()
        assert mail["To"] == EMAIL
        body = mail.get_body(("plain",)).get_content()  # type: ignore[union-attr]
        assert mail["Auto-Submitted"] == "auto-generated"
        return re.search(r"^https://studio\.example/console/link/([\w-]{43})\s*$", body, re.MULTILINE)[1]  # type: ignore[index]

    async def mails(self) -> list[tuple[str, str]]:
        return [tuple(row) for row in await self.connection.fetch("select kind, status from mails order by created_at")]


@pytest.fixture
async def office(database_url: str, postman: Postman, tmp_path: Path) -> AsyncIterator[Office]:
    url = postman.url  # type: ignore[attr-defined]
    read = settings.load(
        database_url=database_url, smtp_url=url, public_url="https://studio.example/", data_dir=tmp_path
    )
    runtime = Runtime.open(read)
    connection = await asyncpg.connect(database_url)
    studio = await seed_studio(connection, "north")
    await connection.execute("update events set silent = true")  # no mails to members about what was seeded
    yield Office(runtime, connection, studio, postman)
    await connection.close()
    await runtime.close()


async def test_an_invitation_is_mailed_with_a_link_of_its_own(office: Office) -> None:
    invited = await office.invite()
    assert invited.link is not None
    token = await office.token()
    assert token != invited.link.token
    started = done(await passwords.accept_invitation(office.visit, token, Acceptance("Jo", PASSWORD)))
    assert started.studio_id == office.studio.studio_id
    printed = await passwords.accept_invitation(office.visit, invited.link.token, Acceptance("Jo", PASSWORD))
    assert code_of(printed) == "link_expired", "whoever used one link has no need of the other"
    assert await office.mails() == [("staff_invitation", "sent")]


async def test_the_queue_holds_no_secret(office: Office) -> None:
    invited = await office.invite()
    assert invited.link is not None
    dump = await office.connection.fetchval("select string_agg(t::text, '') from mails t")
    links = await office.connection.fetchval("select string_agg(t::text, '') from staff_links t")
    assert invited.link.token not in dump + links


async def test_a_reset_is_mailed(office: Office) -> None:
    await office.invite()
    token = await office.token()
    done(await passwords.accept_invitation(office.visit, token, Acceptance("Jo", PASSWORD)))
    assert await passwords.request_reset(office.visit, "JO@example.com") is None
    assert await passwords.reset_password(office.visit, await office.token(), "another long password") is None


async def test_a_sign_in_link_is_mailed(office: Office) -> None:
    await office.invite()
    await office.token()
    account = await accounts.find(office.connection, EMAIL)
    assert account is not None
    done(await operators.make_sign_in_link(office.connection, operator_access, account, mail=True))
    done(await sign_in.sign_in_by_link(office.visit, await office.token()))


async def test_a_failed_attempt_is_repeated_with_another_link(office: Office) -> None:
    await office.invite()
    office.postman.answers.append("451 try later")
    assert await mail_once(office.runtime) == 1
    assert office.postman.taken == []
    await office.connection.execute("update mails set due_at = now() - interval '1 second'")
    token = await office.token()
    done(await passwords.accept_invitation(office.visit, token, Acceptance("Jo", PASSWORD)))


async def test_what_nobody_needs_any_more_is_not_sent(office: Office) -> None:
    invited = await office.invite()
    assert invited.link is not None
    done(await passwords.accept_invitation(office.visit, invited.link.token, Acceptance("Jo", PASSWORD)))
    assert await mail_once(office.runtime) == 0
    assert office.postman.taken == []
    assert await office.mails() == [("staff_invitation", "failed")]


async def test_a_studio_s_name_cannot_add_headers(office: Office) -> None:
    name = "North\r\nBcc: all@example.com\r\n\r\nEvil"
    await office.connection.execute("update studios set name = $1", name)
    await office.invite()
    assert await mail_once(office.runtime) == 1
    (mail,) = office.postman.taken
    assert mail["Bcc"] is None
    assert office.postman.recipients == [EMAIL]
