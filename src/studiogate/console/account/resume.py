"""Sign in again, or type the password again, and send the form that had to wait."""

import json
from typing import Any

from studiogate.console.account.sign_in import session_cookies, visit_of
from studiogate.console.framework import Audience, ConsoleRequest, action, csrf, is_own_path, refusals, shown, status_of
from studiogate.console.framework.checks import person_of_token
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.staff import sign_in as flow
from studiogate.flows.staff.sign_in import Credentials
from studiogate.web.response import Answer, Header

OTHER_OWNER = "You are signed in. The waiting form was typed by somebody else or for another studio: it was not sent."


@action("/resume", Audience.ANYBODY)
async def sign_in_again(request: ConsoleRequest) -> Answer:
    """Start a new session in the same page, then send the kept form with it."""
    form = request.form
    code = form.get("code", "").strip() or None
    given = Credentials(form.get("email", ""), form.get("password", ""), code)
    started = await flow.sign_in(visit_of(request), given)
    if isinstance(started, Refusal):
        asks = started.code is Code.SECOND_FACTOR_REQUIRED or code is not None
        return _ask(request, Code.SESSION_ENDED, started, ask_code=asks)
    request.person = await person_of_token(request.runtime, request.http, started.token)
    return _resume(request, *session_cookies(request, started.token))


@action("/confirm", Audience.SIGNED_IN)
async def confirm_password(request: ConsoleRequest) -> Answer:
    """Check the password again, then send the kept form."""
    refusal = await flow.confirm_password(visit_of(request), request.signed_in, request.form.get("password", ""))
    return _resume(request) if refusal is None else _ask(request, Code.PASSWORD_REQUIRED, refusal)


def _ask(request: ConsoleRequest, cause: Code, refusal: Refusal, *, ask_code: bool = False) -> Answer:
    """Ask once more, with the form that is kept."""
    form = request.form
    values: dict[str, Any] = {
        "refusal": shown(refusal, form),
        "kept": form.get("kept", "[]"),
        "target": form.get("target", ""),
        "owner": form.get("owner", ""),
        "email": form.get("email", ""),
        "ask_code": ask_code,
    }
    page, dialog = refusals.QUESTIONS[cause]
    return request.render(page, part=dialog, status=status_of(refusal), **values)


def _resume(request: ConsoleRequest, *headers: Header) -> Answer:
    """Return the page that sends the kept form. With htmx, the form itself is still there: the script gives it the new
    CSRF token and sends it. A form that somebody else typed is neither shown nor sent."""
    if not csrf.is_owner(request.signed_in, csrf.owner_of(request.form.get("owner", ""))):
        answer = request.go_to("/console/", toast=OTHER_OWNER)
        return answer._replace(headers=(*answer.headers, *headers))
    if request.is_fragment:
        event = json.dumps({"resumeForm": {"csrf": csrf.masked_token(request.signed_in)}}).encode()
        return Answer(204, b"", (*headers, (b"hx-trigger", event)))
    target, fields = request.form.get("target", ""), refusals.unpacked(request.form.get("kept", ""))
    if not is_own_path(target) or not fields:
        answer = request.redirect("/console/")
    else:
        answer = request.render("account/send_kept.html", target=target, fields=fields, question="")
    return answer._replace(headers=(*answer.headers, *headers))
