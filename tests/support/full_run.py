"""One run through all functions of the service, with successes and failures, and a secret in every text it accepts.

The steps return nothing: their purpose is the log that they produce. Where a response shows whether a step did what it
should, its status is asserted.
"""

import asyncio
import json
import os
import re
import secrets as random
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import asyncpg
import httpx2

from bench.service import Service, wait_for
from studiogate.api.app import ROUTES
from studiogate.domain import keys
from studiogate.domain.forms.signed_links import Link, make_token, sign
from studiogate.domain.webhooks.deliveries import new_secret
from tests.support.databases import run
from tests.support.deadlines import LONG
from tests.support.secret_search import Secrets
from tests.support.seed import Studio, issue_key

PREFIX = "/partner/v1"
PDF = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n"
# Constraints that no row of the run's second half meets: what is refused is refused by PostgreSQL, with its details.
SABOTAGE = [
    "alter table leads add constraint no_more check (false) not valid",
    "alter table form_submissions add constraint no_more check (false) not valid",
    "create unique index no_twins on members (studio_id, phone) where created_at > now_before_the_run()",
    "alter table webhook_attempts add constraint no_more check (false) not valid",
    "alter table mails add constraint no_more check (attempts = 0) not valid",
]


@dataclass
class FullRun:
    service: Service
    database_url: str
    data: Path
    studio: Studio
    key: str
    secrets: Secrets
    receiver_url: str

    # How it is asked.

    @cached_property
    def client(self) -> httpx2.Client:
        return httpx2.Client(base_url=f"http://127.0.0.1:{self.service.port}", timeout=LONG)

    def ask(self, method: str, path: str, body: Any = None, key: str | None = None, **headers: str) -> httpx2.Response:
        """As a partner asks: again, if the service is overloaded, which it is on a machine that is busy enough."""
        return self._until_served(lambda: self.ask_once(method, path, body, key, **headers))

    def _until_served(self, send: Callable[[], httpx2.Response]) -> httpx2.Response:
        for _ in range(20):
            response = send()
            if response.status_code != 503:
                break
        return response

    def ask_once(
        self, method: str, path: str, body: Any = None, key: str | None = None, **headers: str
    ) -> httpx2.Response:
        """One request; ``body`` is JSON, or bytes as they are."""
        given = {"X-Service-Key": self.key if key is None else key, **headers}
        sent = {"content": body} if isinstance(body, bytes) else {"json": body} if body is not None else {}
        if isinstance(body, bytes):
            given.setdefault("Content-Type", "application/json")
        url = path if path.startswith("/f/") else PREFIX + path
        return self.client.request(method, url, headers=given, **sent)

    def raw(self, content: bytes) -> None:
        with socket.create_connection(("127.0.0.1", self.service.port), timeout=LONG) as connection:
            connection.sendall(content)
            connection.settimeout(0.3)
            try:
                while connection.recv(65_536):
                    pass
            except (TimeoutError, ConnectionError):
                pass

    def sql(self, *statements: str) -> None:
        async def execute() -> None:
            connection = await asyncpg.connect(self.database_url)
            try:
                for statement in statements:
                    await connection.execute(statement)
            finally:
                await connection.close()

        run(execute())

    def value(self, query: str, *values: Any) -> Any:
        async def fetch() -> Any:
            connection = await asyncpg.connect(self.database_url)
            try:
                return await connection.fetchval(query, *values)
            finally:
                await connection.close()

        return run(fetch())

    # What is done.

    def everything(self) -> None:
        self.reads()
        self.wrong_keys()
        self.secrets_in_odd_places()
        self.people()
        self.bookings()
        form = self.form()
        self.submissions(form)
        self.hosted_pages(form)
        self.webhooks()
        self.malformed_bodies()
        self.waiting_for_locks()
        self.worker_says("mail not sent")  # nobody takes it; under the sabotage it is not even tried
        with self.sabotaged():
            self.refused_by_postgresql(form)
            self.worker_says("deliveries not settled")  # the member's webhooks
        self.postgresql_killed()
        self.api_process_killed()

    def reads(self) -> None:
        """Every operation that reads, whole and with filters that hold people's data."""
        for route in ROUTES:
            if "GET" in (route.methods or ()):
                assert self.ask("GET", self._filled(route.path)).status_code in (200, 404), route.path
        for word in ("leads", "members"):
            assert self.ask("GET", f"/{word}?email={quote(self.secrets.email())}").status_code == 200

    def _filled(self, path: str) -> str:
        for name, ids in self.studio.ids.items():
            path = path.replace("{" + name + "_id}", str(ids[0]))
        return re.sub(r"\{\w+_id\}", str(uuid4()), path)  # nothing of that kind: 404

    def wrong_keys(self) -> None:
        own_id = self.key.split("_")[2]
        guessed = self.secrets.keep_key("guessed key", keys.new_key(own_id, test=False))
        mistyped = self.secrets.keep_key("mistyped key", self.key[:-1] + ("a" if self.key[-1] != "a" else "b"))
        unknown = self.secrets.keep_key("unknown key", keys.new_key("zzzzzzzz", test=False))
        expired = self.secrets.keep_key("expired key", run(self._expired_key()))
        for key in (
            guessed,
            mistyped,
            unknown,
            expired,
            self.secrets.keep("password", "hunter2-" + random.token_hex(8)),
        ):
            assert self.ask("GET", "/studio", key=key).status_code == 401
            assert self.ask("POST", "/leads", {"email": self.secrets.email()}, key=key).status_code == 401

    async def _expired_key(self) -> str:
        connection = await asyncpg.connect(self.database_url)
        try:
            past = datetime.now(UTC) - timedelta(hours=1)
            return await issue_key(connection, self.studio, expires_at=past)
        finally:
            await connection.close()

    def secrets_in_odd_places(self) -> None:
        """A caller who confuses header, path, query and method."""
        email, webhook_secret = self.secrets.email(), self.secrets.keep("webhook secret", new_secret())
        for value in (self.key, email, webhook_secret):
            for path in (f"/{quote(value)}", f"/members/{quote(value)}", f"/studio?{quote(value)}={quote(value)}"):
                self.ask("GET", path)
            self.ask("GET", f"/f/{quote(value)}/{quote(value)}?link={quote(value)}&{quote(value)}")
            for header in ("X-Request-Id", "User-Agent", "Cookie", "Authorization", "Referer", "Idempotency-Key"):
                self.ask("GET", "/studio", **{header: value})
                self.ask("POST", "/bookings", {value: value}, **{header: value})
        self.ask(self.key.replace("_", "-"), "/studio")
        self.secrets.keep("key as a method", self.key.replace("_", "-"))
        self.raw(f"{self.key} / HTTP/1.1\r\nX-Service-Key: {self.key}\r\n\r\n".encode())
        self.raw(f"GET {email} {self.key}\r\n\r\n{email}".encode())
        self.raw(f"POST {PREFIX}/leads HTTP/1.1\r\nX-Service-Key: {self.key}\r\nContent-Length: 99\r\n".encode())
        self.raw(b"GET / HTTP/1.1\r\nX-Service-Key: " + self.key.encode() * 2000 + b"\r\n\r\n")

    def people(self) -> None:
        person = self.person()
        made = self.ask("POST", "/members", person)
        assert made.status_code == 201, made.text
        assert self.ask("POST", "/members", person).status_code == 409
        assert self.ask("POST", "/members", {**person, "phone": person["phone"] * 2}).status_code == 422
        for domain in ("münchen.example", "xn--mnchen-3ya.example"):  # encoded by modules that load on first use
            assert self.ask("POST", "/leads", {"email": f"{random.token_hex(4)}@{domain}"}).status_code == 201
        note = self.secrets.text("note")
        lead = self.ask("POST", "/leads", {**self.person(), "metadata": {"note": note}}).json()
        changed = {"notes": note, "first_name": self.secrets.text("name"), "phone": self.secrets.phone()}
        assert self.ask("PATCH", f"/leads/{lead['id']}", changed).status_code == 200

    def person(self) -> dict[str, str]:
        return {
            "email": self.secrets.email(),
            "first_name": self.secrets.text("name"),
            "last_name": self.secrets.text("name"),
            "phone": self.secrets.phone(),
        }

    def bookings(self) -> None:
        body = {"class_id": str(self.studio.first("class")), "member_id": str(self.studio.ids["member"][2])}
        once = self.secrets.text("idempotency key").replace(" ", "-")
        self.secrets.keep("idempotency key", once)
        booked = self.ask("POST", "/bookings", body, **{"Idempotency-Key": once})
        assert booked.status_code == 201, booked.text
        again = self.ask("POST", "/bookings", body, **{"Idempotency-Key": once})
        assert again.headers["idempotent-replayed"] == "true"
        other = {**body, "join_waitlist": True}
        assert self.ask("POST", "/bookings", other, **{"Idempotency-Key": once}).status_code == 409
        assert self.ask("POST", "/bookings", body, **{"Idempotency-Key": once + "2"}).status_code == 409
        cancelled = self.ask("DELETE", f"/bookings/{booked.json()['id']}", **{"Idempotency-Key": once + "3"})
        assert cancelled.status_code == 200, cancelled.text

    def form(self) -> dict[str, Any]:
        fields = [
            {"key": "story", "label": "Story", "type": "text"},
            {"key": "call", "label": "Call", "type": "phone"},
            {"key": "papers", "label": "Papers", "type": "file_upload"},
        ]
        desk = self.secrets.email("notified address")
        settings = {
            "notify_on_submit": True,
            "notification_emails": [desk],
            "send_confirmation_email": True,
            "create_lead": True,
            "redirect_url": "https://bücher.example/ä",
        }
        body = {"title": "Run", "slug": "run", "fields": fields, "settings": settings, "status": "published"}
        made = self.ask("POST", "/forms", body)
        assert made.status_code == 201, made.text
        return dict(made.json())

    def submission(self) -> dict[str, Any]:
        answers = {"story": self.secrets.text("answer"), "call": self.secrets.phone()}
        name = self.secrets.text("name")
        return {"submitter_email": self.secrets.email(), "submitter_name": name, "data": answers}

    def submissions(self, form: dict[str, Any]) -> None:
        path = f"/forms/{form['id']}/submissions"
        sent = self.ask("POST", path, self.submission())
        assert sent.status_code == 201, sent.text
        wrong = self.submission()
        wrong["data"] |= {"call": self.secrets.text("answer"), self.secrets.text("unknown key"): "x"}
        assert self.ask("POST", path, wrong).status_code == 422
        for content in (PDF + self.secrets.text("file's content").encode(), b"<script>" + self.key.encode()):
            boundary, filename = random.token_hex(8), self.secrets.text("filename")
            parts = (
                f'--{boundary}\r\nContent-Disposition: form-data; name="field_key"\r\n\r\npapers\r\n--{boundary}\r\n'
            )
            parts += f'Content-Disposition: form-data; name="file"; filename="{filename}.pdf"\r\n\r\n'
            body = parts.encode() + content + f"\r\n--{boundary}--\r\n".encode()
            kind = f"multipart/form-data; boundary={boundary}"
            response = self.ask("POST", f"/forms/{form['id']}/uploads", body, **{"Content-Type": kind})
            assert response.status_code in (201, 422), response.text

    def hosted_pages(self, form: dict[str, Any]) -> None:
        assert self.ask("GET", "/f/north/run").status_code == 200
        secret = self.value("select link_secret from studio_secrets where studio_id = $1", self.studio.studio_id)
        minute_ago = datetime.now(UTC) - timedelta(minutes=1)
        token = self.secrets.keep("page's token", make_token(secret, _id(form), minute_ago))
        link = sign(secret, _id(form), Link(self.studio.first("member"), minute_ago + timedelta(hours=1)))
        self.secrets.keep("member's link", link)
        self.ask("GET", f"/f/north/run?link={link}")
        assert self.post_page(token).status_code == 303
        file = {"X-Form-Token": token, "X-File-Name": quote(self.secrets.text("filename"))}
        assert self.ask("POST", "/f/north/run/uploads?field=papers", PDF, **file).status_code == 201
        assert self.post_page(self.secrets.keep("forged token", random.token_hex(12))).status_code == 422

    def post_page(self, token: str) -> httpx2.Response:
        given = self.submission()
        values = {
            "token": token,
            "step": "0",
            "action": "send",
            "website": "",
            "shown": ["f.story", "f.call", "f.papers"],
            "submitter_email": given["submitter_email"],
            "submitter_name": given["submitter_name"],
            **{f"f.{name}": value for name, value in given["data"].items()},
        }
        return self._until_served(lambda: self.client.post("/f/north/run", data=values))

    def webhooks(self) -> None:
        """Receivers that take it, refuse it with its own body, hang up, and lead elsewhere; and a host that is none."""
        for path in ("ok", "echo", "hang-up", "redirect"):
            token = self.secrets.keep("token in a webhook's URL", random.token_hex(12))
            made = self.ask("POST", "/webhook-endpoints", {"url": f"{self.receiver_url}/{path}?token={token}"})
            assert made.status_code == 201, made.text
            self.secrets.keep("webhook secret", made.json()["secret"])
            rotated = self.ask("POST", f"/webhook-endpoints/{made.json()['id']}/rotate-secret")
            self.secrets.keep("webhook secret", rotated.json()["secret"])
            assert self.ask("POST", f"/webhook-endpoints/{made.json()['id']}/test").status_code == 202
        password = self.secrets.keep("password in a URL", random.token_hex(12))
        for url in (f"https://user:{password}@example.com/", f"https://{password}.invalid/{password}", password):
            self.ask("POST", "/webhook-endpoints", {"url": url})
        assert self.ask("POST", "/members", self.person()).status_code == 201
        wait_for(self._all_tried, LONG, "webhooks were not tried")

    def _all_tried(self) -> bool:
        return bool(self.value("select count(distinct endpoint_id) >= 4 from webhook_deliveries where attempts > 0"))

    def malformed_bodies(self) -> None:
        email = self.secrets.email()
        whole = json.dumps({"email": email, "first_name": self.key})
        for body in (
            whole[:-3],
            whole + email,
            f'{{"email":"{email}","email":"{email}"}}',
            f'"{email}"',
            f'{{"{email}":"{self.key}"}}',
            f'{{"email":"{email}\\u0000"}}',
            f'{{"email":NaN,"first_name":"{email}"}}',
            "[" * 50 + f'"{email}"' + "]" * 50,
            f'{{"email":"{email}","first_name":"{"x" * 1_100_000}"}}',
        ):
            for path in ("/leads", "/members", "/bookings", "/webhook-endpoints"):
                assert 400 <= self.ask("POST", path, body.encode()).status_code < 500, body[:80]
        assert self.ask("POST", "/leads", email.encode("utf-16")).status_code == 400
        assert self.ask("POST", "/leads", whole.encode(), **{"Content-Type": f"text/{email}"}).status_code == 415

    def waiting_for_locks(self) -> None:
        """A statement that takes over a second is logged by PostgreSQL; one that waits too long is refused."""
        assert self._status_behind_a_lock("1 min") == 503
        # On a busy machine the lock may be released after the request was refused: another one is sent.
        statuses = list[int]()
        while 201 not in statuses:
            statuses.append(self._status_behind_a_lock("1.2 s"))
            assert {*statuses} <= {201, 503}
            assert len(statuses) < 20, "the lock is always released too late"

    def _status_behind_a_lock(self, waited: str) -> int:
        with self.locked("leads", waited):
            return self.ask_once("POST", "/leads", self.person()).status_code

    @contextmanager
    def locked(self, table: str, waited: str) -> Iterator[None]:
        """Until somebody has waited this long for it, or the block ends."""
        held, done = threading.Event(), threading.Event()
        somebody_did = f"select from pg_locks where clock_timestamp() - waitstart > interval '{waited}'"

        async def hold() -> None:
            connection = await asyncpg.connect(self.database_url)
            async with connection.transaction():
                await connection.execute(f"lock table {table} in access exclusive mode")
                held.set()
                while not done.is_set() and not await connection.fetch(somebody_did):
                    await asyncio.sleep(0.02)
            await connection.close()

        thread = threading.Thread(target=lambda: run(hold()))
        thread.start()
        try:
            assert held.wait(LONG), "the table could not be locked"
            yield
        finally:
            done.set()
            thread.join()

    @contextmanager
    def sabotaged(self) -> Iterator[None]:
        now = self.value("select clock_timestamp()::text")
        begin = "create function now_before_the_run() returns timestamptz immutable language sql as "
        self.sql(f"{begin} $$ select '{now}'::timestamptz $$", *SABOTAGE)
        yield
        tables = ("leads", "form_submissions", "webhook_attempts", "mails")
        self.sql(*(f"alter table {table} drop constraint no_more" for table in tables), "drop index no_twins")

    def refused_by_postgresql(self, form: dict[str, Any]) -> None:
        """Faults of ours, as the caller must see them: a 500 that says nothing."""
        first, second = self.person(), self.person()
        assert self.ask("POST", "/members", first).status_code == 201
        for path, body in (
            ("/members", {**second, "phone": first["phone"]}),
            ("/leads", self.person()),
            (f"/forms/{form['id']}/submissions", self.submission()),
        ):
            response = self.ask("POST", path, body)
            assert response.status_code == 500, response.text
            assert self.secrets.found_in(response.text) == set()
        secret = self.value("select link_secret from studio_secrets where studio_id = $1", self.studio.studio_id)
        token = make_token(secret, _id(form), datetime.now(UTC) - timedelta(minutes=1))
        assert self.post_page(token).status_code == 500

    def worker_says(self, words: str) -> None:
        wait_for(lambda: words in self.service.log.read_text(), LONG, f"the worker never said: {words}")

    def postgresql_killed(self) -> None:
        """By kill -9, while requests are under way."""
        postmaster = int((self.data / "postgres" / "postmaster.pid").read_text().split("\n")[0])
        os.kill(postmaster, signal.SIGKILL)
        for status in (503, 201):
            wait_for(partial(self._answers_a_lead, status), LONG, f"no answer was {status}")

    def _answers_a_lead(self, status: int) -> bool:
        return self.ask_once("POST", "/leads", self.person()).status_code == status

    def api_process_killed(self) -> None:
        os.kill(self.service.api_pids()[0], signal.SIGKILL)
        wait_for(lambda: "process died" in self.service.log.read_text(), LONG, "nobody noticed")
        wait_for(lambda: _quietly(lambda: self.ask("GET", "/studio")), LONG, "no API process answered")


def _quietly(work: Callable[[], httpx2.Response]) -> bool:
    try:
        return work().status_code == 200
    except httpx2.HTTPError:
        return False


def _id(form: dict[str, Any]) -> UUID:
    return UUID(form["id"])
