"""Read a posted form: its text fields in order, and the file of an action that takes one.

A form that changes something shows all its values and sends all of them back. Two people who edit the same thing must
not undo each other's changes, so such a form also carries what it showed (``seen``, as short hashes), and fields that
come back as they were shown do not count as given.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, NamedTuple, cast

from studiogate.domain.refusals import Code, Refusal
from studiogate.web import urlencoded
from studiogate.web.multipart import MultipartError, MultipartReader, PartBegins, PartData, boundary_of
from studiogate.web.request import Request

MAX_BODY = 512 * 1024
MAX_ANONYMOUS_BODY = 256 * 1024  # a page repeats it, while somebody signs in again to send it
MAX_FILE = 1024 * 1024 * 1024
FILE_IN_MEMORY = 1024 * 1024  # beyond that it is on disk
MAX_FIELDS = 2_000
# Characters of a value: twice those of the longest field of any form, and of a form for people who are not signed in.
# A longer value is refused before any page could repeat it.
MAX_VALUE = 20_000
MAX_ANONYMOUS_VALUE = 500
CSRF = "csrf"
TOKEN = "idempotency"  # noqa: S105  # nosec B105
SEEN = "seen"
KEPT = "kept"
# Hidden fields of the pages that ask for a password: another form, and addresses.
LONGER: Mapping[str, int] = {KEPT: MAX_BODY, "next": MAX_VALUE, "target": MAX_VALUE}
BROKEN = Refusal(Code.INVALID_HTTP, {"problem": "the form could not be read"})


class FormLimits(NamedTuple):
    """How long a body and each value of it may be, and whether a file may be in it."""

    body: int = MAX_BODY
    value: int = MAX_VALUE
    with_file: bool = False


class UploadedFile(NamedTuple):
    name: str
    content: BinaryIO


@dataclass(frozen=True, slots=True)
class Posted:
    """The fields of a form; ``lists`` has all values of each name."""

    lists: Mapping[str, list[str]] = field(default_factory=dict)
    file: UploadedFile | None = None

    @property
    def first(self) -> dict[str, str]:
        return {name: values[0] for name, values in self.lists.items()}

    @property
    def typed_and_token(self) -> list[tuple[str, str]]:
        """What has to be kept to send the form again: no CSRF token, which is another session's then."""
        return [(name, value) for name, values in self.lists.items() if name != CSRF for value in values]


def seen_text(values: Mapping[str, str]) -> str:
    """Return the value of the hidden field ``seen`` for a form that shows these values."""
    return " ".join(f"{name}:{_short_hash(value)}" for name, value in values.items())


def untouched(form: Mapping[str, str], names: Iterable[str]) -> frozenset[str]:
    """Return the fields that come back as the form showed them; none if it does not say what it showed. A switch that
    is off is not sent, which is the same as an empty value."""
    seen = dict(part.partition(":")[::2] for part in form.get(SEEN, "").split())
    return frozenset(name for name in names if seen.get(name) == _short_hash(form.get(name, "")))


def renamed_faults(refusal: Refusal, names: Mapping[str, str]) -> Refusal:
    """Return a refusal whose faults name the fields of a form: ``names`` has the field of each stored field."""
    faults = [
        fault._replace(loc=(names.get(str(fault.loc[0]), fault.loc[0]), *fault.loc[1:])) for fault in refusal.faults
    ]
    return Refusal(refusal.code, refusal.details, refusal.param, faults)


def _short_hash(value: str) -> str:
    """Return a hash of a value; browsers send line ends as CR LF."""
    return hashlib.sha256(value.replace("\r\n", "\n").strip().encode(errors="replace")).hexdigest()[:12]


async def read(request: Request, limits: FormLimits) -> Posted | Refusal:
    """Read the body of a form, within its limits. PostgreSQL stores no U+0000, so it is removed."""
    boundary = boundary_of(request.headers.get(b"content-type", b"")) if limits.with_file else None
    form = await (_read_fields(request, limits.body) if boundary is None else _read_parts(request, boundary))
    if isinstance(form, Posted):
        for name, values in form.lists.items():
            most = LONGER.get(name, limits.value)
            if any(len(each) > most for each in values):
                return Refusal(Code.BODY_TOO_LARGE, {"maximum_characters": most})
    return form


async def _read_fields(request: Request, maximum: int) -> Posted | Refusal:
    if request.media_type != b"application/x-www-form-urlencoded":
        return Refusal(Code.UNSUPPORTED_MEDIA_TYPE)
    body = await request.body(maximum)
    if isinstance(body, Refusal):
        return body
    lists: dict[str, list[str]] = {}
    try:
        for name, value in urlencoded.form_pairs(body, MAX_FIELDS):
            lists.setdefault(name, []).append(value.replace("\0", ""))
    except urlencoded.IncompleteEscapeError:
        return BROKEN
    except ValueError:
        return Refusal(Code.BODY_TOO_LARGE, {"maximum_fields": MAX_FIELDS})
    return Posted(lists)


async def _read_parts(request: Request, boundary: bytes) -> Posted | Refusal:
    parts, reader = _Parts(), MultipartReader(boundary)
    try:
        refusal = await request.stream(MAX_FILE + MAX_BODY, lambda chunk: parts.take(reader, chunk))
        if refusal is not None:
            return refusal
        reader.close()
    except MultipartError:
        return BROKEN
    except OSError:
        return Refusal(Code.STORAGE_UNAVAILABLE)
    return Posted(parts.lists, parts.file)


class _Parts:
    """The parts of one body, as they arrive: fields, and one file. A field without a file's name has no file."""

    def __init__(self) -> None:
        self.lists: dict[str, list[str]] = {}
        self.file: UploadedFile | None = None
        self._begun = PartBegins("", None)
        self._text = bytearray()
        self._text_size = 0

    def take(self, reader: MultipartReader, chunk: bytes) -> None:
        for event in reader.feed(chunk):
            if isinstance(event, PartBegins):
                self._begin(event)
            elif isinstance(event, PartData):
                self._add(event.content)
            elif self._begun.filename is None:
                text = self._text.decode("utf-8", "replace").replace("\0", "")
                self.lists.setdefault(self._begun.name, []).append(text)

    def _begin(self, part: PartBegins) -> None:
        self._begun, self._text = part, bytearray()
        if part.filename:
            if self.file is not None:
                raise MultipartError("it has more than one file")
            content = SpooledTemporaryFile(FILE_IN_MEMORY)  # noqa: SIM115 (it is gone with the request)
            self.file = UploadedFile(part.filename, cast(BinaryIO, content))

    def _add(self, content: bytes) -> None:
        if self._begun.filename and self.file is not None:
            self.file.content.write(content)
            return
        self._text_size += len(content)
        if self._text_size > MAX_BODY:
            raise MultipartError("its fields are too long")
        self._text += content
