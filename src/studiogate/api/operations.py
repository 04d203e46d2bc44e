"""What every operation tells about itself in the OpenAPI document."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from studiogate.api.errors import STATUS, error_object
from studiogate.domain.refusals import Code, Refusal

Uuid = Annotated[str, Field(json_schema_extra={"format": "uuid"})]
Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Money = Annotated[str, Field(pattern=r"^\d+(\.\d+)?$", description="A decimal with the currency's own decimals.")]
Email = Annotated[str, Field(json_schema_extra={"format": "email"})]

EXAMPLE_REQUEST_ID = "req_0192f0c1a2b37c4d8e5f60718293a4b5"

# Every operation can answer with these.
EVERYWHERE = (
    Code.UNSUPPORTED_API_VERSION,
    Code.MISSING_API_KEY,
    Code.INVALID_API_KEY,
    Code.EXPIRED_API_KEY,
    Code.REVOKED_API_KEY,
    Code.INSUFFICIENT_SCOPE,
    Code.METHOD_NOT_ALLOWED,
    Code.VALIDATION_ERROR,
    Code.RATE_LIMITED,
    Code.INTERNAL_ERROR,
    Code.OVERLOADED,
    Code.DATABASE_UNAVAILABLE,
)
LISTING = (Code.INVALID_CURSOR,)
READING = (Code.NOT_FOUND,)
WRITING = (Code.INVALID_JSON, Code.BODY_TOO_LARGE, Code.UNSUPPORTED_MEDIA_TYPE)


class Wire(BaseModel):
    """A resource as it leaves: these members, always all of them."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)


class ListEnvelope(Wire):
    object: Literal["list"] = Field("list", examples=["list"])
    has_more: bool = Field(description="True when another page exists.", examples=[False])
    next_cursor: Uuid | None = Field(description="Pass it back unchanged as `cursor`.", examples=[None])


class ErrorObject(BaseModel):
    type: str = Field(examples=["invalid_request_error"])
    code: str = Field(description="Stable; each has its paragraph on `/docs/errors`.", examples=["not_found"])
    message: str = Field(description="For people.", examples=["There is no such resource."])
    param: str | None = Field(examples=[None])
    request_id: str = Field(examples=[EXAMPLE_REQUEST_ID])
    retryable: bool = Field(examples=[False])
    doc_url: str = Field(examples=["/docs/errors#not_found"])
    details: dict[str, Any] = Field(examples=[{}])


class Error(BaseModel):
    """The body of every answer that is not a success."""

    error: ErrorObject


class Fault(BaseModel):
    loc: list[str | int] = Field(examples=[["query", "limit"]])
    msg: str = Field(examples=["Input should be an integer in plain digits"])
    type: str = Field(examples=["int_parsing"])


class ValidationFailure(Error):
    """All faults at once; the input itself is never echoed."""

    detail: list[Fault]


def operation(summary: str, answer: type[BaseModel], *codes: Code, **options: Any) -> dict[str, Any]:
    """The keyword arguments of a route: what it does, what it answers, what it refuses."""
    return {
        "summary": summary,
        "response_model": answer,
        "responses": _responses({*EVERYWHERE, *codes}),
        **options,
    }


def _responses(codes: Iterable[Code]) -> dict[int | str, dict[str, Any]]:
    """One response a status, with an example of every code that comes with it."""
    by_status: dict[int | str, dict[str, Any]] = {}
    for code in sorted(codes, key=list(Code).index):
        status = STATUS[code][1]
        response = by_status.setdefault(status, _response(status))
        response["description"] += f" `{code.value}`"
        response["content"]["application/json"]["examples"][code.value] = {"value": _example(code)}
    return by_status


def _response(status: int) -> dict[str, Any]:
    model = ValidationFailure if status == 422 else Error
    response: dict[str, Any] = {
        "model": model,
        "description": "Refused:",
        "content": {"application/json": {"examples": {}}},
    }
    if status in (429, 503):
        response["headers"] = {
            "Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait before the next try."}
        }
    return response


def _example(code: Code) -> dict[str, Any]:
    body: dict[str, Any] = {"error": error_object(Refusal(code), EXAMPLE_REQUEST_ID)}
    if code is Code.VALIDATION_ERROR:
        fault = Fault(loc=["query", "limit"], msg="Input should be an integer in plain digits", type="int_parsing")
        body = {"detail": [fault.model_dump()], **body}
    return body
