"""The form as a page: fresh, or as it was sent with what is still to be done."""

from collections.abc import Mapping

from studiogate.domain.forms.answers import named_uploads
from studiogate.domain.forms.signed import make_token
from studiogate.domain.forms.visibility import visible_keys
from studiogate.domain.ids import parse_id
from studiogate.hosted import guard, pages
from studiogate.hosted.answers import Answer
from studiogate.hosted.opening import Opened
from studiogate.hosted.posted import Posted, input_name
from studiogate.hosted.requests import VisitorRequest
from studiogate.hosted.views import FieldView, Known, step_views
from studiogate.storage.database import Connection
from studiogate.storage.forms import hosted as storage
from studiogate.storage.forms.hosted import KeptUpload

NO_ERRORS: Mapping[str, str] = {}


async def show(
    connection: Connection,
    request: VisitorRequest,
    opened: Opened,
    posted: Posted,
    *,
    errors: Mapping[str, str] = NO_ERRORS,
    message: str = "",
) -> Answer:
    known = Known(posted, errors, await uploads_of(connection, opened, posted))
    steps = step_views(opened.plan, known, asks=opened.asks)
    visible = visible_keys(opened.plan.fields, posted.answers)
    shown = [input_name(each) for each in sorted(visible)]
    reachable = opened.plan.visible_steps(posted.answers)
    return pages.form_page(
        request,
        opened,
        422 if errors else 200,
        steps=steps,
        step=posted.step,
        reachable=reachable,
        place=reachable.index(posted.step) if posted.step in reachable else 0,
        headings=pages.steps_in_words(steps),
        shown=shown,
        token=_token(opened, posted),
        message=message,
        faults=_summary(steps, errors),
        wait=guard.MIN_SECONDS + 1,
    )


async def uploads_of(connection: Connection, opened: Opened, posted: Posted) -> dict[str, KeptUpload]:
    """The files that were uploaded before and wait for this submission."""
    named = [each for each in named_uploads(opened.plan.fields, posted.answers) if parse_id(each)]
    return await storage.kept_uploads(connection, opened.access, opened.form.id, named) if named else {}


def _token(opened: Opened, posted: Posted) -> str:
    """The same one again while it is good: its time goes on, and nobody waits twice."""
    secret, form = opened.studio.link_secret, opened.form
    if posted.token and guard.token_suspicion(secret, form.id, posted.token, form.now) is None:
        return posted.token
    return new_token(opened)


def new_token(opened: Opened) -> str:
    return make_token(opened.studio.link_secret, opened.form.id, opened.form.now)


def _summary(steps: list[list[FieldView]], errors: Mapping[str, str]) -> list[FieldView]:
    return [view for step in steps for view in step if view.name in errors]
