"""What every operation declares for the OpenAPI document."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from studiogate.domain.refusals import Code

Uuid = Annotated[str, Field(json_schema_extra={"format": "uuid"})]
Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Money = Annotated[str, Field(pattern=r"^\d+(\.\d+)?$", description="A decimal with the currency's own decimals.")]
Email = Annotated[str, Field(json_schema_extra={"format": "email"})]

EXAMPLE_REQUEST_ID = "req_0192f0c1a2b37c4d8e5f60718293a4b5"

# Members in which a route passes its codes and order to the OpenAPI generator, which removes them.
CODES = "x-codes"
ORDER = "x-order"
NEWEST_FIRST = "`created_at` and `id`, newest first"

# Every operation can answer with these.
EVERYWHERE = (
    Code.UNSUPPORTED_API_VERSION,
    Code.MISSING_API_KEY,
    Code.INVALID_API_KEY,
    Code.EXPIRED_API_KEY,
    Code.REVOKED_API_KEY,
    Code.INSUFFICIENT_SCOPE,
    Code.VALIDATION_ERROR,
    Code.RATE_LIMITED,
    Code.INTERNAL_ERROR,
    Code.OVERLOADED,
    Code.DATABASE_UNAVAILABLE,
    Code.STORAGE_UNAVAILABLE,
)
LISTING = (Code.INVALID_CURSOR,)
READING = (Code.NOT_FOUND,)
WRITING = (Code.INVALID_JSON, Code.REQUEST_TIMEOUT, Code.BODY_TOO_LARGE, Code.UNSUPPORTED_MEDIA_TYPE)


def _open_to_growth(schema: dict[str, Any]) -> None:
    """Allow further members: we send only these now, but partners must accept the ones we add later."""
    schema.pop("additionalProperties", None)


class Wire(BaseModel):
    """A resource as it leaves: these members, always all of them. Its schema is only for the documentation, and is
    built when that is asked for."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_serialization_defaults_required=True,
        json_schema_extra=_open_to_growth,
        defer_build=True,
    )


class ListEnvelope(Wire):
    object: Literal["list"] = Field("list", examples=["list"])
    has_more: bool = Field(description="True when another page exists.", examples=[False])
    next_cursor: Uuid | None = Field(description="Pass it back unchanged as `cursor`.", examples=[None])


def list_of(resource: type[Wire], name: str | None = None) -> type[ListEnvelope]:
    """Return the model of a page of resources; its name is that of the resource with ``List`` behind it."""
    return create_model(name or f"{resource.__name__}List", __base__=ListEnvelope, data=(list[resource], ...))  # type: ignore[valid-type]


class ErrorObject(BaseModel):
    type: str = Field(description="The family of the code.", examples=["invalid_request_error"])
    code: str = Field(description="Stable; each has its paragraph on `/docs/errors`.", examples=["not_found"])
    message: str = Field(description="For people.", examples=["There is no such resource."])
    param: str | None = Field(description="The parameter at fault, where there is one.", examples=[None])
    request_id: str = Field(description="As in `X-Request-Id`.", examples=[EXAMPLE_REQUEST_ID])
    retryable: bool = Field(description="Whether the same request can succeed later.", examples=[False])
    doc_url: str = Field(description="The code's paragraph.", examples=["/docs/errors#not_found"])
    details: dict[str, Any] = Field(description="What a program needs to act on this code.", examples=[{}])


class Error(BaseModel):
    """The body of every answer that is not a success."""

    error: ErrorObject


class Fault(BaseModel):
    loc: list[str | int] = Field(description="Where: the part of the request, then the way to the value.")
    msg: str = Field(description="For people.")
    type: str = Field(description="The kind of fault.")


class ValidationFailure(BaseModel):
    """All faults at once; the input itself is never echoed."""

    detail: list[Fault]
    error: ErrorObject


def operation(
    summary: str, answer: type[BaseModel] | None, *codes: Code, order: str = NEWEST_FIRST, **options: Any
) -> dict[str, Any]:
    """Return the keyword arguments of a route: its summary, the model of its response (None: no body), its error codes,
    and the order of a list.

    Responses are not declared here: FastAPI would compile a validator for each status of each route at start.
    """
    extra = {CODES: [code.value for code in Code if code in {*EVERYWHERE, *codes}], **options.pop("openapi_extra", {})}
    if answer is not None and issubclass(answer, ListEnvelope):
        extra[ORDER] = order
    return {"summary": summary, "response_model": answer, "openapi_extra": extra, **options}
