"""Read a posted form: its text fields, in order. Files have their own reader (``uploads``)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from studiogate.domain.refusals import Code, Refusal
from studiogate.web import urlencoded
from studiogate.web.request import Request

MAXIMUM_BODY = 512 * 1024
MAXIMUM_FIELDS = 2_000
CSRF = "csrf"
TOKEN = "idempotency"  # noqa: S105  # nosec B105


@dataclass(frozen=True, slots=True)
class Posted:
    """The fields of a form; ``lists`` has all values of each name."""

    lists: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def first(self) -> dict[str, str]:
        return {name: values[0] for name, values in self.lists.items()}

    @property
    def typed_and_token(self) -> list[tuple[str, str]]:
        """What has to be kept to send the form again: no CSRF token, which is another session's then."""
        return [(name, value) for name, values in self.lists.items() if name != CSRF for value in values]


async def read(request: Request) -> Posted | Refusal:
    """Read the body of a form. PostgreSQL stores no U+0000, so it is removed."""
    if request.media_type != b"application/x-www-form-urlencoded":
        return Refusal(Code.UNSUPPORTED_MEDIA_TYPE)
    body = await request.body(MAXIMUM_BODY)
    if isinstance(body, Refusal):
        return body
    lists: dict[str, list[str]] = {}
    try:
        for name, value in urlencoded.pairs(body, most=MAXIMUM_FIELDS):
            lists.setdefault(name, []).append(value.replace("\0", ""))
    except ValueError:
        return Refusal(Code.BODY_TOO_LARGE, {"maximum_fields": MAXIMUM_FIELDS})
    return Posted(lists)
