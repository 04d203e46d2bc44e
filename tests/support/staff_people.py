"""People who work at a studio, and what they do to sign in. A test file assigns the fixtures by name, with those of
``booking_studio``."""

import json
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

import pytest
from argon2 import PasswordHasher

from studiogate.domain.access import Access
from studiogate.domain.encryption import Sealer
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Grant, Role
from studiogate.domain.staff.sign_in import Origin
from studiogate.flows.staff import passwords, roles, sessions, sign_in
from studiogate.flows.staff.passwords import Acceptance
from studiogate.flows.staff.roles import Invitation, Invited
from studiogate.flows.staff.sessions import SignedIn, Started, Visit
from studiogate.flows.staff.sign_in import Credentials
from studiogate.storage.db.pool import Database
from tests.support.booking_studio import BookingStudio

# The shipped parameters take 50 ms of a core per hash, and tests sign in thousands of times. Tests of the hashes
# themselves, and services that tests start, use the shipped ones.
SHIPPED_HASHER = passwords.HASHER
passwords.HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
PASSWORD = "correct horse battery staple"  # noqa: S105
BROWSER = "Mozilla/5.0"
Result = TypeVar("Result")
_numbers = count(1)


def done(outcome: Result | Refusal) -> Result:
    """Return the result of a flow that must not refuse."""
    assert not isinstance(outcome, Refusal), outcome
    return outcome


def code_of(outcome: object) -> str:
    """Return the code with which a flow refused."""
    assert isinstance(outcome, Refusal), outcome
    return outcome.code.value


def faults_of(outcome: object) -> list[tuple[tuple[str | int, ...], str]]:
    assert isinstance(outcome, Refusal), outcome
    return [(fault.loc, fault.type) for fault in outcome.faults]


@dataclass(frozen=True)
class Person:
    account_id: UUID
    email: str
    password: str = PASSWORD


@dataclass
class People:
    studio: BookingStudio
    sealer: Sealer

    @property
    def database(self) -> Database:
        return self.studio.database

    def visit(self, address: str | None = None, browser: str = BROWSER, device: bytes | None = None) -> Visit:
        """A request; without an address, from one of its own, so that limits per address do not add up over tests."""
        return Visit(self.database, self.sealer, Origin(address or f"host-{next(_numbers)}", browser, device))

    async def invite(self, grant: Grant, email: str | None = None, access: Access | None = None) -> Invited:
        wanted = Invitation(email or f"person-{next(_numbers)}@example.com", grant)
        async with self.database.connection() as connection:
            return done(await roles.invite(connection, access or self.studio.access, wanted))

    async def hire(self, role: Role = Role.OWNER, **grant: Any) -> Person:
        """Invite somebody who accepts."""
        invited = await self.invite(Grant(role, **grant))
        assert invited.link is not None
        done(await passwords.accept_invitation(self.visit(), invited.link.token, Acceptance("Sam", PASSWORD)))
        return Person(invited.account_id, invited.email)

    async def sign_in(self, person: Person, code: str | None = None, visit: Visit | None = None) -> Started | Refusal:
        return await sign_in.sign_in(visit or self.visit(), Credentials(person.email, person.password, code))

    async def session(self, person: Person) -> SignedIn:
        return done(await self.resolve(done(await self.sign_in(person)).token))

    async def resolve(self, token: str) -> SignedIn | Refusal:
        return await sessions.resolve(self.database, token, Origin("192.0.2.7", BROWSER))

    async def access(self, person: Person) -> Access:
        return (await self.session(person)).access

    async def sql(self, statement: str, *values: Any) -> None:
        await self.studio.api.connection.execute(statement, *values)

    async def value(self, query: str, *values: Any) -> Any:
        return await self.studio.api.connection.fetchval(query, *values)

    async def trail(self, account_id: UUID) -> list[tuple[str, str, Any]]:
        """Who did what to an account in this studio, with the changes, oldest first."""
        rows = await self.studio.rows("audit_log", "subject_id = $2 order by occurred_at, id", account_id)
        return [(row["actor_name"], row["action"], json.loads(row["changes"])) for row in rows]


@pytest.fixture
def people(studio: BookingStudio) -> People:
    return People(studio, Sealer(lambda: [b"a key for tests, of 32 bytes 123"]))


@pytest.fixture
def shipped_hasher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "HASHER", SHIPPED_HASHER)
