"""Find the open form at an address, or the notice that says why it is not open."""

import re
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from studiogate.domain.access import Access, visitor_access
from studiogate.domain.encryption import Sealer
from studiogate.domain.forms.signed_links import Link, LinkProblem, Preview, open_link_secret, preview_path, read_signed
from studiogate.domain.forms.states import closed_reason
from studiogate.flows.forms.submit import reason_against
from studiogate.hosted.messages import NoticeError, NoticeReason, reason_of
from studiogate.hosted.steps import Plan, plan
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import hosted as storage
from studiogate.storage.forms.hosted import PageForm, PageMember, PageStudio
from studiogate.web.request import Request

_SLUG = re.compile(r"[a-z0-9](?:-?[a-z0-9]){0,199}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Opened:
    """A form that accepts answers now, and the member that a personal link names."""

    studio: PageStudio
    form: PageForm
    plan: Plan
    access: Access
    member: PageMember | None
    link: str
    embedded: bool
    preview: str = ""  # the token of somebody who edits the form

    @property
    def path(self) -> str:
        return f"/f/{self.studio.slug}/{self.form.slug}"

    def address(self, below: str = "") -> str:
        """Return the address of one of this form's pages, including the link and embed parameters."""
        if self.preview:
            return preview_path(self.studio.slug, self.form.slug, self.preview)
        query = {"link": self.link} if self.link else {}
        query |= {"embed": "1"} if self.embedded else {}
        return self.path + below + ("?" + urlencode(query) if query else "")

    @property
    def asks(self) -> bool:
        """Whether the page must ask for an email; not if a link names a member who has one."""
        return self.member is None or not self.member.email

    @property
    def member_id(self) -> UUID | None:
        return self.member.id if self.member else None


class Source(NamedTuple):
    """The database connection that pages are read from, and the sealer that decrypts the secrets in it."""

    connection: Connection
    sealer: Sealer


def is_slug(text: str) -> bool:
    return _SLUG.fullmatch(text) is not None


async def find(source: Source, studio_slug: str, form_slug: str) -> tuple[PageStudio, PageForm, Access]:
    """Return the studio and its form, whether or not it is open; raise NoticeError if there is none."""
    studio = await _find_studio(source, studio_slug, form_slug)
    access = visitor_access(studio.studio_id)
    form = await storage.find_page_form(source.connection, access, form_slug)
    if form is None:
        raise NoticeError(NoticeReason.UNKNOWN, studio)
    return studio, form, access


async def _find_studio(source: Source, studio_slug: str, form_slug: str) -> PageStudio:
    studio = None
    if is_slug(studio_slug) and is_slug(form_slug):
        studio = await storage.find_page_studio(source.connection, studio_slug)
    if studio is None:
        raise NoticeError(NoticeReason.UNKNOWN)
    return replace(studio, link_secret=open_link_secret(source.sealer, studio.studio_id, studio.link_secret))


async def open_preview(source: Source, request: Request, studio_slug: str, form_slug: str) -> Opened:
    """Open a form as it is being edited, for who has a link from the builder. Without one, it does not exist."""
    studio = await _find_studio(source, studio_slug, form_slug)
    access, token = visitor_access(studio.studio_id), request.filled.get("token", "")
    form = await storage.find_preview_form(source.connection, access, form_slug)
    read = LinkProblem.INVALID if form is None else read_signed(Preview, studio.link_secret, form.id, token, form.now)
    if form is None or read is LinkProblem.INVALID:
        raise NoticeError(NoticeReason.UNKNOWN, studio)
    if read is LinkProblem.EXPIRED:
        raise NoticeError(NoticeReason.EXPIRED_PREVIEW, studio)
    return Opened(studio, form, plan(form.fields), access, None, "", embedded=False, preview=token)


async def open_form(
    source: Source, request: Request, studio_slug: str, form_slug: str, *, sent: bool = False
) -> Opened:
    """Open a form, for the member that a link names; raise NoticeError if it is not open. With ``sent``, submission
    limits are checked when it is stored: a page that is sent twice must find its first submission, even if that took
    the last place."""
    connection, link = source.connection, request.filled.get("link", "")
    studio, form, access = await find(source, studio_slug, form_slug)
    if form.status != "published":
        raise NoticeError(NoticeReason.ARCHIVED, studio, form)
    member = await _member(connection, access, studio, form, link)
    if isinstance(member, NoticeReason):
        raise NoticeError(member, studio, form)
    if sent:
        against = closed_reason(form.status, form.settings, form.now)
    else:
        against = await reason_against(connection, access, form, member.email if member else None)
    if against is not None:
        raise NoticeError(reason_of(against), studio, form)
    # A page that acts for a known member is never shown in a frame, to prevent clickjacking.
    embedded = is_embedded(request) and member is None
    return Opened(studio, form, plan(form.fields), access, member, link, embedded)


def is_embedded(request: Request) -> bool:
    return request.filled.get("embed") == "1"


async def _member(
    connection: Connection, access: Access, studio: PageStudio, form: PageForm, text: str
) -> PageMember | NoticeReason | None:
    """Return the member that the link names, whether or not the form requires a link."""
    if not text:
        return NoticeReason.NEEDS_LINK if form.settings.require_auth else None
    link = read_signed(Link, studio.link_secret, form.id, text, form.now)
    if isinstance(link, LinkProblem):
        return NoticeReason.EXPIRED_LINK if link is LinkProblem.EXPIRED else NoticeReason.BAD_LINK
    return await storage.find_page_member(connection, access, link.member_id) or NoticeReason.BAD_LINK
