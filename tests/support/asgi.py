"""Requests as the server passes them to the application, without an HTTP client that normalizes them first."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from studiogate.api.framework.errors import RETRYABLE, STATUS
from studiogate.domain.refusals import Code

PREFIX = "/partner/v1"
NO_ONE = "192.0.2.1"
ERROR_MEMBERS = ["type", "code", "message", "param", "request_id", "retryable", "doc_url", "details"]
SECURITY = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "strict-transport-security": "max-age=31536000",
    "cache-control": "no-store",
}


@dataclass
class AsgiResponse:
    """The application's response."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        found = [value for each, value in self.headers if each == name.lower()]
        assert len(found) <= 1, f"{name} is sent {len(found)} times"
        return found[0] if found else None

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json()["error"]["code"])


async def ask(
    app: Any,
    method: str,
    target: str,
    *,
    key: str | None = None,
    headers: Iterable[tuple[str, str | bytes]] = (),
    body: bytes | Sequence[bytes] = b"",
    address: str = NO_ONE,
) -> AsgiResponse:
    """Send one request; ``target`` is as in the request line, a path below the prefix unless it starts with //."""
    path, _, query = target.partition("?")
    path = path[1:] if path.startswith("//") else PREFIX + path
    chunks = [body] if isinstance(body, bytes) else list(body)
    waiting = [
        {"type": "http.request", "body": chunk, "more_body": number < len(chunks) - 1}
        for number, chunk in enumerate(chunks)
    ]
    given = [("x-service-key", key)] if key is not None else []
    scope = {
        "type": "http",
        "method": method,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), _bytes(value)) for name, value in [*given, *headers]],
        "client": (address, 40000),
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, rest = sent[0], sent[1:]
    received = [(name.decode(), value.decode("latin-1")) for name, value in start["headers"]]
    return AsgiResponse(start["status"], received, b"".join(message.get("body", b"") for message in rest))


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("latin-1")


async def post(app: Any, target: str, key: str | None, body: object, *headers: tuple[str, str]) -> AsgiResponse:
    """Post a JSON body; bytes are sent unchanged, because they are already serialized."""
    serialized = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await ask(
        app, "POST", target, key=key, headers=[("content-type", "application/json"), *headers], body=serialized
    )


def assert_common(response: AsgiResponse) -> None:
    """Assert the headers that every response carries."""
    assert response.header("api-version") == "2026-08-02"
    assert response.header("x-request-id")
    for name, value in SECURITY.items():
        assert response.header(name) == value, name
    assert "default-src 'none'" in (response.header("content-security-policy") or "")
    assert not [name for name, _ in response.headers if name.startswith("access-control-")]
    assert response.header("server") is None


def assert_refused(response: AsgiResponse, code: Code | str, *, param: str | None = None) -> dict[str, Any]:
    """Assert the exact shape of the error body, and return its error member."""
    code = Code(code)
    body = response.json()
    assert response.status == STATUS[code][1], response.body
    assert list(body) == (["detail", "error"] if code is Code.VALIDATION_ERROR else ["error"])
    error: dict[str, Any] = body["error"]
    assert list(error) == ERROR_MEMBERS
    assert error["code"] == code.value
    assert error["type"] == STATUS[code][0].value
    assert error["message"] == code.message
    assert error["request_id"] == response.header("x-request-id")
    assert error["retryable"] is (code in RETRYABLE)
    assert error["doc_url"] == f"/docs/errors#{code.value}"
    assert isinstance(error["details"], dict)
    assert error["param"] is None or isinstance(error["param"], str)
    if param is not None:
        assert error["param"] == param
    for fault in body.get("detail", []):
        assert list(fault) == ["loc", "msg", "type"]
    assert response.header("content-type") == "application/json"
    assert response.header("content-length") == str(len(response.body))
    assert (response.header("www-authenticate") == 'ApiKey realm="partner"') is (response.status == 401)
    assert (response.header("retry-after") is not None) is (code in RETRYABLE)
    assert int(response.header("retry-after") or 1) >= 1
    assert_common(response)
    return error


def shown(text: str) -> str:
    return ascii(text)[:40]
