"""Turn refusals into responses, with the only table that maps codes to HTTP statuses."""

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

STATUS: Mapping[Code, tuple[RefusalType, int]] = {
    Code.MISSING_API_KEY: (RefusalType.AUTHENTICATION, 401),
    Code.INVALID_API_KEY: (RefusalType.AUTHENTICATION, 401),
    Code.EXPIRED_API_KEY: (RefusalType.AUTHENTICATION, 401),
    Code.REVOKED_API_KEY: (RefusalType.AUTHENTICATION, 401),
    Code.SIGN_IN_FAILED: (RefusalType.AUTHENTICATION, 401),
    Code.SECOND_FACTOR_REQUIRED: (RefusalType.AUTHENTICATION, 401),
    Code.SESSION_ENDED: (RefusalType.AUTHENTICATION, 401),
    Code.LINK_EXPIRED: (RefusalType.AUTHENTICATION, 401),
    Code.INSUFFICIENT_SCOPE: (RefusalType.PERMISSION, 403),
    Code.HTTPS_REQUIRED: (RefusalType.PERMISSION, 403),
    Code.PERMISSION_DENIED: (RefusalType.PERMISSION, 403),
    Code.PASSWORD_REQUIRED: (RefusalType.PERMISSION, 403),
    Code.INVALID_CURSOR: (RefusalType.INVALID_REQUEST, 400),
    Code.INVALID_JSON: (RefusalType.INVALID_REQUEST, 400),
    Code.INVALID_HTTP: (RefusalType.INVALID_REQUEST, 400),
    Code.UNSUPPORTED_API_VERSION: (RefusalType.INVALID_REQUEST, 400),
    Code.NOT_FOUND: (RefusalType.INVALID_REQUEST, 404),
    Code.METHOD_NOT_ALLOWED: (RefusalType.INVALID_REQUEST, 405),
    Code.REQUEST_TIMEOUT: (RefusalType.INVALID_REQUEST, 408),
    Code.BODY_TOO_LARGE: (RefusalType.INVALID_REQUEST, 413),
    Code.UNSUPPORTED_MEDIA_TYPE: (RefusalType.INVALID_REQUEST, 415),
    Code.VALIDATION_ERROR: (RefusalType.INVALID_REQUEST, 422),
    Code.IDEMPOTENCY_KEY_REUSED: (RefusalType.IDEMPOTENCY, 409),
    Code.IDEMPOTENCY_IN_PROGRESS: (RefusalType.IDEMPOTENCY, 409),
    Code.CLASS_CANCELLED: (RefusalType.BOOKING, 409),
    Code.CLASS_NOT_BOOKABLE: (RefusalType.BOOKING, 409),
    Code.CLASS_STARTED: (RefusalType.BOOKING, 409),
    Code.BOOKING_WINDOW_NOT_OPEN: (RefusalType.BOOKING, 409),
    Code.BOOKING_WINDOW_CLOSED: (RefusalType.BOOKING, 409),
    Code.ALREADY_BOOKED: (RefusalType.BOOKING, 409),
    Code.ALREADY_WAITLISTED: (RefusalType.BOOKING, 409),
    Code.MEMBER_ERASED: (RefusalType.BOOKING, 409),
    Code.MEMBER_SUSPENDED: (RefusalType.BOOKING, 409),
    Code.WAIVER_REQUIRED: (RefusalType.BOOKING, 409),
    Code.NO_ACTIVE_MEMBERSHIP: (RefusalType.BOOKING, 409),
    Code.MEMBERSHIP_PAUSED: (RefusalType.BOOKING, 409),
    Code.MEMBERSHIP_NOT_VALID_FOR_CLASS: (RefusalType.BOOKING, 409),
    Code.INSUFFICIENT_CREDITS: (RefusalType.BOOKING, 409),
    Code.BOOKING_LIMIT_REACHED: (RefusalType.BOOKING, 409),
    Code.OVERLAPPING_BOOKING: (RefusalType.BOOKING, 409),
    Code.SPOT_REQUIRED: (RefusalType.BOOKING, 409),
    Code.SPOT_NOT_FOUND: (RefusalType.BOOKING, 409),
    Code.SPOT_TAKEN: (RefusalType.BOOKING, 409),
    Code.CLASS_FULL: (RefusalType.BOOKING, 409),
    Code.WAITLIST_NOT_ALLOWED: (RefusalType.BOOKING, 409),
    Code.WAITLIST_FULL: (RefusalType.BOOKING, 409),
    Code.BOOKING_ALREADY_CANCELLED: (RefusalType.BOOKING, 409),
    Code.MEMBER_EXISTS: (RefusalType.CONFLICT, 409),
    Code.SLUG_TAKEN: (RefusalType.CONFLICT, 409),
    Code.FORM_NOT_ACCEPTING_SUBMISSIONS: (RefusalType.CONFLICT, 409),
    Code.INVALID_TRANSITION: (RefusalType.CONFLICT, 409),
    Code.LIMIT_REACHED: (RefusalType.CONFLICT, 409),
    Code.SCHEDULE_CONFLICT: (RefusalType.CONFLICT, 409),
    Code.LAST_OWNER: (RefusalType.CONFLICT, 409),
    Code.CHECK_IN_STOPPED: (RefusalType.CONFLICT, 409),
    Code.RATE_LIMITED: (RefusalType.RATE_LIMIT, 429),
    Code.INTERNAL_ERROR: (RefusalType.API, 500),
    Code.OVERLOADED: (RefusalType.API, 503),
    Code.DATABASE_UNAVAILABLE: (RefusalType.API, 503),
    Code.STORAGE_UNAVAILABLE: (RefusalType.API, 503),
}
RETRYABLE = {
    Code.REQUEST_TIMEOUT,
    Code.IDEMPOTENCY_IN_PROGRESS,
    Code.RATE_LIMITED,
    Code.OVERLOADED,
    Code.DATABASE_UNAVAILABLE,
    Code.STORAGE_UNAVAILABLE,
}
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


