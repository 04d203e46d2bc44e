"""Turn refusals into responses. ``texts/errors`` is the only table that maps codes to HTTP statuses."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from studiogate import API_VERSION
from studiogate.api.framework.faults import worded
from studiogate.domain.refusals import Code, Refusal, RefusalType
from studiogate.web import sending
from studiogate.web.response import Answer, Header
from studiogate.web.sending import CommonHeaders

_TEXTS = Path(__file__).parent / "texts" / "errors"


@dataclass(frozen=True, slots=True)
class Detail:
    """A member of ``details``."""

    text: str
    example: object


@dataclass(frozen=True, slots=True)
class Entry:
    """One code: its HTTP status, what it means and why, what to do, whether a retry helps; who gets it."""

    status: int
    meaning: str
    action: str
    retry: str
    details: Mapping[str, Detail]
    param: str | None = None
    retryable: bool = False
    of_console: bool = False


@dataclass(frozen=True, slots=True)
class Chapter:
    """The codes of one type."""

    title: str
    intro: str
    entries: Mapping[Code, Entry]


def _chapter(kind: RefusalType) -> Chapter:
    text = tomllib.loads((_TEXTS / f"{kind.value}.toml").read_text(encoding="utf-8"))
    title, intro, entries = text.pop("title"), text.pop("intro"), {}
    for name, each in text.items():
        details = {detail: Detail(**facts) for detail, facts in each.pop("details", {}).items()}
        entries[Code(name)] = Entry(**each, details=details)
    return Chapter(title, intro, entries)


CHAPTERS: Mapping[RefusalType, Chapter] = {kind: _chapter(kind) for kind in RefusalType}
STATUS: Mapping[Code, tuple[RefusalType, int]] = {
    code: (kind, entry.status) for kind, chapter in CHAPTERS.items() for code, entry in chapter.entries.items()
}
RETRYABLE = {code for chapter in CHAPTERS.values() for code, entry in chapter.entries.items() if entry.retryable}
COMMON = CommonHeaders(
    ((b"api-version", API_VERSION.encode()), *sending.on_every_answer()), ((b"content-type", b"application/json"),)
)
AUTHENTICATE: Header = (b"www-authenticate", b'ApiKey realm="partner"')
RETRY_AFTER_SECONDS = 1
MAX_FAULTS = 1000  # serializing a megabyte of them would delay all other requests
MAX_FIELD_NAME = 200


def error_object(refusal: Refusal, request_id: str) -> dict[str, object]:
    """Return the ``error`` member, which has the same shape in every response that is not a success."""
    return {
        "type": STATUS[refusal.code][0].value,
        "code": refusal.code.value,
        "message": refusal.message,
        "param": refusal.param,
        "request_id": request_id,
        "retryable": refusal.code in RETRYABLE,
        "doc_url": f"/docs/errors#{refusal.code.value}",
        "details": dict(refusal.details),
    }


def refused(refusal: Refusal, request_id: str, *headers: Header) -> Answer:
    if refusal.faults:
        return invalid([fault._asdict() for fault in refusal.faults], request_id)
    if refusal.details or refusal.param:
        body = _json({"error": error_object(refusal, request_id)})
    else:
        before, after = _around_the_id(refusal)
        body = before + request_id.encode() + after
    return Answer(STATUS[refusal.code][1], body, (*headers, *_headers_of(refusal.code, headers)))


def with_absolute_doc_url(answer: Answer, public_url: str | None) -> Answer:
    """Make the ``doc_url`` of an error absolute if the service's public address is set; quotes inside JSON strings are
    escaped, so nothing else can match."""
    if answer.status < 400 or public_url is None:
        return answer
    start = f'"doc_url":"{public_url.rstrip("/")}/'.encode()
    return answer._replace(body=answer.body.replace(b'"doc_url":"/', start, 1))


def _around_the_id(refusal: Refusal) -> tuple[bytes, bytes]:
    """Serialize a refusal without details once per code: under overload, most responses are one of these."""
    serialized = _SERIALIZED.get(refusal.code)
    if serialized is None:
        before, _, after = _json({"error": error_object(refusal, _ID)}).partition(_ID.encode())
        serialized = _SERIALIZED[refusal.code] = before, after
    return serialized


_ID = "the-requests-own-id"
_SERIALIZED: dict[Code, tuple[bytes, bytes]] = {}


def invalid(faults: Sequence[Mapping[str, Any]], request_id: str) -> Answer:
    """Return all faults at once, without the input: it contains people's emails and phone numbers."""
    if len(faults) > MAX_FAULTS:
        faults = too_many_faults(str(faults[0]["loc"][0]))
    # The name of an unknown field is the caller's own text and can be as long as the body.
    places = [[each[:MAX_FIELD_NAME] if isinstance(each, str) else each for each in fault["loc"]] for fault in faults]
    detail = [
        {"loc": loc, "msg": worded(fault), "type": fault["type"]} for loc, fault in zip(places, faults, strict=True)
    ]
    # The parameter or field at fault; an array index is neither.
    param = next((each for each in reversed(places[0]) if isinstance(each, str)), None) if places else None
    error = error_object(Refusal(Code.VALIDATION_ERROR, param=param), request_id)
    return Answer(422, _json({"detail": detail, "error": error}))


def too_many_faults(part: str = "body") -> list[dict[str, Any]]:
    """Return one fault in place of more than can be listed; ``part`` is the part of the request."""
    return [{"type": "too_many_faults", "loc": (part,), "msg": f"Input has more than {MAX_FAULTS} faults"}]


def _headers_of(code: Code, given: Sequence[Header]) -> list[Header]:
    if STATUS[code][1] == 401:
        return [AUTHENTICATE]
    if code in RETRYABLE and all(name != b"retry-after" for name, _ in given):
        return [(b"retry-after", str(RETRY_AFTER_SECONDS).encode())]
    return []


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str).encode("utf-8", "replace")


_REQUEST_ID = "req_0192f0c1a2b37c4d8e5f60718293a4b5"
_FAULTS = [
    {"loc": ["query", "limit"], "msg": "Input should be less than or equal to 200", "type": "less_than_equal"},
    {"loc": ["query", "starts_after"], "msg": "Input should be a date-time that exists", "type": "datetime_parsing"},
]


@cache
def example_body(code: Code) -> dict[str, Any]:
    """Return an example of the body that comes with a code."""
    entry = CHAPTERS[STATUS[code][0]].entries[code]
    details = {name: detail.example for name, detail in entry.details.items()}
    body: dict[str, object] = {"error": error_object(Refusal(code, details, entry.param), _REQUEST_ID)}
    return {"detail": _FAULTS, **body} if code is Code.VALIDATION_ERROR else body
