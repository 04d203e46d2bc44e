"""What staff record about one purchase: paid, failed, refunded, a fee waived. No payment is taken here."""

from urllib.parse import urlencode

from studiogate.console.framework.formats import money
from studiogate.console.framework.page import action, page, run
from studiogate.console.framework.parse import as_id, example_amount, read_amount
from studiogate.console.framework.request import ConsoleRequest, UndoAction, own_page
from studiogate.console.members import words
from studiogate.domain.catalog import ProductType
from studiogate.domain.purchases import PurchaseStatus
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, reason_faults, refused
from studiogate.flows import purchases as flows
from studiogate.storage import sales_list
from studiogate.storage.db.pool import Record
from studiogate.web.response import Answer

PATH = "/console/sales/purchases"
FORMS = ("refund", "waive")
# What a mark is taken back with; a payment that was pending before cannot become pending again.
BACK = {PurchaseStatus.COMPLETED: "failed", PurchaseStatus.FAILED: "paid"}


@page("GET", "/sales/purchases/{purchase_id}/{form}", Permission.SALES)
async def show_form(request: ConsoleRequest) -> Answer:
    """Show the form of a refund, or of waiving a fee."""
    form, purchase = request.params["form"], await _read(request)
    if purchase is None or form not in FORMS or (form == "waive" and not _is_fee(purchase)):
        return request.not_found()
    left = None
    if purchase["amount_total"] is not None:
        left = purchase["amount_total"] - (purchase["refunded_amount"] or 0)
    wanted = own_page(request.query.get("next"))
    return request.render(f"sales/{form}.html", purchase=purchase, left=left, next=wanted, words=words)


def _form_path(request: ConsoleRequest, purchase: Record, form: str) -> str:
    """Return the address of a form that was sent, with the page to which it leads."""
    wanted = own_page(request.form.get("next"))
    return f"{PATH}/{purchase['id']}/{form}" + (f"?{urlencode({'next': wanted})}" if wanted else "")


def _is_fee(purchase: Record) -> bool:
    return bool(purchase["product_type"] == ProductType.FEE)


async def _read(request: ConsoleRequest) -> Record | None:
    purchase_id = as_id(request.params["purchase_id"])
    if purchase_id is None:
        return None
    async with request.database.connection() as connection:
        return await sales_list.read_purchase(connection, request.access, purchase_id)


@action("POST", "/sales/purchases/{purchase_id}/paid", Permission.SALES)
async def mark_paid(request: ConsoleRequest) -> Answer:
    return await _mark(request, PurchaseStatus.COMPLETED)


@action("POST", "/sales/purchases/{purchase_id}/failed", Permission.SALES)
async def mark_failed(request: ConsoleRequest) -> Answer:
    return await _mark(request, PurchaseStatus.FAILED)


async def _mark(request: ConsoleRequest, status: PurchaseStatus) -> Answer:
    purchase = await _read(request)
    if purchase is None:
        return request.not_found()
    here = own_page(request.form.get("next")) or "/console/sales"
    done = await run(request, flows.mark, purchase["id"], status)
    if isinstance(done, Refusal):
        return request.refused(done, here)
    product = purchase["product"].replace("_", " ")
    text = f"{product} of {purchase['member']} is marked as {words.PURCHASE[status][0]}."
    was = PurchaseStatus(purchase["status"])
    undo = UndoAction(f"{PATH}/{purchase['id']}/{BACK[status]}", {"next": here}) if was in BACK else None
    return request.go_to(here, toast=text, undo=undo)


@action("POST", "/sales/purchases/{purchase_id}/refund", Permission.SALES)
async def refund(request: ConsoleRequest) -> Answer:
    purchase = await _read(request)
    if purchase is None:
        return request.not_found()
    back, currency = _form_path(request, purchase, "refund"), purchase["currency"]
    typed, reason = request.form.get("amount", "").strip(), request.form.get("reason", "")
    amount = read_amount(typed, currency) if typed else None
    if typed and amount is None:
        wrong = fault("amount", f"must be an amount such as {example_amount(currency)}")
        return request.refused(refused(wrong, *reason_faults(reason)), back)
    done = await run(request, flows.refund, purchase["id"], amount, reason)
    if isinstance(done, Refusal):
        return request.refused(done, back)
    total = money(done.refunded_amount, currency)
    return request.go_to(own_page(request.form.get("next")) or "/console/sales", toast=f"Refunded {total} in all.")


@action("POST", "/sales/purchases/{purchase_id}/waive", Permission.SALES)
async def waive(request: ConsoleRequest) -> Answer:
    purchase = await _read(request)
    if purchase is None or not _is_fee(purchase):
        return request.not_found()
    done = await run(request, flows.waive_fee, purchase["id"], request.form.get("reason", ""))
    if isinstance(done, Refusal):
        return request.refused(done, _form_path(request, purchase, "waive"))
    amount = money(purchase["amount_total"], purchase["currency"])
    text = f"Waived the fee of {amount}."
    return request.go_to(own_page(request.form.get("next")) or "/console/sales/fees", toast=text)
