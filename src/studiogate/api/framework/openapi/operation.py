"""Complete an operation from its route's declaration."""

import re
from collections.abc import Mapping
from typing import Any

from studiogate.api.framework.openapi import parameters, responses
from studiogate.api.framework.openapi.schemas import Schema, example_of
from studiogate.api.framework.operations import CODES, EXAMPLE, ORDER, ListEnvelope
from studiogate.api.framework.route import LeanRoute
from studiogate.domain.access import SCOPE_GRANTS
from studiogate.domain.refusals import Code
from studiogate.domain.retention import IDEMPOTENCY_KEY_HOURS

Operation = dict[str, Any]
# How the paragraphs begin that are the same for all operations of a kind.
SAID_OF_ALL = ("Ordered by", "While `has_more`", "Repeat the same", "Every valid key", "Needs the scope")
_FASTAPIS_DESCRIPTION = "Successful Response"


def complete(operation: Operation, method: str, route: LeanRoute, schemas: Mapping[str, Schema]) -> Operation:
    cacheable = method == "GET" and route.response_model is not None and not _is_list(route)
    codes = [Code(value) for value in operation.pop(CODES, [])]
    own = [parameters.complete(each, schemas) for each in operation.get("parameters", [])]
    idempotent = any(each["name"].lower() == "idempotency-key" for each in own)
    example = operation.pop(EXAMPLE, {})
    answers = _successes(operation, route, schemas)
    for answer in answers.values():
        for media in answer.get("content", {}).values():
            media["example"] = {**media["example"], **example} if example else media.get("example")
    for answer in answers.values():
        answer["headers"] = responses.headers(
            *(["ETag"] if cacheable else []), *(["Idempotent-Replayed"] if idempotent else [])
        )
    if cacheable:
        answers["304"] = {"description": "You have the current state.", "headers": responses.headers("ETag")}
    _give_examples(operation.get("requestBody", {}), schemas)
    description = _description(operation, route, idempotent=idempotent)
    return {
        **operation,
        "operationId": route.name,
        "description": description,
        "x-required-scope": None if route.scope is None else route.scope.value,
        "parameters": [*own, *parameters.request_headers(cacheable=cacheable)],
        "responses": {**answers, **responses.refusals(codes)},
    }


def _is_list(route: LeanRoute) -> bool:
    return isinstance(route.response_model, type) and issubclass(route.response_model, ListEnvelope)


def _description(operation: Operation, route: LeanRoute, *, idempotent: bool) -> str:
    paragraphs = [operation.get("description", "")]
    if _is_list(route):
        paragraphs.append(f"Ordered by {operation.pop(ORDER)}.")
        paragraphs.append("While `has_more` is true, send `next_cursor` as `cursor` for the next page.")
    if idempotent:
        kept = f"the first result is kept for {IDEMPOTENCY_KEY_HOURS} hours"
        paragraphs.append(f"Repeat the same `Idempotency-Key` to retry safely: {kept}.")
    if route.scope is None:
        paragraphs.append("Every valid key may; no scope is needed.")
    else:
        paragraphs.append(f"Needs the scope `{route.scope.value}` ({SCOPE_GRANTS[route.scope]}).")
    return "\n\n".join(filter(None, paragraphs))


def _successes(operation: Operation, route: LeanRoute, schemas: Mapping[str, Schema]) -> dict[str, Any]:
    """Return the declared responses, without FastAPI's own 422, which we do not send."""
    answers: dict[str, object] = {}
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            answers[status] = answer
            if answer["description"] == _FASTAPIS_DESCRIPTION:
                answer["description"] = _answer_description(route)
            _give_examples(answer, schemas)
    return answers


def _answer_description(route: LeanRoute) -> str:
    model = route.response_model
    if not isinstance(model, type):
        return "Done."
    if _is_list(route):
        return "A page of the list."
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", model.__name__).lower()
    return vars(model).get("__doc__") or f"The {words}."


def _give_examples(holder: Mapping[str, Any], schemas: Mapping[str, Schema]) -> None:
    for media in holder.get("content", {}).values():
        if media.get("schema") and "example" not in media and "examples" not in media:
            media["example"] = example_of(media["schema"], schemas)
