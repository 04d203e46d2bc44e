"""Attacks by anonymous visitors and by one key, each of which once stopped, filled or misused the service.

Run as a program, this file carries them out for some seconds and prints the status codes. It runs as a separate
process of low priority and sends prepared requests: real attackers use other machines, and must not take CPU time from
the partner whose requests are measured.
"""

import asyncio
import contextlib
import json
import os
import random
import re
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from functools import cache
from uuid import uuid4

from tests.support.races.client import PREFIX, Answer, exchange

TIMEOUT_SECONDS = 30.0
PAUSE = 5.0
MARKS = "e\u0301\u0323" * 40_000
BOUNDARY = b"abuse-boundary"
KEY_OF_NOBODY = "sgk_live_00000000_" + "0" * 49
JSON_HEADER = "Content-Type: application/json"
FORM_HEADER = "Content-Type: application/x-www-form-urlencoded"
PARTS_HEADER = f"Content-Type: multipart/form-data; boundary={BOUNDARY.decode()}"
# Rates are limited per address: a single attacker would soon be refused without causing any work.
ADDRESSES = [f"127.0.0.{number}" for number in range(2, 10)]


@dataclass
class AttackTarget:
    """What the attackers know: the public address of one form, and a key of their own."""

    port: int
    service_key: str
    slug: str
    form_id: str = ""
    endpoint_id: str = ""
    seed: int = 0

    @property
    def page(self) -> str:
        return f"/f/{self.slug}/abused"


@dataclass
class Attacker:
    target: AttackTarget
    statuses: dict[str, list[int]] = field(default_factory=dict)
    held: list[asyncio.StreamWriter] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.target.seed)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        address = (self.random.choice(ADDRESSES), 0)
        return await asyncio.open_connection("127.0.0.1", self.target.port, local_addr=address)

    async def send(self, raw: bytes) -> Answer | None:
        """Send one request on a new connection; return None if the service closed it without a response."""
        reader, writer = await self.connect()
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await exchange(reader, writer, raw)
        except (OSError, EOFError):
            return None
        finally:
            writer.transport.abort()

    async def call(self, method: str, path: str, body: bytes = b"") -> Answer | None:
        return await self.send(
            raw(method, PREFIX + path, body, f"X-Service-Key: {self.target.service_key}", JSON_HEADER)
        )

    async def hold(self, sent: bytes) -> None:
        """Send these bytes and leave the connection open; beyond a limit, the oldest ones are closed."""
        _, writer = await self.connect()
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

    async def attack(self, name: str) -> None:
        answer = await ATTACKS[name](self)
        if answer is not None:
            self.statuses.setdefault(name, []).append(answer.status)


Attack = Callable[[Attacker], Awaitable[Answer | None]]


