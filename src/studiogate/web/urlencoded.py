"""Names and values of a query string or of a posted form (application/x-www-form-urlencoded).

``urllib.parse`` decodes escapes in a Python loop, and so does a regular expression that corrects incomplete ones: a
body of 1 MiB that consists of ``%`` takes a third of a second, and anybody can send one to a form. Quoted-printable,
which ``binascii`` decodes in C, differs from percent-encoding only in its escape character, so the text is translated
to it first. Browsers send no incomplete escapes, so a form that has one is refused. People copy addresses that have
some: there they stay as they are, and the length of a query is bounded by that of a request's head.
"""

import binascii
from urllib.parse import unquote_to_bytes

# Of a query. No page and no endpoint has a tenth of them, and so many are more faults than are listed (1,000): whatever
# follows decides nothing.
MAX_PARAMETERS = 1_010
_SOFT_BREAKS = (b"%\r", b"%\n")  # quoted-printable joins such lines


class IncompleteEscapeError(ValueError):
    """A percent sign without two hexadecimal digits."""


def query_pairs(text: bytes) -> list[tuple[str, str]]:
    """Return the first MAX_PARAMETERS names and values of a query in order. Bytes that are not UTF-8 become U+FFFD."""
    return [(_text(_leniently(name)), _text(_leniently(value))) for name, value in _parts(text, MAX_PARAMETERS)]


def form_pairs(text: bytes, most: int) -> list[tuple[str, str]]:
    """Return the names and values of a posted form in order, including blank values; raise ValueError for more than
    ``most``, and for an escape that is incomplete."""
    if text.count(b"&") >= most:
        raise ValueError(f"more than {most} fields")
    return [(_text(_decoded(name)), _text(_decoded(value))) for name, value in _parts(text, most)]


def is_utf8(query: bytes) -> bool:
    """Return whether a query is UTF-8 once its escapes are decoded."""
    try:
        _leniently(query).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _parts(text: bytes, most: int) -> list[tuple[bytes, bytes]]:
    return [part.partition(b"=")[::2] for part in list(filter(None, text.split(b"&")))[:most]]


def _text(decoded: bytes) -> str:
    return decoded.decode("utf-8", "replace")


def _leniently(text: bytes) -> bytes:
    try:
        return _decoded(text)
    except IncompleteEscapeError:
        return unquote_to_bytes(text.replace(b"+", b" "))


def _decoded(text: bytes) -> bytes:
    """Decode ``+`` and percent escapes; raise IncompleteEscapeError at an escape that is none."""
    if b"+" in text:
        text = text.replace(b"+", b" ")
    escapes = text.count(b"%")
    if not escapes:
        return text
    if b"%%" in text:
        raise IncompleteEscapeError("an escape is incomplete")
    decoded = binascii.a2b_qp(text.replace(b"=", b"=3D").replace(b"%", b"="))
    # Each complete escape shortens the text by two bytes, everything else by fewer.
    if len(text) - len(decoded) != 2 * escapes or any(each in text for each in _SOFT_BREAKS):
        raise IncompleteEscapeError("an escape is incomplete")
    return decoded
