"""The API process as it must not be: it writes secrets down in every way that the full run has to notice."""

import base64
import traceback
from typing import Any
from urllib.parse import quote

import structlog

from studiogate import telemetry
from studiogate.api import app as partners
from studiogate.api.requests import Request
from studiogate.cli import api_process
from studiogate.storage import database

_answer = partners.PartnerApp._answer


async def _tell_all(self: partners.PartnerApp, exchange: Any) -> Any:
    """The key in base64, the address in its own spelling, the body as it came."""
    request: Request = exchange.request
    key = base64.b64encode(b"key: " + request.headers.get(b"x-service-key", b"")).decode()
    structlog.get_logger().info("leak", key=key, query=quote(request._query_string.decode("latin-1"), safe=""))
    receive = request._receive

    async def tell_body() -> Any:
        message = await receive()
        structlog.get_logger().info("leak", body=message.get("body", b"").decode("latin-1"))
        return message

    request._receive = tell_body
    return await _answer(self, exchange)


def main() -> None:
    partners.PartnerApp._answer = _tell_all  # type: ignore[method-assign]
    telemetry._where_it_failed = lambda exc_info: "".join(traceback.format_exception(*exc_info))
    database.SESSION["log_error_verbosity"] = "verbose"
    api_process.main()


if __name__ == "__main__":
    main()
