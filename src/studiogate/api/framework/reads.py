"""Responses to reads: one resource with its ETag, or a page of a list."""

import hashlib

from studiogate.api.framework.route import Caller
from studiogate.domain.paging import Page
from studiogate.domain.refusals import Code, Refusal
from studiogate.web.response import Answer


def found(caller: Caller, wire: str | None) -> Answer:
    """Return the resource, 304 if the caller already has it, or not_found."""
    if wire is None:
        return caller.refuse(Refusal(Code.NOT_FOUND))
    body = wire.encode()
    etag = b'W/"' + hashlib.blake2b(body, digest_size=12).hexdigest().encode() + b'"'
    known = caller.request.headers.get(b"if-none-match")
    if known is not None and _matches(known, etag):
        return Answer(304, b"", ((b"etag", etag),))
    return Answer(200, body, ((b"etag", etag),))


def listed(caller: Caller, page: Page | Refusal) -> Answer:
    if isinstance(page, Refusal):
        return caller.refuse(page)
    return Answer(200, page.as_json().encode())


def _matches(known: bytes, etag: bytes) -> bool:
    """Compare weakly, as If-None-Match requires."""
    if known.strip() == b"*":
        return True
    opaque = etag.removeprefix(b"W/")
    return any(each.strip().removeprefix(b"W/") == opaque for each in known.split(b","))
