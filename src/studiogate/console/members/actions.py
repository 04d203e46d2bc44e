"""What staff do with a member and a membership: create, change, note, suspend; pause, cancel, renew, adjust credits;
and sell a membership, or something that gives none, such as a towel."""

from collections.abc import Mapping
from decimal import Decimal
from uuid import UUID

from studiogate.console import offers
from studiogate.console.framework import Action, ConsoleRequest, Done, Form, Resolution, Subject, Values, paging
from studiogate.console.framework.formats import counted, money, with_query
from studiogate.console.framework.inputs import (
    REASON,
    REQUIRED_REASON,
    Input,
    Row,
    input_of,
    is_yes,
    optional_day,
    optional_id,
    way_of_payment,
    whole_number,
)
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.request import UndoAction, own_page
from studiogate.console.members import words
from studiogate.console.members.profile import MEMBER, PATH, address
from studiogate.domain.access import Access
from studiogate.domain.members import MAX_NOTE, NEW_MEMBER
from studiogate.domain.membership_changes import Pause
from studiogate.domain.purchases import GIVING_A_MEMBERSHIP, Order
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault
from studiogate.flows import memberships as changes
from studiogate.flows import purchases
from studiogate.flows.members import staff as flows
from studiogate.storage import catalog, member_profile
from studiogate.storage.db.pool import Connection

MEMBERSHIP = Subject(
    "membership",
    "/memberships/{membership_id}",
    Permission.SALES,
    member_profile.read_membership,
    lambda row: address(row["member_id"]),
    lambda row: f"{row['member']} · {row['product']}",
)
NEW = Subject("member", "/members", Permission.MEMBERS, None, lambda _row: PATH)
PROFILE = (
    input_of(NEW_MEMBER["first_name"], half=True),
    input_of(NEW_MEMBER["last_name"], half=True),
    input_of(NEW_MEMBER["email"], "Bookings, forms and leads with this email are theirs."),
    input_of(NEW_MEMBER["phone"], "Without a country code, the studio's country is assumed."),
)
ABOUT_NOTES = "Only staff see notes. Partners and the member do not."
NOTE_SIZE = {"rows": 5, "maxlength": MAX_NOTE}
NOTE = Input("note", "Note", "textarea", required=True, help=ABOUT_NOTES, attributes=NOTE_SIZE)
STARTS = Input("starts_at", "From", "date", optional_day, help="Empty: from now on.", half=True)
ENDS = Input("ends_at", "Runs again from", "date", optional_day, help="Empty: until somebody resumes it.", half=True)
ABOUT_CREDITS = "How many credits more; fewer with a minus."
STEP = {"step": 1, "placeholder": "+1 or -1"}
CREDITS = Input("credits", "Change", "number", whole_number, required=True, help=ABOUT_CREDITS, attributes=STEP)
ABOUT_SUSPENSION = (
    "While the member is suspended, new bookings by staff and partners are refused. Bookings that exist stay."
)
ABOUT_PAUSES = (
    "Bookings that exist stay; new ones are refused while it is paused. A period that ends meanwhile begins again when "
    "the pause ends."
)
CANCEL, AT_END = "Cancel the membership", "period_end"
ABOUT_CANCELLING = "Bookings that exist stay. Nothing is refunded by itself: record a refund under Purchases."


def resolution_of(_request: ConsoleRequest, _row: Row, refusal: Refusal) -> Resolution | None:
    """Return the link to the member whose email was given again."""
    other = as_id(str(refusal.details.get("member_id")))
    if refusal.code is not Code.MEMBER_EXISTS or other is None:
        return None
    return Resolution("Open that member", address(other))


async def _create(
    connection: Connection, access: Access, given: Mapping[str, object]
) -> Mapping[str, object] | Refusal:
    return await flows.create(connection, access, {name: value for name, value in given.items() if value})


async def _pause(connection: Connection, access: Access, membership_id: UUID, *asked: Row) -> object:
    return await changes.pause(connection, access, membership_id, Pause(*asked))


