"""The console in a real browser: the demo studio on a real server, and a page of somebody who is signed in.

``desk_site`` is one demo studio per test module, a copy of one that is loaded once per test process; ``desk_page`` is
the page of its owner. ``Desk.open`` opens pages of other people. Every page is watched: no request leaves the machine,
no script fails, no policy is violated.
"""

import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import asyncpg
import pytest
from playwright.sync_api import Browser, Page, expect

from studiogate import clock, demo
from studiogate.cli.prepare import ensure
from studiogate.domain.access import operator_access
from studiogate.domain.staff import Grant, Role
from studiogate.domain.staff.tokens import link_path
from studiogate.flows.staff import operators, roles
from studiogate.flows.staff.roles import Invitation
from studiogate.storage.accounts import accounts
from tests.support.databases import run
from tests.support.site import Site, served
from tests.support.staff_people import done
from tests.support.watched_page import watched


@dataclass
class Desk:
    """The demo studio's console on a real server."""

    site: Site
    studio_id: UUID
    _signed_in: dict[Role, Any] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return self.site.origin

    def url(self, path: str) -> str:
        return f"{self.site.origin}/console{path}"

    def sql(self, statement: str, *values: Any) -> list[Any]:
        return self.site.sql(statement, *values)

    def sign_in_url(self, role: Role = Role.OWNER, **grant: Any) -> str:
        """Return a one-time link that signs in somebody with this role."""
        return self.origin + link_path(run(self._new_link(Grant(role, **grant))))

    def invitation_url(self, email: str, role: Role = Role.OWNER) -> str:
        """Return the link of an invitation: who opens it chooses a name and a password."""

        async def invite(connection: Any) -> str:
            invitation = Invitation(email, Grant(role))
            invited = done(await roles.invite(connection, operator_access(self.studio_id), invitation))
            assert invited.link is not None
            return invited.link.token

        return self.origin + link_path(run(self._connected(invite)))

    async def _connected(self, work: Callable[[Any], Awaitable[str]]) -> str:
        connection = await asyncpg.connect(self.site.database_url, server_settings={"timezone": "UTC"})
        try:
            return await work(connection)
        finally:
            await connection.close()

    async def _new_link(self, grant: Grant) -> str:
        connection = await asyncpg.connect(self.site.database_url, server_settings={"timezone": "UTC"})
        try:
            email = f"{grant.role}-{clock.monotonic()}@desk.example"
            invited = done(await roles.invite(connection, operator_access(self.studio_id), Invitation(email, grant)))
            named = "update staff_accounts set name = 'Rosa Lindqvist' where id = $1"
            await connection.execute(named, invited.account_id)
            account = await accounts.read(connection, invited.account_id)
            assert account is not None
            link = done(
                await operators.make_link(connection, operator_access, account, operators.SIGN_IN_LINK, mail=False)
            )
            return link.token
        finally:
            await connection.close()

    @contextmanager
    def open(self, browser: Browser, role: Role = Role.OWNER, *, grant: Any = None, **options: Any) -> Iterator[Page]:
        """Yield a signed-in page; ``options`` are those of a browser context, such as its viewport. Pages of a role
        share a session as long as it lasts: signing in takes longer than most tests."""
        defaults = {"viewport": {"width": 1440, "height": 900}, "storage_state": self._signed_in.get(role)}
        with watched(browser, self.origin, **{**defaults, **options}) as watch:
            if grant or not self._is_signed_in(watch.page):
                link, sent = self.sign_in_url(role, **(grant or {})), {"Origin": self.origin}
                assert watch.page.request.post(link, form={"code": ""}, headers=sent, max_redirects=0).status == 303
            if not grant:
                self._signed_in[role] = watch.page.context.storage_state()
            yield watch.page

    def _is_signed_in(self, page: Page) -> bool:
        return page.request.get(self.url("/account"), max_redirects=0).status == 200


def refresh(page: Page) -> None:
    """Let the page read itself again, as it does when somebody else changes something."""
    page.locator("#roster").evaluate("roster => { roster.dataset.isOld = '' }")
    page.evaluate("document.dispatchEvent(new Event('deskChanged'))")
    expect(page.locator("#roster:not([data-is-old])")).to_be_visible()


async def load_demo(database_url: str, data: Path) -> UUID:
    """Load the demo studio as `studiogate up` does; return its id."""
    connection = await asyncpg.connect(database_url, server_settings={"timezone": "UTC"})
    try:
        await ensure(connection, data)
        studio_id: UUID = await connection.fetchval("select studio_id from studios where slug = $1", demo.SLUG)
        await connection.execute("analyze")
        return studio_id
    finally:
        await connection.close()


@dataclass(frozen=True)
class LoadedDemo:
    """The demo studio as it was loaded: a database to copy, and its data folder."""

    template: str
    data: Path
    studio_id: UUID


@pytest.fixture(scope="session")
def loaded_demo(lasting_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> LoadedDemo:
    url, data = lasting_database(), tmp_path_factory.mktemp("demo")
    return LoadedDemo(urlsplit(url).path.removeprefix("/"), data, run(load_demo(url, data)))


@pytest.fixture(scope="module")
def desk_site(
    loaded_demo: LoadedDemo, databases: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("data") / "data"
    site = Site(databases(loaded_demo.template), shutil.copytree(loaded_demo.data, folder))
    with served(site, rate_limit=0):
        yield Desk(site, loaded_demo.studio_id)


@pytest.fixture
def desk_page(browser: Browser, desk_site: Desk) -> Iterator[Page]:
    """Yield the page of the demo studio's owner, signed in, at 1440 pixels."""
    with desk_site.open(browser) as page:
        yield page


@pytest.fixture
def page(browser: Browser, desk_site: Desk) -> Iterator[Page]:
    """Yield the page of a manager; files that need other pages have a fixture of their own."""
    with desk_site.open(browser, Role.MANAGER) as opened:
        yield opened
