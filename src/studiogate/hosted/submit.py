"""Handle a POST to a form's page: move between its steps, or submit it. Answers are validated by the same rules as in
the API; this module puts the errors beside their fields.

With JavaScript, the page requests the result as JSON and stays open. Without it, each button is a round trip: a field
that an answer has made visible is shown first, and is not reported as an error before it has been seen.
"""

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace

from studiogate.domain.forms.answer_checks import FormSetting
from studiogate.domain.forms.answers import judge
from studiogate.domain.forms.visibility import visible_keys
from studiogate.domain.people import normalize_email
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.forms import submit as flow
from studiogate.flows.forms.submit import BAD_EMAIL, SubmissionToStore
from studiogate.hosted import bot_protection, messages, pages, posted_form
from studiogate.hosted.bot_protection import Suspicion
from studiogate.hosted.messages import NoticeReason, notice, reason_of
from studiogate.hosted.open_form import Opened
from studiogate.hosted.posted_form import Posted, input_name, read_posted, submitter
from studiogate.hosted.steps import EMAIL, answered
from studiogate.hosted.upload import IsOver, Receiver
from studiogate.runtime import Runtime
from studiogate.storage.db.pool import DatabaseUnavailableError, OverloadedError, TransactionConflictError
from studiogate.storage.upload_store import FAILURES
from studiogate.web.multipart import Pairs
from studiogate.web.request import Request
from studiogate.web.response import Answer, as_json, see_other

MORE = "Your answers added more questions. Please answer them too."


