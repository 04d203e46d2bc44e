"""Sell to a member: a membership, or something that gives none, such as a towel."""

from decimal import Decimal
from urllib.parse import urlencode
from uuid import UUID

from studiogate.console import offers
from studiogate.console.framework.formats import money
from studiogate.console.framework.page import AFTER, action, cursor_of, page, run
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.request import ConsoleRequest, own_page
from studiogate.console.members.form_values import only_faults, read_day, read_whole, value
from studiogate.console.members.profile import address, member_of, no_member, show
from studiogate.domain.refusals import Fault, Refusal
from studiogate.domain.sales import GIVING_A_MEMBERSHIP, Order
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows import purchases, sales
from studiogate.storage import catalog
from studiogate.web.response import Answer


@page("GET", "/members/{member_id}/sell", Permission.SALES)
async def show_sale(request: ConsoleRequest) -> Answer:
    async with request.database.connection() as connection:
        member = await member_of(connection, request)
        if member is None:
            return await no_member(request)
        found = await offers.on_sale(connection, request)
    return show(
        request,
        "members/sell.html",
        member,
        giving=[each for each in found.rows if each.gives_membership],
        others=[each for each in found.rows if not each.gives_membership],
        places=request.frame.locations,
        place_options=[(each.id, each.name) for each in request.frame.locations],
        next=own_page(request.query.get("next")),
        after=cursor_of(request),
        more=found.next and _address(member["id"], own_page(request.query.get("next")), found.next),
    )


def _address(member_id: UUID, wanted: str, after: str | None) -> str:
    """Return the address of the form, with the page to return to and the page of products."""
    given = {"next": wanted, AFTER: after}
    query = urlencode({name: each for name, each in given.items() if each})
    return address(member_id, "sell") + (f"?{query}" if query else "")


@action("POST", "/members/{member_id}/sell", Permission.SALES)
async def sell(request: ConsoleRequest) -> Answer:
    member_id = as_id(request.params["member_id"])
    if member_id is None:
        return request.not_found()
    wanted = own_page(request.form.get("next"))
    back = _address(member_id, wanted, cursor_of(request))
    order = _order(request, member_id)
    if isinstance(order, Refusal):
        return request.refused(order, back)
    sold = await _sell(request, order)
    if isinstance(sold, Refusal):
        return request.refused(sold, back)
    return request.go_to(wanted or address(member_id), toast=sold)


def _order(request: ConsoleRequest, member_id: UUID) -> Order | Refusal:
    """Return what the form orders, or every fault of it."""
    form, timezone = request.form, request.frame.timezone
    product, _, price = form.get("offer", "").partition(":")
    product_id, price_id = as_id(product), as_id(price)
    quantity = read_whole("quantity", form.get("quantity") or "1")
    starts = read_day("starts_at", form.get("starts_at", ""), timezone)
    ends = read_day("ends_at", form.get("ends_at", ""), timezone)
    faults: list[Fault] = only_faults(quantity, starts, ends)
    if product_id is None:
        faults.insert(0, fault("offer", "Choose what is sold."))
    if faults or product_id is None:
        return refused(*faults)
    renews = False if form.get("auto_renew") == "no" else None
    paid, place = form.get("paid", "yes") == "yes", as_id(form.get("location_id"))
    return Order(member_id, product_id, price_id, place, value(quantity), paid, value(starts), value(ends), renews)


async def _sell(request: ConsoleRequest, order: Order) -> str | Refusal:
    """Sell by the flow of the product's type; return what happened, in words."""
    async with request.database.connection() as connection:
        product = await catalog.find_product(connection, request.access, order.product_id)
    if product is not None and product.product_type not in GIVING_A_MEMBERSHIP:
        recorded = await run(request, purchases.record_product, order)
        return recorded if isinstance(recorded, Refusal) else f"Recorded the purchase of {product.name}."
    sold = await run(request, sales.sell, order)
    if isinstance(sold, Refusal):
        return sold
    line, name = sold.sale.line, "a membership" if product is None else product.name
    paid = "paid" if line.status == "completed" else "not paid yet"
    return f"Sold {name}: {money(Decimal(line.amount_total), line.currency)} {paid}."
