"""Studios for booking tests: classes that start in n minutes, members with memberships, policies at every level.

Tests move the data, not the clock: classes are placed relative to the database's clock. Every booking is validated
first (POST /bookings/validate) and must end as predicted; after the tests of a file the doctor must find nothing in
their studios.

A test file assigns the two fixtures by name: ``studio_factory = booking_studio.studio_factory`` and
``studio = booking_studio.studio``.
"""

import json
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeVar
from uuid import UUID, uuid4

import pytest

from studiogate.domain.access import Access, Scope, operator_access
from studiogate.domain.refusals import Refusal
from studiogate.flows import doctor
from studiogate.flows.doctor import Finding
from studiogate.storage.db.pool import Database
from tests.support.direct_client import DirectResponse, ask
from tests.support.partner_api import PartnerApi, open_partner_api
from tests.support.seed import Studio, insert, issue_key

HOUR, DAY = 60, 24 * 60
SOON = 2 * DAY  # outside every default window
TABLES = (
    "studios",
    "locations",
    "classes",
    "members",
    "memberships",
    "bookings",
    "waitlist_entries",
    "booking_cancellations",
    "credit_ledger",
    "purchases",
    "idempotency_keys",
)
Result = TypeVar("Result")
_numbers = count(1)


@dataclass
class BookingStudio:
    """One studio with two locations, a class type and an unlimited product, and everything a test does with it."""

    api: PartnerApi
    studio: Studio
    key: str
    location: UUID
    other_location: UUID
    room: UUID
    class_type: UUID
    product: UUID
    seen_entries: set[UUID] = field(default_factory=set)  # of the audit log

    @property
    def id(self) -> UUID:
        return self.studio.studio_id

    @property
    def access(self) -> Access:
        return operator_access(self.id)

    @property
    def partner(self) -> Access:
        """The access of the studio's key."""
        return Access(self.id, self.key.split("_")[2], frozenset(Scope), None, address="192.0.2.10")

    @property
    def database(self) -> Database:
        return self.api.app._runtime.database

    # Building.

    async def add(self, table: str, **columns: Any) -> UUID:
        return await insert(self.api.connection, table, studio_id=self.id, **columns)

    async def now(self) -> datetime:
        instant: datetime = await self.api.connection.fetchval("select clock_timestamp()")
        return instant

    async def new_class(
        self,
        minutes: float = SOON,
        *,
        start: datetime | None = None,
        length: float = 60,
        capacity: int = 10,
        **columns: Any,
    ) -> UUID:
        start = (start or await self.now() + timedelta(minutes=minutes)).astimezone(UTC)
        place = {"location_id": self.location, "room_id": self.room}
        columns = {"title": "Class", "class_type_id": self.class_type, **place, **columns}
        end = start + timedelta(minutes=length)
        return await self.add("classes", start_time=start, end_time=end, capacity=capacity, **columns)

    async def new_member(self, remaining: int | None = 10, *, membership: bool = True, **columns: Any) -> UUID:
        member = await self.add("members", **{"first_name": "M", "last_name": str(next(_numbers)), **columns})
        if membership:
            await self.new_membership(member, remaining)
        return member

    async def new_membership(self, member: UUID, remaining: int | None = 10, **columns: Any) -> UUID:
        columns = {"product_id": self.product, "status": "active", **columns}
        return await self.add(
            "memberships", member_id=member, credits_granted=remaining, credits_remaining=remaining, **columns
        )

    async def new_product(self, *, class_types: tuple[UUID, ...] = (), locations: tuple[UUID, ...] = ()) -> UUID:
        product = await self.add("products", key=uuid4().hex, name="P", product_type="package")
        for class_type in class_types:
            await self.sql("insert into product_class_types values ($1, $2, $3)", product, class_type)
        for location in locations:
            await self.sql("insert into product_locations values ($1, $2, $3)", product, location)
        return product

    async def new_spots(self, *labels: str, room: UUID | None = None) -> list[UUID]:
        return [await self.add("room_spots", room_id=room or self.room, label=label) for label in labels]

    async def new_form(self) -> UUID:
        form = await self.add("forms", title="Waiver", slug=f"w-{uuid4().hex}", status="published")
        await self.sql("insert into form_versions (studio_id, form_id, version, fields) values ($1, $2, 1, '[]')", form)
        return form

    async def submit(self, form: UUID, member: UUID, status: str = "pending") -> UUID:
        return await self.add(
            "form_submissions",
            form_id=form,
            form_version=1,
            submitter_email="m@example.com",
            member_id=member,
            status=status,
            verified=True,
        )

    async def full_class(self, minutes: float = SOON, *, capacity: int = 1, **columns: Any) -> tuple[UUID, list[Any]]:
        """A class whose seats are all taken, and the bookings that took them."""
        class_id = await self.new_class(minutes, capacity=capacity, **columns)
        return class_id, [await self.booked(class_id, await self.new_member()) for _ in range(capacity)]

    async def imported_booking(self, class_id: UUID, member: UUID, status: str = "confirmed", **columns: Any) -> UUID:
        """Insert a booking as an import does: no policy is frozen on it and no credit is taken."""
        class_ = await self.row("classes", class_id)
        copies = {name: class_[name] for name in ("location_id", "start_time", "end_time")}
        booking = await self.add("bookings", class_id=class_id, member_id=member, status=status, **copies, **columns)
        seat = status in ("confirmed", "checked_in", "no_show")
        await self.sql(
            "update classes set booked_count = booked_count + $3 where studio_id = $1 and id = $2", class_id, int(seat)
        )
        return booking

    async def policy(self, level: str, row_id: UUID | None = None, **members: Any) -> None:
        """Set the policy of a studio (no id), location, class type or class."""
        column = "studio_id" if level == "studios" else "id"
        statement = f"update {level} set policy = $3 where studio_id = $1 and {column} = $2"
        await self.sql(statement, row_id or self.id, members)

    async def sql(self, statement: str, *values: Any) -> None:
        """Run a statement whose $1 is the studio's id."""
        given = [json_text(value) if isinstance(value, dict) else value for value in values]
        await self.api.connection.execute(statement, self.id, *given)

    async def change(self, table: str, row_id: UUID | str, **columns: Any) -> None:
        changes = ", ".join(f"{name} = ${number}" for number, name in enumerate(columns, 3))
        await self.sql(f"update {table} set {changes} where studio_id = $1 and id = $2", row_id, *columns.values())

    async def set_credits(self, member_id: UUID | str, remaining: int) -> None:
        """Set the credits of a member's memberships, with the ledger lines that explain them."""
        statement = "update memberships set credits_remaining = $3 where studio_id = $1 and member_id = $2"
        await self.sql(statement, UUID(str(member_id)), remaining)
        await self.settle_ledger()

    async def settle_ledger(self) -> None:
        """Write the ledger lines of credits that a test changed without one."""
        await self.sql(
            """
            insert into credit_ledger (studio_id, id, membership_id, delta, reason)
            select m.studio_id, gen_random_uuid(), m.id, m.credits_remaining - l.total, 'adjusted'
            from memberships m cross join lateral (
                select coalesce(sum(delta), 0) as total from credit_ledger o
                where o.studio_id = m.studio_id and o.membership_id = m.id) l
            where m.studio_id = $1 and m.credits_remaining <> l.total"""
        )

    async def move(self, class_id: UUID, minutes: float) -> None:
        """Make the class begin in this many minutes (negative: ago), with the copied times on its bookings."""
        start = await self.now() + timedelta(minutes=minutes)
        for table, column in (("classes", "id"), ("bookings", "class_id")):
            await self.sql(
                f"update {table} set start_time = $3, end_time = $3::timestamptz + (end_time - start_time)"
                f" where studio_id = $1 and {column} = $2",
                class_id,
                start,
            )

    # Sending requests.

    async def ask(self, method: str, path: str, **options: Any) -> DirectResponse:
        key = options.pop("key", self.key)
        return await ask(self.api.app, method, path, key, **options)

    async def get(self, path: str, **query: Any) -> Any:
        answer = await self.ask("GET", path, query=query)
        assert answer.status == 200, answer.body
        return answer.json()

    async def post(self, body: Any, idempotency_key: str | None = None, **options: Any) -> DirectResponse:
        headers = {"Idempotency-Key": idempotency_key or uuid4().hex, **options.pop("headers", {})}
        return await self.ask("POST", "/bookings", body=body, headers=headers, **options)

    async def book(self, class_id: UUID, member_id: UUID, **body: Any) -> DirectResponse:
        """Validate, book, and compare the two responses; validating must change nothing."""
        request = wire_body(class_id, member_id, **body)
        before = await self.snapshot()
        validation = await self.ask("POST", "/bookings/validate", body=request)
        assert await self.snapshot() == before, "validating has an effect"
        answer = await self.post(request)
        await self._compare(validation, answer)
        return answer

    async def _compare(self, validation: DirectResponse, answer: DirectResponse) -> None:
        if answer.status not in (201, 409):
            assert validation.body == answer.body
            return
        predicted = validation.json()
        assert validation.status == 200, validation.body
        if answer.status == 409:
            details = answer.json()["error"]["details"]
            assert (predicted["bookable"], predicted["outcome"]) == (False, "refused"), (predicted, details)
            assert [reason["code"] for reason in predicted["reasons"]] == details["reasons"]
            assert {**predicted["reasons"][0]["details"], "reasons": details["reasons"]} == details
            assert predicted["reasons"][0]["message"] == answer.json()["error"]["message"]
            assert (predicted["membership_id"], predicted["credits_required"]) == (None, 0)
            return
        booking = await self.row("bookings", answer.json()["id"])
        assert (predicted["bookable"], predicted["outcome"], predicted["reasons"]) == (True, booking["status"], [])
        assert predicted["credits_required"] == booking["credits_taken"]
        if booking["status"] == "confirmed":
            assert predicted["membership_id"] == (str(booking["membership_id"]) if booking["membership_id"] else None)

    async def booked(self, class_id: UUID, member_id: UUID, **body: Any) -> Any:
        answer = await self.book(class_id, member_id, **body)
        assert answer.status == 201, answer.body
        return answer.json()

    async def waits(self, class_id: UUID, member_id: UUID) -> Any:
        booking = await self.booked(class_id, member_id, join_waitlist=True)
        assert booking["status"] == "waitlisted", booking
        return booking

    async def refused(self, class_id: UUID, member_id: UUID, **body: Any) -> dict[str, Any]:
        """Attempt a booking that must be refused, and return the error."""
        answer = await self.book(class_id, member_id, **body)
        assert answer.status == 409, answer.body
        error: dict[str, Any] = answer.json()["error"]
        assert error["type"] == "booking_error"
        assert error["code"] == error["details"]["reasons"][0]
        assert error["retryable"] is False
        return error

    async def cancel(self, booking_id: Any, idempotency_key: str | None = None, **query: Any) -> DirectResponse:
        headers = {"Idempotency-Key": idempotency_key or uuid4().hex}
        return await self.ask("DELETE", f"/bookings/{booking_id}", headers=headers, query=query)

    async def cancelled(self, booking_id: Any, **query: Any) -> Any:
        """Preview, cancel, read the receipt: the three must agree, and the preview must change nothing."""
        before = await self.snapshot()
        preview = await self.get(f"/bookings/{booking_id}/cancellation-preview")
        assert await self.snapshot() == before, "a preview has an effect"
        answer = await self.cancel(booking_id, **query)
        assert answer.status == 200, answer.body
        kept = await self.ask("GET", f"/bookings/{booking_id}/cancellation")
        assert kept.body == answer.body
        receipt = answer.json()
        assert (preview["status"], preview["id"], preview["cancelled_at"]) == ("preview", None, None)
        assert _predictable(preview) == _predictable(receipt)
        return receipt

    async def staff(self, flow: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Run a staff flow that must succeed, and return its result."""
        done = await flow(self.api.connection, self.access, *arguments, **options)
        assert not isinstance(done, Refusal), done
        return done

    # Reading state.

    async def row(self, table: str, row_id: UUID | str) -> Any:
        found = await self.api.connection.fetchrow(
            f"select * from {table} where studio_id = $1 and id = $2", self.id, row_id
        )
        assert found is not None, f"no {row_id} in {table}"
        return found

    async def rows(self, table: str, where: str = "true", *values: Any) -> list[Any]:
        return list(
            await self.api.connection.fetch(f"select * from {table} where studio_id = $1 and {where}", self.id, *values)
        )

    async def counts(self, class_id: UUID) -> tuple[int, int]:
        """booked_count and waitlist_count, as partners see them."""
        class_ = await self.get(f"/classes/{class_id}")
        free = 0 if class_["status"] == "cancelled" else max(0, class_["capacity"] - class_["booked_count"])
        assert class_["available_count"] == free
        return class_["booked_count"], class_["waitlist_count"]

    async def status(self, booking: Any) -> str:
        return str((await self.get(f"/bookings/{booking['id']}"))["status"])

    async def entry(self, booking: Any) -> Any:
        """Return the waitlist entry of a booking; both ways to read it must agree."""
        entries = (await self.get("/waitlist", member_id=booking["member_id"], class_id=booking["class_id"]))["data"]
        found = next(entry for entry in entries if entry["booking_id"] == booking["id"])
        assert await self.get(f"/waitlist/{found['id']}") == found
        return found

    async def positions(self, *bookings: Any) -> list[int | None]:
        found = [(await self.get(f"/bookings/{booking['id']}"))["waitlist_position"] for booking in bookings]
        assert found == [(await self.entry(booking))["position"] for booking in bookings]
        return found

    async def credits(self, member: UUID) -> int | None:
        (membership,) = await self.rows("memberships", "member_id = $2", member)
        remaining: int | None = membership["credits_remaining"]
        return remaining

    async def snapshot(self) -> list[str | None]:
        """A hash of every row of the studio."""
        hashes = [
            f"(select md5(string_agg(t::text, '' order by t::text)) from {table} t where studio_id = $1)"
            for table in TABLES
        ]
        row = await self.api.connection.fetchrow(f"select {', '.join(hashes)}", self.id)
        return list(row or ())

    async def findings(self) -> list[Finding]:
        """Return the doctor's findings about this studio, without those that report success."""
        return [finding for finding in await problems(self.api) if str(self.id) in finding.text]

    async def unrecorded(self) -> list[Any]:
        """Return the events of partners' changes without an audit entry of the same transaction. Promotions are left
        out: also a request that is refused gives free seats to those who wait for one."""
        return await self.rows(
            "events e",
            """actor = 'partner' and type not in ('booking.updated', 'waitlist.updated') and not exists (
                   select from audit_log a where a.studio_id = $1 and a.transaction_id = e.transaction_id)""",
        )


def wire_body(class_id: UUID | str, member_id: UUID | str, **body: Any) -> dict[str, Any]:
    texts = {name: str(value) if isinstance(value, UUID) else value for name, value in body.items()}
    return {"class_id": str(class_id), "member_id": str(member_id), **texts}


def json_text(value: Any) -> str:
    return json.dumps(value, default=str)


def _predictable(receipt: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a receipt that a preview can predict."""
    fee = receipt["late_fee"] and {**receipt["late_fee"], "purchase_id": None}
    unknown = {"id", "status", "cancelled_at", "reason"}
    return {**{name: value for name, value in receipt.items() if name not in unknown}, "late_fee": fee}


async def problems(api: PartnerApi) -> list[Finding]:
    """Return the doctor's findings about all studios of a database, without those that report success. Tests delete
    events and change classes by hand, so announced counts are checked by their own tests."""
    found = await doctor.examine(api.connection)
    return [each for each in found if each.level != "ok" and each.subject != "announced counts"]


@dataclass
class StudioFactory:
    """One application and one database for all studios of a test file: a database per test costs half a second."""

    api: PartnerApi
    checked: list[tuple[BookingStudio, str]] = field(default_factory=list)

    async def new_checked_studio(self, timezone: str = "America/New_York", **columns: Any) -> BookingStudio:
        """Return a studio in which the doctor must find nothing when the tests of the file have ended, and in which
        all changes must be recorded. The check looks at all studios at once; its findings name the test."""
        made = await self.new_studio(timezone, **columns)
        self.checked.append((made, os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]))
        return made

    async def close(self) -> None:
        """Assert that nothing is wrong with the studios to check."""
        found, wrong = await problems(self.api), {}
        for studio, test in self.checked:
            own = [finding for finding in found if str(studio.id) in finding.text]
            if own or (own := await studio.unrecorded()):
                wrong[test] = own
        assert wrong == {}, wrong

    async def new_studio(self, timezone: str = "America/New_York", **columns: Any) -> BookingStudio:
        connection, slug = self.api.connection, f"studio-{next(_numbers)}"
        studio = Studio(uuid4(), slug, slug)
        place = {
            "timezone": timezone,
            "currency": "USD",
            "country": "US",
            "hour_cycle": "24h",
            "date_order": "day_month",
        }
        columns = {"name": slug, "slug": slug, **place, **columns}
        names = ", ".join(columns)
        places = ", ".join(f"${number}" for number in range(2, len(columns) + 2))
        await connection.execute(
            f"insert into studios (studio_id, {names}) values ($1, {places})", studio.studio_id, *columns.values()
        )
        own = {"studio_id": studio.studio_id}
        places_ = {"city": "C", "state": "S", "timezone": timezone}
        location = await insert(connection, "locations", name="L", **places_, **own)
        other = await insert(connection, "locations", name="O", **places_, **own)
        room = await insert(connection, "rooms", location_id=location, name="R", capacity=10, **own)
        class_type = await insert(connection, "class_types", name="T", **own)
        product = await insert(connection, "products", key="p", name="P", product_type="package", **own)
        key = await issue_key(connection, studio)
        return BookingStudio(self.api, studio, key, location, other, room, class_type, product)


async def opened_factory(database_url: str, **overrides: object) -> AsyncIterator[StudioFactory]:
    async for opened in open_partner_api(database_url, rate_limit=0, **overrides):
        factory = StudioFactory(opened)
        yield factory
        await factory.close()


@pytest.fixture(scope="module")
async def studio_factory(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[StudioFactory]:
    async for factory in opened_factory(new_database()):
        yield factory


@pytest.fixture
async def studio(studio_factory: StudioFactory) -> BookingStudio:
    """Return a new studio for one test, which is checked with the others of the file."""
    return await studio_factory.new_checked_studio()


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]  # at most seven parts
