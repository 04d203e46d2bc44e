"""The headers that restrict what a browser does with an answer. Each front end extends them with its own."""

from studiogate.web.response import Header

_NOTHING = b"default-src 'none'; frame-ancestors 'none'"
# For answers that a browser shows as a page, or loads from one.
OF_PAGES: tuple[Header, ...] = (
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


def on_every_answer(
    *, policy: bytes = _NOTHING, referrer: bytes = b"no-referrer", framed: bool = False
) -> tuple[Header, ...]:
    """Return the headers of every answer of a front end: not stored, HTTPS only, the content security policy. With
    ``framed``, the policy alone says which sites may show a page in a frame."""
    return (
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        *(() if framed else ((b"x-frame-options", b"DENY"),)),
        (b"referrer-policy", referrer),
        (b"content-security-policy", policy),
        (b"strict-transport-security", b"max-age=31536000"),
    )
