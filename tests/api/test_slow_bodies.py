"""Both front ends refuse a body that stalls, arrives too slowly or is cut off, with the matching error."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from studiogate import clock
from studiogate.domain.refusals import Code, Refusal
from studiogate.hosted import request as hosted
from studiogate.web import request as api

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


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "BODY_SECONDS", 0.2)
    monkeypatch.setattr(hosted, "SILENCE_SECONDS", 0.2)


async def refusal_of(receive: Callable[..., Any], how: str) -> Refusal:
    request = api.Request(dict(SCOPE), receive)
    refusal = await (request.json() if how == "json" else request.stream(1_000_000, lambda _: None))
    assert isinstance(refusal, Refusal)
    return refusal


async def status_of(receive: Callable[..., Any]) -> int:
    request = hosted.VisitorRequest(dict(SCOPE), receive)
    with pytest.raises(hosted.BodyError) as raised:
        _ = [chunk async for chunk in request.chunks()]
    return raised.value.status


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", ["json", "stream"])
async def test_a_body_that_stalls(how: str) -> None:
    assert (await refusal_of(sends(PIECE), how)).code is Code.REQUEST_TIMEOUT
    assert await status_of(sends(PIECE)) == 408


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", ["json", "stream"])
async def test_a_body_that_drips(how: str) -> None:
    """Each byte arrives in time, but the rate is too low for the whole body."""
    assert (await refusal_of(sends(for_ever=PIECE, pause=0.01), how)).code is Code.REQUEST_TIMEOUT
    assert await status_of(sends(for_ever=PIECE, pause=0.01)) == 408


@pytest.mark.parametrize("how", ["json", "stream"])
async def test_a_body_that_is_cut(how: str) -> None:
    """A client that disconnects is not reported as one that sends invalid JSON."""
    cut = {"type": "http.disconnect"}
    assert (await refusal_of(sends(PIECE, cut), how)).code is Code.INVALID_HTTP
    assert await status_of(sends(PIECE, cut)) == 400


async def test_a_large_body_has_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may take longer than the first seconds, as long as it keeps up the rate. The clock moves with the pieces."""
    monkeypatch.setattr(api, "STREAM_RATE", 1)
    monkeypatch.setattr(hosted, "BODY_RATE", 1)
    monkeypatch.setattr(api, "BODY_SECONDS", 5.0)
    monkeypatch.setattr(hosted, "SILENCE_SECONDS", 5.0)
    seconds = [0.0]
    monkeypatch.setattr(clock, "monotonic", lambda: seconds[0])

    def sends_slowly() -> Callable[..., Any]:
        left = [{**PIECE, "body": b"x" * 100} for _ in range(30)] + [{**PIECE, "more_body": False}]

        async def receive() -> dict[str, Any]:
            seconds[0] += 0.5
            return left.pop(0)

        return receive

    taken: list[bytes] = []
    assert await api.Request(dict(SCOPE), sends_slowly()).stream(1_000_000, taken.append) is None
    assert len(b"".join(taken)) == 3_001
    request = hosted.VisitorRequest(dict(SCOPE), sends_slowly())
    assert sum([len(chunk) async for chunk in request.chunks()]) == 3_001
