"""Read a posted form: its text fields in order, and the file of an action that takes one.

A form that changes something shows all its values and sends all of them back. Two people who edit the same thing must
not undo each other's changes, so such a form also carries what it showed (``seen``, as short hashes), and fields that
come back as they were shown do not count as given.
"""

import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, NamedTuple, cast

from studiogate.domain.refusals import Code, Refusal
from studiogate.web.body import BodyError, BodyLimits
from studiogate.web.multipart import FormLimits, Pairs
from studiogate.web.request import Request

# A form's definition has up to 256 KiB, and most of its characters are three times as long when they are sent.
MAX_BODY = 1024 * 1024
MAX_ANONYMOUS_BODY = 256 * 1024  # a page repeats it, while somebody signs in again to send it
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
# Hidden fields of the pages that ask for a password: another form, and addresses; a form as it is built.
LONGER: Mapping[str, int] = {KEPT: MAX_BODY, "definition": MAX_BODY, "next": MAX_VALUE, "target": MAX_VALUE}


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


def seen_text(values: Mapping[str, object]) -> str:
    """Return the value of the hidden field ``seen`` for a form that shows these values; a list of them are boxes."""
    return " ".join(f"{name}:{_short_hash(value)}" for name, value in values.items())


def untouched(form: Mapping[str, object], names: Iterable[str]) -> frozenset[str]:
    """Return the fields that come back as the form showed them; none if it does not say what it showed. A switch that
    is off is not sent, which is the same as an empty value."""
    seen = dict(part.partition(":")[::2] for part in _one_text(form.get(SEEN, "")).split())
    return frozenset(name for name in names if seen.get(name) == _short_hash(form.get(name, "")))


def renamed_faults(refusal: Refusal, names: Mapping[str, str]) -> Refusal:
    """Return a refusal whose faults name the fields of a form: ``names`` has the field of each stored field."""
    faults = [
        fault._replace(loc=(names.get(str(fault.loc[0]), fault.loc[0]), *fault.loc[1:])) for fault in refusal.faults
    ]
    return Refusal(refusal.code, refusal.details, refusal.param, faults)


def _one_text(value: object) -> str:
    return " ".join(sorted(map(str, value))) if isinstance(value, list) else str(value)


def _short_hash(value: object) -> str:
    """Return a hash of a value; browsers send line ends as CR LF."""
    text = _one_text(value).replace("\r\n", "\n").strip()
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


async def read(request: Request, max_body: int, max_value: int, max_file: int) -> Posted | Refusal:
    """Read the body of a form, which may be so long, like each value in it, with a file if one may have any bytes.
    PostgreSQL stores no U+0000, so it is removed."""
    body = BodyLimits(max_file + max_body, seconds=300.0) if max_file else BodyLimits(max_body)
    files: list[UploadedFile] = []

    async def take_file(_before: Pairs, _part: str, name: str, content: AsyncIterator[bytes]) -> None:
        spooled = SpooledTemporaryFile(FILE_IN_MEMORY)  # noqa: SIM115 (it is gone with the request)
        files.append(UploadedFile(name, cast(BinaryIO, spooled)))
        async for piece in content:
            spooled.write(piece)

    lists: dict[str, list[str]] = {}
    try:
        form = FormLimits(body, max_body, MAX_FIELDS)
        for name, value in await request.form(form, take_file if max_file else None):
            lists.setdefault(name, []).append(value.replace("\0", ""))
    except BodyError as error:
        is_too_large = max_file and error.refusal.code is Code.BODY_TOO_LARGE
        return replace(error.refusal, details={"megabytes": f"{max_file / 2**20:g}"}) if is_too_large else error.refusal
    except OSError:
        return Refusal(Code.STORAGE_UNAVAILABLE)
    for name, values in lists.items():
        most = LONGER.get(name, max_value)
        if any(len(each) > most for each in values):
            return Refusal(Code.BODY_TOO_LARGE, {"maximum_characters": most})
    return Posted(lists, files[0] if files else None)
