"""studiogate purchase and fee: record payments, refunds and waived fees."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

import typer

from studiogate.cli import lists
from studiogate.cli.actions import RowId, StudioOption, act, act_in_studio, option_id
from studiogate.cli.context import AsJson, CommandError, DataFolder, print_result
from studiogate.domain.access import Access
from studiogate.domain.catalog import ProductType
from studiogate.domain.purchases import PurchaseStatus
from studiogate.domain.refusals import Refusal
from studiogate.domain.sales import Order
from studiogate.flows import purchases as flow
from studiogate.storage.db.pool import Connection

purchases = typer.Typer(help="Record purchases, payments and refunds.", no_args_is_help=True)
fees = typer.Typer(help="Fees, such as those for late cancellations.", no_args_is_help=True)
Why = Annotated[str, typer.Option("--reason", help="Why; kept in the audit log.")]


class Paid(StrEnum):
    COMPLETED = PurchaseStatus.COMPLETED.value
    FAILED = PurchaseStatus.FAILED.value


@purchases.command("record")
def record(
    studio: lists.Slug,
    member: Annotated[UUID, option_id("Who buys.")],
    product: Annotated[UUID | None, option_id("What is sold.")] = None,
    price: Annotated[UUID | None, option_id("At which price; the default one if none is named.")] = None,
    item: Annotated[str | None, typer.Option(help="What was bought, if it is not in the catalog.")] = None,
    kind: Annotated[ProductType | None, typer.Option("--type", help="Its kind; by default other.")] = None,
    amount: Annotated[str | None, typer.Option(metavar="AMOUNT", help="The total, such as 15.00.")] = None,
    currency: Annotated[str | None, typer.Option(help="By default the studio's.")] = None,
    quantity: Annotated[int, typer.Option(help="How many.")] = 1,
    location: Annotated[UUID | None, option_id("Where it is sold.")] = None,
    pending: Annotated[bool, typer.Option("--pending", help="The payment has not arrived yet.")] = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Record a purchase: of a product (--product), or of anything else (--item and --amount). Memberships are sold
    with `membership sell`."""
    free = {"product_key": item, "product_type": kind and kind.value, "amount_total": amount, "currency": currency}
    status = PurchaseStatus.PENDING if pending else PurchaseStatus.COMPLETED
    line = {name: value for name, value in free.items() if value is not None}
    if (product is None) == (not line):
        raise CommandError("Name the product (--product), or what was bought and for how much (--item, --amount).")

    async def action(connection: Connection, access: Access) -> UUID | Refusal:
        if product is not None:
            order = Order(member, product, price, location, quantity, paid=not pending)
            return await flow.record_product(connection, access, order)
        given: dict[str, object] = {**line, "quantity": quantity, "status": status.value}
        return await flow.record_line(connection, access, member, location, given)

    purchase_id = act_in_studio(data, studio, "purchase", action)
    print_result(
        {"id": str(purchase_id), "status": status.value},
        f"Purchase {purchase_id} is recorded as {status.value}.",
        as_json,
    )


@purchases.command("mark")
def mark_purchase(
    purchase_id: RowId,
    status: Annotated[Paid, typer.Argument(metavar="completed|failed")],
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Record what became of a payment. A membership is past_due while a purchase that pays for it is failed."""
    marked = PurchaseStatus(status.value)
    done = act(data, studio, "purchase", purchase_id, lambda c, access: flow.mark(c, access, purchase_id, marked))
    print_result({"id": str(purchase_id), "status": done.value}, f"The purchase is {done.value} now.", as_json)


@purchases.command("refund")
def refund(
    purchase_id: RowId,
    reason: Why,
    amount: Annotated[str | None, typer.Option(metavar="AMOUNT", help="By default all that is left.")] = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Record money that was paid back. A membership that was bought stays: cancel it with `membership cancel`."""
    done = act(
        data, studio, "purchase", purchase_id, lambda c, access: flow.refund(c, access, purchase_id, amount, reason)
    )
    print_result(
        {"id": str(purchase_id), "status": done.status, "refunded_amount": str(done.refunded_amount)},
        f"{done.refunded_amount} are refunded in all; the purchase is {done.status} now.",
        as_json,
    )


@fees.command("waive")
def waive(
    purchase_id: RowId, reason: Why, studio: StudioOption = None, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """Waive a fee that was not paid. Its purchase is cancelled."""
    done = act(data, studio, "purchase", purchase_id, lambda c, access: flow.waive_fee(c, access, purchase_id, reason))
    print_result({"id": str(purchase_id), "status": done.value}, "The fee is waived.", as_json)


@fees.command("list")
def list_fees(
    studio: lists.Slug,
    member: lists.MemberId = None,
    limit: lists.Limit = 100,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """List fees, the newest first."""
    lists.show(data, studio, "fee", as_json, limit, member=member)


purchases.command("list")(lists.list_purchases)
