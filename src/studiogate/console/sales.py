"""Sales: the lists, whose filters are in the address, and what staff record about a purchase: paid, failed, refunded, a
fee waived. No payment is taken here."""

from datetime import timedelta
from uuid import UUID

from studiogate import clock
from studiogate.console.framework import Action, ConsoleRequest, Done, Form, Subject, UndoAction, own_page, page
from studiogate.console.framework.formats import money, with_query
from studiogate.console.framework.inputs import REQUIRED_REASON, Input, optional_amount
from studiogate.console.framework.parse import as_id
from studiogate.console.members import words
from studiogate.console.members.profile import PAGE, PAGE_OF_FORMS
from studiogate.console.offers import with_renewal
from studiogate.domain.access import Access
from studiogate.domain.fields.catalog import ProductType, PurchaseStatus
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.flows import purchases as flows
from studiogate.storage import sales_list
from studiogate.storage.db.pool import Connection
from studiogate.storage.sales_list import PurchaseFilters
from studiogate.web.response import Answer

PATH = "/console/sales"
RENEWALS_AHEAD = (7, 30, 90)


@page("/sales", Permission.SALES)
@page("/sales/fees", Permission.SALES)
async def purchases(request: ConsoleRequest) -> Answer:
    """Show what was sold, or the fees that nobody has paid."""
    path, after = request.http.path.rstrip("/"), as_id(request.query.get("after"))
    is_fees, asked = path.endswith("/fees"), request.query.get("status")
    place = as_id(request.query.get("location"))
    filters = PurchaseFilters(
        asked if asked in set(PurchaseStatus) and not is_fees else None,
        place if any(each.id == place for each in request.frame.locations) else None,
        open_fees=is_fees,
    )
    async with request.database.connection() as connection:
        found = await sales_list.list_purchases(connection, request.access, filters, after, PAGE_OF_FORMS)
    given = {"status": filters.status, "location": filters.location_id}
    statuses = [("", "All"), *((each.value, words.PURCHASE[each][0].capitalize()) for each in PurchaseStatus)]
    return request.render(
        "sales/purchases.html",
        section="fees" if is_fees else "purchases",
        rows=found.rows,
        next_href=found.next and with_query(path, **given, after=found.next),
        filters=filters,
        statuses=[(name, label, with_query(path, **{**given, "status": name})) for name, label in statuses],
        places=[
            (each.id, each.name, with_query(path, **{**given, "location": each.id})) for each in request.frame.locations
        ],
        everywhere=with_query(path, **{**given, "location": None}),
        here=with_query(path, **given, after=request.query.get("after") if after else None),
        words=words,
    )


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


PURCHASE = Subject(
    "purchase",
    "/sales/purchases/{purchase_id}",
    Permission.SALES,
    sales_list.read_purchase,
    lambda _row: PATH,
    lambda row: f"{row['member']} · {row['product']}",
    {"words": words},
)
# What a mark is taken back with; a payment that was pending before cannot become pending again.
BACK = {PurchaseStatus.COMPLETED: "failed", PurchaseStatus.FAILED: "paid"}


def _mark(name: str, status: PurchaseStatus) -> Action:
    async def mark(connection: Connection, access: Access, purchase_id: UUID) -> PurchaseStatus | Refusal:
        return await flows.mark(connection, access, purchase_id, status)

    def text(done: Done) -> str:
        product = done.row["product"].replace("_", " ")
        return f"{product} of {done.row['member']} is marked as {words.PURCHASE[status][0]}."

    def undo(done: Done) -> UndoAction | None:
        was, here = PurchaseStatus(done.row["status"]), own_page(done.request.form.get("next")) or PATH
        path = f"{PATH}/purchases/{done.row['id']}"
        return UndoAction(f"{path}/{BACK[status]}", {"next": here}) if was in BACK else None

    return Action(PURCHASE, name, mark, text, undo=undo)


ACTIONS = (
    _mark("paid", PurchaseStatus.COMPLETED),
    _mark("failed", PurchaseStatus.FAILED),
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
