"""Receive files from the page with the API's flow: one at a time, checked by content, stored in full or not at all."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias
from urllib.parse import unquote

from studiogate.domain.forms.upload_limits import size_limit
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.forms import upload as flow
from studiogate.flows.forms.upload import FormForUpload
from studiogate.hosted import bot_protection, pages, posted_form
from studiogate.hosted.messages import TEXTS, Notice, NoticeError, NoticeReason, size_in_words
from studiogate.hosted.open_form import Opened
from studiogate.hosted.posted_form import input_name
from studiogate.runtime import Runtime
from studiogate.storage.upload_store import IncomingFile
from studiogate.web.request import Request
from studiogate.web.response import Answer, as_json

IsOver: TypeAlias = Callable[[], Awaitable[bool]]
_STATUS = {
    Code.BODY_TOO_LARGE: 413,
    Code.LIMIT_REACHED: 409,
    Code.FORM_NOT_ACCEPTING_SUBMISSIONS: 409,
    Code.STORAGE_UNAVAILABLE: 503,
}


class Receiver:
    """Stores files for one form and records which were stored and which refused. ``is_over`` counts a file against the
    visitor's rate limit."""

    def __init__(self, runtime: Runtime, opened: Opened, is_over: IsOver | None = None) -> None:
        self._runtime = runtime
        self._is_over = is_over
        self._opened = opened
        self._folder = runtime.uploads
        self._form: FormForUpload | Refusal | None = None
        self.received: list[tuple[str, str]] = []
        self.errors: dict[str, str] = {}

    async def take(self, name: str, filename: str, content: AsyncIterator[bytes]) -> None:
        prefix, _, quoted = name.partition(".")
        key = unquote(quoted)
        if prefix != "u":
            return
        if self._is_over is not None and await self._is_over():
            raise NoticeError(NoticeReason.TOO_MANY)
        outcome = await self.store(key, filename, content)
        if isinstance(outcome, Refusal):
            self.errors[input_name(key)] = f"{filename[:80]}: {in_words(outcome)}"
        else:
            self.received.append((key, json.loads(outcome)["id"]))

    async def store(self, key: str, filename: str, content: AsyncIterator[bytes]) -> str | Refusal:
        """Store a file and return the upload in wire form. Reading stops at the field's size limit."""
        database, access = self._runtime.database, self._opened.access
        form = await self._form_for_uploads()
        if isinstance(form, Refusal):
            return form
        full = flow.room_refusal(self._folder, self._runtime.settings)
        if full is not None:
            return full
        most = size_limit(form.fields.get(key, {}))
        async with IncomingFile(self._folder, access.studio_id) as file:
            async for piece in content:
                if file.size + len(piece) > most:
                    return Refusal(Code.BODY_TOO_LARGE, {"maximum_bytes": most}, "file")
                file.write(piece)
            upload = await flow.judge(form, key, filename, file)
            if isinstance(upload, Refusal):
                return upload
            quota = flow.quota_of(self._runtime.settings)
            wire = await flow.record_from_page(database, access, form, upload, quota)
            if not isinstance(wire, Refusal):
                await file.keep()
            return wire

    async def discard(self) -> None:
        """Remove the stored files of a form that is refused without being shown again: no page names them."""
        if self.received:
            ids = [upload_id for _, upload_id in self.received]
            await flow.discard(self._runtime.database, self._opened.access, self._folder, ids)

    async def _form_for_uploads(self) -> FormForUpload | Refusal:
        """Return the form, which is read once per request, not once per file."""
        if self._form is None:
            async with self._runtime.database.connection() as connection:
                self._form = await flow.open_for_uploads(connection, self._opened.access, self._opened.form.id)
        return self._form


async def upload(runtime: Runtime, request: Request, opened: Opened) -> Answer:
    """Store one file, sent as the whole body. The page's script does this so that it can show progress."""
    token = request.headers.get(b"x-form-token", b"").decode("latin-1")
    if bot_protection.token_suspicion(opened.studio.link_secret, opened.form.id, token, opened.form.now) is not None:
        return _refused(request, opened, 403, TEXTS["uploads"]["unsealed"])
    filename = unquote(request.headers.get(b"x-file-name", b"file").decode("latin-1"), errors="replace")
    # This request, which is one file, has already been counted against the rate limit.
    receiver = Receiver(runtime, opened)
    outcome = await receiver.store(request.filled.get("field", ""), filename, request.chunks(posted_form.BODY))
    if isinstance(outcome, Refusal):
        return _refused(request, opened, _STATUS.get(outcome.code, 422), in_words(outcome))
    return as_json(201, json.loads(outcome))


def _refused(request: Request, opened: Opened, status: int, text: str) -> Answer:
    """Return a refusal as JSON for our own script, otherwise as a page."""
    if request.wants_json:
        return as_json(status, {"message": text})
    problem = Notice(status, "alert", "The file was not uploaded", text, studio=opened.studio)
    return pages.notice_page(request, problem, embedded=opened.embedded)


def in_words(refusal: Refusal) -> str:
    if refusal.code is Code.BODY_TOO_LARGE:
        return f"This file is larger than {size_in_words(refusal.details['maximum_bytes'])}."
    if refusal.code is not Code.VALIDATION_ERROR:
        return str(TEXTS["uploads"].get(refusal.code, TEXTS["uploads"][Code.FORM_NOT_ACCEPTING_SUBMISSIONS]))
    fault = refusal.faults[0]
    return TEXTS["uploads"].get(fault.type) or "This file" + fault.msg.removeprefix("The file") + "."
