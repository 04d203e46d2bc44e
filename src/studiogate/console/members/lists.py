"""The list of members: filters in the address, and a search while somebody types.

What is searched for is a name, an email or a phone number. It is sent in the body of a POST and kept in the browser's
history entry, never in an address: addresses end up in logs of proxies, in the browser's history and in bookmarks.
"""

from typing import Any
from uuid import UUID

from studiogate.console.framework import ConsoleRequest, action, page
from studiogate.console.framework.downloads import ListedRows, csv_of_list
from studiogate.console.framework.formats import local, with_query
from studiogate.console.framework.parse import as_id
from studiogate.console.members import words
from studiogate.console.members.profile import PAGE, PATH
from studiogate.domain.staff import Permission
from studiogate.flows.members import export as exporting
from studiogate.storage import member_list, member_search
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.member_list import MemberFilters
from studiogate.storage.paging import ListPage
from studiogate.web.response import Answer

COLUMNS = (
    *("Name", "Email", "Membership", "Status", "Phone", "Credits left"),
    *("Period ends", "Last visit", "Member since", "Suspended"),
)
# Lists look at 300 rows for a page at most.
EXPORT_PAGE = 250


@page("/members", Permission.MEMBERS)
async def members(request: ConsoleRequest) -> Answer:
    filters = _filters(request, request.query.get("status"), request.query.get("location"))
    async with request.database.connection() as connection:
        after = as_id(request.query.get("after"))
        found = await member_list.list_members(connection, request.access, filters, after, PAGE)
    return _show(request, filters, found, "")


@page("/members/search", Permission.MEMBERS)
async def reload_search(request: ConsoleRequest) -> Answer:
    """Lead to the list: the results of a search have no address."""
    return request.redirect(PATH)


@action("/members/search", Permission.MEMBERS)
async def search(request: ConsoleRequest) -> Answer:
    """Show the members that a text describes; without a text, the list."""
    form = request.form
    text, filters = form.get("text", ""), _filters(request, form.get("status"), form.get("location"))
    async with request.database.connection() as connection:
        if text.strip():
            place = (form.get("after"), PAGE)
            found = await member_search.search(connection, request.access, text, filters, place)
        else:
            found = await member_list.list_members(connection, request.access, filters, None, PAGE)
    return _show(request, filters, found, text)


@page("/members/export", Permission.MEMBERS)
async def show_export(request: ConsoleRequest) -> Answer:
    """Say what the file will hold."""
    if refusal := request.access.refusal_without_all_locations(Permission.MEMBERS):
        return request.error(refusal)
    filters = _filters(request, request.query.get("status"), request.query.get("location"))
    places = [each.label for each in request.frame.places if each.id == filters.location_id]
    return request.render("members/export_list.html", filters=filters, places=places, words=words)


@action("/members/export", Permission.MEMBERS)
async def export(request: ConsoleRequest) -> Answer:
    """Send the members of the list as CSV; the audit log says who took it."""
    filters = _filters(request, request.form.get("status"), request.form.get("location"))
    refusal = await request.run(exporting.export_list)
    if refusal is not None:
        return request.refused(refusal, PATH)

    async def read(connection: Connection, after: UUID | None) -> ListPage:
        return await member_list.list_members(connection, request.access, filters, after, EXPORT_PAGE)

    timezone = request.frame.timezone
    sent = await csv_of_list(request, "members", ListedRows(read, COLUMNS, lambda row: _line(row, timezone)))
    return sent or request.not_found()


def _line(member: Record, timezone: str) -> list[object]:
    days = (member["current_period_end"], member["last_visit"], member["created_at"])
    return [
        *(member[name] for name in ("name", "email", "product")),
        words.status(words.MEMBERSHIP, member["membership_status"])[0] if member["membership_status"] else "",
        member["phone"],
        member["credits_remaining"],
        *(each and f"{local(each, timezone):%Y-%m-%d}" for each in days),
        "yes" if member["suspended"] else "no",
    ]


def _filters(request: ConsoleRequest, status: str | None, location: str | None) -> MemberFilters:
    """Return the filters that a request names; a value that is none of ours does not filter."""
    place = as_id(location)
    known = place is not None and any(each.id == place for each in request.frame.places)
    return MemberFilters(status if status in member_list.STATUSES else None, place if known else None)


def _show(request: ConsoleRequest, filters: MemberFilters, found: ListPage, text: str) -> Answer:
    values: dict[str, Any] = {
        "members": found.rows,
        "next": found.next,
        "export_href": with_query(f"{PATH}/export", status=filters.status, location=filters.location_id),
        "next_href": _address(filters, after=found.next),
        "text": text,
        "filters": filters,
        "statuses": [
            (name, label, _address(filters._replace(status=name)))
            for name, label in (("", "All"), *words.MEMBER_STATUS.items())
        ],
        "places": request.frame.places,
        "words": words,
    }
    if request.is_fragment and request.http.method == "POST":
        return request.fragment("members/_results.html", is_search=True, **values)
    return request.render("members/list.html", is_search=False, **values)


def _address(filters: MemberFilters, after: str | None = None) -> str:
    return with_query(PATH, status=filters.status, location=filters.location_id, after=after)
