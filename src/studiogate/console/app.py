"""The ASGI application of the console: find the page, check who asks, run its function, send the answer."""

import json
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import structlog

from studiogate.console import navigation, screens
from studiogate.console.framework import checks, cookies, formats, refusals, templating
from studiogate.console.framework.page import PREFIX, Audience, Route
from studiogate.console.framework.refusals import shown
from studiogate.console.framework.request import STREAM_TYPE, ConsoleRequest, Refused, own_page
from studiogate.domain.ids import parse_id
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.staff_flow import RepeatedFormError, first_location, note_location
from studiogate.runtime import Runtime
from studiogate.storage.db.pool import DatabaseUnavailableError, OverloadedError, TransactionConflictError
from studiogate.web import sending
from studiogate.web.front_end import Exchange, FrontEnd, RouteTree
from studiogate.web.rate_limits import RateLimits
from studiogate.web.request import Request
from studiogate.web.response import Answer, Header
from studiogate.web.sending import CommonHeaders

REPEATED = "This form was sent twice. It took effect once."
OTHER_SESSION = "You have signed in again, or chosen another studio, since this page was opened. "
ASK_TO_SEND = OTHER_SESSION + "Send the form as {person} to {studio}?"
SEND_AGAIN = OTHER_SESSION + "Send the form again if it is meant for {studio}, as {person}."
METHODS = ("GET", "HEAD", "POST")
log = structlog.get_logger()


class ConsoleExchange(Exchange):
    __slots__ = ("console",)

    def __init__(self, request: Request, runtime: Runtime) -> None:
        super().__init__(request)
        self.console = ConsoleRequest(request, runtime, secure=checks.is_secure(runtime))


class ConsoleApp(FrontEnd[ConsoleExchange]):
    """Serves the console to people who are signed in."""

    common = CommonHeaders(
        (*sending.on_every_answer(policy=templating.POLICY, referrer=b"same-origin"), *sending.OF_PAGES)
    )

    def __init__(self, runtime: Runtime, limits: RateLimits | None = None) -> None:
        self._runtime = runtime
        self._limits = limits or RateLimits()
        routes = screens.routes()
        # A tree per method: GET /sales/purchases/{id}/{form} and POST /sales/purchases/{id}/waive are different pages.
        self._trees = {
            method: RouteTree(PREFIX, [(method, each.path, each) for each in routes if each.method == method])
            for method in ("GET", "POST")
        }
        self._entries = navigation.entries_of([route.path for route in routes if route.method == "GET"])
        templating.ASSETS.read()

    def begin(self, request: Request) -> ConsoleExchange:
        return ConsoleExchange(request, self._runtime)

    def refuse(self, exchange: ConsoleExchange, refusal: Refusal) -> Answer:
        details = {"outcome": "unknown"} if exchange.outcome_is_unknown else {}
        answer = exchange.console.error(replace(refusal, details=details))
        further: list[Header] = [(b"retry-after", b"2")] if answer.status == 503 else []
        if exchange.outcome_is_unknown:
            further.append((b"x-outcome", b"unknown"))  # network.js says so
        return answer._replace(headers=(*answer.headers, *further))

    def complete(self, exchange: ConsoleExchange, answer: Answer) -> Answer:
        console = exchange.console
        exchange.key_id = "visitor"
        if console.person is not None:
            exchange.key_id = f"staff {console.signed_in.session.account_id}"
            exchange.studio_id = console.access.studio_id
            place = console.query.get("location", "")
            known = {str(each.id) for each in console.frame.locations}
            if place in known and place != console.cookies.get(cookies.PLACE):
                cookie = cookies.remembered(cookies.PLACE, place, secure=console.secure)
                answer = answer._replace(headers=(*answer.headers, cookie))
        return answer

    async def answer(self, exchange: ConsoleExchange) -> Answer:
        console, request = exchange.console, exchange.request
        if request.path.startswith(templating.PREFIX):
            exchange.route = "/console/assets"
            found = templating.find(request.path, zipped=request.takes_gzip)
            return found or console.not_found()
        admitted = await checks.admit(self._runtime, request, self._limits)
        console.person, console.navigation = admitted.person, self._entries
        if admitted.person is not None:
            frame = admitted.person.frame
            formats.use(frame.time_format, names_zones=frame.has_zones)
        if admitted.refusal is not None:
            answer = console.error(Refusal(Code.RATE_LIMITED))
            return answer._replace(headers=(*answer.headers, (b"retry-after", admitted.refusal.retry_after)))
        if request.method not in METHODS:
            return console.error(Refusal(Code.METHOD_NOT_ALLOWED))
        route = self._find(console, request.method, request.path)
        if route is None:
            return console.not_found()
        exchange.route = PREFIX + route.path
        return await self._run(console, route)

    def _find(self, console: ConsoleRequest, method: str, path: str) -> Route | None:
        """Return the route of a path, with or without a slash at its end, and set the request's parameters."""
        is_ours = f"{path}/".startswith(PREFIX + "/")
        match = self._trees["POST" if method == "POST" else "GET"].match(path.rstrip("/")) if is_ours else None
        route = None if match is None else match.route(method)
        if match is not None and route is not None:
            names = [each[1:-1] for each in route.segments if each.startswith("{")]
            console.params = dict(zip(names, match.values, strict=True))
        return route

    async def _run(self, console: ConsoleRequest, route: Route) -> Answer:
        if route.method == "POST":
            return await self._run_action(console, route)
        refusal = checks.permission_refusal(route, console.person)
        if refusal is not None and refusal.code is Code.SESSION_ENDED:
            # Where htmx asks for a part of a page, a dialog asks: the page and what was typed in it stay. A stream of
            # events is refused: a page would be an error in the browser.
            if console.is_fragment:
                return console.ask_again(refusal)
            if console.http.headers.get(b"accept") != STREAM_TYPE:
                return console.redirect(checks.sign_in_location(console.http))
        return await _served(console, route) if refusal is None else console.error(refusal)

    async def _run_action(self, console: ConsoleRequest, route: Route) -> Answer:
        refusal, person = checks.permission_refusal(route, console.person), console.person
        if route.max_file and refusal is not None:
            return console.refused(refusal)  # without reading the file
        form = await checks.read_form(self._runtime, console.http, person, route)
        if isinstance(form, Refusal):
            return console.error(form)
        console.posted = form
        if refusal is not None and refusal.code is not Code.PASSWORD_REQUIRED:
            return console.refused(refusal)
        if person is not None and route.needs is not Audience.ANYBODY:
            if checks.form_refusal(form, person.signed_in) is not None:
                return _of_earlier_session(console)
            console.person = person._replace(access=checks.with_form(person.access, form))
        wrong = route.form_check(console) if route.form_check is not None else None
        if wrong is not None:
            return await self._shown(console, console.refused(*wrong))
        if refusal is not None:
            return console.refused(refusal)
        try:
            answer = await _served(console, route)
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
        route = self._find(console, "GET", place.path)
        if route is None or checks.permission_refusal(route, console.person) is not None:
            return console.error(refused.refusal, refused.resolution)
        again = replace(
            console,
            http=console.http.redirected(place.path, place.query.encode()),
            typed=console.form,
            refusal=shown(refused.refusal, console.posted.lists, refused.resolution),
            refused_form=None,
        )
        answer = await _served(again, route)
        return answer._replace(status=status) if answer.status == 200 else answer


