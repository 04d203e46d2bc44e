"""Render the pages: the form, blank or as it was sent with the errors to correct, and everything else, each with its
content security policy."""

import re
from collections.abc import Hashable, Mapping
from typing import Any

from studiogate.domain.forms.answers import named_uploads
from studiogate.domain.forms.settings import origin_of
from studiogate.domain.forms.signed_links import make_token
from studiogate.domain.forms.visibility import visible_keys
from studiogate.domain.ids import parse_id
from studiogate.domain.logos import logo_path
from studiogate.hosted import bot_protection
from studiogate.hosted.field_views import NOTHING_KNOWN, Known, step_views
from studiogate.hosted.messages import Notice
from studiogate.hosted.open_form import Opened
from studiogate.hosted.page_cache import PageCache, compress_around
from studiogate.hosted.posted_form import Posted, input_name
from studiogate.hosted.templating import render
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import hosted as storage
from studiogate.storage.forms.hosted import KeptUpload, PageForm, PageStudio
from studiogate.web.front_end import GZIP
from studiogate.web.request import Request
from studiogate.web.response import Answer, Header, as_json

# A picture from another server would send it a request per visitor: only data URLs and our own paths are shown.
_OWN_LOGO = re.compile(r"data:image/(?:png|jpeg|webp|gif|svg\+xml)[;,][^\s\"'<>]*|/(?!/)[\w./%~-]*", re.ASCII)


def policy(*, embedded: bool, redirect_url: str | None = None, preview: bool = False) -> bytes:
    """Return the content security policy. Browsers apply form-action to redirects too, so their target is listed. The
    preview of a form is framed by the builder, which has the same origin."""
    allowed = f" {origin_of(redirect_url)}" if redirect_url else ""
    framed_by = "*" if embedded else "'self'" if preview else "'none'"
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        f"form-action 'self'{allowed}; base-uri 'none'; frame-ancestors {framed_by}"
    ).encode()


def form_html(opened: Opened, values: dict[str, object]) -> str:
    """Return the page of a form. The key of the page cache must include all that a page without a member shows."""
    values |= {"opened": opened, "studio": opened.studio, "form": opened.form, "embedded": opened.embedded}
    return render("form.html", values | _brand(opened.studio))


def _form_headers(opened: Opened) -> tuple[Header, ...]:
    preview, redirect_url = bool(opened.preview), opened.form.settings.redirect_url
    allowed = policy(embedded=opened.embedded, redirect_url=redirect_url, preview=preview)
    return _headers(allowed, embedded=opened.embedded, frame=b"SAMEORIGIN" if preview else b"DENY")


def done_page(studio: PageStudio, form: PageForm, *, embedded: bool) -> Answer:
    values = {"studio": studio, "title": form.title, "settings": form.settings, "embedded": embedded}
    return _page("done.html", 200, policy(embedded=embedded), values | _brand(studio))


def verify_page(studio: PageStudio, title: str, address: str) -> Answer:
    """Return the page that a confirmation mail links to. Only its button verifies: mail scanners open links."""
    values = {"studio": studio, "title": title, "address": address, "embedded": False}
    return _page("verify.html", 200, policy(embedded=False), values | _brand(studio))


def notice_page(request: Request, notice: Notice, *, embedded: bool = False) -> Answer:
    """Return a notice as a page, or as JSON for our own script: as a message beside the form, which stays, if sending
    it again can help."""
    if request.wants_json and notice.in_form:
        return as_json(notice.status, {"message": notice.in_form})
    if request.wants_json:
        return as_json(notice.status, {"notice": {"title": notice.title, "text": notice.text}})
    values = {"notice": notice, "studio": notice.studio, "embedded": embedded}
    return _page("notice.html", notice.status, policy(embedded=embedded), values | _brand(notice.studio))


def _brand(studio: PageStudio | None) -> dict[str, object]:
    if studio is None:
        return {"logo": None, "initials": "", "colour": None}
    words = [word for word in studio.name.split() if word[:1].isalnum()]
    initials = "".join(word[0] for word in words[:2]).upper()
    logo = studio.logo_url if studio.logo_url and _OWN_LOGO.fullmatch(studio.logo_url) else None
    if studio.logo_name is not None:
        logo = logo_path(studio.slug, studio.logo_name)
    return {"logo": logo, "initials": initials, "colour": studio.primary_color}


def _page(template: str, status: int, allowed: bytes, values: dict[str, Any]) -> Answer:
    html = render(template, values)
    return Answer(status, html.encode(), _headers(allowed, embedded=values["embedded"]))


def _headers(allowed: bytes, *, embedded: bool, frame: bytes = b"DENY") -> tuple[Header, ...]:
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"cache-control", b"no-store"),
        (b"content-security-policy", allowed),
        (b"vary", b"accept, accept-encoding"),
    ]
    if not embedded:
        headers.append((b"x-frame-options", frame))
    return tuple(headers)


async def show(
    connection: Connection, opened: Opened, posted: Posted, errors: Mapping[str, str], message: str
) -> Answer:
    """Show the form as it was sent, with what is wrong with each field, and a message about all of it."""
    known = Known(posted, errors, await uploads_of(connection, opened, posted))
    # While the posted token is valid, it stays: a new one would restart the minimum wait.
    secret, form, token = opened.studio.link_secret, opened.form, posted.token
    if not token or bot_protection.token_suspicion(secret, form.id, token, form.now) is not None:
        token = new_token(opened)
    html = form_html(opened, _values(opened, known) | {"token": token, "message": message})
    return Answer(422 if errors else 200, html.encode(), _form_headers(opened))


def show_fresh(request: Request, opened: Opened, cache: PageCache) -> Answer:
    """Show the form with nothing filled in. Without a personal link, pages differ only in their token; what is being
    edited is shown once."""
    token, headers = new_token(opened), _form_headers(opened)
    if opened.member is not None or opened.preview:
        return Answer(200, _fresh_html(opened, token).encode(), headers)
    key = _everything_shown(opened)
    page = cache.get(key)
    if page is None:
        # The token itself marks the gap: no text of a form can contain a token that was created just now.
        before, after = _fresh_html(opened, token).split(token)
        page = compress_around(before.encode(), after.encode())
        cache.put(key, page)
    if request.takes_gzip:
        return Answer(200, page.as_gzip(token.encode()), (*headers, GZIP))
    return Answer(200, page.as_plain(token.encode()), headers)


def _fresh_html(opened: Opened, token: str) -> str:
    return form_html(opened, _values(opened, NOTHING_KNOWN) | {"token": token, "message": ""})


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
        "headings": [next((each.label for each in step if each.kind == "section_break"), "") for step in steps],
        "shown": [input_name(each) for each in sorted(visible)],
        "faults": [view for step in steps for view in step if view.name in known.errors],
        "wait": bot_protection.MIN_SECONDS + 1,
    }


async def uploads_of(connection: Connection, opened: Opened, posted: Posted) -> dict[str, KeptUpload]:
    """Return the files that were uploaded earlier and are pending for this submission, by id."""
    named = [each for each in named_uploads(opened.plan.fields, posted.answers) if parse_id(each)]
    return await storage.kept_uploads(connection, opened.access, opened.form.id, named) if named else {}


def new_token(opened: Opened) -> str:
    return make_token(opened.studio.link_secret, opened.form.id, opened.form.now)
