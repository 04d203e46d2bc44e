"""Execute routes that are declared with FastAPI.

A route is declared the FastAPI way: its signature names path, query and body values, and the scope it requires. The
OpenAPI document and the validators are derived from that. FastAPI's own per-request work (dependency solving, exit
stacks, response models) costs more than the database does, so here the validators compiled from the signature are
called directly: access first, then parameters, then the endpoint.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from fastapi import Security
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader
from pydantic import BaseModel, ConfigDict, ValidationError

from studiogate import API_VERSION
from studiogate.api.framework import faults as wording
from studiogate.api.framework.errors import MAX_FAULTS, invalid, refused, too_many_faults
from studiogate.api.framework.params import is_cursor_fault
from studiogate.domain.access import Access, Scope
from studiogate.domain.paging import Page
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.runtime import Runtime
from studiogate.storage.db.pool import Connection
from studiogate.web.limits import Limit
from studiogate.web.public_address import with_absolute_pictures
from studiogate.web.request import Request
from studiogate.web.response import Answer

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

KEY_HEADER = "X-Service-Key"
VERSION_HEADER = "API-Version"
_VERSION = API_VERSION.encode()
SERVICE_KEY = APIKeyHeader(
    name=KEY_HEADER,
    scheme_name="ServiceKey",
    description="A key of one studio, made with `studiogate key create`. Keep it on your server.",
    auto_error=False,
)


def needs(*scope: Scope) -> Any:
    """Require a scope: naming it in the signature is the check. Without one, every valid key may call."""
    return Security(SERVICE_KEY, scopes=[each.value for each in scope])


class Caller(NamedTuple):
    """Who calls, and what an endpoint needs to serve them."""

    access: Access
    runtime: Runtime
    request: Request
    request_id: str
    # The name of the path's last parameter, which a 404 reports as the one at fault.
    path_parameter: str | None = None

    def refuse(self, refusal: Refusal) -> Answer:
        """Return the response to a refusal; a 404 names the parameter whose resource was not found."""
        if refusal.code is Code.NOT_FOUND and refusal.param is None and self.path_parameter is not None:
            refusal = replace(refusal, param=self.path_parameter)
        return refused(refusal, self.request_id)

    async def read(
        self,
        function: Callable[Concatenate[Connection, Access, Arguments], Awaitable[Result]],
        *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Result:
        """Call a storage function that reads, on its own connection."""
        async with self.runtime.database.connection() as connection:
            return await function(connection, self.access, *arguments, **named)

    def found(self, wire: str | None) -> Answer:
        """Return the resource, 304 if the caller already has it, or not_found."""
        if wire is None:
            return self.refuse(Refusal(Code.NOT_FOUND))
        body = self._written(wire)
        etag = b'W/"' + hashlib.blake2b(body, digest_size=12).hexdigest().encode() + b'"'
        # Compared weakly, as If-None-Match requires.
        known = [
            each.strip().removeprefix(b"W/") for each in self.request.headers.get(b"if-none-match", b"").split(b",")
        ]
        if known == [b"*"] or etag.removeprefix(b"W/") in known:
            return Answer(304, b"", ((b"etag", etag),))
        return Answer(200, body, ((b"etag", etag),))

    def listed(self, page: Page | Refusal) -> Answer:
        return self.refuse(page) if isinstance(page, Refusal) else Answer(200, self._written(page.as_json()))

    def _written(self, wire: str) -> bytes:
        return with_absolute_pictures(wire, self.access.studio_id, self.runtime.settings).encode()


class Judged(BaseModel):
    """A body with faults that a type cannot tell. They are listed together with those of the types."""

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def own_faults(cls, body: Any) -> list[Fault]:
        """Return the faults; ``body`` is the JSON value that was sent, of any type."""
        raise NotImplementedError


class JudgedByStudio(BaseModel):
    """A body with faults that only the studio's data can tell, such as a phone number by the studio's country.

    A sound request meets these checks in its flow. A faulty one is asked here too, so that all faults are listed at
    once; ``values`` holds the sound parameters, ``body`` what was sent, whatever it is.
    """

    model_config = ConfigDict(extra="forbid")

    @classmethod
    async def studio_faults(cls, caller: Caller, values: Mapping[str, Any], body: Any) -> list[Fault]:
        raise NotImplementedError


def _marked(name: str, value: object) -> Callable[[Endpoint], Endpoint]:
    def mark(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, name, value)
        return endpoint

    return mark


def also_needs(scope: Scope, asked: Callable[[Request], bool]) -> Callable[[Endpoint], Endpoint]:
    """Require a second scope if ``asked`` is true for the request; it is checked together with the first one."""
    return _marked("also_needs", (scope, asked))


def limited(limit: Limit) -> Callable[[Endpoint], Endpoint]:
    """Give an operation its own rate limit per key, in addition to the limit for all requests."""
    return _marked("limit", limit)


def faults_between(judge: Callable[[Mapping[str, object]], list[Fault]]) -> Callable[[Endpoint], Endpoint]:
    """Report parameters that contradict each other together with invalid ones; ``judge`` gets the valid ones."""
    return _marked("faults_between", judge)


class _Parameter:
    """One value of the signature, with the validator that pydantic compiled for it."""

    __slots__ = ("alias", "default", "field", "header", "location", "name", "required", "validate")

    def __init__(self, field: Any, location: str) -> None:
        self.field = field
        self.location = location
        self.name: str = field.name
        self.alias: str = field.alias
        self.header: bytes = self.alias.lower().encode()
        self.required: bool = field.field_info.is_required()
        self.default: object = None if self.required else field.get_default()
        self.validate: Callable[[object], object] = field._type_adapter.validator.validate_python

    def read(self, value: object, values: dict[str, object], faults: list[dict[str, object]]) -> None:
        try:
            values[self.name] = self.validate(value)
        except ValidationError:
            values.pop(self.name, None)  # the default must not replace an invalid value
            faults += self.field.validate(value, loc=(self.location, self.alias))[1]

    def missing(self) -> dict[str, object]:
        return {"type": "missing", "loc": (self.location, self.alias), "msg": "Field required"}


class LeanRoute(APIRoute):
    """A declared route with its execution plan. One without a scope in its signature is rejected at import."""

    def __init__(self, path: str, endpoint: Callable[..., object], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        plan: Dependant = self.dependant
        scopes = [scope for each in plan.dependencies for scope in each.own_oauth_scopes or []]
        if len(plan.dependencies) != 1 or len(scopes) > 1:
            raise TypeError(f"{endpoint.__name__} must name exactly one scope in its signature, or any key")
        # None: every valid key may call it.
        self.scope = Scope(scopes[0]) if scopes else None
        self._caller_name = plan.dependencies[0].name or "caller"
        # In the order of the path, whatever their order in the signature.
        in_path = sorted(plan.path_params, key=lambda field: self.path_format.index("{" + field.alias + "}"))
        self._path_parameters = [_Parameter(field, "path") for field in in_path]
        self._query_parameters = [_Parameter(field, "query") for field in plan.query_params]
        self._known_query = [each.alias for each in self._query_parameters]
        self._path_parameter = in_path[-1].alias if in_path else None
        self._header_parameters = [_Parameter(field, "header") for field in plan.header_params]
        self._single_headers = [KEY_HEADER, VERSION_HEADER, *(each.alias for each in self._header_parameters)]
        optional = [each for each in (*self._query_parameters, *self._header_parameters) if not each.required]
        self._defaults = {each.name: each.default for each in optional}
        self._body = plan.body_params[0] if plan.body_params else None
        model: Any = self._body.field_info.annotation if self._body else None
        self._known_fields = list(getattr(model, "model_fields", {}))
        judged = isinstance(model, type) and issubclass(model, Judged)
        self._own_faults: Callable[[Any], list[Fault]] | None = model.own_faults if judged else None
        self._judge: type[JudgedByStudio] | None = None
        if isinstance(model, type) and issubclass(model, JudgedByStudio):
            self._judge = model
        self.limit: Limit | None = getattr(endpoint, "limit", None)
        self._also_needs: tuple[Scope, Callable[[Request], bool]] | None = getattr(endpoint, "also_needs", None)
        self._faults_between: Callable[[Mapping[str, object]], list[Fault]] | None = getattr(
            endpoint, "faults_between", None
        )

    async def execute(self, caller: Caller, path_values: Sequence[str]) -> Answer:
        """Check scope, body and parameters in the contract's order, then call the endpoint."""
        caller = caller._replace(path_parameter=self._path_parameter)
        refusal = None if self.scope is None else caller.access.refusal_without(self.scope)
        if refusal is None and self._also_needs is not None and self._also_needs[1](caller.request):
            refusal = caller.access.refusal_without(self._also_needs[0])
        if refusal is None and caller.request.headers.get(b"api-version", _VERSION) != _VERSION:
            refusal = Refusal(Code.UNSUPPORTED_API_VERSION, {"supported": [API_VERSION]}, VERSION_HEADER)
        if refusal is not None:
            return refused(refusal, caller.request_id)
        values: dict[str, object] = {self._caller_name: caller, **self._defaults}
        faults: list[dict[str, object]] = []
        self._read_parameters(caller.request, path_values, values, faults)
        if self._body is not None:
            refusal = await self._read_body(self._body, caller, values, faults)
            if refusal is not None:
                return refused(refusal, caller.request_id)
        if faults:
            return _faulty(faults, caller.request_id)
        answer: Answer = await self.endpoint(**values)
        return answer

    def _read_parameters(
        self, request: Request, path_values: Sequence[str], values: dict[str, object], faults: list[dict[str, object]]
    ) -> None:
        for parameter, value in zip(self._path_parameters, path_values, strict=True):
            parameter.read(value, values, faults)
        query = request.query
        if query:
            faults += wording.unknown_parameters(query, self._known_query)
            if request.repeated_parameters:
                faults += wording.repeated_parameters(request.repeated_parameters, self._known_query)
            if any(wording.REPLACED in value for value in query.values()) and not request.query_is_utf8:
                faults += wording.unreadable_parameters(query, self._known_query)
        if self._query_parameters:
            for parameter in [each for each in self._query_parameters if each.alias in query or each.required]:
                if parameter.alias in query:
                    parameter.read(query[parameter.alias], values, faults)
                else:
                    faults.append(parameter.missing())
        if request.repeated_headers:
            faults += wording.repeated_headers(request.repeated_headers, self._single_headers)
        for parameter in self._header_parameters:
            header = request.headers.get(parameter.header)
            if header is not None:
                parameter.read(header.decode("latin-1"), values, faults)
            elif parameter.required:
                faults.append(parameter.missing())
        if self._faults_between is not None:
            faults += [fault._asdict() for fault in self._faults_between(values)]

    async def _read_body(
        self, field: Any, caller: Caller, values: dict[str, object], faults: list[dict[str, Any]]
    ) -> Refusal | None:
        parsed = await caller.request.json()
        if isinstance(parsed, Refusal):
            return parsed
        if self._known_fields and isinstance(parsed, dict) and len(parsed) - len(self._known_fields) > MAX_FAULTS:
            # Each unknown field is a fault, and listing so many would cost more than reading them.
            faults += too_many_faults()
            return None
        try:
            values[field.name] = field._type_adapter.validate_python(parsed, from_attributes=True)
        except ValidationError as error:
            if error.error_count() > MAX_FAULTS:
                faults += too_many_faults()
            else:
                faults += wording.with_nearest(field.validate(parsed, loc=("body",))[1], "field", self._known_fields)
        if self._own_faults is not None:
            faults += [fault._asdict() for fault in self._own_faults(parsed)]
        if faults and self._judge is not None:
            known = {tuple(fault["loc"]) for fault in faults}
            further = await self._judge.studio_faults(caller, values, parsed)
            faults += [fault._asdict() for fault in further if fault.loc not in known]
        return None


def _faulty(faults: list[dict[str, object]], request_id: str) -> Answer:
    if any(is_cursor_fault(fault) for fault in faults):
        return refused(Refusal(Code.INVALID_CURSOR, param="cursor"), request_id)
    return invalid(faults, request_id)
