"""Signing secrets: made here, kept sealed, and used for Standard Webhooks signatures."""

import base64
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from standardwebhooks import Webhook

SECRET_BYTES = 32
NONCE_BYTES = 12


class SealError(Exception):
    """The sealed text was not sealed with this deployment's key."""


class Sealer:
    """AES-256-GCM with the deployment's key. What it is for is sealed in: one endpoint's secret opens no other."""

    def __init__(self, load_key: Callable[[], bytes]) -> None:
        self._load_key = load_key

    @cached_property
    def _cipher(self) -> AESGCM:
        return AESGCM(self._load_key())

    def seal(self, text: bytes, purpose: str) -> bytes:
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, text, purpose.encode())

    def open(self, sealed: bytes, purpose: str) -> bytes:
        try:
            return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], purpose.encode())
        except InvalidTag as error:
            raise SealError("a secret was sealed with another key than this deployment's") from error


def new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signed_headers(whsecs: Sequence[str], message_id: str, now: datetime, body: str) -> list[tuple[bytes, bytes]]:
    """The three headers of Standard Webhooks, with a signature by every secret that is valid now."""
    signatures = " ".join(Webhook(each).sign(message_id, now, body) for each in whsecs)
    return [
        (b"webhook-id", message_id.encode()),
        (b"webhook-timestamp", str(int(now.timestamp())).encode()),
        (b"webhook-signature", signatures.encode()),
    ]
