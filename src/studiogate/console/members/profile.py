"""A member's profile: one page per section, each with its own address; and the export of all that is stored."""

from tempfile import TemporaryFile
from uuid import UUID

from studiogate.console.framework import ConsoleRequest, Subject, Values, about, action, page_of
from studiogate.console.framework.downloads import attachment
from studiogate.console.framework.inputs import Row
from studiogate.console.framework.parse import as_id
from studiogate.console.members import words
from studiogate.console.members.words import StudioFacts, changes_of
from studiogate.console.offers import with_renewal
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.members import export as exporting
from studiogate.storage import member_profile as storage
from studiogate.storage import members, sales_list
from studiogate.storage.db.pool import Connection
from studiogate.storage.person_export import Person
from studiogate.storage.sales_list import PurchaseFilters
from studiogate.storage.upload_store import UploadStore, in_thread
from studiogate.web.response import Answer, Header, OpenFile

PATH = "/console/members"
AHEAD = 10
PAGE = 40
# Rows with forms of their own: each form has its own tokens, which do not compress.
PAGE_OF_FORMS = 25


def address(member_id: UUID | str, section: str = "") -> str:
    """Return the address of a member's profile, or of a page below it."""
    return f"{PATH}/{member_id}{'/' if section else ''}{section}"


async def no_member(request: ConsoleRequest) -> Answer:
    """Lead from a member that was merged to the one that is kept; else there is no such page."""
    kept = await request.read(members.merged_into, request.param_id("member_id"))
    if kept is not None:
        return request.redirect(address(kept), toast="These two profiles were merged.")
    return request.not_found()


MEMBER = Subject(
    "member",
    "/members/{member_id}",
    Permission.MEMBERS,
    storage.read_profile,
    lambda row: address(row["id"]),
    lambda row: str(row["name"]),
    {"words": words},
    no_member,
)


@page_of(MEMBER, "/members/{member_id}", Permission.MEMBERS, "members/overview.html")
async def overview(request: ConsoleRequest, connection: Connection, member: Row) -> Values:
    access, after = request.access, as_id(request.query.get("after"))
    running = await storage.running_memberships(connection, access, member["id"])
    filters = PurchaseFilters(member_id=member["id"], open_fees=True)
    fees = await sales_list.list_purchases(connection, access, filters, None, AHEAD)
    return {
        "section": "overview",
        "live": [with_renewal(each) for each in running],
        "ended": await storage.ended_memberships(connection, access, member["id"], after, PAGE),
        "is_later_page": after is not None,
        "ahead": await storage.bookings_ahead(connection, access, member["id"], AHEAD),
        "fees": fees.rows,
    }


@page_of(MEMBER, "/members/{member_id}/bookings", Permission.MEMBERS, "members/bookings.html")
async def bookings(request: ConsoleRequest, connection: Connection, member: Row) -> Values:
    after = as_id(request.query.get("after"))
    lines = await storage.bookings_of(connection, request.access, member["id"], after, PAGE_OF_FORMS)
    return {"section": "bookings", "lines": lines}


@page_of(MEMBER, "/members/{member_id}/credits", Permission.MEMBERS, "members/credits.html")
async def ledger(request: ConsoleRequest, connection: Connection, member: Row) -> Values:
    """Show the credit ledger, each line with its booking."""
    running = await storage.running_memberships(connection, request.access, member["id"])
    after = as_id(request.query.get("after"))
    lines = await storage.ledger_of(connection, request.access, member["id"], after, PAGE)
    counted = [each for each in running if each["credits_remaining"] is not None]
    return {"section": "credits", "lines": lines, "counted": counted}


@page_of(MEMBER, "/members/{member_id}/purchases", Permission.MEMBERS, "members/purchases.html")
async def purchases(request: ConsoleRequest, connection: Connection, member: Row) -> Values:
    filters, after = PurchaseFilters(member_id=member["id"]), as_id(request.query.get("after"))
    lines = await sales_list.list_purchases(connection, request.access, filters, after, PAGE_OF_FORMS)
    return {"section": "purchases", "lines": lines}


@page_of(MEMBER, "/members/{member_id}/history", Permission.AUDIT_READ, "members/history.html")
async def history(request: ConsoleRequest, connection: Connection, member: Row) -> Values:
    """Show what staff changed about the member, as the audit log has it."""
    after = as_id(request.query.get("after"))
    lines = await storage.history_of(connection, request.access, member["id"], after, PAGE)
    locations = {str(each.id): each.label for each in request.frame.places}
    facts = StudioFacts(member["timezone"], member["currency"], locations)
    entries = [{**each, "changes": changes_of(each, facts)} for each in lines.rows]
    return {"section": "history", "entries": entries, "next": lines.next}


# The export.

ZIP: Header = (b"content-type", b"application/zip")


@page_of(MEMBER, "/members/{member_id}/export", Permission.MEMBERS, "members/export.html")
async def show_export(_request: ConsoleRequest, _connection: Connection, _member: Row) -> Values:
    return {}


@action("/members/{member_id}/export", Permission.MEMBERS)
@about(MEMBER.of_path)
async def export(request: ConsoleRequest, member: Row) -> Answer:
    """Send everything that is stored about a member as an archive; the audit log says who took it."""
    person = await request.run(exporting.export, member["id"])
    if isinstance(person, Refusal):
        return request.refused(person, address(member["id"], "export"))
    folder = request.runtime.uploads
    archive = await in_thread(_archive, person, folder, request.access.studio_id)
    return attachment(archive, ZIP, f"member-{member['id']}.zip")


def _archive(person: Person, folder: UploadStore, studio_id: UUID) -> OpenFile:
    """Write the archive to a file without a name, which is gone when it has been sent."""
    stream = TemporaryFile()  # noqa: SIM115
    try:
        exporting.write_archive(stream, person, folder, studio_id)
        size = stream.tell()
        stream.seek(0)
    except BaseException:
        stream.close()
        raise
    return OpenFile(stream, size)
