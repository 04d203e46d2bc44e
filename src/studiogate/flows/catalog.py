"""Create, change and retire products; create, replace and retire prices."""

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from studiogate.domain import catalog as rules
from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.fields.readers import Setting
from studiogate.domain.refusals import NOT_FOUND, Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows.changes import audited, changing, created, recorded
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import catalog
from studiogate.storage import studio as studios
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id

NOT_PERMITTED = Refusal(Code.PERMISSION_DENIED, {"required_permission": Permission.CATALOG.value})


class Replaced(NamedTuple):
    """The new price, and how many memberships keep the old one."""

    price_id: UUID
    memberships_kept: int


@staff_flow(Permission.CATALOG)
async def create_product(connection: Connection, access: Access, given: Mapping[str, object]) -> UUID | Refusal:
    """Add a product to the catalog; return its id."""
    product, faults = rules.new_product(new_id(), given)
    if product is None:
        return refused(*faults)
    if faults := await _limit_faults(connection, access, product):
        return refused(*faults)
    async with created(connection, access, Subject("product", product.id)):
        added = await catalog.insert_product(connection, access, product)
    return product.id if added else refused(fault("key", "is the key of another product: choose another one"))


@staff_flow(Permission.CATALOG)
async def change_product(
    connection: Connection, access: Access, product_id: UUID, given: Mapping[str, object]
) -> rules.Product | Refusal:
    """Change the given fields of a product. New credits apply to later sales, new limits to every membership of it."""
    if isinstance(product := await _lock(connection, access, product_id), Refusal):
        return product
    changed, faults = rules.changed_product(product, given)
    faults += [] if faults else await _limit_faults(connection, access, changed)
    if faults:
        return refused(*faults)
    async with recorded(connection, access, "product.change", Subject("product", product_id)):
        await catalog.update_product(connection, access, changed)
    return changed


@staff_flow(Permission.CATALOG)
async def retire_product(
    connection: Connection, access: Access, product_id: UUID, *, undo: bool = False
) -> rules.Product | Refusal:
    """Stop selling a product, or sell it again. Its memberships live on and renew."""
    if isinstance(product := await _lock(connection, access, product_id), Refusal):
        return product
    if product.active == undo:
        return _already("retired", product.active)
    async with recorded(connection, access, "product.retire", Subject("product", product_id)):
        changed = product._replace(active=undo)
        await catalog.update_product(connection, access, changed)
    return changed


@staff_flow(Permission.CATALOG)
async def create_price(
    connection: Connection, access: Access, product_id: UUID, given: Mapping[str, object]
) -> UUID | Refusal:
    """Add a price to a product; return its id. A new default price replaces the former default."""
    if isinstance(product := await _lock(connection, access, product_id), Refusal):
        return product
    price, faults = rules.new_price(given, Setting(await studios.currency_of(connection, access)))
    if price is None:
        return refused(*faults)
    if faults := await _unknown_faults(connection, access, "location_ids", price.location_ids):
        return refused(*faults)
    async with changing(connection, access, EventType.PRODUCT_UPDATED, product_id):
        if price.default:
            await _clear_default(connection, access, product_id)
        return await _insert(connection, access, product_id, price)


@staff_flow(Permission.CATALOG)
async def replace_price(
    connection: Connection, access: Access, price_id: UUID, given: Mapping[str, object]
) -> Replaced | Refusal:
    """Retire a price and put a new one in its place. Memberships that renew at the old price keep it."""
    if isinstance(found := await _lock_price(connection, access, price_id), Refusal):
        return found
    price, faults = rules.replacement(found.price, given)
    if price is None:
        return refused(*faults)
    if faults := await _unknown_faults(connection, access, "location_ids", price.location_ids):
        return refused(*faults)
    async with changing(connection, access, EventType.PRODUCT_UPDATED, found.price.product_id):
        kept = await _retire(connection, access, found, "price.replace")
        return Replaced(await _insert(connection, access, found.price.product_id, price), kept)


@staff_flow(Permission.CATALOG)
async def retire_price(connection: Connection, access: Access, price_id: UUID) -> int | Refusal:
    """Stop selling at a price. Memberships that renew at it keep it; return how many these are."""
    if isinstance(found := await _lock_price(connection, access, price_id), Refusal):
        return found
    async with changing(connection, access, EventType.PRODUCT_UPDATED, found.price.product_id):
        return await _retire(connection, access, found, "price.retire")


