"""Names and values of a query string or of a posted form (application/x-www-form-urlencoded).

``urllib.parse`` decodes escapes in a Python loop: a body of 1 MiB that consists of escapes takes a third of a second,
and anybody can send one to a form. Quoted-printable, which ``binascii`` decodes in C, differs from percent-encoding
only in its escape character, so the text is translated to it first.
"""

import binascii
import re

# Kept as they are, as urllib and browsers do.
_INCOMPLETE_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def decode(text: bytes) -> str:
    """Decode ``+`` and percent escapes; bytes that are not UTF-8 become U+FFFD."""
    return _decoded(text).decode("utf-8", "replace")


def is_utf8(text: bytes) -> bool:
    """Return whether a text is UTF-8 once its escapes are decoded."""
    try:
        _decoded(text).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _decoded(text: bytes) -> bytes:
    text = text.replace(b"+", b" ")
    if b"%" in text:
        text = _INCOMPLETE_ESCAPE.sub(b"%25", text)
        text = binascii.a2b_qp(text.replace(b"=", b"=3D").replace(b"%", b"="))
    return text


def pairs(text: bytes, *, most: int | None = None) -> list[tuple[str, str]]:
    """Return the names and values in order, including blank values; raise ValueError for more than ``most``."""
    if most is not None and text.count(b"&") >= most:
        raise ValueError(f"more than {most} fields")
    found = []
    for part in text.split(b"&"):
        if part:
            name, _, value = part.partition(b"=")
            found.append((decode(name), decode(value)))
    return found
