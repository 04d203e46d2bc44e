"""Show the form as a page: blank, or as it was sent, with the errors to correct."""

from collections.abc import Hashable, Mapping
from typing import NamedTuple

from studiogate.domain.forms.answers import named_uploads
from studiogate.domain.forms.signed_links import make_token
from studiogate.domain.forms.visibility import visible_keys
from studiogate.domain.ids import parse_id
from studiogate.hosted import bot_protection, pages
from studiogate.hosted.compressed_page import compress_around
from studiogate.hosted.field_views import NOTHING_KNOWN, FieldView, Known, step_views
from studiogate.hosted.open_form import Opened
from studiogate.hosted.page_cache import PageCache
from studiogate.hosted.posted_form import Posted, input_name
from studiogate.hosted.request import VisitorRequest
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import hosted as storage
from studiogate.storage.forms.hosted import KeptUpload
from studiogate.web.response import Answer

NO_ERRORS: Mapping[str, str] = {}


class Problem(NamedTuple):
    """Why a form is shown again: what is wrong with each field, and a message about all of it."""

    errors: Mapping[str, str]
    message: str = ""


NO_PROBLEM = Problem(NO_ERRORS)


async def show(
    connection: Connection,
    request: VisitorRequest,
    opened: Opened,
    posted: Posted,
    problem: Problem = NO_PROBLEM,
) -> Answer:
    errors, message = problem
    known = Known(posted, errors, await uploads_of(connection, opened, posted))
    values = _values(opened, known) | {"token": _token(opened, posted), "message": message}
    return pages.form_page(request, opened, pages.form_html(opened, values), 422 if errors else 200)


def show_fresh(request: VisitorRequest, opened: Opened, cache: PageCache) -> Answer:
    """Show the form with nothing filled in. Without a personal link, pages differ only in their token."""
    token = new_token(opened)
    if opened.member is not None:
        return pages.form_page(request, opened, _fresh_html(opened, token))
    key = _everything_shown(opened)
    page = cache.get(key)
    if page is None:
        # The token itself marks the gap: no text of a form can contain a token that was created just now.
        before, after = _fresh_html(opened, token).split(token)
        page = compress_around(before.encode(), after.encode())
        cache.put(key, page)
    return pages.cached_form_page(request, opened, page, token.encode())


def _fresh_html(opened: Opened, token: str) -> str:
    return pages.form_html(opened, _values(opened, NOTHING_KNOWN) | {"token": token, "message": ""})


def _everything_shown(opened: Opened) -> Hashable:
    """Return everything that a page without a member depends on, except its token."""
    studio, form = opened.studio, opened.form
    of_studio = (studio.studio_id, studio.slug, studio.name, studio.logo_url, studio.logo_name, studio.primary_color)
    of_form = (form.id, form.version, form.slug, form.title, form.description, form.fields_digest)
    return of_studio, of_form, form.settings.submit_label, opened.embedded


def _values(opened: Opened, known: Known) -> dict[str, object]:
    """Return the template's values, except the studio, the form, the token and the message."""
    posted = known.posted
    visible = visible_keys(opened.plan.fields, posted.answers)
    steps = step_views(opened.plan, known, visible, opened.form.fields_digest, asks=opened.asks)
    reachable = opened.plan.steps_with(visible)
    return {
        "steps": steps,
        "step": posted.step,
        "reachable": reachable,
        "place": reachable.index(posted.step) if posted.step in reachable else 0,
        "headings": pages.steps_in_words(steps),
        "shown": [input_name(each) for each in sorted(visible)],
        "faults": _summary(steps, known.errors),
        "wait": bot_protection.MIN_SECONDS + 1,
    }


async def uploads_of(connection: Connection, opened: Opened, posted: Posted) -> dict[str, KeptUpload]:
    """Return the files that were uploaded earlier and are pending for this submission, by id."""
    named = [each for each in named_uploads(opened.plan.fields, posted.answers) if parse_id(each)]
    return await storage.kept_uploads(connection, opened.access, opened.form.id, named) if named else {}


def _token(opened: Opened, posted: Posted) -> str:
    """Return the posted token while it is valid, else a new one; a new one would restart the minimum wait."""
    secret, form = opened.studio.link_secret, opened.form
    if posted.token and bot_protection.token_suspicion(secret, form.id, posted.token, form.now) is None:
        return posted.token
    return new_token(opened)


def new_token(opened: Opened) -> str:
    return make_token(opened.studio.link_secret, opened.form.id, opened.form.now)


def _summary(steps: list[list[FieldView]], errors: Mapping[str, str]) -> list[FieldView]:
    return [view for step in steps for view in step if view.name in errors]
