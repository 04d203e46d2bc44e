"""Encryption of stored secrets ("sealing") with the deployment's secret key."""

import hmac
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 12
FINGERPRINT_BYTES = 16


class SealError(Exception):
    """A secret cannot be sealed or opened, because this process does not have the key in use."""


def fingerprint(key: bytes) -> bytes:
    """Return a value that identifies a key without revealing anything about it."""
    return hmac.digest(key, b"studiogate secret key", "sha256")[:FINGERPRINT_BYTES]


class Sealer:
    """AES-256-GCM with the deployment's key. The purpose is authenticated: one endpoint's secret cannot stand in for
    another's. During a key rotation there are two keys: both open, and the database determines which one seals
    (``use``). Keys are reloaded when something cannot be opened, so a rotation needs no restart."""

    def __init__(self, load_keys: Callable[[], Sequence[bytes]]) -> None:
        self._load_keys = load_keys
        self._ciphers: dict[bytes, AESGCM] = {}
        self._current: bytes | None = None

    def use(self, wanted: bytes | None) -> None:
        """Seal with the key of this fingerprint from now on. None: no key is recorded in the database yet."""
        if wanted is None:
            return
        if wanted not in self._ciphers:
            self._load()
        if wanted not in self._ciphers:
            raise SealError("this process has another secret key than the database: restart it with the right one")
        self._current = wanted

    def seal(self, text: bytes, purpose: str) -> bytes:
        if self._current is None:
            self._load()
            self._current = next(iter(self._ciphers))
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._ciphers[self._current].encrypt(nonce, text, purpose.encode())

    def open(self, sealed: bytes, purpose: str) -> bytes:
        text = self._opened(sealed, purpose)
        if text is None and self._load():
            text = self._opened(sealed, purpose)
        if text is None:
            raise SealError("a secret was sealed with another key than this deployment's")
        return text

    def _opened(self, sealed: bytes, purpose: str) -> bytes | None:
        for cipher in self._ciphers.values():
            with suppress(InvalidTag, ValueError):  # ValueError: too short to be a sealed text
                return cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], purpose.encode())
        return None

    def _load(self) -> bool:
        """Load the keys; return whether any are new. Known ones are kept, for secrets read before a rotation."""
        loaded = {fingerprint(key): key for key in self._load_keys()}
        new = {each: AESGCM(key) for each, key in loaded.items() if each not in self._ciphers}
        self._ciphers |= new
        return bool(new)
