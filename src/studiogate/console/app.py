"""The ASGI application of the console: find the page, check who asks, run its function, send the answer."""

import asyncio
import json
from dataclasses import replace
from urllib.parse import urlsplit

import structlog

from studiogate import clock, telemetry
from studiogate.console import navigation, screens
from studiogate.console.framework import assets, checks, csrf, resume, sending
from studiogate.console.framework.page import PREFIX, Audience, Match, RouteTable
from studiogate.console.framework.refusals import shown
from studiogate.console.framework.request import ConsoleRequest, Refused, is_own_path
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.staff_flow import RepeatedFormError, first_location, note_location
from studiogate.runtime import Runtime
from studiogate.storage.db.pool import (
    DatabaseUnavailableError,
    OverloadedError,
    TransactionConflictError,
    UnknownOutcomeError,
)
from studiogate.telemetry import metrics
from studiogate.web.limits import Buckets
from studiogate.web.request import Receive, Request, Scope, Send
from studiogate.web.response import Answer

UNAVAILABLE = (OverloadedError, TransactionConflictError, DatabaseUnavailableError, asyncio.CancelledError)
REPEATED = "This form was sent twice. It took effect once."
OTHER_SESSION = "You have signed in again, or chosen another studio, since this page was opened. "
ASK_TO_SEND = OTHER_SESSION + "Send the form as {person} to {studio}?"
SEND_AGAIN = OTHER_SESSION + "Send the form again if it is meant for {studio}, as {person}."
METHODS = ("GET", "HEAD", "POST")
log = structlog.get_logger()


class Exchange:
    """What is known about one request by the time its log line is written. The route, never the path: paths of the
    console have ids of people."""

    def __init__(self, request: Request, runtime: Runtime) -> None:
        self.started = clock.monotonic()
        self.request_id = telemetry.request_id(request.headers.get(b"x-request-id"))
        self.route = "none"
        self.console = ConsoleRequest(request, runtime, secure=checks.is_secure(runtime))


class ConsoleApp:
    """Serves the console to whoever is signed in."""

    def __init__(self, runtime: Runtime, buckets: Buckets | None = None) -> None:
        self._runtime = runtime
        self._buckets = buckets or Buckets()
        routes = screens.routes()
        self._table = RouteTable(routes)
        self._entries = navigation.entries_of([route.path for route in routes if route.method == "GET"])
        assets.ASSETS.read()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        exchange = Exchange(request, self._runtime)
        console = exchange.console
        try:
            answer = sending.compressed(request, await self._answer(exchange))
        except UNAVAILABLE as error:
            log.warning("page not served", request_id=exchange.request_id, problem=type(error).__name__)
            metrics.OVERLOADS.labels(getattr(error, "reason", "drained")).inc()
            answer = _unavailable(console, error)
        except Exception:
            log.exception("internal error", request_id=exchange.request_id, route=exchange.route)
            answer = console.error(Refusal(Code.INTERNAL_ERROR))
        size = len(answer.body)
        if console.event_stream is None:
            await sending.send_answer(request, answer, exchange.request_id, send)
        else:
            size = await sending.send_stream(console.event_stream, exchange.request_id, receive, send)
        _record(exchange, answer.status, size)

    async def _answer(self, exchange: Exchange) -> Answer:
        console, request = exchange.console, exchange.console.http
        if request.path.startswith(assets.PREFIX):
            exchange.route = "/console/assets"
            found = assets.find(request.path, zipped=request.takes_gzip)
            return found or console.not_found()
        admitted = await checks.admit(self._runtime, request, self._buckets)
        console.person, console.navigation = admitted.person, self._entries
        if admitted.refusal is not None:
            answer = console.error(Refusal(Code.RATE_LIMITED))
            return answer._replace(headers=(*answer.headers, (b"retry-after", admitted.refusal.retry_after)))
        if request.method not in METHODS:
            return console.error(Refusal(Code.METHOD_NOT_ALLOWED))
        method = "GET" if request.method == "HEAD" else request.method
        match = self._table.match(method, request.path + "/" if request.path == PREFIX else request.path)
        if match is None:
            return console.not_found()
        exchange.route = PREFIX + match.route.path
        return await self._run(console, match)

    async def _run(self, console: ConsoleRequest, match: Match) -> Answer:
        console.params = match.params
        if match.route.method == "POST":
            return await self._run_action(console, match)
        refusal = checks.permission_refusal(match.route, console.person)
        if refusal is not None and refusal.code is Code.SESSION_ENDED:
            return _sign_in(console)
        return await match.route.handler(console) if refusal is None else console.error(refusal)

    async def _run_action(self, console: ConsoleRequest, match: Match) -> Answer:
        refusal, person = checks.permission_refusal(match.route, console.person), console.person
        if match.route.takes_file and refusal is not None:
            return console.refused(refusal)  # without reading the file
        form = await checks.read_form(self._runtime, console.http, person, match.route)
        if isinstance(form, Refusal):
            return console.error(form)
        console.posted = form
        if refusal is not None and refusal.code is not Code.PASSWORD_REQUIRED:
            return console.refused(refusal)
        if person is not None and match.route.needs is not Audience.ANYBODY:
            if checks.form_refusal(form, person.signed_in) is not None:
                return _of_earlier_session(console)
            console.person = person._replace(access=checks.with_form(person.access, form))
        wrong = match.route.form_check(console) if match.route.form_check is not None else None
        if wrong is not None:
            return await self._shown(console, console.refused(*wrong))
        if refusal is not None:
            return console.refused(refusal)
        try:
            answer = await match.route.handler(console)
        except RepeatedFormError:
            return await _repeated(console)
        if person is not None:
            # Whatever the action emitted is numbered at once: open pages and partners follow the log.
            self._runtime.sequencer.kick(person.access.studio_id)
        await _note_location(console, answer)
        return await self._shown(console, answer)

    async def _shown(self, console: ConsoleRequest, answer: Answer) -> Answer:
        """Return an action's answer; a refused form is shown again."""
        refused = console.refused_form
        return answer if refused is None else await self._show_again(console, refused, answer.status)

    async def _show_again(self, console: ConsoleRequest, refused: Refused, status: int) -> Answer:
        """Show the page that a refused form was on, with what was typed."""
        place = urlsplit(refused.back)
        match = self._table.match("GET", place.path)
        if match is None or checks.permission_refusal(match.route, console.person) is not None:
            return console.error(refused.refusal, refused.resolution)
        again = replace(
            console,
            http=console.http.redirected(place.path, place.query.encode()),
            params=match.params,
            typed=console.form,
            refusal=shown(refused.refusal, console.posted.lists, refused.resolution),
            refused_form=None,
        )
        answer = await match.route.handler(again)
        return answer._replace(status=status) if answer.status == 200 else answer


