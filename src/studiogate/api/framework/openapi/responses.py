"""Responses: their headers, and the refusals with an example of every code."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic.json_schema import models_json_schema

from studiogate import API_VERSION
from studiogate.api.framework.errors import AUTHENTICATE, RETRYABLE, STATUS, example_body
from studiogate.api.framework.openapi.schemas import TEXTS
from studiogate.api.framework.operations import EVERYWHERE, EXAMPLE_REQUEST_ID, Error, ValidationFailure
from studiogate.domain.refusals import Code

_FILLED = {
    "API_VERSION": API_VERSION,
    "EXAMPLE_REQUEST_ID": EXAMPLE_REQUEST_ID,
    "AUTHENTICATE": AUTHENTICATE[1].decode(),
}


def _header(description: str, example: str | int, **required: bool) -> dict[str, object]:
    if isinstance(example, int):
        return {"description": description, "schema": {"type": "integer"}, "example": example, **required}
    shown = example.format(**_FILLED)
    return {"description": description, "schema": {"type": "string"}, "example": shown, **required}


HEADERS: Mapping[str, dict[str, object]] = {name: _header(**each) for name, each in TEXTS["headers"].items()}
# The codes that a shared response is not named by: it has them like others of its status, or no other one.
_UNNAMED = {
    *EVERYWHERE,
    *(Code.NOT_FOUND, Code.REQUEST_TIMEOUT, Code.BODY_TOO_LARGE, Code.UNSUPPORTED_MEDIA_TYPE),
    *(Code.IDEMPOTENCY_KEY_REUSED, Code.IDEMPOTENCY_IN_PROGRESS),
}
_ALWAYS = ("X-Request-Id", "API-Version", "RateLimit-Policy", "RateLimit", "X-Service-Key-Expires")


def headers(*further: str) -> dict[str, dict[str, str]]:
    return {name: {"$ref": "#/components/headers/" + name} for name in (*_ALWAYS, *further)}


def refusals(codes: Iterable[Code]) -> dict[str, dict[str, object]]:
    """Return one response per status."""
    return {status: _response(status, found) for status, found in _by_status(codes).items()}


def name_of(response: Mapping[str, Any]) -> str:
    """Return the name of a shared response: the phrase of its status, and the codes that not all operations have."""
    phrase, _, _ = response["description"].partition(":")
    (media,) = response["content"].values()
    own = [code for code in media["examples"] if Code(code) not in _UNNAMED]
    return "".join(word.title() for word in (*phrase.split(), *"_or_".join(own).split("_")) if word)


def examples() -> dict[str, dict[str, object]]:
    return {code.value: {"summary": code.message, "value": example_body(code)} for code in Code}


def schemas() -> dict[str, dict[str, object]]:
    """Return the schemas of the two error bodies; no route declares them, so FastAPI does not know them."""
    _, definitions = models_json_schema(
        [(Error, "serialization"), (ValidationFailure, "serialization")], ref_template="#/components/schemas/{model}"
    )
    found: dict[str, dict[str, object]] = definitions["$defs"]
    return found


def _by_status(codes: Iterable[Code]) -> dict[str, list[Code]]:
    by_status: dict[str, list[Code]] = {}
    for code in sorted(codes, key=lambda each: (STATUS[each][1], list(Code).index(each))):
        by_status.setdefault(str(STATUS[code][1]), []).append(code)
    return by_status


def _response(status: str, codes: list[Code]) -> dict[str, object]:
    model = ValidationFailure if status == "422" else Error
    links = ", ".join(f"[`{code.value}`](/docs/errors#{code.value})" for code in codes)
    content = {
        "schema": {"$ref": "#/components/schemas/" + model.__name__},
        "examples": {code.value: {"$ref": "#/components/examples/" + code.value} for code in codes},
    }
    return {
        "description": f"{TEXTS['phrases'][status]}: {links}.",
        "headers": headers(*_further_headers(status, codes)),
        "content": {"application/json": content},
    }


def _further_headers(status: str, codes: list[Code]) -> list[str]:
    if status == "401":
        return ["WWW-Authenticate"]
    return [] if RETRYABLE.isdisjoint(codes) else ["Retry-After"]
