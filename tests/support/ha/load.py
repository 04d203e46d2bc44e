"""Two API machines and a worker on a cluster, partners and staff who write through them, and what they must find there.

Every write has a key and a mark of its own, is repeated until its outcome is known, and is compared with the database
at the end.
"""

import asyncio
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx2
from asyncpg.connect_utils import SessionAttribute

from tests.cli.test_commands import environment
from tests.support.deadlines import LONG
from tests.support.ha.cluster import HaCluster, Node, Program, asked, free_port
from tests.support.races.checker import is_kept
from tests.support.races.client import PREFIX, Call, Client, History, Request
from tests.support.races.crashes import until
from tests.support.staff_people import PASSWORD

CLIENTS = 3  # per machine, with bookings and cancellations
PAUSE = 0.02
PROBE_PAUSE = 0.05
GAP = 1.0  # seconds without a success of the direct writer: the database accepts no writes
Interval = tuple[float, float]
# The last one: the server is a standby.
NOT_WRITTEN = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
BOUNDARY = "ha-boundary"


class Machine:
    """A machine of the service: `studiogate serve` or `studiogate worker`. ``acknowledged`` has the time of each write
    that it acknowledged, ``excused`` the times in which trouble of its own, not
    the database's, kept it from that."""

    def __init__(self, cluster: HaCluster, name: str, url: str, secret: str, port: int, *command: str) -> None:
        self.name, self.port, self.admin_port = name, port, free_port()
        folder = cluster.folder / name
        folder.mkdir()
        self.settings = {
            "DATABASE_URL": url,
            "DATA_DIR": str(cluster.data),
            "SECRET_KEY": secret,
            "PORT": str(port),
            "ADMIN_PORT": str(self.admin_port),
            "DRAIN_SECONDS": "4",  # HAProxy notices after 2 s
            "RATE_LIMIT": "off",
            "LOG_FORMAT": "json",
            "WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8",
            "WEBHOOK_ALLOW_HTTP": "on",
        }
        self.program = Program(
            folder, [sys.executable, "-m", "studiogate", *command], environment(**self.settings), None
        )
        self.acknowledged: list[float] = []
        self.excused: list[Interval] = []

    def start(self) -> None:
        self.program.start()

    async def ready(self) -> None:
        await until(self.is_ready, LONG, self.program.tail)

    def is_ready(self) -> bool:
        return asked(f"127.0.0.1:{self.admin_port}", "/readyz")[0] == 200

    def api_pids(self) -> list[int]:
        return self.program.pids()[1:]

    async def stop(self) -> None:
        """End it as a service manager does, and expect that it drains."""
        process = self.program.process
        assert process is not None
        process.terminate()
        assert await asyncio.to_thread(process.wait, LONG) == 0, self.program.tail()

    def note(self, call: Call) -> None:
        if is_kept(call):
            self.acknowledged.append(time.monotonic())


class DirectWriter:
    """Writes to each node without the service, to know when the database accepts writes."""

    def __init__(self, cluster: HaCluster) -> None:
        self._cluster = cluster
        self.times: list[float] = []

    async def write(self, node: Node) -> None:
        url = self._cluster.url(f"{node.address}:5432", "postgres", "direct")
        while True:
            with suppress(*NOT_WRITTEN):
                connection = await asyncpg.connect(url, timeout=2, target_session_attrs=SessionAttribute.primary)
                try:
                    while True:
                        await connection.execute("insert into written default values")
                        self.times.append(time.monotonic())
                        await asyncio.sleep(PROBE_PAUSE)
                finally:
                    connection.terminate()
            await asyncio.sleep(PROBE_PAUSE)


def silence(machine: Machine, writer: DirectWriter, since: float, until_: float) -> float:
    """Return the longest time in which the machine acknowledged nothing while the database accepted writes."""
    written = sorted(writer.times)
    gaps = [each for each in pairwise(written) if each[1] - each[0] > GAP] + machine.excused
    acknowledged = [since, *(at for at in machine.acknowledged if since < at < until_), until_]
    return max(longest_outside(between, gaps) for between in pairwise(acknowledged))


