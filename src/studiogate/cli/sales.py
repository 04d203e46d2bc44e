"""studiogate membership, purchase and fee: sales, payments, and what becomes of a membership."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import typer

from studiogate.cli.commands import Group, InStudio
from studiogate.cli.context import CommandError, counted
from studiogate.cli.field_options import RowId, Undo, option_id, option_time
from studiogate.cli.rows import add_list
from studiogate.domain.access import Access
from studiogate.domain.fields.catalog import PaidBy, ProductType, PurchaseStatus
from studiogate.domain.membership_changes import Pause
from studiogate.domain.memberships import MembershipState
from studiogate.domain.money import money_text
from studiogate.domain.purchases import Order
from studiogate.domain.refusals import Refusal
from studiogate.flows import memberships as flow
from studiogate.flows import purchases as purchase_flow
from studiogate.flows.purchases import sell
from studiogate.storage.db.pool import Connection

memberships = Group("Sell, pause, resume and cancel memberships; renewal and credits.")
purchases = Group("Record purchases, payments and refunds.")
fees = Group("Fees, such as those for late cancellations.")
SHOWN = (
    "status",
    "auto_renew",
    "state_version",
    "current_period_end",
    "pause_starts_at",
    "pause_ends_at",
    "cancel_at_period_end",
    "credits_remaining",
)


class Switch(StrEnum):
    ON = "on"
    OFF = "off"


class Paid(StrEnum):
    COMPLETED = PurchaseStatus.COMPLETED.value
    FAILED = PurchaseStatus.FAILED.value


WhyOptional = Annotated[str | None, typer.Option("--reason", help="Why; partners see it.")]
Why = Annotated[str, typer.Option("--reason", help="Why; kept in the audit log.")]
Buyer = Annotated[UUID, option_id("Who buys.", "--member")]
PriceId = Annotated[UUID | None, option_id("At which price; the default one if none is named.", "--price")]
LocationId = Annotated[UUID | None, option_id("Where it is sold.", "--location")]
Way = Annotated[PaidBy | None, typer.Option("--paid-by", help="How it was paid.")]
Pending = Annotated[bool, typer.Option("--pending", help="The payment has not arrived yet.")]


@memberships.command("sell")
def sell_membership(
    call: InStudio,
    member: Buyer,
    product: Annotated[UUID, option_id("What is sold.")],
    price: PriceId = None,
    location: LocationId = None,
    quantity: Annotated[int, typer.Option(help="How many; credits and total are multiplied.")] = 1,
    pending: Pending = False,
    starts: Annotated[datetime | None, option_time("From when it can be used; by default now.")] = None,
    ends: Annotated[datetime | None, option_time("When a one-time purchase ends.")] = None,
    renew: Annotated[
        bool | None, typer.Option("--renew/--no-renew", help="By default a recurring price renews.")
    ] = None,
    paid_by: Way = None,
) -> None:
    """Sell a membership: the purchase and the membership with its period and credits."""
    order = Order(member, product, price, location, quantity, not pending, starts, ends, renew, paid_by)
    sold = call.act_in_studio("product", lambda c, access: sell(c, access, order))
    line = sold.sale.line
    purchase = {"amount_total": str(line.amount_total), "currency": line.currency, "status": line.status}
    value = {
        "membership": {"id": str(sold.membership_id), **_shown(sold.sale.membership)},
        "purchase": {"id": str(sold.purchase_id), "quantity": line.quantity, **purchase},
    }
    total = f"{money_text(line.amount_total, line.currency)} {line.currency}"
    rows = f"membership {sold.membership_id}, purchase {sold.purchase_id}"
    call.show(value, f"Sold for {total}, {line.status}: {rows}.")


def _shown(state: MembershipState) -> dict[str, object]:
    return {name: getattr(state, name) for name in SHOWN}


def _show(call: InStudio, membership_id: UUID, state: MembershipState, text: str) -> None:
    call.show({"id": str(membership_id), **_shown(state)}, text)


def _when(moment: datetime | None) -> str:
    return "later" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


@memberships.command("pause")
def pause(
    call: InStudio,
    membership_id: RowId,
    starts: Annotated[datetime | None, option_time("When it begins; by default now.", "--from")] = None,
    ends: Annotated[datetime | None, option_time("When it ends.", "--until")] = None,
    reason: WhyOptional = None,
) -> None:
    """Pause a membership, now or from a time on. Its bookings stay."""
    asked = Pause(starts, ends, reason)
    state = call.act("membership", membership_id, lambda c, access: flow.pause(c, access, membership_id, asked))
    until = "somebody resumes it" if ends is None else _when(ends)
    begins = "paused" if state.status == "paused" else f"to be paused from {_when(starts)}"
    _show(call, membership_id, state, f"The membership is {begins} until {until}.")


@memberships.command("resume")
def resume(
    call: InStudio,
    membership_id: RowId,
    at: Annotated[datetime | None, option_time("When the pause ends; by default now.")] = None,
) -> None:
    """End a pause, now or at a time, or withdraw a planned one."""
    state = call.act("membership", membership_id, lambda c, access: flow.resume(c, access, membership_id, at))
    paused = f"The pause ends at {_when(at)}." if at is not None else f"The membership is {state.status.value} now."
    _show(call, membership_id, state, paused)


@memberships.command("cancel")
def cancel(
    call: InStudio,
    membership_id: RowId,
    at_period_end: Annotated[bool, typer.Option("--at-period-end", help="Not now, but when the period ends.")] = False,
    reason: WhyOptional = None,
    undo: Undo = False,
) -> None:
    """Cancel a membership, now or at the end of its period. Its bookings stay. `--undo` withdraws a planned end."""

    async def action(c: Connection, access: Access) -> MembershipState | Refusal:
        if undo:
            return await flow.uncancel(c, access, membership_id)
        return await flow.cancel(c, access, membership_id, reason, at_period_end=at_period_end)

    state = call.act("membership", membership_id, action)
    ends = f"The membership ends at {_when(state.current_period_end)}."
    done = ends if at_period_end else "The membership is cancelled."
    _show(call, membership_id, state, "The membership is not cancelled any more." if undo else done)


@memberships.command("renewal")
def renewal(call: InStudio, membership_id: RowId, switch: Annotated[Switch, typer.Argument(metavar="on|off")]) -> None:
    """Switch the automatic renewal on or off."""
    renews = switch is Switch.ON
    state = call.act("membership", membership_id, lambda c, access: flow.set_renewal(c, access, membership_id, renews))
    if state.current_period_end is None:
        text = "The membership has no end date, and does not renew."
    else:
        text = f"The membership {'renews' if state.auto_renew else 'ends'} at {_when(state.current_period_end)}."
    _show(call, membership_id, state, text)


@memberships.command("credits")
def adjust_credits(
    call: InStudio,
    membership_id: RowId,
    reason: Why,
    add: Annotated[int, typer.Option(min=0, help="Give so many credits.")] = 0,
    take: Annotated[int, typer.Option(min=0, help="Take so many credits.")] = 0,
) -> None:
    """Give or take credits. They never become negative."""
    by = add - take
    state = call.act("membership", membership_id, lambda c, a: flow.adjust_credits(c, a, membership_id, by, reason))
    now = counted(state.credits_remaining or 0, "credit")
    _show(call, membership_id, state, f"The membership has {now} now.")


@purchases.command("record")
def record(
    call: InStudio,
    member: Buyer,
    product: Annotated[UUID | None, option_id("What is sold.")] = None,
    price: PriceId = None,
    item: Annotated[str | None, typer.Option(help="What was bought, if it is not in the catalog.")] = None,
    kind: Annotated[ProductType | None, typer.Option("--type", help="Its kind; by default other.")] = None,
    amount: Annotated[str | None, typer.Option(metavar="AMOUNT", help="The total, such as 15.00.")] = None,
    currency: Annotated[str | None, typer.Option(help="By default the studio's.")] = None,
    quantity: Annotated[int, typer.Option(help="How many.")] = 1,
    location: LocationId = None,
    pending: Pending = False,
    paid_by: Way = None,
) -> None:
    """Record a purchase: of a product (--product), or of anything else (--item and --amount). Memberships are sold
    with `membership sell`."""
    free = {"product_key": item, "product_type": kind and kind.value, "amount_total": amount, "currency": currency}
    way = {} if paid_by is None else {"paid_by": paid_by.value}
    status = PurchaseStatus.PENDING if pending else PurchaseStatus.COMPLETED
    line = {name: value for name, value in free.items() if value is not None}
    if (product is None) == (not line):
        raise CommandError("Name the product (--product), or what was bought and for how much (--item, --amount).")

    async def action(connection: Connection, access: Access) -> UUID | Refusal:
        if product is not None:
            order = Order(member, product, price, location, quantity, paid=not pending, paid_by=paid_by)
            return await purchase_flow.record_product(connection, access, order)
        given: dict[str, object] = {**line, **way, "quantity": quantity, "status": status.value}
        return await purchase_flow.record_line(connection, access, member, location, given)

    purchase_id = call.act_in_studio("purchase", action)
    value = {"id": str(purchase_id), "status": status.value}
    call.show(value, f"Purchase {purchase_id} is recorded as {status.value}.")


@purchases.command("mark")
def mark_purchase(
    call: InStudio,
    purchase_id: RowId,
    status: Annotated[Paid, typer.Argument(metavar="completed|failed")],
    paid_by: Way = None,
) -> None:
    """Record what became of a payment. A membership is past_due while a purchase that pays for it is failed."""
    marked = PurchaseStatus(status.value)
    done = call.act("purchase", purchase_id, lambda c, a: purchase_flow.mark(c, a, purchase_id, marked, paid_by))
    call.show({"id": str(purchase_id), "status": done.value}, f"The purchase is {done.value} now.")


@purchases.command("refund")
def refund(
    call: InStudio,
    purchase_id: RowId,
    reason: Why,
    amount: Annotated[str | None, typer.Option(metavar="AMOUNT", help="By default all that is left.")] = None,
) -> None:
    """Record money that was paid back. A membership that was bought stays: cancel it with `membership cancel`."""
    done = call.act("purchase", purchase_id, lambda c, a: purchase_flow.refund(c, a, purchase_id, amount, reason))
    value = {"id": str(purchase_id), "status": done.status, "refunded_amount": str(done.refunded_amount)}
    call.show(value, f"{done.refunded_amount} are refunded in all; the purchase is {done.status} now.")


@fees.command("waive")
def waive(call: InStudio, purchase_id: RowId, reason: Why) -> None:
    """Waive a fee that was not paid. Its purchase is cancelled."""
    done = call.act("purchase", purchase_id, lambda c, a: purchase_flow.waive_fee(c, a, purchase_id, reason))
    call.show({"id": str(purchase_id), "status": done.value}, "The fee is waived.")


add_list(memberships, "membership", "List memberships, the newest first.")
add_list(purchases, "purchase", "List purchases, the newest first.")
add_list(fees, "fee", "List fees, the newest first.")
