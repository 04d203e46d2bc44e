"""What every operation declares for the OpenAPI document."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, create_model

from studiogate.domain.refusals import Code, RefusalType

Uuid = Annotated[str, Field(json_schema_extra={"format": "uuid"})]
Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Money = Annotated[str, Field(pattern=r"^\d+(\.\d+)?$", description="A decimal with the currency's own decimals.")]
Email = Annotated[str, Field(json_schema_extra={"format": "email"})]
Currency = Annotated[str, Field(description="ISO 4217 code.")]

# A schema with this member becomes the component that it names, and a reference takes its place.
NAMED = "x-name"
ROWS = "The rows of this page, in the list's order."
# What these fields mean is the same in every resource.
CONVENTIONS = {
    "id": "Its id: opaque, and never used again.",
    "created_at": "When it was created.",
    "updated_at": "When it changed last: rises with every change that you can see, so `updated_after` misses none.",
}


def described(text: str, example: Any) -> Any:
    """Return a required field of a wire model with its description and an example."""
    return Field(description=text, examples=[example])


def closed_enum(name: str, *values: str) -> Any:
    """Return the schema of a request's value that is one of these, as the component ``name``. An enumeration of the
    domain needs none: it is a component by itself."""
    return WithJsonSchema(_enum(name, values))


def reference(model: type[BaseModel]) -> dict[str, object]:
    """Return a schema that refers to a model whose values are kept as they were sent."""
    return {NAMED: model.__name__}


def open_enum(name: str, *values: str, other: Mapping[str, object] = MappingProxyType({"type": "string"})) -> Any:
    """Return the schema of an answer's value that is one of these today. For an enumeration of the domain, write
    ``TheEnum | str``."""
    return WithJsonSchema({"anyOf": [_enum(name, values), dict(other)]})


def _enum(name: str, values: tuple[str, ...]) -> dict[str, object]:
    return {"type": "string", "enum": list(values), NAMED: name}


EXAMPLE_REQUEST_ID = "req_0192f0c1a2b37c4d8e5f60718293a4b5"

# Members in which a route passes its codes, its order and what its example shows to the OpenAPI generator, which
# removes them.
CODES = "x-codes"
ORDER = "x-order"
EXAMPLE = "x-example"
NEWEST_FIRST = "`created_at` and `id`, newest first"

# Every operation can answer with these.
EVERYWHERE = (
    Code.UNSUPPORTED_API_VERSION,
    Code.MISSING_API_KEY,
    Code.INVALID_API_KEY,
    Code.EXPIRED_API_KEY,
    Code.REVOKED_API_KEY,
    Code.INSUFFICIENT_SCOPE,
    Code.HTTPS_REQUIRED,
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
    """Allow further members: we send only these now, but partners must accept the ones we add later. Describe the
    fields that mean the same everywhere."""
    schema.pop("additionalProperties", None)
    members = schema["properties"]
    for name, text in CONVENTIONS.items():
        if name in members:
            members[name].setdefault("description", text)
    if "has_more" in members and "data" in members:
        schema.setdefault("description", "A page of a list.")
    if "const" in members.get("object", {}):
        members["object"]["description"] = f"Always `{members['object']['const']}`."


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
    has_more: bool = described("True when another page exists.", False)
    next_cursor: Uuid | None = described("Pass it back unchanged as `cursor`; null on the last page.", None)


def list_of(resource: type[Wire], name: str | None = None) -> type[ListEnvelope]:
    """Return the model of a page of resources; its name is that of the resource with ``List`` behind it."""
    rows = (list[resource], Field(description=ROWS))  # type: ignore[valid-type]
    return create_model(name or f"{resource.__name__}List", __base__=ListEnvelope, data=rows)


class ErrorObject(BaseModel):
    """What went wrong."""

    type: RefusalType | str = described("The family of the code.", "invalid_request_error")
    code: Code | str = described("Decide by it: it is stable. Each has its paragraph on `/docs/errors`.", "not_found")
    message: str = described("For people; may be reworded.", "There is no such resource.")
    param: str | None = described("The parameter at fault, where there is one.", None)
    request_id: str = described("As in `X-Request-Id`: quote it when you ask for help.", EXAMPLE_REQUEST_ID)
    retryable: bool = described("Whether the same request can succeed later without anything else changing.", False)
    doc_url: str = described("The code's paragraph.", "/docs/errors#not_found")
    details: dict[str, Any] = described("What a program needs to act on this code.", {})


class Error(BaseModel):
    """The body of every answer that is not a success."""

    error: ErrorObject = Field(description="What went wrong.")


class Fault(BaseModel):
    """One fault of a request."""

    loc: list[str | int] = Field(description="Where: the part of the request, then the way to the value.")
    msg: str = Field(description="For people.")
    type: str = Field(description="The kind of fault.")


class ValidationFailure(BaseModel):
    """All faults at once; the input itself is never echoed."""

    detail: list[Fault] = Field(description="Every fault.")
    error: ErrorObject = Field(description="The same in the form of every other error.")


def operation(
    summary: str, answer: type[BaseModel] | None, *codes: Code, order: str = NEWEST_FIRST, **options: Any
) -> dict[str, Any]:
    """Return the keyword arguments of a route: its summary, the model of its response (None: no body), its error codes,
    and the order of a list. ``example`` has what its example shows instead of the model's examples.

    Responses are not declared here: FastAPI would compile a validator for each status of each route at start.
    """
    extra = {CODES: [code.value for code in Code if code in {*EVERYWHERE, *codes}], **options.pop("openapi_extra", {})}
    extra[EXAMPLE] = options.pop("example", {})
    if answer is not None and issubclass(answer, ListEnvelope):
        extra[ORDER] = order
    return {"summary": summary, "response_model": answer, "openapi_extra": extra, **options}
