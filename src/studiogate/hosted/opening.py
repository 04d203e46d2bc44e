"""From an address to an open form, or to the notice that says why it is not open."""

import re
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from studiogate.domain.access import Access, visitor_access
from studiogate.domain.forms.acceptance import closed_reason
from studiogate.domain.forms.signed import LinkProblem, read_link
from studiogate.domain.webhooks.secrets import Sealer, open_link_secret
from studiogate.flows.forms.submitting import reason_against
from studiogate.hosted.notices import Notice, Reason, notice, reason_of
from studiogate.hosted.requests import VisitorRequest
from studiogate.hosted.steps import Plan, plan
from studiogate.storage.database import Connection
from studiogate.storage.forms import hosted as storage
from studiogate.storage.forms.hosted import PageForm, PageMember, PageStudio

_SLUG = re.compile(r"[a-z0-9](?:-?[a-z0-9]){0,199}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Opened:
    """A form that takes answers now, with whom it is for where a link says so."""

    studio: PageStudio
    form: PageForm
    plan: Plan
    access: Access
    member: PageMember | None
    link: str
    embedded: bool

    @property
    def path(self) -> str:
        return f"/f/{self.studio.slug}/{self.form.slug}"

    def address(self, below: str = "") -> str:
        """Of this form's pages; the link and the frame go with it."""
        query = {"link": self.link} if self.link else {}
        query |= {"embed": "1"} if self.embedded else {}
        return self.path + below + ("?" + urlencode(query) if query else "")

    @property
    def asks(self) -> bool:
        """Whether the page has to ask for an email: a link's member is known by theirs, if they have one."""
        return self.member is None or not self.member.email

    @property
    def member_id(self) -> UUID | None:
        return self.member.id if self.member else None


class Source(NamedTuple):
    """Where pages come from: the database, and what opens the secrets in it."""

    connection: Connection
    sealer: Sealer


def is_slug(text: str) -> bool:
    return _SLUG.fullmatch(text) is not None


async def find(source: Source, studio_slug: str, form_slug: str) -> tuple[PageStudio, PageForm, Access] | Notice:
    """The studio and its form, open or not."""
    if not is_slug(studio_slug) or not is_slug(form_slug):
        return notice(Reason.UNKNOWN)
    studio = await storage.find_page_studio(source.connection, studio_slug)
    if studio is None:
        return notice(Reason.UNKNOWN)
    studio = replace(studio, link_secret=open_link_secret(source.sealer, studio.studio_id, studio.link_secret))
    access = visitor_access(studio.studio_id)
    form = await storage.find_page_form(source.connection, access, form_slug)
    return notice(Reason.UNKNOWN, studio) if form is None else (studio, form, access)


async def open_form(
    source: Source, request: VisitorRequest, studio_slug: str, form_slug: str, *, sent: bool = False
) -> Opened | Notice:
    """Open a form, for its member where a link says so. What was ``sent`` is counted when it is stored: a page that
    is sent a second time must find its first submission, also where that took the last place."""
    connection, found = source.connection, await find(source, studio_slug, form_slug)
    if isinstance(found, Notice):
        return found
    studio, form, access = found
    request.studio_id = studio.studio_id
    if form.status != "published":
        return notice(Reason.ARCHIVED, studio, form)
    link = request.query.get("link", "")
    member = await _member(connection, access, studio, form, link)
    if isinstance(member, Reason):
        return notice(member, studio, form)
    if sent:
        against = closed_reason(form.status, form.settings, form.now)
    else:
        against = await reason_against(connection, access, form, member.email if member else None)
    if against is not None:
        return notice(reason_of(against), studio, form)
    # A page that acts for a known member is shown in no frame: nobody can lay something else over it.
    embedded = is_embedded(request) and member is None
    return Opened(studio, form, plan(form.fields), access, member, link, embedded)


def is_embedded(request: VisitorRequest) -> bool:
    return request.query.get("embed") == "1"


async def _member(
    connection: Connection, access: Access, studio: PageStudio, form: PageForm, text: str
) -> PageMember | Reason | None:
    """Return whom the link was made for, whether or not the form demands one."""
    if not text:
        return Reason.NEEDS_LINK if form.settings.require_auth else None
    link = read_link(studio.link_secret, form.id, text, form.now)
    if isinstance(link, LinkProblem):
        return Reason.EXPIRED_LINK if link is LinkProblem.EXPIRED else Reason.BAD_LINK
    return await storage.find_page_member(connection, access, link.member_id) or Reason.BAD_LINK
