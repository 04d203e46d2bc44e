"""The floor: a bare ASGI function on the same server that runs the same SQL and returns its JSON. No key, no limit, no
log line, no metrics. What Studiogate costs more than this is what its promises cost.
"""

import os
from typing import Any
from uuid import UUID

import asyncpg

from studiogate.domain.paging import Page
from studiogate.storage import listing, schedule
from studiogate.storage.database import SESSION

ONE = listing._one(schedule.CLASS, False, ())
LIST = listing._page(listing._Shape(schedule.CLASS, False, False, False, (), (), ()))
_state: dict[str, Any] = {}


async def _keep(_connection: Any) -> None:
    """No reset between uses: the floor gets that for free too."""


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
        return
    path: str = scope["path"]
    async with _state["pool"].acquire() as connection:
        if path.endswith("/classes"):
            limit = int(scope["query_string"].partition(b"=")[2] or 50)
            row = await connection.fetchrow(LIST, _state["studio_id"], limit)
            more = row["found"] > limit
            body = Page(row["rows"] or "", more, row["last_id"] if more else None).as_json().encode()
        else:
            body = (await connection.fetchval(ONE, _state["studio_id"], path.rpartition("/")[2])).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _lifespan(receive: Any, send: Any) -> None:
    await receive()
    _state["studio_id"] = UUID(os.environ["BENCH_STUDIO_ID"])
    _state["pool"] = await asyncpg.create_pool(
        os.environ["STUDIOGATE_DATABASE_URL"], min_size=1, max_size=10, server_settings=SESSION, reset=_keep
    )
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await _state["pool"].close()
    await send({"type": "lifespan.shutdown.complete"})
