"""Purchases: their list, open fees and the renewals that are due, with the filters in the address; and what staff
record about a purchase: paid and how, failed, refunded, a fee waived."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from operator import itemgetter
from uuid import UUID

from studiogate import clock
from studiogate.console.framework import Action, ConsoleRequest, Done, Form, Subject, Values, action, page, page_of
from studiogate.console.framework.downloads import ListedRows, csv_of_list
from studiogate.console.framework.formats import local, money, with_query
from studiogate.console.framework.inputs import REQUIRED_REASON, Input, Row, optional_amount, way_of_payment
from studiogate.console.framework.parse import Days, as_id
from studiogate.console.framework.request import UndoAction, own_page
from studiogate.console.members import words
from studiogate.console.members.profile import PAGE, PAGE_OF_FORMS
from studiogate.console.offers import with_renewal
from studiogate.domain.access import Access
from studiogate.domain.fields.catalog import PaidBy, ProductType, PurchaseStatus
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
Given = Mapping[str, object]
# The columns of a file, each with what it has of a purchase.
EXPORTED: Mapping[str, Callable[[Record], object]] = {
    "when": lambda row: local(row["created_at"], row["timezone"]).isoformat(timespec="seconds"),
    "member": itemgetter("member"),
    "what": words.product,
    "quantity": itemgetter("quantity"),
    "amount": itemgetter("amount_total"),
    "refunded": lambda row: row["refunded_amount"] or 0,
    "currency": itemgetter("currency"),
    "status": lambda row: words.PURCHASE[row["status"]][0],
    "paid_by": lambda row: words.paid_by(row["paid_by"]),
    "location": lambda row: row["location"] or "",
    "id": lambda row: str(row["id"]),
}


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

    listed = ListedRows(read, list(EXPORTED), lambda row: [cell(row) for cell in EXPORTED.values()], MAX_EXPORTED)
    sent = await csv_of_list(request, "open-fees" if is_fees else "purchases", listed)
    too_many = fault("from", f"leaves more than {MAX_EXPORTED:,} purchases")
    return sent or request.refused(refused(too_many), back)


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


# What staff record about a purchase.

PURCHASE = Subject(
    "purchase",
    "/sales/purchases/{purchase_id}",
    Permission.SALES,
    sales_list.read_purchase,
    lambda _row: PATH,
    lambda row: f"{row['member']} · {words.product(row)}",
    {"words": words},
)
# What a mark is taken back with; a payment that was pending before cannot become pending again.
BACK = {PurchaseStatus.COMPLETED: "failed", PurchaseStatus.FAILED: "paid"}
WAY = Input("paid_by", "How was it paid?", read=way_of_payment, options=words.WAYS)


@page_of(PURCHASE, "/sales/purchases/{purchase_id}", Permission.SALES, "sales/purchase.html")
async def show(request: ConsoleRequest, connection: Connection, purchase: Row) -> Values:
    """Show a purchase with the money that was received and paid back, and what can be recorded about it."""
    lines = await sales_list.payments_of(connection, request.access, purchase["id"])
    return {"lines": lines, "here": own_page(request.query.get("next")) or PATH}


def _mark(name: str, status: PurchaseStatus, form: Form | None = None) -> Action:
    async def mark(
        connection: Connection, access: Access, purchase_id: UUID, paid_by: PaidBy | None = None
    ) -> PurchaseStatus | Refusal:
        return await flows.mark(connection, access, purchase_id, status, paid_by)

    def text(done: Done) -> str:
        how = words.paid_by(done.given.get("paid_by"))
        marked = f"{words.PURCHASE[status][0]}{f' ({how})' if how else ''}"
        return f"{done.row['member']}: {words.product(done.row)} is marked as {marked}."

    def undo(done: Done) -> UndoAction | None:
        was, here = PurchaseStatus(done.row["status"]), own_page(done.request.form.get("next")) or PATH
        path = f"{PATH}/purchases/{done.row['id']}"
        return UndoAction(f"{path}/{BACK[status]}", {"next": here}) if was in BACK else None

    return Action(PURCHASE, name, mark, text, [] if form is None else [WAY], form, undo=undo)


def _was_way(done: Done) -> UndoAction:
    here = own_page(done.request.form.get("next")) or PATH
    fields = {"next": here, "paid_by": done.row["paid_by"] or ""}
    return UndoAction(f"{PATH}/purchases/{done.row['id']}/paid-by", fields)


ACTIONS = (
    _mark("paid", PurchaseStatus.COMPLETED, Form("Mark as paid", "Mark as paid", template="sales/paid.html")),
    _mark("failed", PurchaseStatus.FAILED),
    Action(
        PURCHASE,
        "paid-by",
        flows.correct_way,
        lambda done: f"Noted: {words.paid_by(done.result) or 'not said how it was paid'}.",
        [WAY],
        Form("How it was paid", "Save", template="sales/paid.html"),
        undo=_was_way,
    ),
    Action(
        PURCHASE,
        "refund",
        flows.refund,
        lambda done: f"Refunded {money(done.result.refunded_amount, done.row['currency'])} in all.",
        [Input("amount", "Amount", read=optional_amount), REQUIRED_REASON],
        Form("Record a refund", "Record the refund", template="sales/refund.html"),
    ),
    Action(
        PURCHASE,
        "waive",
        flows.waive_fee,
        lambda done: f"Waived the fee of {money(done.row['amount_total'], done.row['currency'])}.",
        [REQUIRED_REASON],
        Form("Waive the fee", "Waive the fee", kind="danger", template="sales/payment.html"),
        is_offered=lambda purchase: bool(purchase["product_type"] == ProductType.FEE),
        leads_to=lambda _done: f"{PATH}/fees",
    ),
)