def raw(method: str, path: str, body: bytes, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


@cache
def written(make: Callable[[], object]) -> bytes:
    """Return a body as JSON, serialized once."""
    return json.dumps(make()).encode()


async def email_of_marks(attacker: Attacker) -> Answer | None:
    return await attacker.call("POST", "/leads", written(_lead_of_marks))


def _lead_of_marks() -> object:
    return {"email": f"{MARKS}@example.com"}


async def page_email_of_marks(attacker: Attacker) -> Answer | None:
    token = await token_of(attacker)
    body = f"token={token}&submitter_email={MARKS}".encode()
    return await attacker.send(raw("POST", attacker.target.page, body, FORM_HEADER))


async def token_of(attacker: Attacker) -> str:
    answer = await attacker.send(raw("GET", attacker.target.page, b""))
    found = re.search(rb'name="token" value="([^"]*)"', answer.body) if answer else None
    return found[1].decode() if found else ""


async def many_files(attacker: Attacker) -> Answer | None:
    body = part("token", (await token_of(attacker)).encode()) + _three_hundred_files()
    return await attacker.send(raw("POST", attacker.target.page, body, PARTS_HEADER))


@cache
def _three_hundred_files() -> bytes:
    parts = [part("u.files", b"%PDF-1.4 x", f"{number}.pdf") for number in range(300)]
    return b"".join(parts) + b"--" + BOUNDARY + b"--\r\n"


def part(name: str, content: bytes, filename: str | None = None) -> bytes:
    named = f'; filename="{filename}"' if filename else ""
    head = f'Content-Disposition: form-data; name="{name}"{named}\r\n\r\n'.encode()
    return b"--" + BOUNDARY + b"\r\n" + head + content + b"\r\n"


def chained(count: int) -> list[dict[str, object]]:
    """Return fields whose visibility each depends on the field before it."""
    first: dict[str, object] = {"key": "k0", "label": "A field", "type": "text"}
    rules = ({"field_key": f"k{number - 1}", "op": "is_empty"} for number in range(1, count))
    return [first, *({**first, "key": f"k{n}", "display_when": rule} for n, rule in enumerate(rules, 1))]


async def chained_rules(attacker: Attacker) -> Answer | None:
    return await attacker.call("POST", "/forms", written(_chained_form))


def _chained_form() -> object:
    return {"title": "chain", "fields": chained(6_000)}


async def many_options(attacker: Attacker) -> Answer | None:
    return await attacker.call("POST", "/forms", written(_form_with_options))


def _form_with_options() -> object:
    options = [f"option {number}" for number in range(20_000)]
    return {"title": "options", "fields": [{"key": "k", "label": "x", "type": "select", "options": options}]}


async def long_form(attacker: Attacker) -> Answer | None:
    body = json.dumps({"submitter_email": "a@example.com", "data": {"k": "x"}}).encode()
    return await attacker.call("POST", f"/forms/{attacker.target.form_id}/submissions", body)


async def growing_numbers(attacker: Attacker) -> Answer | None:
    """Send numbers that are short on the wire and long when stored."""
    lead = f'"email":"numbers-{attacker.random.randrange(30)}@example.com","metadata":{{"n{uuid4().hex}":'
    return await attacker.call("POST", "/leads", b"{" + lead.encode() + written(_numbers) + b"}}")


def _numbers() -> object:
    return [1e308] * 8000


async def lead_page(attacker: Attacker) -> Answer | None:
    return await attacker.call("GET", "/leads?limit=200")


async def strange_redirect(attacker: Attacker) -> Answer | None:
    return await attacker.call("POST", "/forms", written(_form_with_a_strange_redirect))


def _form_with_a_strange_redirect() -> object:
    return {"title": "redirect", "settings": {"redirect_url": "https://\u00fc..example/;script-src *"}}


async def no_file_id(attacker: Attacker) -> Answer | None:
    body = f"token={await token_of(attacker)}&f.files={'x' * 36}".encode()
    return await attacker.send(raw("POST", attacker.target.page, body, FORM_HEADER))


async def pipelined(attacker: Attacker) -> Answer | None:
    """Send a thousand requests for a large page, and read no response."""
    one = raw("GET", f"{PREFIX}/classes?limit=200", b"", f"X-Service-Key: {attacker.target.service_key}")
    await attacker.hold(one * 1000)
    return None


async def stalled_body(attacker: Attacker) -> Answer | None:
    head = (
        f"POST {PREFIX}/leads HTTP/1.1\r\nHost: x\r\nX-Service-Key: {attacker.target.service_key}\r\n{JSON_HEADER}\r\n"
    )
    await attacker.hold(f"{head}Content-Length: 1000000\r\n\r\n{{".encode())
    return None


async def unwanted_body(attacker: Attacker) -> Answer | None:
    """Send a POST that is answered before its body arrives, and never send the body."""
    await attacker.hold(b"POST /partner/v1/leads HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
    return None


async def wrong_keys(attacker: Attacker) -> Answer | None:
    answer = None
    for _ in range(20):
        answer = await attacker.send(raw("GET", f"{PREFIX}/studio", b"", f"X-Service-Key: {KEY_OF_NOBODY}"))
    return answer


async def replays(attacker: Attacker) -> Answer | None:
    path = f"/webhook-endpoints/{attacker.target.endpoint_id}/replay"
    return await attacker.call("POST", path, b'{"since": "2026-01-01T00:00:00Z"}')


async def large_head(attacker: Attacker) -> Answer | None:
    return await attacker.send(raw("GET", "/partner/v1/studio", b"", f"X-Filler: {'x' * 70_000}"))


async def many_faults(attacker: Attacker) -> Answer | None:
    return await attacker.call("POST", "/leads", written(_unknown_fields))


def _unknown_fields() -> object:
    return {f"unknown{number}": number for number in range(40_000)}


async def deep_json(attacker: Attacker) -> Answer | None:
    return await attacker.call("POST", "/leads", b'{"email":' + b"[" * 200_000 + b"]" * 200_000 + b"}")


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


async def prepare(target: AttackTarget) -> Attacker:
    """Create the form to abuse: as large as a form may be, published, with a file field."""
    attacker = Attacker(target)
    fields = [{"key": "files", "label": "Files", "type": "file_upload", "multiple": True}, *chained(199)]
    body = {"title": "Abused", "slug": "abused", "status": "published", "fields": fields}
    made = await attacker.call("POST", "/forms", json.dumps(body).encode())
    assert made is not None
    assert made.status == 201, made.body
    target.form_id = json.loads(made.body)["id"]
    endpoint = await attacker.call("POST", "/webhook-endpoints", b'{"url": "https://hooks.example.com/x"}')
    assert endpoint is not None
    assert endpoint.status in (201, 422), endpoint.body
    target.endpoint_id = json.loads(endpoint.body)["id"] if endpoint.status == 201 else str(uuid4())
    return attacker


async def carry_out(target: AttackTarget, seconds: float) -> dict[str, list[int]]:
    """Run every attack repeatedly, at least once, with a pause after each."""
    attacker, until = Attacker(target), time.monotonic() + seconds

    async def repeat(name: str) -> None:
        await asyncio.sleep(attacker.random.random() * PAUSE)
        await attacker.attack(name)
        while time.monotonic() < until:
            await asyncio.sleep(PAUSE)
            await attacker.attack(name)

    await asyncio.gather(*(repeat(name) for name in ATTACKS))
    attacker.let_go()
    return attacker.statuses


async def in_own_process(target: AttackTarget, seconds: float) -> dict[str, list[int]]:
    """Carry out the attacks in another process; return the statuses by attack."""
    arguments = (sys.executable, "-m", "tests.support.races.attacks", json.dumps(asdict(target)), str(seconds))
    process = await asyncio.create_subprocess_exec(*arguments, stdout=asyncio.subprocess.PIPE)
    try:
        output, _ = await process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    assert process.returncode == 0
    statuses: dict[str, list[int]] = json.loads(output)
    return statuses


def main() -> None:
    os.nice(10)
    target, seconds = AttackTarget(**json.loads(sys.argv[1])), float(sys.argv[2])
    print(json.dumps(asyncio.run(carry_out(target, seconds))))


if __name__ == "__main__":
    main()
