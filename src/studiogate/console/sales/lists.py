"""The lists of the screen Sales; their filters are in the address."""

from datetime import timedelta
from urllib.parse import urlencode
from uuid import UUID

from studiogate import clock
from studiogate.console.framework.page import page
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.members import words
from studiogate.console.members.form_values import PAGE, PAGE_OF_FORMS
from studiogate.console.members.prices import with_renewal
from studiogate.domain.fields.catalog import PurchaseStatus
from studiogate.domain.staff import Permission
from studiogate.storage import sales_list
from studiogate.storage.sales_list import PurchaseFilters
from studiogate.web.response import Answer

PATH = "/console/sales"
RENEWALS_AHEAD = (7, 30, 90)


@page("GET", "/sales", Permission.SALES)
async def purchases(request: ConsoleRequest) -> Answer:
    status = request.query.get("status")
    filters = PurchaseFilters(status if status in set(PurchaseStatus) else None, _place(request))
    return await _purchases(request, filters, "purchases", PATH)


@page("GET", "/sales/fees", Permission.SALES)
async def open_fees(request: ConsoleRequest) -> Answer:
    """Show the fees that nobody has paid."""
    return await _purchases(request, PurchaseFilters(None, _place(request), open_fees=True), "fees", f"{PATH}/fees")


async def _purchases(request: ConsoleRequest, filters: PurchaseFilters, section: str, path: str) -> Answer:
    after = as_id(request.query.get("after"))
    async with request.database.connection() as connection:
        found = await sales_list.list_purchases(connection, request.access, filters, after, PAGE_OF_FORMS)
    given = {"status": filters.status, "location": filters.location_id}
    statuses = [("", "All"), *((each.value, words.PURCHASE[each][0].capitalize()) for each in PurchaseStatus)]
    return request.render(
        "sales/purchases.html",
        section=section,
        rows=found.rows,
        next_href=found.next and _address(path, **given, after=found.next),
        filters=filters,
        statuses=[(name, label, _address(path, **{**given, "status": name})) for name, label in statuses],
        places=[
            (each.id, each.name, _address(path, **{**given, "location": each.id})) for each in request.frame.locations
        ],
        everywhere=_address(path, **{**given, "location": None}),
        here=_address(path, **given, after=request.query.get("after") if after else None),
        words=words,
    )


@page("GET", "/sales/renewals", Permission.SALES)
async def renewals(request: ConsoleRequest) -> Answer:
    """Show the memberships that renew within the next days, with what each will cost."""
    asked = request.query.get("days", "")
    days = int(asked) if asked in map(str, RENEWALS_AHEAD) else RENEWALS_AHEAD[1]
    until, path = clock.now() + timedelta(days=days), f"{PATH}/renewals"
    async with request.database.connection() as connection:
        after = as_id(request.query.get("after"))
        found = await sales_list.renewals_due(connection, request.access, until, after, PAGE)
    return request.render(
        "sales/renewals.html",
        section="renewals",
        rows=[with_renewal(each) for each in found.rows],
        next_href=found.next and _address(path, days=days, after=found.next),
        days=days,
        choices=[(each, _address(path, days=each)) for each in RENEWALS_AHEAD],
    )


def _place(request: ConsoleRequest) -> UUID | None:
    place = as_id(request.query.get("location"))
    return place if any(each.id == place for each in request.frame.locations) else None


def _address(path: str, **given: object) -> str:
    query = urlencode({name: str(each) for name, each in given.items() if each})
    return f"{path}?{query}" if query else path
