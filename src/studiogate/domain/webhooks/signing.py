"""Signing secrets of webhook endpoints, and the signatures of Standard Webhooks that are made with them."""

import base64
import secrets
from collections.abc import Sequence
from datetime import datetime

from standardwebhooks import Webhook

SECRET_BYTES = 32


def new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signed_headers(whsecs: Sequence[str], message_id: str, now: datetime, body: str) -> list[tuple[bytes, bytes]]:
    """Return the three headers of Standard Webhooks, with one signature per currently valid secret (``whsecs``)."""
    signatures = " ".join(Webhook(each).sign(message_id, now, body) for each in whsecs)
    return [
        (b"webhook-id", message_id.encode()),
        (b"webhook-timestamp", str(int(now.timestamp())).encode()),
        (b"webhook-signature", signatures.encode()),
    ]
