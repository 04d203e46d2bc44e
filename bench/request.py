"""A request of the benchmark: the same bytes for every server that is measured."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

IDEMPOTENCY_KEY = b"idempotency-key"
STATUS = {"GET": 200, "POST": 201, "DELETE": 200}


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: str = ""
    idempotency_key: str | None = None
    body: bytes = b""

    def headers(self, service_key: str) -> list[tuple[bytes, bytes]]:
        named = [(b"host", b"localhost"), (b"x-service-key", service_key.encode())]
        if self.idempotency_key is not None:
            named.append((IDEMPOTENCY_KEY, self.idempotency_key.encode()))
        if self.method != "GET":
            named.append((b"content-length", str(len(self.body)).encode()))
        if self.body:
            named.append((b"content-type", b"application/json"))
        return named

    def raw(self, service_key: str) -> bytes:
        target = f"{self.path}?{self.query}" if self.query else self.path
        lines = [b"%s: %s" % header for header in self.headers(service_key)]
        return b"\r\n".join([f"{self.method} {target} HTTP/1.1".encode(), *lines, b"", self.body])


def given_values(path: str, query: bytes, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> Mapping[str, Any]:
    """Return every value in a request, by name."""
    given: dict[str, Any] = {"id": path.rpartition("/")[2]}
    if query:  # the benchmark's queries contain no percent-encoding
        for part in query.decode().split("&"):
            name, _, given[name] = part.partition("=")
    if body:
        given.update(json.loads(body))
    for header, value in headers:
        if header == IDEMPOTENCY_KEY:
            given["key"] = value.decode()
    return given