async def _cancel(connection: Connection, access: Access, membership_id: UUID, when: str, reason: str | None) -> object:
    return await changes.cancel(connection, access, membership_id, reason, at_period_end=when == AT_END)


def _is_at_end(done: Done) -> bool:
    return bool(done.given["when"] == AT_END)


def _undo_adjustment(done: Done) -> UndoAction:
    fields = {"credits": str(-done.given["credits"]), "reason": f"Undo: {done.given['reason']}"[:500]}
    return UndoAction(f"/console/memberships/{done.row['id']}/credits", fields)


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


SALE = (
    Input("offer", read=_offer),
    Input("location_id", read=optional_id),
    Input("quantity", read=lambda name, typed, row: whole_number(name, typed or "1", row)),
    Input("paid", read=lambda _name, typed, _row: typed in ("", "yes")),
    Input("starts_at", read=optional_day),
    Input("ends_at", read=optional_day),
    Input("auto_renew", read=lambda _name, typed, _row: False if typed == "no" else None),
    Input("paid_by", read=way_of_payment),
)
SELL = Form("Sell", "Record the sale", template="members/sell.html", values=_choices)


ACTIONS = (
    Action(
        NEW,
        "new",
        _create,
        lambda done: f"Created {done.result['name']}.",
        PROFILE,
        Form("New member", "Create", "Only the name is required."),
        edits=True,
        leads_to=lambda done: address(done.result["id"]),
        resolve=resolution_of,
    ),
    Action(
        MEMBER,
        "change",
        flows.change,
        "Saved.",
        PROFILE,
        Form("Change the profile", "Save"),
        edits=True,
        resolve=resolution_of,
    ),
    Action(MEMBER, "note", flows.add_note, "Added the note.", [NOTE], Form("Add a note", "Add the note")),
    Action(
        MEMBER,
        "suspend",
        flows.suspend,
        "Suspended: no new bookings are possible.",
        [REASON],
        Form("Suspend", "Suspend", ABOUT_SUSPENSION, "danger"),
        undo="unsuspend",
    ),
    Action(MEMBER, "unsuspend", flows.unsuspend, "The suspension has ended.", [REASON], undo="suspend"),
    Action(
        MEMBERSHIP,
        "pause",
        _pause,
        lambda done: f"{done.row['product']} {'is paused' if done.result.status == 'paused' else 'will be paused'}.",
        [STARTS, ENDS, REASON],
        Form("Pause", "Pause", ABOUT_PAUSES),
        undo="resume",
    ),
    Action(MEMBERSHIP, "resume", changes.resume, "{product} runs again."),
    Action(
        MEMBERSHIP,
        "cancel",
        _cancel,
        lambda done: f"{done.row['product']} {'will end with its period' if _is_at_end(done) else 'is cancelled'}.",
        [Input("when"), REASON],
        Form(CANCEL, CANCEL, ABOUT_CANCELLING, "danger", "members/membership_cancel.html"),
        undo=lambda done: UndoAction(f"/console/memberships/{done.row['id']}/uncancel") if _is_at_end(done) else None,
    ),
    Action(MEMBERSHIP, "uncancel", changes.uncancel, "{product} goes on."),
    Action(
        MEMBERSHIP,
        "renewal",
        changes.set_renewal,
        lambda done: f"{done.row['product']} {'renews' if done.given['auto_renew'] else 'does not renew'}.",
        [Input("auto_renew", read=is_yes)],
    ),
    Action(
        MEMBERSHIP,
        "credits",
        changes.adjust_credits,
        lambda done: f"{done.row['product']} has {counted(done.result.credits_remaining, 'credit')} now.",
        [CREDITS, REQUIRED_REASON],
        Form("Adjust credits", "Adjust", template="members/membership_credits.html"),
        undo=_undo_adjustment,
    ),
    Action(MEMBER, "sell", _sell, lambda done: str(done.result), SALE, SELL, needs=Permission.SALES),
)
