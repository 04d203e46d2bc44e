"""A studio with forms, both front ends on the real server on a loopback port, and their database."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import uvicorn

from studiogate import settings
from studiogate.demo.forms import form_rows
from studiogate.demo.seed import Seed
from studiogate.demo.studio import studio_row
from studiogate.flows import studio_file
from studiogate.runtime import Runtime
from studiogate.server.api_process import FrontEnds
from tests.support.databases import run
from tests.support.deadlines import LONG
from tests.support.hosted_forms import own_forms

# What other parts of the service do beside the server, until it is cancelled.
Work = Callable[[Runtime, FrontEnds], Coroutine[Any, Any, None]]


async def _no_work(_runtime: Runtime, _app: FrontEnds) -> None:
    pass


@dataclass
class Site:
    """One studio on one server."""

    database_url: str
    data: Path
    origin: str = ""
    studio: dict[str, Any] = field(default_factory=dict)
    forms: dict[str, dict[str, Any]] = field(default_factory=dict)
    member_id: UUID = field(default_factory=uuid4)

    def url(self, form: str, tail: str = "") -> str:
        return f"{self.origin}/f/{self.studio['slug']}/{form}{tail}"

    def sql(self, statement: str, *values: Any) -> list[Any]:
        found: list[Any] = run(self._fetch(statement, *values))
        return found

    async def _fetch(self, statement: str, *values: Any) -> list[Any]:
        connection = await asyncpg.connect(self.database_url)
        try:
            return await connection.fetch(statement, *values)
        finally:
            await connection.close()

    def submissions(self, form: str) -> list[Any]:
        return self.sql("select * from form_submissions where form_id = $1 order by created_at", self.form_id(form))

    def form_id(self, form: str) -> UUID:
        return UUID(self.forms[form]["id"])

    def set_settings(self, form: str, **settings_: Any) -> None:
        """Change a form's settings directly in the database."""
        merged = "update forms set settings = (settings::jsonb || $2::text::jsonb)::json where id = $1"
        self.sql(merged, self.form_id(form), json.dumps(settings_))


async def _load(site: Site) -> None:
    seed = Seed(1)
    rows = [*form_rows(seed), *own_forms()]
    site.studio = studio_row(seed)
    site.forms = {row["slug"]: row for row in rows}
    member = {
        "id": str(site.member_id),
        "first_name": "Robin",
        "last_name": "Okafor",
        "email": "robin@member.example",
        "role": "member",
        "created_at": "2026-01-01T00:00:00Z",
    }
    connection = await asyncpg.connect(site.database_url, server_settings={"timezone": "UTC"})
    try:
        document = {"studio": site.studio, "members": [member], "forms": rows}
        outcome = await studio_file.import_document(connection, document)
        assert not outcome.faults, outcome.faults
    finally:
        await connection.close()


@contextmanager
def serving(site: Site, **overrides: Any) -> Iterator[Site]:
    """Load the studio with its forms, then serve the front ends."""
    run(_load(site))
    with served(site, **overrides):
        yield site


@contextmanager
def served(site: Site, work: Work = _no_work, **overrides: Any) -> Iterator[Site]:
    """Serve the front ends as the API process does, in a separate thread, and do ``work`` there."""
    listening = socket.create_server(("127.0.0.1", 0))
    site.origin = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server: list[uvicorn.Server] = []

    async def serve() -> None:
        given = {"database_url": site.database_url, "data_dir": site.data, **overrides}
        runtime = Runtime.open(settings.load(**given))
        app = FrontEnds(runtime)
        config = uvicorn.Config(app, http="httptools", ws="none", lifespan="off", log_config=None)
        config.timeout_graceful_shutdown = 1
        config.timeout_keep_alive = int(LONG)
        server.append(uvicorn.Server(config))
        working = asyncio.create_task(work(runtime, app))
        await server[0].serve(sockets=[listening])
        working.cancel()
        await asyncio.wait([working])
        await runtime.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    deadline = time.monotonic() + LONG
    while not (server and server[0].started) and time.monotonic() < deadline:
        time.sleep(0.01)
    try:
        yield site
    finally:
        server[0].should_exit = True
        thread.join(LONG)
        listening.close()
