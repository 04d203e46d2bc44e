"""What staff do with products and prices.

A price is never edited: it is replaced, and memberships that renew at it keep it."""

from collections.abc import Mapping
from functools import partial
from uuid import UUID, uuid4

from studiogate.console.framework import Action, ConsoleRequest, Form, Subject, Values
from studiogate.console.framework.formats import counted
from studiogate.console.framework.inputs import (
    YES_NO,
    Input,
    Row,
    input_of,
    is_yes,
    optional_text,
    required_amount,
    several,
)
from studiogate.console.settings.products import PATH, PRICE_OF_PATH, PRODUCT_OF_PATH, TYPES
from studiogate.domain.access import Access
from studiogate.domain.catalog import PRODUCT
from studiogate.domain.memberships import Interval
from studiogate.domain.names import slug_of
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows import catalog as flows
from studiogate.flows import staff_flow
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import settings as storage

INTERVALS = tuple((each.value, f"Every {each.value}") for each in Interval)
LIMIT = "None ticked: everywhere."


async def _options(connection: Connection, access: Access, row: Row) -> Mapping[str, list[tuple[UUID, str]]]:
    """Return the locations and class types to which something can be limited: those in use, and those that it has."""
    found = {}
    for name in ("location_ids", "class_type_ids"):
        chosen = row.get(name) or ()
        known = await storage.names(connection, access, name.removesuffix("_ids"))
        named = [(each["id"], each["name"]) for each in known if each["active"] or each["id"] in chosen]
        found[name] = sorted(named, key=lambda option: option[1].casefold())
    return found


async def _with_options(request: ConsoleRequest, connection: Connection, row: Row) -> Values:
    return {"options": await _options(connection, request.access, row)}


async def _create_product(connection: Connection, access: Access, given: Values) -> UUID | Refusal:
    key = given.get("key") or slug_of(given.get("name") or "") or f"product-{uuid4().hex[:8]}"
    return await flows.create_product(connection, access, {**given, "key": key})


async def _create_price(connection: Connection, access: Access, product_id: UUID, *given: object) -> UUID | Refusal:
    values = dict(zip((each.name for each in PRICE_INPUTS), given, strict=True))
    return await flows.create_price(connection, access, product_id, values)


async def _replace_price(
    connection: Connection, access: Access, price_id: UUID, given: Values
) -> flows.Replaced | Refusal:
    if not given:
        return refused(fault("amount", "is the one that it has. Change something, or keep the price."))
    return await flows.replace_price(connection, access, price_id, given)


def _kept(number: int) -> str:
    if not number:
        return ""
    return f" {counted(number, 'membership')} {'keeps' if number == 1 else 'keep'} the old one."


async def _before_replacing(request: ConsoleRequest, connection: Connection, price: Row) -> Values:
    """Return the options of the limits, and how many memberships would keep the price."""
    kept = await staff_flow.previewed(
        connection, request.access, lambda connection, access: flows.retire_price(connection, access, price["id"])
    )
    options = await _options(connection, request.access, price)
    return {"kept": 0 if isinstance(kept, Refusal) else kept, "options": options}


def _is_active(row: Row) -> bool:
    return bool(row["active"] and row["may_change"])


LOCATIONS = Input("location_ids", "Only at", "choices", several, help=LIMIT)
PRODUCT_INPUTS = (
    input_of(PRODUCT["name"], "What clients read."),
    Input("product_type", "Kind", "choice", required=True, options=tuple(TYPES.items())),
    input_of(
        PRODUCT["credits_granted"], "Of a product that classes are booked with. Empty: unlimited.", label="Classes"
    ),
    Input("client_visible", "Partners show it to clients", "choice", is_yes, options=YES_NO),
    LOCATIONS,
    Input("class_type_ids", "Only for", "choices", several, help="None ticked: every class type."),
)
KEY = Input(
    "key",
    "Key",
    read=optional_text,
    help="A stable name for programs, such as ten-classes. Empty: made from the name.",
    attributes={"maxlength": 200, "autocomplete": "off"},
)
AMOUNT = Input(
    "amount", "Amount", read=required_amount, required=True, attributes={"inputmode": "decimal", "autocomplete": "off"}
)
PRICE_INPUTS = (
    AMOUNT,
    Input("interval", "Paid", "choice", optional_text, options=(("", "Once"), *INTERVALS)),
    Input("default", "Default", "choice", is_yes, options=YES_NO[::-1], help="The price of a sale that names none."),
    LOCATIONS,
)
REPLACEMENT = (AMOUNT, Input("interval", "Paid", "choice", optional_text, options=INTERVALS), LOCATIONS)
ABOUT_RETIRING = "It is no longer sold. Memberships of it live on and renew."
ABOUT_RETIRING_A_PRICE = "Nothing is sold at this price any more. Memberships that renew at it keep it."


ACTIONS = (
    Action(
        Subject("product", PATH, Permission.CATALOG, None, lambda _row: f"/console{PATH}"),
        "new",
        _create_product,
        lambda done: f"Created {done.given['name']}. It is on sale once it has a price.",
        (*PRODUCT_INPUTS, KEY),
        Form("New product", "Create", values=_with_options),
        edits=True,
        leads_to=lambda done: f"/console{PATH}/{done.result}",
    ),
    Action(
        PRODUCT_OF_PATH,
        "change",
        flows.change_product,
        "Saved.",
        PRODUCT_INPUTS,
        Form(
            "Change the product",
            "Save",
            "New credits apply to later sales. New limits apply to every membership of it.",
            values=_with_options,
        ),
        edits=True,
        is_offered=lambda row: bool(row["may_change"]),
    ),
    Action(
        PRODUCT_OF_PATH,
        "retire",
        flows.retire_product,
        "{name} is no longer sold.",
        (),
        Form("Retire the product", "Retire", ABOUT_RETIRING, "danger"),
        is_offered=_is_active,
        undo="sell-again",
    ),
    Action(
        PRODUCT_OF_PATH,
        "sell-again",
        partial(flows.retire_product, undo=True),
        "{name} is on sale again.",
        is_offered=lambda row: bool(row["may_change"] and not row["active"]),
        undo="retire",
    ),
    Action(
        PRODUCT_OF_PATH,
        "price",
        _create_price,
        "The price is on sale.",
        PRICE_INPUTS,
        Form("New price", "Add the price", template="settings/price.html", values=_with_options),
        is_offered=lambda row: bool(row["may_change"]),
    ),
    Action(
        PRICE_OF_PATH,
        "replace",
        _replace_price,
        lambda done: f"The new price is on sale.{_kept(done.result.memberships_kept)}",
        REPLACEMENT,
        Form("Replace the price", "Sell at this price", template="settings/price.html", values=_before_replacing),
        edits=True,
        is_offered=_is_active,
    ),
    Action(
        PRICE_OF_PATH,
        "retire",
        flows.retire_price,
        lambda done: f"The price is retired.{_kept(done.result)}",
        (),
        Form(
            "Retire the price", "Retire", ABOUT_RETIRING_A_PRICE, "danger", "settings/price_end.html", _before_replacing
        ),
        is_offered=_is_active,
    ),
    Action(
        PRICE_OF_PATH,
        "default",
        flows.make_default,
        "It is the price of a sale that names none.",
        is_offered=_is_active,
    ),
)
