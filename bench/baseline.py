"""The baseline: a bare ASGI function on the same server that runs the fixed transactions and returns their JSON.

No keys, limits, rules, log lines or metrics: the cost of Studiogate beyond this is the cost of its guarantees. A read
returns the JSON that PostgreSQL built, a write a constant. The events of a write are numbered here too, by the
product's own statements, right after the commit and in batches.
"""

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from bench.dataset import STUDIO_ID
from bench.request import STATUS, given_values
from bench.server import serve
from bench.transactions import NEW_ID, PARAMETER, Transaction, transaction_of
from studiogate.flows.events import Sequencer
from studiogate.storage.db.pool import Database
from studiogate.storage.db.statement import new_id


class Baseline:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sequencer = Sequencer(database)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        method, path = scope["method"], scope["path"]
        transaction = transaction_of(method, path)
        if transaction is None:  # a readiness check
            await _answer(send, 200, b"")
            return
        sent = await _body(receive) if transaction.answer else b""
        given = given_values(path, scope["query_string"], scope["headers"], sent)
        await _answer(send, STATUS[method], await self._play(transaction, given))

    async def _play(self, transaction: Transaction, given: Mapping[str, Any]) -> bytes:
        values = values_for(transaction, given)
        async with self._database.connection() as connection:
            for text, names in map(compiled, transaction.statements):
                if names:
                    read = await connection.fetchval(text, *[values[name] for name in names])
                else:
                    await connection.execute(text)
        if not transaction.answer:
            return str(read).encode()
        self._sequencer.kick(STUDIO_ID)
        return transaction.answer


def values_for(transaction: Transaction, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of a transaction's parameters for one request."""
    names = {name for text in transaction.statements for name in compiled(text)[1] if name.startswith(NEW_ID)}
    return {**transaction.constants, **given, **{name: new_id() for name in names}}


@cache
def compiled(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the statement with numbered parameters, and their names."""
    numbers: dict[str, int] = {}
    text = PARAMETER.sub(lambda found: f"${numbers.setdefault(found[1], len(numbers) + 1)}", text)
    return text, tuple(numbers)


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
    return Baseline(Database(os.environ["STUDIOGATE_DATABASE_URL"], int(os.environ["STUDIOGATE_POOL_SIZE"])))


if __name__ == "__main__":
    serve(_open)
