"""Run writes: pass a validated request to an idempotent flow and return its response."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, Concatenate, NamedTuple, ParamSpec

from fastapi import Header
from pydantic import BaseModel, ConfigDict

from studiogate.api.framework.errors import STATUS
from studiogate.api.framework.params import Text
from studiogate.api.framework.route import Caller, Judged
from studiogate.domain.access import Access
from studiogate.domain.encryption import Sealer
from studiogate.domain.refusals import Code, Fault, Refusal, RefusalType
from studiogate.flows import idempotency
from studiogate.flows.idempotency import Answers, EmailWork, Outcome, Replay, Stored, Work, WriteContext
from studiogate.storage.db.pool import Connection
from studiogate.storage.idempotency import IdempotencyKey
from studiogate.web.response import Answer

Arguments = ParamSpec("Arguments")
_key = partial(Header, alias="Idempotency-Key", examples=["b7f9c1d2-retry-safe"], min_length=8, max_length=120)
NEW_KEY = "Yours, new for each logical operation; repeat it unchanged when you retry."
OPTIONAL_KEY = "Optional here: with it, a retry gets the first answer again instead of doing it twice."
IdempotencyHeader = Annotated[Text, _key(description=NEW_KEY)]
OptionalIdempotencyKey = Annotated[Text | None, _key(description=OPTIONAL_KEY)]
IDEMPOTENT = (Code.IDEMPOTENCY_KEY_REUSED, Code.IDEMPOTENCY_IN_PROGRESS)
# POST …/update is PATCH for clients that cannot send it.
UPDATE_ALIAS = "/update"
REPLAYED = (b"idempotent-replayed", b"true")


class Partial(Judged):
    """A body of which at least one field is given, and an absent one leaves what is there."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    def given(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.model_fields_set}

    @classmethod
    def own_faults(cls, body: object) -> list[Fault]:
        empty = isinstance(body, dict) and not body
        return [Fault(("body",), "too_short", "Body should have at least one field")] if empty else []


async def _always(_connection: Connection) -> bool:
    """Return true: what belongs to the whole studio is visible to each of its keys."""
    return True


class Success(NamedTuple):
    """How a write that succeeds is answered, and replayed as long as its result is ``visible`` to the caller.

    With a ``sealer``, it is stored encrypted: it contains a secret that the database must not know.
    """

    status: int
    visible: idempotency.Visible = _always
    sealer: Sealer | None = None


async def write(
    caller: Caller,
    key: str | None,
    parameters: BaseModel | None,
    success: Success,
    flow: Callable[Concatenate[Connection, Access, Arguments], Awaitable[str | Refusal]],
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> Answer:
    """Run a flow with these arguments, as ``write_once`` does it."""
    return await write_once(
        caller, key, parameters, success, lambda connection: flow(connection, caller.access, *arguments, **named)
    )


async def write_once(
    caller: Caller, key: str | None, parameters: BaseModel | None, success: Success, work: Work | EmailWork
) -> Answer:
    """Do the work once per key; 2xx and booking refusals are stored for replay, everything else leaves no trace."""
    status, visible, sealer = success
    purpose = idempotency.answer_purpose(caller.access.studio_id, caller.access.credential_id)
    context = write_context(caller, key, parameters, status=status)
    if sealer is not None:
        seal = sealer.seal
        context = context._replace(answers=context.answers._replace(seal=lambda body: seal(body, purpose)))
    outcome = await idempotency.execute(caller.runtime.database, context, work, visible)
    if sealer is not None and not isinstance(outcome, Refusal) and outcome.status == status:
        outcome = outcome._replace(body=sealer.open(outcome.body, purpose))
    answer = answered(caller, outcome)
    return answer if sealer is None else answer._replace(may_compress=False)


def write_context(caller: Caller, key: str | None, parameters: BaseModel | None, *, status: int) -> WriteContext:
    """Return what a flow has to know about a write; ``status`` is that of a success."""

    def stored(refusal: Refusal) -> Stored | None:
        if STATUS[refusal.code][0] is not RefusalType.BOOKING:
            return None
        answer = caller.refuse(refusal)
        return Stored(answer.status, answer.body)

    once = None if key is None else IdempotencyKey(key, _fingerprint(caller, parameters))
    return WriteContext(caller.access, once, Answers(status, stored))


def answered(caller: Caller, outcome: Outcome) -> Answer:
    """Return the response to a write."""
    if isinstance(outcome, Replay):
        return Answer(outcome.status, outcome.body, (REPLAYED,))
    # Committed: its events are numbered now, rather than at the worker's next round.
    caller.runtime.sequencer.kick(caller.access.studio_id)
    return caller.refuse(outcome) if isinstance(outcome, Refusal) else Answer(outcome.status, outcome.body)


def _fingerprint(caller: Caller, parameters: BaseModel | None) -> bytes:
    """Hash the operation, path, query and the body with its defaults filled in: key order, spaces and the case of ids
    do not matter. An alias counts as the operation that it stands for."""
    request = caller.request
    method, path = request.method, request.path.lower()
    if method == "POST" and path.endswith(UPDATE_ALIAS):
        method, path = "PATCH", path.removesuffix(UPDATE_ALIAS)
    # An absent member equals its default, except in partial updates, where it leaves the stored value unchanged.
    partial = isinstance(parameters, Partial)
    body: object = None if parameters is None else parameters.model_dump(mode="json", exclude_unset=partial)
    canonical = _CANONICAL([method, path, sorted(request.query.items()), body])
    return hashlib.sha256(canonical.encode()).digest()


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
