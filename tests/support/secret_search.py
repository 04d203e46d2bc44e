"""The secrets that must not be in a log, and how to find them there in any encoding."""

import base64
import hashlib
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus

from studiogate.domain import keys


@dataclass
class Secrets:
    """Everything that a run used and nobody may read in a log, each by the kind of thing it is."""

    kinds: dict[str, str] = field(default_factory=dict)

    def keep(self, kind: str, value: str) -> str:
        self.kinds[value] = kind
        return value

    def keep_key(self, kind: str, key: str) -> str:
        """The whole key, its secret part, and the hash that the database knows it by."""
        secret = key.split("_")[3]
        self.kinds |= dict.fromkeys((key, secret, secret[: keys.SECRET_LENGTH]), kind)
        self.kinds[keys.secret_hash(secret[: keys.SECRET_LENGTH]).hex()] = f"hash of {kind}"
        return key

    def email(self, kind: str = "email") -> str:
        return self.keep(kind, f"{_word()}@{_word()}.example")

    def phone(self) -> str:
        """A number of New York that is written in full in every form that we keep."""
        return self.keep("phone", f"+121223{secrets.randbelow(100_000):05}")

    def text(self, kind: str) -> str:
        return self.keep(kind, f"{_word()} {_word()}")

    def found_in(self, log: str) -> set[str]:
        """The kinds of secrets that can be read in it."""
        lower = log.lower()
        return {kind for value, kind in self.kinds.items() if any(form.lower() in lower for form in forms_of(value))}


def _word() -> str:
    return "zq" + secrets.token_hex(6)


def forms_of(value: str) -> Iterator[str]:
    """As it is, escaped for JSON, in an address, in hexadecimal digits, and in base64 wherever in it it stands."""
    content = value.encode()
    yield from (value, json.dumps(value)[1:-1], quote(value, safe=""), quote_plus(value), content.hex())
    yield hashlib.sha256(content).hexdigest()
    for before in range(3):
        # The characters at both ends also hold bits of whatever stands beside it.
        encoded = base64.b64encode(b"\x00" * before + content).decode().rstrip("=")
        inner = encoded[(before * 8 + 5) // 6 : len(encoded) - 1]
        yield from (inner, inner.translate(str.maketrans("+/", "-_")))
