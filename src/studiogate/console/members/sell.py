"""Sell to a member: a membership, or something that gives none, such as a towel."""

from decimal import Decimal
from uuid import UUID

from studiogate.console import offers
from studiogate.console.framework import Action, ConsoleRequest, Form, Values, own_page, paging
from studiogate.console.framework.formats import money, with_query
from studiogate.console.framework.inputs import Input, Row, optional_day, way_of_payment, whole_number
from studiogate.console.framework.parse import as_id
from studiogate.console.members import words
from studiogate.console.members.profile import MEMBER, address
from studiogate.domain.access import Access
from studiogate.domain.purchases import GIVING_A_MEMBERSHIP, Order
from studiogate.domain.refusals import Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault
from studiogate.flows import purchases
from studiogate.storage import catalog
from studiogate.storage.db.pool import Connection


async def _choices(request: ConsoleRequest, connection: Connection, member: Row) -> Values:
    """Return a page of what is on sale."""
    found = await offers.on_sale(connection, request)
    form, after = address(member["id"], "sell"), own_page(request.query.get("next"))
    return {
        "giving": [each for each in found.rows if each.gives_membership],
        "others": [each for each in found.rows if not each.gives_membership],
        "place": offers.working_place(request),
        "place_options": [(each.id, each.name) for each in request.frame.locations],
        "words": words,
        "more": found.next and with_query(form, next=after, **{paging.AFTER: found.next}),
    }


def _offer(name: str, typed: str, _row: Row) -> tuple[UUID, UUID | None] | Fault:
    product, _, price = typed.partition(":")
    product_id = as_id(product)
    return fault(name, "Choose what is sold.") if product_id is None else (product_id, as_id(price))


async def _sell(
    connection: Connection, access: Access, member_id: UUID, offer: tuple[UUID, UUID | None], *others: Row
) -> str | Refusal:
    """Sell by the flow of the product's type; return what happened, in words."""
    order = Order(member_id, *offer, *others)
    product = await catalog.find_product(connection, access, order.product_id)
    if product is not None and product.product_type not in GIVING_A_MEMBERSHIP:
        recorded = await purchases.record_product(connection, access, order)
        return recorded if isinstance(recorded, Refusal) else f"Recorded the purchase of {product.name}."
    sold = await purchases.sell(connection, access, order)
    if isinstance(sold, Refusal):
        return sold
    line, name = sold.sale.line, "a membership" if product is None else product.name
    paid = "paid" if line.status == "completed" else "not paid yet"
    return f"Sold {name}: {money(Decimal(line.amount_total), line.currency)} {paid}."


INPUTS = (
    Input("offer", read=_offer),
    Input("location_id", read=lambda _name, typed, _row: as_id(typed)),
    Input("quantity", read=lambda name, typed, row: whole_number(name, typed or "1", row)),
    Input("paid", read=lambda _name, typed, _row: typed in ("", "yes")),
    Input("starts_at", read=optional_day),
    Input("ends_at", read=optional_day),
    Input("auto_renew", read=lambda _name, typed, _row: False if typed == "no" else None),
    Input("paid_by", read=way_of_payment),
)
FORM = Form("Sell", "Record the sale", template="members/sell.html", values=_choices)
ACTIONS = (Action(MEMBER, "sell", _sell, lambda done: str(done.result), INPUTS, FORM, needs=Permission.SALES),)