def _sign_in(console: ConsoleRequest) -> Answer:
    """Lead to the page to sign in. Where htmx asks for a part of a page, a dialog asks: the page and what was typed in
    it stay. A stream of events is refused: a page would be an error in the browser."""
    if console.is_fragment:
        return console.ask_again(Refusal(Code.SESSION_ENDED))
    if console.http.headers.get(b"accept") == sending.STREAM_TYPE:
        return console.error(Refusal(Code.SESSION_ENDED))
    return console.redirect(checks.sign_in_location(console.http))


def _of_earlier_session(console: ConsoleRequest) -> Answer:
    """Ask whether to send a form whose page belongs to another session of this browser or to another studio: somebody
    signed in again or switched the studio in another tab. Our own page sent it (the origin was checked), but perhaps
    for somebody else."""
    names = {"person": console.frame.person or console.frame.email, "studio": console.frame.name}
    if console.is_fragment:
        event = json.dumps({"freshToken": {"csrf": csrf.masked_token(console.signed_in)}}).encode()
        why = shown(checks.EXPIRED_PAGE, {})._replace(text=SEND_AGAIN.format(**names))
        answer = console.refused(checks.EXPIRED_PAGE)
        body = console.fragment("ui/refusal.html", refusal=why).body
        return answer._replace(body=body, headers=(*answer.headers, (b"hx-trigger", event)))
    kept = resume.unpacked(resume.packed(console.posted.typed_and_token))
    values = {"target": console.http.path, "fields": kept, "question": ASK_TO_SEND.format(**names)}
    return console.render("account/send_kept.html", status=403, **values)


async def _repeated(console: ConsoleRequest) -> Answer:
    """Answer a form that took effect before: lead to where the first answer led, else to the page that sent it."""
    if console.is_fragment:
        return Answer(200, b"", ((b"hx-refresh", b"true"),))
    location = await first_location(console.database, console.access)
    return console.redirect(location or _referring_page(console.http), toast=REPEATED)


def _referring_page(request: Request) -> str:
    referrer = urlsplit(request.headers.get(b"referer", b"").decode("latin-1"))
    location = referrer.path + (f"?{referrer.query}" if referrer.query else "")
    return location if is_own_path(location) else "/console/"


async def _note_location(console: ConsoleRequest, answer: Answer) -> None:
    """Note where an action led. What it did is saved by now: if this cannot be, the answer is the same. A form that is
    then sent twice leads to the page that sent it."""
    if answer.status != 303 or console.person is None:
        return
    location = dict(answer.headers)[b"location"].decode()
    try:
        await note_location(console.database, console.access, location)
    except (OverloadedError, TransactionConflictError, DatabaseUnavailableError) as error:
        log.warning("location of a form's answer not noted", problem=type(error).__name__)


def _unavailable(console: ConsoleRequest, error: BaseException) -> Answer:
    code = error.code if isinstance(error, DatabaseUnavailableError) else Code.OVERLOADED
    # Opening a page saves nothing of the person's: only that the session was used.
    unsure = isinstance(error, UnknownOutcomeError) and console.http.method == "POST"
    answer = console.error(Refusal(code, {"outcome": "unknown"} if unsure else {}))
    outcome = ((b"x-outcome", b"unknown"),) if unsure else ()  # network.js says so
    return answer._replace(headers=(*answer.headers, *outcome, (b"retry-after", b"2")))


def _record(exchange: Exchange, status: int, size: int) -> None:
    console = exchange.console
    method = console.http.method if console.http.method in METHODS else "other"
    key, studio = "visitor", ""
    if console.person is not None:
        key, studio = f"staff {console.signed_in.session.account_id}", str(console.access.studio_id)
    seconds = clock.monotonic() - exchange.started
    telemetry.request_records.add(
        telemetry.RequestRecord(method, exchange.route, status, seconds, size, key, exchange.request_id, studio)
    )
