"""A mutant of the API process that logs secrets in every way that the full run must detect."""

import base64
import traceback
from typing import Any
from urllib.parse import quote

import structlog

from studiogate import telemetry
from studiogate.api import app as partners
from studiogate.domain.refusals import Refusal
from studiogate.server import api_process
from studiogate.storage.db import pool
from studiogate.web.body import BodyLimits
from studiogate.web.request import Request

_answer = partners.PartnerApp.answer
_body = Request.body


async def _log_key_and_query(self: partners.PartnerApp, exchange: Any) -> Any:
    """The key in base64, the address in its own spelling."""
    request: Request = exchange.request
    key = base64.b64encode(b"key: " + request.headers.get(b"x-service-key", b"")).decode()
    structlog.get_logger().info("leak", key=key, query=quote(request._query_string.decode("latin-1"), safe=""))
    return await _answer(self, exchange)


async def _log_body(self: Request, limits: BodyLimits) -> bytes | Refusal:
    """The body as it was sent, whether it arrived in one chunk or in several."""
    body = await _body(self, limits)
    structlog.get_logger().info("leak", body=body.decode("latin-1") if isinstance(body, bytes) else "")
    return body


def main() -> None:
    partners.PartnerApp.answer = _log_key_and_query  # type: ignore[method-assign]
    Request.body = _log_body  # type: ignore[method-assign]
    telemetry._where_it_failed = lambda exc_info: "".join(traceback.format_exception(*exc_info))
    pool.SESSION["log_error_verbosity"] = "verbose"
    api_process.main()


if __name__ == "__main__":
    main()
