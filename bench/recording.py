"""Record the statements that the product sends to PostgreSQL for one request, as a program that others can replay.

The baseline and the limit run "the same statements", so these are not copied by hand: the product serves a request
inside this process, and the driver's query log yields the statements and their arguments. When a flow changes, the
baseline and the limit of the next run change with it. Two requests are recorded and compared: an argument that is equal
in both is a constant, one that came from the request is taken from the next request, other ids and (lock) numbers are
generated, other instants become now, and the rest (a fingerprint, a stored body) keeps the value of the first request.
The same applies to the values inside a JSON argument.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from bench.request import Request, given_values
from studiogate import settings as configuration
from studiogate.flows.bookings.scheduler import Scheduler
from studiogate.flows.events import Sequencer
from studiogate.runtime import Runtime
from studiogate.server.front_ends import FrontEnds
from studiogate.storage.db.ids import new_id
from studiogate.storage.db.pool import Connection, Database

Given = Mapping[str, Any]
LARGEST_LOCK = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Constant:
    value: Any

    def fill(self, _given: Given, _fresh: Sequence[UUID]) -> Any:
        return self.value


@dataclass(frozen=True, slots=True)
class FromRequest:
    name: str
    type: Callable[[str], Any] = str

    def fill(self, given: Given, _fresh: Sequence[UUID]) -> Any:
        return self.type(given[self.name])


@dataclass(frozen=True, slots=True)
class FreshId:
    number: int

    def fill(self, _given: Given, fresh: Sequence[UUID]) -> Any:
        return fresh[self.number]


@dataclass(frozen=True, slots=True)
class FreshNumber:
    """The number of a lock that nobody else holds: the random part of a fresh id."""

    number: int

    def fill(self, _given: Given, fresh: Sequence[UUID]) -> Any:
        return fresh[self.number].int & LARGEST_LOCK


@dataclass(frozen=True, slots=True)
class Now:
    def fill(self, _given: Given, _fresh: Sequence[UUID]) -> Any:
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Several:
    slots: "tuple[Slot, ...]"

    def fill(self, given: Given, fresh: Sequence[UUID]) -> Any:
        return [slot.fill(given, fresh) for slot in self.slots]


@dataclass(frozen=True, slots=True)
class Json:
    """A JSON text with slots in it, whose values need no escapes: ids, keys, numbers, instants."""

    parts: "tuple[str | Slot, ...]"

    def fill(self, given: Given, fresh: Sequence[UUID]) -> Any:
        return "".join([part if isinstance(part, str) else str(part.fill(given, fresh)) for part in self.parts])


Slot = Constant | FromRequest | FreshId | FreshNumber | Now | Several | Json


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as the product sends it. ``types`` are the parameter types that PostgreSQL infers."""

    text: str
    slots: tuple[Slot, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """All statements of one request, in order, and its response."""

    statements: tuple[Statement, ...]
    fresh_ids: int
    status: int
    body: bytes

    @property
    def is_a_read(self) -> bool:
        return len(self.statements) == 1

    def make_fresh_ids(self) -> list[UUID]:
        return [new_id() for _ in range(self.fresh_ids)]


@dataclass
class _Take:
    """One recorded request."""

    given: Given
    statements: list[tuple[str, Sequence[Any]]]
    status: int = 0
    body: bytes = b""


class _LoggedDatabase(Database):
    """Reports every statement on every connection to the listener."""

    listener: Callable[[Any], None]

    async def acquire(self) -> Connection:
        connection = await super().acquire()
        connection.add_query_logger(self.listener)
        return connection


class _NoSequencer(Sequencer):
    """Does nothing: events are numbered after the commit and in batches, so numbering is not part of a program."""

    def kick(self, studio_id: UUID) -> None:
        pass


class Recorder:
    """Runs the product inside this process. Use it within one event loop, and close it."""

    def __init__(self, dsn: str, service_key: str) -> None:
        database = _LoggedDatabase(dsn, 1)
        database.listener = self._note
        opened = Runtime.open(configuration.load(database_url=dsn))
        bookings = Scheduler(database, opened.bookings.largest, 1)
        self._runtime = replace(opened, database=database, sequencer=_NoSequencer(database), bookings=bookings)
        self._app = FrontEnds(self._runtime)
        self._service_key = service_key
        self._noted: list[tuple[str, Sequence[Any]]] = []

    async def close(self) -> None:
        await self._runtime.close()

    async def record(self, requests: Sequence[Request]) -> Program:
        """Record three requests; the first is a warm-up that looks up the key, the others are compared."""
        _, first, second = [await self._serve(each) for each in requests]
        reader = _Reader(first, second)
        statements = [
            await self._typed(text, reader.slots(arguments, others))
            for (text, arguments), (_, others) in zip(first.statements, second.statements, strict=True)
        ]
        return Program(tuple(statements), len(reader.fresh), first.status, first.body)

    def _note(self, logged: Any) -> None:
        self._noted.append((logged.query, logged.args or ()))

    async def _serve(self, request: Request) -> _Take:
        self._noted = []
        headers = request.headers(self._service_key)
        take = _Take(given_values(request.path, request.query.encode(), headers, request.body), self._noted)

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": request.body, "more_body": False}

        async def send(message: Any) -> None:
            take.status = message.get("status", take.status)
            take.body += message.get("body", b"")

        scope = {
            "type": "http",
            "method": request.method,
            "path": request.path,
            "query_string": request.query.encode(),
            "headers": headers,
            "client": ("127.0.0.1", 0),
        }
        await self._app(scope, receive, send)
        await asyncio.sleep(0)  # the driver calls its query logger from the event loop
        if take.status >= 300:
            raise ValueError(f"{request.method} {request.path} was answered {take.status}: {take.body.decode()}")
        return take

    async def _typed(self, text: str, slots: tuple[Slot, ...]) -> Statement:
        if not slots:
            return Statement(text)
        async with self._runtime.database.connection() as connection:
            parameters = (await connection.prepare(text)).get_parameters()
        return Statement(text, slots, tuple(each.name for each in parameters))


class _Reader:
    """Determines the kind of each argument from its values in the two recorded requests."""

    def __init__(self, first: _Take, second: _Take) -> None:
        self._given = (first.given, second.given)
        self.fresh: list[UUID | int] = []

    def slots(self, arguments: Sequence[Any], others: Sequence[Any]) -> tuple[Slot, ...]:
        return tuple(self._slot(*pair) for pair in zip(arguments, others, strict=True))

    def _slot(self, value: Any, other: Any) -> Slot:
        if isinstance(value, list | tuple):
            return Several(self.slots(value, other))
        if isinstance(value, str) and value.startswith("[{"):
            return Json(_joined(self._json_parts(json.loads(value), json.loads(other))))
        name = self._name_of(value, other)
        if name is not None:
            return FromRequest(name, int if isinstance(value, int) else str)
        if value == other:
            return Constant(value)
        if isinstance(value, UUID):
            return FreshId(self._number_of(value))
        if isinstance(value, int) and not isinstance(value, bool):
            return FreshNumber(self._number_of(value))
        return Now() if isinstance(value, datetime) else Constant(value)

    def _json_parts(self, value: Any, other: Any) -> "Iterator[str | Slot]":
        """Yield the parts of the first of two JSON values, as text; what varies is a slot, as in an argument."""
        if isinstance(value, dict):
            yield "{"
            for number, (name, member) in enumerate(value.items()):
                yield f"{',' if number else ''}{json.dumps(name)}:"
                yield from self._json_parts(member, other[name])
            yield "}"
        elif isinstance(value, list):
            yield "["
            for number, pair in enumerate(zip(value, other, strict=True)):
                yield "," if number else ""
                yield from self._json_parts(*pair)
            yield "]"
        else:
            slot = self._slot(value, other)
            if isinstance(slot, Constant) and value != other:
                slot = self._slot(_as_id_or_instant(value), _as_id_or_instant(other))
            if isinstance(slot, Constant):
                yield json.dumps(value)
            else:
                yield from (slot,) if isinstance(value, int) else ('"', slot, '"')

    def _name_of(self, value: Any, other: Any) -> str | None:
        mine, others = self._given
        return next((name for name in mine if mine[name] == str(value) and others[name] == str(other)), None)

    def _number_of(self, value: UUID | int) -> int:
        if value not in self.fresh:
            self.fresh.append(value)
        return self.fresh.index(value)


def _as_id_or_instant(value: Any) -> Any:
    """Return what JSON holds as text, if it is an id or an instant; anything else as it is."""
    for kind in (UUID, datetime.fromisoformat):
        with suppress(ValueError):
            return kind(str(value))
    return value


def _joined(parts: "Iterable[str | Slot]") -> "tuple[str | Slot, ...]":
    """Join neighbouring texts."""
    groups = groupby(parts, key=lambda part: isinstance(part, str))
    return tuple(each for is_text, group in groups for each in (["".join(map(str, group))] if is_text else group))