class Sending:
    """One POST to a form's page."""

    def __init__(self, runtime: Runtime, request: Request, opened: Opened, is_over: IsOver | None = None) -> None:
        self._runtime = runtime
        self._request = request
        self._opened = opened
        self._receiver = Receiver(runtime, opened, is_over)
        self.posted = Posted()

    async def receive(self) -> None:
        try:
            pairs = await self._request.form(posted_form.FORM, self._take_file)
        except Exception:
            await self.discard()
            raise
        self.posted = read_posted(self._opened.plan, pairs)
        for key, upload_id in self._receiver.received:
            self.posted.answers[key] = [*self.posted.answers.get(key, []), upload_id]

    async def discard(self) -> None:
        """Remove the files that came with the form, which is refused. If that fails, housekeeping removes them."""
        with suppress(OverloadedError, TransactionConflictError, DatabaseUnavailableError, *FAILURES):
            await self._receiver.discard()

    async def _take_file(self, before: Pairs, name: str, filename: str, content: AsyncIterator[bytes]) -> None:
        """Store a file that a browser without script sent in the form, if the token that precedes it is valid."""
        token = dict(before).get("token", "")
        secret, form = self._opened.studio.link_secret, self._opened.form
        if bot_protection.token_suspicion(secret, form.id, token, form.now) is None:
            await self._receiver.take(name, filename, content)

    async def answer(self) -> Answer:
        opened, posted = self._opened, self.posted
        suspicion = bot_protection.suspicion(opened.studio.link_secret, opened.form.id, posted, opened.form.now)
        if suspicion is not None:
            return await self._suspected(suspicion)
        if posted.action == "back":
            return await self._show(opened.plan.step_before(posted.step, posted.answers))
        unseen = self._unseen()
        if unseen and not self._request.wants_json:
            names = {input_name(key) for key in unseen}
            errors = {name: text for name, text in (await self._errors(posted.step)).items() if name not in names}
            return await self._show(min(map(opened.plan.step_of, unseen)), errors | self._receiver.errors, MORE)
        if posted.action != "next":
            return await self._submit()
        found = await self._errors(posted.step)
        if found:
            return await self._refused(found)
        step = opened.plan.next_step(posted.step, posted.answers)
        return as_json(200, {"step": step}) if self._request.wants_json else await self._show(step)

    async def _suspected(self, suspicion: Suspicion) -> Answer:
        opened, token, text = self._opened, self.posted.token, messages.TEXTS["suspicions"][suspicion]
        if suspicion in (Suspicion.UNSEALED, Suspicion.STALE):
            self.posted.token = ""  # nosec B105 # to be replaced by a fresh one
        if not self._request.wants_json:
            return await self._show(self.posted.step, {"": text}, text)
        wait = bot_protection.seconds_to_wait(opened.studio.link_secret, opened.form.id, token, opened.form.now)
        answer: dict[str, object] = {"message": text, "faults": {}}
        if suspicion is Suspicion.TOO_QUICK:
            answer["wait"] = wait
        elif suspicion is not Suspicion.TRAPPED:
            answer["token"] = pages.new_token(opened)
        return as_json(422, answer)

    def _unseen(self) -> list[str]:
        """Return the fields that these answers make visible and the page did not show."""
        visible = visible_keys(self._opened.plan.fields, self.posted.answers)
        last = len(self._opened.plan.steps) if self.posted.action == "send" else self.posted.step
        return [
            key
            for key in map(str, (field.get("key") for field in self._opened.plan.fields))
            if key in visible and input_name(key) not in self.posted.shown and self._opened.plan.step_of(key) <= last
        ]

    async def _errors(self, last_step: int) -> dict[str, str]:
        """Return the errors in all steps up to the given one, by input name."""
        opened, posted = self._opened, self.posted
        async with self._runtime.database.connection() as connection:
            kept = await pages.uploads_of(connection, opened, posted)
        uploads = {each: key for key, ids in posted.answers.items() if isinstance(ids, list) for each in ids}
        setting = FormSetting(opened.studio.country, {each: key for each, key in uploads.items() if each in kept})
        faults = judge(opened.plan.fields, answered(opened.plan, posted.answers), setting).faults
        if opened.asks and not normalize_email(submitter(opened.plan.contact, posted)[0]):
            faults = [BAD_EMAIL, *faults]
        said = messages.messages(opened.plan, faults, opened.plan.contact.email_key)
        within = {EMAIL, *(input_name(str(f.get("key"))) for step in opened.plan.steps[: last_step + 1] for f in step)}
        return {name: text for name, text in said.items() if name in within} | self._receiver.errors

    async def _submit(self) -> Answer:
        opened, posted = self._opened, self.posted
        if self._receiver.errors:
            return await self._refused(self._receiver.errors)
        email, name = submitter(opened.plan.contact, posted)
        if opened.member is not None:
            email, name = opened.member.email or email, opened.member.name or None
        answers = answered(opened.plan, posted.answers)
        wanted = SubmissionToStore(email, name, answers, opened.member_id, posted.token)
        mails = self._runtime.settings.smtp_url is not None
        outcome = await flow.submit_from_page(
            self._runtime.database, opened.access, opened.form.id, wanted, mails=mails
        )
        if isinstance(outcome, Refusal):
            return await self._not_taken(outcome)
        self._runtime.sequencer.kick(opened.access.studio_id)
        url = opened.form.settings.redirect_url
        location = url if url and not opened.embedded else replace(opened, link="").address("/done")
        return as_json(201, {"location": location}) if self._request.wants_json else see_other(location)

    async def _not_taken(self, refusal: Refusal) -> Answer:
        opened = self._opened
        if refusal.code is Code.VALIDATION_ERROR:
            said = messages.messages(opened.plan, refusal.faults, opened.plan.contact.email_key)
            return await self._refused(said or {"": messages.GENERIC})
        reason = reason_of(refusal.details["reason"]) if "reason" in refusal.details else NoticeReason.CLOSED_NOW
        # The form was open when the request began and closed before the answers were stored.
        reason = NoticeReason.CLOSED_NOW if reason in (NoticeReason.ARCHIVED, NoticeReason.CLOSED) else reason
        shown = notice(reason, opened.studio, opened.form)
        await self.discard()
        return pages.notice_page(self._request, shown, embedded=opened.embedded)

    async def _refused(self, errors: dict[str, str]) -> Answer:
        by_name = {input_name(str(each.get("key"))): str(each.get("key")) for each in self._opened.plan.fields}
        step = min(self._opened.plan.step_of(by_name.get(name, "")) for name in errors)
        if self._request.wants_json:
            return as_json(422, {"faults": errors, "step": step})
        return await self._show(step, errors)

    async def _show(self, step: int, errors: dict[str, str] | None = None, message: str = "") -> Answer:
        self.posted.step = step
        async with self._runtime.database.connection() as connection:
            return await pages.show(connection, self._opened, self.posted, errors or {}, message)


class Rehearsal(Sending):
    """A POST to the preview of a form: its answers are judged, and nothing is stored."""

    async def _take_file(self, before: Pairs, name: str, filename: str, content: AsyncIterator[bytes]) -> None:
        async for _ in content:
            pass

    async def _submit(self) -> Answer:
        opened = self._opened
        if found := await self._errors(len(opened.plan.steps) - 1):
            return await self._refused(found)
        return pages.notice_page(self._request, notice(NoticeReason.PREVIEWED, opened.studio, opened.form))
