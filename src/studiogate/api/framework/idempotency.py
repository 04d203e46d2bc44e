"""Run writes: pass a validated request to an idempotent flow and return its response."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Header
from pydantic import BaseModel, ConfigDict

from studiogate.api.framework.errors import STATUS
from studiogate.api.framework.params import Text
from studiogate.api.framework.route import Caller, Judged, JudgedByStudio
from studiogate.domain.refusals import Code, Fault, Refusal, RefusalType
from studiogate.domain.webhooks.signing import Sealer
from studiogate.flows import idempotency, leads
from studiogate.flows.idempotency import Reply
from studiogate.storage.db.pool import Connection
from studiogate.storage.idempotency import Once
from studiogate.web.response import Answer

IDEMPOTENCY_KEY_LENGTHS = {"min_length": 8, "max_length": 120}
IdempotencyKey = Annotated[
    Text,
    Header(
        alias="Idempotency-Key",
        description="Yours, new for each logical operation; repeat it unchanged when you retry.",
        examples=["b7f9c1d2-retry-safe"],
        **IDEMPOTENCY_KEY_LENGTHS,
    ),
]
OptionalIdempotencyKey = Annotated[
    Text | None,
    Header(
        alias="Idempotency-Key",
        description="Optional here: with it, a retry gets the first answer again instead of doing it twice.",
        examples=["b7f9c1d2-retry-safe"],
        **IDEMPOTENCY_KEY_LENGTHS,
    ),
]
IDEMPOTENT = (Code.IDEMPOTENCY_KEY_REUSED, Code.IDEMPOTENCY_IN_PROGRESS)
# POST …/update is PATCH for clients that cannot send it.
UPDATE_ALIAS = "/update"
REPLAYED = (b"idempotent-replayed", b"true")


class Partial(Judged):
    """A body of which at least one field is given, and an absent one leaves what is there."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    @classmethod
    def own_faults(cls, body: Any) -> list[Fault]:
        empty = isinstance(body, dict) and not body
        return [Fault(("body",), "too_short", "Body should have at least one field")] if empty else []


class WithPhone(JudgedByStudio):
    """A body with a phone number, which only the studio's country tells right from wrong."""

    @classmethod
    async def studio_faults(cls, caller: Caller, values: Mapping[str, Any], body: Any) -> list[Fault]:
        phone = body.get("phone") if isinstance(body, dict) else None
        return await caller.read(leads.phone_faults, phone)


async def _always(_connection: Connection) -> bool:
    """Return true: what belongs to the whole studio is visible to each of its keys."""
    return True


async def write(
    caller: Caller,
    key: str | None,
    parameters: BaseModel | None,
    work: idempotency.Work | idempotency.Claiming,
    *,
    status: int,
    visible: idempotency.Visible = _always,
    missing: str | None = None,
    sealer: Sealer | None = None,
) -> Answer:
    """Run a flow once per key; 2xx and booking refusals are stored for replay, everything else leaves no trace.

    ``missing`` names the parameter at fault if the resource is not visible and the flow does not name one.
    With a ``sealer``, a success is stored encrypted: it contains a secret that the database must not know.
    """

    def render(outcome: str | Refusal) -> Reply:
        if isinstance(outcome, str):
            body = outcome.encode()
            return Reply(status, body if sealer is None else sealer.seal(body, _purpose(caller)))
        if outcome.code is Code.NOT_FOUND and outcome.param is None:
            outcome = replace(outcome, param=missing)
        answer = caller.refuse(outcome)
        return Reply(answer.status, answer.body, kept=STATUS[outcome.code][0] is RefusalType.BOOKING)

    identity = Once(key, _fingerprint(caller, parameters)) if key is not None else None
    done = await idempotency.execute(caller.runtime.database, caller.access, identity, work, render, visible)
    if not done.replayed:
        # Committed: its events are numbered now, rather than at the worker's next round.
        caller.runtime.sequencer.kick(caller.access.studio_id)
    body = done.body
    if sealer is not None and done.status == status:
        body = sealer.open(body, _purpose(caller))
    return Answer(done.status, body, (REPLAYED,) if done.replayed else _retry_after(done.status, body))


def _purpose(caller: Caller) -> str:
    return idempotency.answer_purpose(caller.access.studio_id, caller.access.credential_id)


def _retry_after(status: int, body: bytes) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"retry-after", b"1"),) if status == 409 and b'"retryable":true' in body else ()


def _fingerprint(caller: Caller, parameters: BaseModel | None) -> bytes:
    """Hash the operation, path, query and the body with its defaults filled in: key order, spaces and the case of ids
    do not matter. An alias counts as the operation that it stands for."""
    request = caller.request
    method, path = request.method, request.path.lower()
    if method == "POST" and path.endswith(UPDATE_ALIAS):
        method, path = "PATCH", path.removesuffix(UPDATE_ALIAS)
    # An absent member equals its default, except in partial updates, where it leaves the stored value unchanged.
    partial = isinstance(parameters, Partial)
    body: Any = None if parameters is None else parameters.model_dump(mode="json", exclude_unset=partial)
    canonical = _CANONICAL([method, path, sorted(request.query.items()), body])
    return hashlib.sha256(canonical.encode()).digest()


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
