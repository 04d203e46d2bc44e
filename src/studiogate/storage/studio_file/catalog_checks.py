"""A price that has been sold keeps what was agreed on. Every check selects its faults."""

from studiogate.domain.catalog import AGREED, SOLD

# A sale and a membership refer to their price; a purchase without a membership records only what was paid.
_IS_SOLD = """
    exists (select from sales o where o.studio_id = $1 and o.price_id = p.id)
    or exists (select from memberships o where o.studio_id = $1 and o.price_id = p.id)
    or exists (select from purchases o where o.studio_id = $1 and o.product_id = p.product_id
               and o.currency = p.currency and o.amount_total = p.amount * o.quantity)"""


def _changed(name: str) -> str:
    place = "id" if name == "product_id" else name
    return f"""
        select c.n, c.place || '.{place}', '{SOLD}' from change_prices c
        join prices p on p.studio_id = $1 and p.id = c.id
        where c."{name}" is distinct from p."{name}" and ({_IS_SOLD})"""


CATALOG_CHECKS = tuple(_changed(name) for name in AGREED)
