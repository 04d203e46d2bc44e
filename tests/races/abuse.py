"""Mixed abuse by anonymous visitors and one key, beside a well-behaved partner.

Calm and abusive minutes take turns, so that whatever else the machine does falls on both alike. Each attack is paced:
what is measured is what an attack costs the service, not how much CPU the attackers take on the same two cores.
"""

import asyncio
import contextlib
import json
import random
import re
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import psutil

from tests.races.arena import Arena
from tests.races.client import PREFIX, Answer, Client, History, Request, booking, exchange
from tests.serving import Service

PATIENCE = 30.0
PARTNER_PAUSE = 0.05
ATTACK_PAUSE = 1.0
CALM_SECONDS, ABUSE_SECONDS = 20.0, 60.0
MARKS = "e\u0301\u0323" * 40_000
BOUNDARY = b"abuse-boundary"
KEY_OF_NOBODY = "sgk_live_00000000_" + "0" * 49
FORM_HEADER = "Content-Type: application/x-www-form-urlencoded"
PARTS_HEADER = f"Content-Type: multipart/form-data; boundary={BOUNDARY.decode()}"


@dataclass
class Target:
    """What the attackers know: the public address of one form, and a key of their own."""

    port: int
    service_key: str
    slug: str
    form_id: UUID
    endpoint_id: UUID
    random: random.Random
    statuses: dict[str, list[int]] = field(default_factory=dict)
    held: list[asyncio.StreamWriter] = field(default_factory=list)

    async def send(self, raw: bytes) -> Answer | None:
        """One request on a connection of its own; None where the service closed it without an answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            async with asyncio.timeout(PATIENCE):
                return await exchange(reader, writer, raw)
        except (OSError, EOFError):
            return None
        finally:
            writer.transport.abort()

    async def api(self, method: str, path: str, body: object) -> Answer | None:
        return await self.send(
            raw(method, PREFIX + path, json.dumps(body).encode(), f"X-Service-Key: {self.service_key}", JSON_HEADER)
        )

    @property
    def page(self) -> str:
        return f"/f/{self.slug}/abused"

    async def hold(self, sent: bytes) -> None:
        """Leave a connection open after these bytes; the oldest of them are let go."""
        _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(sent)
        with contextlib.suppress(OSError):
            await writer.drain()
        self.held.append(writer)
        while len(self.held) > 20:
            self.held.pop(0).transport.abort()

    def let_go(self) -> None:
        for writer in self.held:
            writer.transport.abort()
        self.held.clear()


Attack = Callable[[Target], Awaitable[Answer | None]]
JSON_HEADER = "Content-Type: application/json"


def raw(method: str, path: str, body: bytes, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


async def email_of_marks(target: Target) -> Answer | None:
    return await target.api("POST", "/leads", {"email": f"{MARKS}@example.com"})


async def page_email_of_marks(target: Target) -> Answer | None:
    token = await token_of(target)
    return await target.send(raw("POST", target.page, f"token={token}&submitter_email={MARKS}".encode(), FORM_HEADER))


async def token_of(target: Target) -> str:
    answer = await target.send(raw("GET", target.page, b""))
    found = re.search(rb'name="token" value="([^"]*)"', answer.body) if answer else None
    return found[1].decode() if found else ""


async def many_files(target: Target) -> Answer | None:
    token = await token_of(target)
    parts = [part("token", token.encode()), *(part("u.files", b"%PDF-1.4 x", f"{n}.pdf") for n in range(300))]
    return await target.send(raw("POST", target.page, b"".join(parts) + b"--" + BOUNDARY + b"--\r\n", PARTS_HEADER))


def part(name: str, content: bytes, filename: str | None = None) -> bytes:
    named = f'; filename="{filename}"' if filename else ""
    head = f'Content-Disposition: form-data; name="{name}"{named}\r\n\r\n'.encode()
    return b"--" + BOUNDARY + b"\r\n" + head + content + b"\r\n"


async def chained_rules(target: Target) -> Answer | None:
    fields = [
        {"key": f"k{n}", "label": "x", "type": "text", "display_when": {"field_key": f"k{n - 1}", "op": "is_empty"}}
        for n in range(1, 6_000)
    ]
    return await target.api("POST", "/forms", {"title": "chain", "fields": fields})


async def many_options(target: Target) -> Answer | None:
    options = [f"option {n}" for n in range(20_000)]
    fields = [{"key": "k", "label": "x", "type": "select", "options": options}]
    return await target.api("POST", "/forms", {"title": "options", "fields": fields})


async def long_form(target: Target) -> Answer | None:
    return await target.api(
        "POST", f"/forms/{target.form_id}/submissions", {"submitter_email": "a@example.com", "data": {"k": "x"}}
    )


async def growing_numbers(target: Target) -> Answer | None:
    email = f"numbers-{target.random.randrange(30)}@example.com"
    return await target.api("POST", "/leads", {"email": email, "metadata": {f"n{uuid4().hex}": [1e308] * 8000}})


async def lead_page(target: Target) -> Answer | None:
    return await target.send(raw("GET", f"{PREFIX}/leads?limit=200", b"", f"X-Service-Key: {target.service_key}"))


async def strange_redirect(target: Target) -> Answer | None:
    settings = {"redirect_url": "https://ü..example/;script-src *"}
    return await target.api("POST", "/forms", {"title": "redirect", "settings": settings})


async def no_file_id(target: Target) -> Answer | None:
    token = await token_of(target)
    return await target.send(raw("POST", target.page, f"token={token}&f.files={'x' * 36}".encode(), FORM_HEADER))


async def pipelined(target: Target) -> Answer | None:
    """A thousand requests for a large page, none of whose answers is read."""
    one = raw("GET", f"{PREFIX}/classes?limit=200", b"", f"X-Service-Key: {target.service_key}")
    await target.hold(one * 1000)
    return None


async def stalled_body(target: Target) -> Answer | None:
    head = f"POST {PREFIX}/leads HTTP/1.1\r\nHost: x\r\nX-Service-Key: {target.service_key}\r\n{JSON_HEADER}\r\n"
    await target.hold(f"{head}Content-Length: 1000000\r\n\r\n{{".encode())
    return None


async def unwanted_body(target: Target) -> Answer | None:
    """A POST that is answered before its body has come, and whose body never comes."""
    await target.hold(b"POST /partner/v1/leads HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
    return None


async def wrong_keys(target: Target) -> Answer | None:
    answer = None
    for _ in range(20):
        answer = await target.send(raw("GET", f"{PREFIX}/studio", b"", f"X-Service-Key: {KEY_OF_NOBODY}"))
    return answer


async def replays(target: Target) -> Answer | None:
    return await target.api(
        "POST", f"/webhook-endpoints/{target.endpoint_id}/replay", {"since": "2026-01-01T00:00:00Z"}
    )


async def large_head(target: Target) -> Answer | None:
    return await target.send(raw("GET", "/partner/v1/studio", b"", f"X-Filler: {'x' * 70_000}"))


async def many_faults(target: Target) -> Answer | None:
    return await target.api("POST", "/leads", {f"unknown{n}": n for n in range(40_000)})


async def deep_json(target: Target) -> Answer | None:
    body = b'{"email":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    return await target.send(raw("POST", f"{PREFIX}/leads", body, f"X-Service-Key: {target.service_key}", JSON_HEADER))


ATTACKS: dict[str, Attack] = {
    each.__name__: each
    for each in (
        email_of_marks,
        page_email_of_marks,
        many_files,
        chained_rules,
        many_options,
        long_form,
        growing_numbers,
        lead_page,
        strange_redirect,
        no_file_id,
        pipelined,
        stalled_body,
        unwanted_body,
        wrong_keys,
        replays,
        large_head,
        many_faults,
        deep_json,
    )
}


async def attack(target: Target, name: str) -> None:
    answer = await ATTACKS[name](target)
    if answer is not None:
        target.statuses.setdefault(name, []).append(answer.status)


@dataclass
class Partner:
    """Reads and books at a steady pace; each of its requests must succeed."""

    arena: Arena
    class_ids: list[UUID]
    seconds: dict[bool, list[float]] = field(default_factory=lambda: {False: [], True: []})
    failures: list[int | None] = field(default_factory=list)

    async def work(self, until: float, *, abused: bool) -> None:
        client = Client(self.arena.port, self.arena.service_key, History())
        members = await self.arena.add_members(1, paid=None)
        while time.monotonic() < until:
            class_id = self.arena.random.choice(self.class_ids)
            for request in (
                Request("GET", f"{PREFIX}/classes/{class_id}", ""),
                Request("GET", f"{PREFIX}/classes?limit=50", ""),
                booking(class_id, members[0]),
            ):
                call = await client.send(request)
                self.seconds[abused].append(call.seconds)
                if call.status not in (200, 201, 409):
                    self.failures.append(call.status)
                await asyncio.sleep(PARTNER_PAUSE)
        client.close()

    def p99(self, abused: bool) -> float:
        return statistics.quantiles(self.seconds[abused], n=100)[98]

    @property
    def slower(self) -> float:
        return self.p99(True) / self.p99(False)


@dataclass
class Outcome:
    partner: Partner
    statuses: dict[str, list[int]]
    memory: list[int]

    @property
    def growth(self) -> int:
        return max(self.memory) - self.memory[0]

    @property
    def attacks(self) -> int:
        return sum(map(len, self.statuses.values()))


async def prepare(arena: Arena, service_key: str) -> Target:
    """The form that is abused: as large as a form may be, published, with a field for files."""
    fields: list[dict[str, object]] = [{"key": "files", "label": "Files", "type": "file_upload", "multiple": True}]
    fields += [
        {
            "key": f"k{n}",
            "label": "A field",
            "type": "text",
            "display_when": {"field_key": f"k{n - 1}", "op": "is_empty"},
        }
        if n
        else {"key": "k0", "label": "A field", "type": "text"}
        for n in range(199)
    ]
    slug = await arena.connection.fetchval("select slug from studios where studio_id = $1", arena.studio_id)
    target = Target(arena.port, service_key, slug, uuid4(), uuid4(), random.Random(arena.seed))
    made = await target.api(
        "POST", "/forms", {"title": "Abused", "slug": "abused", "status": "published", "fields": fields}
    )
    assert made is not None
    assert made.status == 201, made.body
    target.form_id = UUID(json.loads(made.body)["id"])
    endpoint = await target.api("POST", "/webhook-endpoints", {"url": "https://hooks.example.com/x"})
    assert endpoint is not None
    assert endpoint.status in (201, 422), endpoint.body
    if endpoint.status == 201:
        target.endpoint_id = UUID(json.loads(endpoint.body)["id"])
    return target


async def abuse(target: Target, until: float) -> None:
    """Every attack again and again, each after a pause."""

    async def repeat(name: str) -> None:
        await asyncio.sleep(target.random.random() * ATTACK_PAUSE)
        while time.monotonic() < until:
            await attack(target, name)
            await asyncio.sleep(ATTACK_PAUSE)

    await asyncio.gather(*(repeat(name) for name in ATTACKS))
    target.let_go()


async def abused(arena: Arena, service: Service, attackers_key: str, minutes: int) -> Outcome:
    """So many minutes of abuse, with calm in between."""
    classes = await arena.add_classes(50, 1000)
    await arena.connection.execute("analyze classes, members, memberships")
    target, partner = await prepare(arena, attackers_key), Partner(arena, classes)
    await partner.work(time.monotonic() + 3, abused=False)
    partner.seconds[False].clear()
    memory = [_memory(service)]
    for _ in range(minutes):
        await partner.work(time.monotonic() + CALM_SECONDS, abused=False)
        until = time.monotonic() + ABUSE_SECONDS
        await asyncio.gather(abuse(target, until), partner.work(until, abused=True))
        memory.append(_memory(service))
    await partner.work(time.monotonic() + CALM_SECONDS, abused=False)
    return Outcome(partner, target.statuses, memory)


def _memory(service: Service) -> int:
    return sum(psutil.Process(pid).memory_info().rss for pid in service.api_pids())
