"""What staff record about a purchase: paid and how, failed, refunded, a fee waived."""

from uuid import UUID

from studiogate.console.framework import (
    Action,
    ConsoleRequest,
    Done,
    Form,
    Subject,
    UndoAction,
    Values,
    own_page,
    page_of,
)
from studiogate.console.framework.formats import money
from studiogate.console.framework.inputs import REQUIRED_REASON, Input, Row, optional_amount
from studiogate.console.framework.inputs import way_of_payment as way
from studiogate.console.members import words
from studiogate.console.sales.lists import PATH
from studiogate.domain.access import Access
from studiogate.domain.fields.catalog import PaidBy, ProductType, PurchaseStatus
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.flows import purchases as flows
from studiogate.storage import sales_list
from studiogate.storage.db.pool import Connection

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
WAY = Input("paid_by", "How was it paid?", read=way, options=words.WAYS)


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
