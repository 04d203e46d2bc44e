"""The baseline: a bare ASGI function on the same server that runs the same statements and returns their JSON.

No keys, limits, rules, log lines or metrics: the cost of Studiogate beyond this is the cost of its guarantees. A read
returns the JSON that PostgreSQL built, a write the response that the product gave when it was recorded. The events of a
write are numbered here too, by the product's own statements, right after the commit and in batches.
"""

import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.dataset import STUDIO_ID
from bench.recording import Program
from bench.request import given_values
from bench.server import serve
from studiogate.domain.paging import Page
from studiogate.flows.events import Sequencer
from studiogate.storage.db.pool import Database

PROGRAMS = "BENCH_PROGRAMS"


class Baseline:
    """``programs`` are found by method and path, or by method and the path up to its last slash."""

    def __init__(self, database: Database, programs: Mapping[str, Program]) -> None:
        self._database = database
        self._programs = programs
        self._sequencer = Sequencer(database)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path: str = scope["path"]
        where = scope["method"] + path
        program = self._programs.get(where) or self._programs.get(where[: where.rindex("/") + 1])
        if program is None:  # a readiness check
            await _answer(send, 200, b"")
            return
        sent = b"" if program.is_a_read else await _body(receive)
        given = given_values(path, scope["query_string"], scope["headers"], sent)
        await _answer(send, program.status, await self._play(program, given))

    async def _play(self, program: Program, given: Mapping[str, Any]) -> bytes:
        fresh = program.make_fresh_ids()
        async with self._database.connection() as connection:
            for statement in program.statements:
                if not statement.slots:
                    await connection.execute(statement.text)
                    continue
                arguments = [slot.fill(given, fresh) for slot in statement.slots]
                row = await connection.fetchrow(statement.text, *arguments)
        if program.is_a_read:
            return _json(row, given)
        self._sequencer.kick(STUDIO_ID)
        return program.body


def _json(row: Any, given: Mapping[str, Any]) -> bytes:
    """Return the JSON of one resource, or of a page of them."""
    if len(row) == 1:
        return str(row[0]).encode()
    more = row["found"] > int(given["limit"])
    page = Page(row["rows"] or "", more, row["last_id"] if more else None)
    return page.as_json().encode()


async def _body(receive: Any) -> bytes:
    received: bytes = b""
    more = True
    while more:
        message = await receive()
        received += message["body"]
        more = message["more_body"]
    return received


async def _answer(send: Any, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _open() -> Baseline:
    pool_size = int(os.environ["STUDIOGATE_POOL_SIZE"])
    programs = pickle.loads(Path(os.environ[PROGRAMS]).read_bytes())  # noqa: S301  this run wrote it
    return Baseline(Database(os.environ["STUDIOGATE_DATABASE_URL"], pool_size), programs)


if __name__ == "__main__":
    serve(_open)