_TEXTS = Path(__file__).parent / "texts" / "errors"
_REQUEST_ID = "req_0192f0c1a2b37c4d8e5f60718293a4b5"
_FAULTS = [
    {"loc": ["query", "limit"], "msg": "Input should be less than or equal to 200", "type": "less_than_equal"},
    {"loc": ["query", "starts_after"], "msg": "Input should be a date-time that exists", "type": "datetime_parsing"},
]


@dataclass(frozen=True, slots=True)
class Detail:
    """A member of ``details``."""

    text: str
    example: object


@dataclass(frozen=True, slots=True)
class Entry:
    """One code: what it means and why, what to do, whether a retry helps."""

    meaning: str
    action: str
    retry: str
    details: Mapping[str, Detail]
    param: str | None


@dataclass(frozen=True, slots=True)
class Chapter:
    """The codes of one type."""

    title: str
    intro: str
    entries: Mapping[Code, Entry]


@cache
def chapters() -> Mapping[RefusalType, Chapter]:
    found = {}
    for kind in RefusalType:
        text = tomllib.loads((_TEXTS / f"{kind.value}.toml").read_text(encoding="utf-8"))
        title, intro, entries = text.pop("title"), text.pop("intro"), {}
        for name, each in text.items():
            details = {detail: Detail(**facts) for detail, facts in each.get("details", {}).items()}
            entries[Code(name)] = Entry(each["meaning"], each["action"], each["retry"], details, each.get("param"))
        found[kind] = Chapter(title, intro, entries)
    return found


@cache
def example_body(code: Code) -> dict[str, Any]:
    """Return an example of the body that comes with a code."""
    entry = chapters()[STATUS[code][0]].entries[code]
    details = {name: detail.example for name, detail in entry.details.items()}
    body: dict[str, object] = {"error": error_object(Refusal(code, details, entry.param), _REQUEST_ID)}
    return {"detail": _FAULTS, **body} if code is Code.VALIDATION_ERROR else body