@staff_flow(Permission.CATALOG)
async def make_default(connection: Connection, access: Access, price_id: UUID) -> UUID | Refusal:
    """Make an active price the one that a sale uses where none is named."""
    if isinstance(found := await _lock_price(connection, access, price_id), Refusal):
        return found
    async with changing(connection, access, EventType.PRODUCT_UPDATED, found.price.product_id):
        await _clear_default(connection, access, found.price.product_id, but=price_id)
        async with audited(connection, access, "price.default", Subject("price", price_id)):
            await catalog.set_default(connection, access, price_id, True)
    return price_id


class _Locked(NamedTuple):
    price: rules.Price
    prices: list[rules.Price]
    unpriced: list[UUID]


async def _lock(connection: Connection, access: Access, product_id: UUID) -> rules.Product | Refusal:
    product = await catalog.lock_product(connection, access, product_id)
    if product is None or not rules.visible_at(access.location_ids, product.location_ids):
        return NOT_FOUND
    return product if rules.changeable_at(access.location_ids, product.location_ids) else NOT_PERMITTED


async def _lock_price(connection: Connection, access: Access, price_id: UUID) -> _Locked | Refusal:
    """Lock an active price's product and the memberships that renew at the price by default."""
    if (product_id := await catalog.product_of_price(connection, access, price_id)) is None:
        return NOT_FOUND
    unpriced = await catalog.lock_unpriced_memberships(connection, access, product_id)
    if isinstance(product := await _lock(connection, access, product_id), Refusal):
        return product
    prices = await catalog.prices_of(connection, access, product_id)
    price = next(each for each in prices if each.id == price_id)
    if not rules.visible_at(access.location_ids, price.location_ids):
        return NOT_FOUND
    return _Locked(price, prices, unpriced) if price.active else _already("retired", active=False)


async def _retire(connection: Connection, access: Access, found: _Locked, action: str) -> int:
    """Retire a price; return how many memberships keep it, with those that would renew at it by default."""
    kept = found.unpriced if rules.renews_the_unpriced(found.prices) == found.price.id else []
    async with audited(connection, access, action, Subject("price", found.price.id)):
        await catalog.keep_price(connection, access, found.price.id, kept)
        await catalog.retire_price(connection, access, found.price.id)
    return await catalog.count_renewing(connection, access, found.price.id)


async def _insert(connection: Connection, access: Access, product_id: UUID, price: rules.NewPrice) -> UUID:
    price_id = new_id()
    async with audited(connection, access, "price.create", Subject("price", price_id)):
        await catalog.insert_price(connection, access, product_id, price_id, price)
    return price_id


async def _clear_default(connection: Connection, access: Access, product_id: UUID, but: UUID | None = None) -> None:
    for price in await catalog.prices_of(connection, access, product_id):
        if price.default and price.id != but:
            async with audited(connection, access, "price.default", Subject("price", price.id)):
                await catalog.set_default(connection, access, price.id, False)


async def _limit_faults(connection: Connection, access: Access, product: rules.Product) -> list[Fault]:
    faults = await _unknown_faults(connection, access, "location_ids", product.location_ids)
    faults += await _unknown_faults(connection, access, "class_type_ids", product.class_type_ids)
    if not faults and not rules.changeable_at(access.location_ids, product.location_ids):
        faults.append(fault("location_ids", "must name one or more of your own locations, and only those"))
    return faults


async def _unknown_faults(connection: Connection, access: Access, name: str, given: tuple[UUID, ...]) -> list[Fault]:
    missing = await catalog.unknown_ids(connection, access, name, given) if given else set()
    kind = name.removesuffix("_ids").replace("_", " ")
    return [
        Fault((name, n), "value_error", f"is no {kind} of this studio") for n, id_ in enumerate(given) if id_ in missing
    ]


def _already(state: str, active: bool) -> Refusal:
    details = {"undoes": state, "is": "active"} if active else {"from": state, "to": state}
    return Refusal(Code.INVALID_TRANSITION, details)
