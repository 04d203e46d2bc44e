"""The data of hosted pages."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.forms.rule_checks import preview_of
from studiogate.domain.forms.settings import FormSettings, read_settings
from studiogate.domain.json_values import json_text
from studiogate.storage.db.pool import Connection

_FORM = (
    "select f.id, f.title, f.slug, f.description, f.fields, f.settings, f.status, f.version, clock_timestamp() as now"
)
PAGE_FORM = f"{_FORM} from forms f where f.studio_id = $1 and f.slug = $2 and f.status <> 'draft'"
PREVIEW_FORM = f"""
    {_FORM}, d.content
    from forms f left join form_drafts d on d.studio_id = f.studio_id and d.form_id = f.id
    where f.studio_id = $1 and f.slug = $2"""
MEMBER = "select id, name, email from members where studio_id = $1 and id = $2 and erased_at is null"


@dataclass(frozen=True, slots=True)
class PublishedForm:
    slug: str
    title: str


@dataclass(frozen=True, slots=True)
class PageStudio:
    studio_id: UUID
    name: str
    slug: str
    timezone: str
    logo_url: str | None
    logo_name: str | None
    primary_color: str | None
    country: str
    hour_cycle: str | None
    date_order: str | None
    link_secret: bytes


@dataclass(frozen=True, slots=True)
class PageForm:
    id: UUID
    title: str
    slug: str
    description: str | None
    fields: list[dict[str, object]]
    settings: FormSettings
    status: str
    version: int
    now: datetime
    # A digest of the fields as they are stored: equal digests mean equal fields.
    fields_digest: bytes


@dataclass(frozen=True, slots=True)
class PageMember:
    id: UUID
    name: str
    email: str | None


@dataclass(frozen=True, slots=True)
class KeptUpload:
    id: str
    filename: str
    size: int


@dataclass(frozen=True, slots=True)
class FormLinkFacts:
    studio_id: UUID
    studio_slug: str
    form_slug: str
    link_secret: bytes
    member_known: bool
    now: datetime


async def published_test_forms(connection: Connection, slug: str) -> list[PublishedForm]:
    """Return the published forms of a studio that is marked as a test; none for any other studio."""
    statement = """
        select f.slug, f.title from forms f join studios s on s.studio_id = f.studio_id
        where f.studio_id = (select studio_id from studios where slug = $1) and s.test and f.status = 'published'
        order by f.title, f.slug limit 20"""
    return [PublishedForm(*row) for row in await connection.fetch(statement, slug)]


async def find_page_studio(connection: Connection, slug: str) -> PageStudio | None:
    """Return the studio that a page's address names. This lookup is the only entry point for public pages."""
    statement = """
        select s.studio_id, s.name, s.slug, s.timezone, s.logo_url, l.name as logo_name, s.primary_color, s.country,
               s.hour_cycle, s.date_order, k.link_secret
        from studios s join studio_secrets k on k.studio_id = s.studio_id
        left join studio_logos l on l.studio_id = s.studio_id where s.slug = $1"""
    row = await connection.fetchrow(statement, slug)
    return None if row is None else PageStudio(**dict(row))


async def find_page_form(connection: Connection, access: Access, slug: str) -> PageForm | None:
    # A draft is visible only to its authors. An archived form is found, because visitors may still have its address.
    row = await connection.fetchrow(PAGE_FORM, access.studio_id, slug)
    if row is None:
        return None
    fields = [each for each in json.loads(row["fields"]) if isinstance(each, dict)]
    read = {"fields": fields, "settings": read_settings(json.loads(row["settings"]))}
    return PageForm(**dict(row) | read, fields_digest=hashlib.sha256(row["fields"].encode()).digest())


async def find_preview_form(connection: Connection, access: Access, slug: str) -> PageForm | None:
    """Return a form of any status as it is being edited, as far as that has no faults."""
    row = await connection.fetchrow(PREVIEW_FORM, access.studio_id, slug)
    if row is None:
        return None
    stored = {
        "title": row["title"],
        "description": row["description"],
        "fields": json.loads(row["fields"]),
        "settings": json.loads(row["settings"]),
    }
    shown = preview_of(stored if row["content"] is None else json.loads(row["content"]))
    digest = hashlib.sha256(json_text(shown.fields).encode("utf-8", "replace")).digest()
    settings = read_settings(shown.settings)
    return PageForm(
        row["id"], shown.title, row["slug"], shown.description, shown.fields, settings, row["status"], row["version"],
        row["now"], digest,
    )  # fmt: skip


async def link_secret_of(connection: Connection, access: Access) -> bytes:
    """Return the secret that signs the studio's links, sealed as it is stored."""
    secret: bytes = await connection.fetchval(
        "select link_secret from studio_secrets where studio_id = $1", access.studio_id
    )
    return secret


async def find_page_member(connection: Connection, access: Access, member_id: UUID) -> PageMember | None:
    row = await connection.fetchrow(MEMBER, access.studio_id, member_id)
    return None if row is None else PageMember(**dict(row))


async def kept_uploads(
    connection: Connection, access: Access, form_id: UUID, upload_ids: Sequence[str]
) -> dict[str, KeptUpload]:
    statement = """
        select id::text as id, filename, size from form_uploads
        where studio_id = $1 and form_id = $2 and id = any($3::uuid[]) and submission_id is null"""
    rows = await connection.fetch(statement, access.studio_id, form_id, upload_ids)
    return {row["id"]: KeptUpload(**dict(row)) for row in rows}


async def find_form_link_facts(
    connection: Connection, access: Access, form_id: UUID, member_id: UUID
) -> FormLinkFacts | None:
    statement = """
        select f.slug as form_slug, s.slug as studio_slug, k.link_secret, clock_timestamp() as now,
               exists (select from members m where m.studio_id = $1 and m.id = $3 and m.erased_at is null) as known
        from forms f join studios s on s.studio_id = f.studio_id join studio_secrets k on k.studio_id = f.studio_id
        where f.studio_id = $1 and f.id = $2"""
    row = await connection.fetchrow(statement, access.studio_id, form_id, member_id)
    if row is None:
        return None
    return FormLinkFacts(
        access.studio_id, row["studio_slug"], row["form_slug"], row["link_secret"], row["known"], row["now"]
    )
