"""The lists of Sales, whose filters are in the address: purchases, open fees, and the renewals that are due."""

from collections.abc import Mapping
from datetime import date, timedelta
from uuid import UUID

from studiogate import clock
from studiogate.console.framework import ConsoleRequest, action, page
from studiogate.console.framework.downloads import ListedRows, csv_of_list
from studiogate.console.framework.formats import local, with_query
from studiogate.console.framework.parse import Days, as_id
from studiogate.console.members import words
from studiogate.console.members.profile import PAGE, PAGE_OF_FORMS
from studiogate.console.offers import with_renewal
from studiogate.domain.fields.catalog import PurchaseStatus
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows import purchases as flows
from studiogate.storage import sales_list
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.paging import ListPage
from studiogate.storage.sales_list import PurchaseFilters
from studiogate.web.response import Answer

PATH = "/console/sales"
RENEWALS_AHEAD = (7, 30, 90)
EXPORTED_AT_ONCE, MAX_EXPORTED = 500, 20_000
COLUMNS = (
    "when",
    "member",
    "what",
    "quantity",
    "amount",
    "refunded",
    "currency",
    "status",
    "paid_by",
    "location",
    "id",
)
Given = Mapping[str, object]


def known_place(request: ConsoleRequest, query: Mapping[str, str]) -> UUID | None:
    """Return the location that an address names, if the person may see it."""
    place = as_id(query.get("location"))
    return place if any(each.id == place for each in request.frame.places) else None


def timezone_of(request: ConsoleRequest, place: UUID | None) -> str:
    """Return the time zone of a location, or of all that the person sees; the studio's if these have several."""
    zones = {each.timezone for each in request.frame.places if place in (None, each.id)}
    return zones.pop() if len(zones) == 1 else request.frame.timezone


def today_of(request: ConsoleRequest, place: UUID | None) -> date:
    return local(clock.now(), timezone_of(request, place)).date()


def _filters(request: ConsoleRequest, query: Mapping[str, str], *, open_fees: bool) -> tuple[PurchaseFilters, Given]:
    """Return what an address filters by, and its values as they are written into other addresses."""
    asked, days, place = query.get("status"), Days.of(query), known_place(request, query)
    since, until = days.between(timezone_of(request, place))
    filters = PurchaseFilters(
        asked if asked in set(PurchaseStatus) and not open_fees else None,
        place,
        open_fees=open_fees,
        since=since,
        until=until,
    )
    return filters, {"status": filters.status, "location": filters.location_id, **days.query}


@page("/sales", Permission.SALES)
@page("/sales/fees", Permission.SALES)
async def purchases(request: ConsoleRequest) -> Answer:
    """Show what was sold, or the fees that nobody has paid."""
    path, after = request.http.path.rstrip("/"), as_id(request.query.get("after"))
    is_fees = path.endswith("/fees")
    filters, given = _filters(request, request.query, open_fees=is_fees)
    found = await request.read(sales_list.list_purchases, filters, after, PAGE_OF_FORMS)
    return request.render(
        "sales/purchases.html",
        section="fees" if is_fees else "purchases",
        rows=found.rows,
        next_href=found.next and with_query(path, **given, after=found.next),
        given=given,
        is_filtered=any(given.values()),
        statuses=[(each.value, words.PURCHASE[each][0].capitalize()) for each in PurchaseStatus],
        here=with_query(path, **given, after=request.query.get("after") if after else None),
        words=words,
    )


@action("/sales/export", Permission.SALES)
async def export(request: ConsoleRequest) -> Answer:
    """Send the purchases of a list as a CSV file. The audit log names who took them."""
    form = request.form
    is_fees = form.get("list") == "fees"
    filters, given = _filters(request, form, open_fees=is_fees)
    back = with_query(f"{PATH}/fees" if is_fees else PATH, **given)
    taken = await request.run(flows.export)
    if isinstance(taken, Refusal):
        return request.refused(taken, back)

    async def read(connection: Connection, after: UUID | None) -> ListPage:
        return await sales_list.list_purchases(connection, request.access, filters, after, EXPORTED_AT_ONCE)

    listed = ListedRows(read, COLUMNS, _exported, MAX_EXPORTED)
    sent = await csv_of_list(request, "open-fees" if is_fees else "purchases", listed)
    too_many = fault("from", f"leaves more than {MAX_EXPORTED:,} purchases")
    return sent or request.refused(refused(too_many), back)


def _exported(row: Record) -> list[object]:
    return [
        local(row["created_at"], row["timezone"]).isoformat(timespec="seconds"),
        row["member"],
        row["product"].replace("_", " "),
        row["quantity"],
        row["amount_total"],
        row["refunded_amount"] or 0,
        row["currency"],
        words.PURCHASE[row["status"]][0],
        words.paid_by(row["paid_by"]),
        row["location"] or "",
        str(row["id"]),
    ]


@page("/sales/renewals", Permission.SALES)
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
        next_href=found.next and with_query(path, days=days, after=found.next),
        days=days,
        choices=[(each, with_query(path, days=each)) for each in RENEWALS_AHEAD],
    )