async def _served(console: ConsoleRequest, route: Route) -> Answer:
    """Run the function of a page. A path with something else in the place of an id is that of no page."""
    if any(name.endswith("_id") and parse_id(value) is None for name, value in console.params.items()):
        return console.not_found()
    return await route.handler(console)


def _of_earlier_session(console: ConsoleRequest) -> Answer:
    """Ask whether to send a form whose page belongs to another session of this browser or to another studio: somebody
    signed in again or switched the studio in another tab. Our own page sent it (the origin was checked), but perhaps
    for somebody else."""
    names = {"person": console.frame.person or console.frame.email, "studio": console.frame.name}
    if console.is_fragment:
        event = json.dumps({"freshToken": {"csrf": cookies.masked_token(console.signed_in)}}).encode()
        why = shown(checks.EXPIRED_PAGE, {})._replace(text=SEND_AGAIN.format(**names))
        answer = console.refused(checks.EXPIRED_PAGE)
        body = console.fragment("ui/refusal.html", refusal=why).body
        return answer._replace(body=body, headers=(*answer.headers, (b"hx-trigger", event)))
    kept = refusals.unpacked(refusals.packed(console.posted.typed_and_token))
    values: dict[str, Any] = {"target": console.http.path, "fields": kept, "question": ASK_TO_SEND.format(**names)}
    return console.render("account/send_kept.html", status=403, **values)


async def _repeated(console: ConsoleRequest) -> Answer:
    """Answer a form that took effect before: lead to where the first answer led, else to the page that sent it."""
    if console.is_fragment:
        return Answer(200, b"", ((b"hx-refresh", b"true"),))
    location = await first_location(console.database, console.access)
    if location is None:
        referrer = urlsplit(console.http.headers.get(b"referer", b"").decode("latin-1"))
        location = own_page(referrer.path + (f"?{referrer.query}" if referrer.query else ""))
    return console.redirect(location or "/console/", toast=REPEATED)


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
