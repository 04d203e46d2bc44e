"""Requests to the application without an HTTP client: raw bytes, and fast enough for thousands of requests."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from studiogate.api.app import PartnerApp
from tests.support.partner_api import PREFIX

REQUEST_ID = "one-id-for-all"


class DirectResponse(NamedTuple):
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    @property
    def raw(self) -> bytes:
        """Every byte of the response, headers included."""
        return b"\n".join([*(name + b": " + value for name, value in self.headers), self.body])

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str | None:
        """The code of a refusal, None for a success."""
        return self.json()["error"]["code"] if self.status >= 400 else None


async def ask(
    app: PartnerApp,
    method: str,
    path: str,
    key: str | None = None,
    *,
    query: Mapping[str, Any] | bytes | None = None,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
) -> DirectResponse:
    """Send one request with a fixed request id, so that equal responses are equal bytes. A query in bytes is sent as it
    is."""
    sent = {"x-request-id": REQUEST_ID, **{name.lower(): value for name, value in (headers or {}).items()}}
    if key is not None:
        sent["x-service-key"] = key
    if body is not None:
        sent.setdefault("content-type", "application/json")
    scope = {
        "type": "http",
        "method": method,
        "path": PREFIX + path,
        "query_string": query if isinstance(query, bytes) else _encoded(query or {}),
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        "client": ("127.0.0.1", 1),
    }
    messages: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"" if body is None else json.dumps(body).encode(), "more_body": False}

    async def send(message: Any) -> None:
        messages.append(message)

    await app(scope, receive, send)
    return DirectResponse(messages[0]["status"], tuple(messages[0]["headers"]), messages[1]["body"])


def _encoded(query: Mapping[str, Any]) -> bytes:
    return urlencode({name: str(value) for name, value in query.items()}).encode()