def longest_outside(between: Interval, gaps: Sequence[Interval]) -> float:
    longest, at = 0.0, between[0]
    for begin, end in sorted(gaps):
        longest = max(longest, min(begin, between[1]) - at)
        at = max(at, end)
    return max(longest, between[1] - at)


class FormClient(Client):
    """Sends uploads as the forms that they are."""

    def written(self, request: Request) -> bytes:
        multipart = f"content-type: multipart/form-data; boundary={BOUNDARY}".encode()
        kind = multipart if request.path.endswith("/uploads") else b"content-type: application/json"
        return super().written(request).replace(b"content-type: application/json", kind, 1)


@dataclass
class Partner:
    """Everything that a partner writes besides bookings: leads, members, submissions, uploads, webhook endpoints."""

    service_key: str
    form_id: str
    studio_id: UUID
    history: History = field(default_factory=History)

    def _posted(self, path: str, **body: Any) -> Request:
        return Request("POST", PREFIX + path, uuid4().hex, json.dumps(body).encode())

    def lead(self) -> Request:
        return self._posted("/leads", email=f"{uuid4().hex}@lead.example")

    def member(self) -> Request:
        return self._posted("/members", email=f"{uuid4().hex}@member.example", first_name="A", last_name="B")

    def submission(self) -> Request:
        email = f"{uuid4().hex}@submission.example"
        return self._posted(f"/forms/{self.form_id}/submissions", submitter_email=email, data={})

    def upload(self) -> Request:
        name = f"{uuid4().hex}.txt"
        parts = [("file", f'; filename="{name}"\r\nContent-Type: text/plain', name), ("field_key", "", "note")]
        body = [f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{n}"{m}\r\n\r\n{c}\r\n' for n, m, c in parts]
        whole = f"{''.join(body)}--{BOUNDARY}--\r\n"
        return Request("POST", f"{PREFIX}/forms/{self.form_id}/uploads", uuid4().hex, whole.encode())

    def endpoint(self) -> Request:
        return self._posted(
            "/webhook-endpoints", url="http://127.0.0.1:9/", event_types=["form.created"], description=uuid4().hex
        )

    async def work(self, machine: Machine, ended: Callable[[], bool]) -> None:
        client = FormClient(machine.port, self.service_key, self.history)
        while not ended():
            for kind in (self.lead, self.member, self.submission, self.upload):
                machine.note(await client.settle(kind()))
                await asyncio.sleep(PAUSE)
            await self.make_and_delete_endpoint(client, machine.note)
        client.close()

    async def make_and_delete_endpoint(self, client: Client, note: Callable[[Call], None]) -> None:
        made = await client.settle(self.endpoint())
        note(made)
        if made.status == 201:
            path = f"{PREFIX}/webhook-endpoints/{made.json['id']}"
            note(await client.settle(Request("DELETE", path, uuid4().hex)))

    async def violations(self, connection: Any) -> list[str]:
        """Compare each acknowledged write with the stored response and its row; no mark may be there twice."""
        query = "select key, status, body from idempotency_keys where studio_id = $1"
        stored = {row["key"]: row for row in await connection.fetch(query, self.studio_id)}
        counts = await marks(connection, self.studio_id)
        query = "select id from webhook_endpoints where studio_id = $1 and deleted_at is null"
        live = {str(row["id"]) for row in await connection.fetch(query, self.studio_id)}
        wrong = []
        for key, calls in self.history.by_key().items():
            acknowledged = {(call.status, call.answer) for call in calls if call.status in (200, 201, 204)}
            mark, row = mark_of(calls[0].request), stored.get(key)
            if not any(call.known for call in calls):
                wrong.append(f"{key}: never got an answer")
            if any(call.known and call.status not in (200, 201, 204, 404) for call in calls):
                wrong.append(f"{key}: {[call.outcome for call in calls]}")
            if len(acknowledged) > 1:
                wrong.append(f"{key}: {len(acknowledged)} different answers")
            stores = None if row is None else (row["status"], row["body"])
            if calls[0].request.method == "DELETE":  # takes no key
                if acknowledged and calls[0].request.path.rpartition("/")[2] in live:
                    wrong.append(f"{key}: acknowledged the deletion of an endpoint that is there")
            elif acknowledged and stores not in acknowledged and not is_sealed(calls[0].request, stores):
                wrong.append(f"{key}: acknowledged, but not stored")
            if mark is not None and counts.get(mark, 0) != bool(acknowledged):
                wrong.append(f"{key}: {counts.get(mark, 0)} rows of {mark}, acknowledged {len(acknowledged)}")
        return wrong


def is_sealed(request: Request, stored: tuple[int, bytes] | None) -> bool:
    """Return whether this is the stored response with a new endpoint's secret, which is encrypted."""
    return request.path == f"{PREFIX}/webhook-endpoints" and stored is not None and stored[0] == 201


def mark_of(request: Request) -> str | None:
    """Return what is unique about a write and stored in its row; endpoints are deleted again."""
    found = re.search(rb'filename="([^"]+)"|"(?:submitter_)?email": "([^"]+)"', request.body)
    return (found[1] or found[2]).decode() if found else None


async def marks(connection: Any, studio_id: UUID) -> dict[str, int]:
    query = """
        select mark, count(*) as times from (
            select email as mark from leads where studio_id = $1 and email like '%@lead.example'
            union all select email from members where studio_id = $1
            union all select submitter_email from form_submissions where studio_id = $1
            union all select filename from form_uploads where studio_id = $1) marked
        group by mark"""
    return {row["mark"]: row["times"] for row in await connection.fetch(query, studio_id)}


class Manager:
    """Somebody of the staff in a browser, who adds members; each form is sent until the console shows the result."""

    def __init__(self, port: int) -> None:
        self.origin = f"http://127.0.0.1:{port}"
        self._client = httpx2.AsyncClient(base_url=self.origin, headers={"Origin": self.origin}, timeout=20)
        self._csrf = ""
        self.sent: dict[str, int] = {}  # how often each member was acknowledged
        self.refused = 0

    async def accept(self, link: str) -> None:
        path = "/console/link/" + link.rpartition("/")[2]
        joined = await self._client.post(path, data={"name": "Sam", "password": PASSWORD})
        assert joined.status_code == 303, joined.text
        page = await self._client.get("/console/members")
        found = re.search(r'name="csrf" value="([^"]+)"', page.text)
        assert found, page.text
        self._csrf = found[1]

    async def add_member(self) -> None:
        email, form = f"{uuid4().hex}@member.example", uuid4().hex
        self.sent[email] = 0
        deadline = time.monotonic() + LONG
        data = {"csrf": self._csrf, "idempotency": form, "first_name": "A", "last_name": "B", "email": email}
        while not self.sent[email] and time.monotonic() < deadline:
            with suppress(httpx2.HTTPError):
                answer = await self._client.post("/console/members/new", data=data)
                assert answer.status_code in (303, 503, 409), answer.text
                self.sent[email] = int(answer.status_code == 303)
                self.refused += answer.status_code == 503
            await asyncio.sleep(PAUSE)

    async def work(self, ended: Callable[[], bool]) -> None:
        while not ended():
            await self.add_member()

    async def close(self) -> None:
        await self._client.aclose()

    async def violations(self, connection: Any, studio_id: UUID) -> list[str]:
        counts = await marks(connection, studio_id)
        return [
            f"{email}: acknowledged {n}, {counts.get(email, 0)} rows"
            for email, n in self.sent.items()
            if n != counts.get(email, 0)
        ]
