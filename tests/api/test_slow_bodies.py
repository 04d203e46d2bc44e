"""A body that stalls, arrives too slowly, is too large or is cut off is refused, with the limits of each front end."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from studiogate import clock
from studiogate.api.resources.forms import uploads
from studiogate.domain.refusals import Code, Refusal
from studiogate.hosted import posted_form
from studiogate.web.body import BodyError, BodyLimits
from studiogate.web.request import JSON_BODY, Request

pytestmark = pytest.mark.anyio

SCOPE = {"method": "POST", "path": "/", "headers": [(b"content-type", b"application/json")], "query_string": b""}
PIECE = {"type": "http.request", "body": b"{", "more_body": True}


def sends(*messages: dict[str, Any], for_ever: dict[str, Any] | None = None, pause: float = 0.0) -> Callable[..., Any]:
    """Return a client that sends these messages, and then nothing more or ``for_ever`` repeatedly."""
    left = list(messages)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pause)
        if left:
            return left.pop(0)
        if for_ever is None:
            await asyncio.Event().wait()
        return dict(for_ever or {})

    return receive


def limits_of(how: str, silence: float) -> BodyLimits:
    """Return the limits of a front end, with another time to wait for the next bytes."""
    limits = {"json": JSON_BODY, "upload": uploads.UPLOAD, "form": posted_form.BODY}[how]
    total = silence if limits.seconds == limits.silence else limits.seconds
    return limits._replace(size=1_000_000, silence=silence, seconds=total)


async def refusal_of(receive: Callable[..., Any], how: str, silence: float = 10.0) -> Refusal:
    request, limits = Request(dict(SCOPE), receive), limits_of(how, silence)
    if how == "json":
        refusal = await request.body(limits)
        assert isinstance(refusal, Refusal)
        return refusal
    with pytest.raises(BodyError) as raised:
        _ = [chunk async for chunk in request.chunks(limits)]
    return raised.value.refusal


EVERY_BODY = pytest.mark.parametrize("how", ["json", "upload", "form"])


@EVERY_BODY
async def test_a_body_that_stalls(how: str) -> None:
    assert (await refusal_of(sends(PIECE), how, 0.2)).code is Code.REQUEST_TIMEOUT


@EVERY_BODY
async def test_a_body_that_drips(how: str) -> None:
    """Each byte arrives in time, but the rate is too low for the whole body."""
    assert (await refusal_of(sends(for_ever=PIECE, pause=0.01), how, 0.2)).code is Code.REQUEST_TIMEOUT


@EVERY_BODY
async def test_a_body_that_is_cut(how: str) -> None:
    """A client that disconnects is not reported as one that sends invalid JSON."""
    assert (await refusal_of(sends(PIECE, {"type": "http.disconnect"}), how)).code is Code.INVALID_HTTP


@EVERY_BODY
async def test_a_body_that_is_too_large(how: str) -> None:
    """It is refused as soon as it is, whatever it announced."""
    refusal = await refusal_of(sends(for_ever={**PIECE, "body": b"x" * 300_000}), how)
    assert (refusal.code, refusal.details) == (Code.BODY_TOO_LARGE, {"maximum_bytes": 1_000_000})


@pytest.mark.parametrize("how", ["upload", "form"])
async def test_a_large_body_has_more_time(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may take longer than the first seconds, as long as it keeps up the rate. The clock moves with the pieces."""
    seconds = [0.0]
    monkeypatch.setattr(clock, "monotonic", lambda: seconds[0])
    left = [{**PIECE, "body": b"x" * 100} for _ in range(30)] + [{**PIECE, "more_body": False}]

    async def receive() -> dict[str, Any]:
        seconds[0] += 0.5
        return left.pop(0)

    limits = limits_of(how, 5.0)._replace(rate=1)
    assert sum([len(chunk) async for chunk in Request(dict(SCOPE), receive).chunks(limits)]) == 3_001
