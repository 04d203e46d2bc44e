"""The console over HTTP, on a real database, by somebody who is signed in.

A test file assigns the fixtures by name, as with ``booking_studio``: ``studio_factory``, ``studio``, ``people`` and
``console``.
"""

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from studiogate.console.app import ConsoleApp
from studiogate.console.framework import cookies
from studiogate.domain.staff import Role
from studiogate.flows.staff.sessions import SignedIn
from tests.support import booking_studio, staff_people
from tests.support.booking_studio import BookingStudio
from tests.support.staff_people import People, Person, done

ORIGIN = "http://console.test"
COOKIE = "studiogate"
Fields = Mapping[str, str | list[str]]
studio_factory, studio, people = booking_studio.studio_factory, booking_studio.studio, staff_people.people


@dataclass
class Console:
    """A browser without scripts: it keeps cookies, sends the origin, and fills in the tokens of forms."""

    app: ConsoleApp
    studio: BookingStudio
    people: People
    client: httpx2.AsyncClient
    person: Person | None = None
    _clients: list[httpx2.AsyncClient] = field(default_factory=list)

    async def get(self, path: str, **options: Any) -> httpx2.Response:
        return await self.client.get(path, **options)

    async def fragment(self, path: str, **options: Any) -> httpx2.Response:
        """Ask as htmx does."""
        return await self.client.get(path, headers={"HX-Request": "true"}, **options)

    async def post(
        self, path: str, fields: Fields | None = None, *, token: str | None = None, htmx: bool = False, **headers: str
    ) -> httpx2.Response:
        """Send a form with the session's CSRF token; ``token`` is the form's own, a fresh one unless given."""
        data = {"csrf": await self.csrf(), "idempotency": token or uuid4().hex, **(fields or {})}
        sent = {"Origin": ORIGIN, **({"HX-Request": "true"} if htmx else {}), **headers}
        return await self.client.post(path, data=data, headers=sent)

    async def csrf(self) -> str:
        """Return a CSRF token as the session's pages carry it; it is made without rendering one."""
        token = self.client.cookies.get(COOKIE)
        signed_in = await self.people.resolve(token) if token else None
        return cookies.masked_token(signed_in) if isinstance(signed_in, SignedIn) else ""

    async def as_role(self, role: Role, *locations: UUID, instructor: UUID | None = None) -> "Console":
        """Return the console of somebody else, with this role at these locations (none: at all of them)."""
        grant: dict[str, Any] = {"location_ids": locations or None}
        if role is Role.INSTRUCTOR:
            grant["instructor_id"] = instructor or await self.studio.add("instructors", name="Ines")
        return await self.as_person(await self.people.hire(role, **grant))

    async def as_person(self, person: Person) -> "Console":
        started = done(await self.people.sign_in(person))
        return self._with_cookie(started.token, person)

    def anonymous(self) -> "Console":
        return self._with_cookie(None, None)

    def _with_cookie(self, token: str | None, person: Person | None) -> "Console":
        client = new_client(self.app)
        if token is not None:
            client.cookies.set(COOKIE, token, domain="console.test", path="/console")
        self._clients.append(client)
        return Console(self.app, self.studio, self.people, client, person, self._clients)

    async def close(self) -> None:
        for each in self._clients:
            await each.aclose()


def new_client(app: Any) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=ORIGIN)


def texts(response: httpx2.Response) -> str:
    """Return the text of a page as people read it: without tags, with single spaces."""
    body = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", response.text, flags=re.DOTALL)
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))).strip()


@pytest.fixture
async def console(studio: BookingStudio, people: People) -> AsyncIterator[Console]:
    """Yield the console of an owner, who typed the password just now."""
    app = ConsoleApp(studio.api.app._runtime)
    anonymous = Console(app, studio, people, new_client(app))
    anonymous._clients.append(anonymous.client)
    owner = await anonymous.as_role(Role.OWNER)
    await app._runtime.sequencer.settled()  # nothing that an earlier test has begun is under way
    yield owner
    await anonymous.close()
