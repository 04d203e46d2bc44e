"""Pages of purchases for staff: all of them or by status, open fees, one member's; and the renewals that are due.

Staff of some locations, or a filter by location, read each location along its index; the few rows are merged.
"""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.memberships import RECURRING_PRICES
from studiogate.storage.paging import ListPage, comes_after, list_page, wanted_places
from studiogate.storage.status_lists import WAIVABLE

# The purchases that wait for money. The text repeats the condition of the partial indexes.
OPEN_FEE = f"u.product_type = 'fee' and coalesce(u.status, 'pending') in ({WAIVABLE})"

# $1 studio, $2 limit, $3 locations or null, $4 status or null, $5 member or null, $6 the purchase before the page, $7
# and $8 the time from which on and until which.
_GIVEN = (
    "$2::integer > 0 and num_nonnulls($3::uuid[], $4::text, $5::uuid, $6::uuid, $7::timestamptz, $8::timestamptz) >= 0"
)
_WITHIN = """
    and u.created_at >= coalesce($7::timestamptz, '-infinity')
    and u.created_at < coalesce($8::timestamptz, 'infinity')"""
_BEYOND = f"and {comes_after('purchases', 'u', '$6::uuid')}"
_ROWS = """
    select u.* from purchases u where u.studio_id = $1 and {condition} {within} {beyond}
    order by u.created_at desc, u.id desc limit $2"""
_AT = "select each.* from unnest($3::uuid[]) place(id) cross join lateral ({}) each"
_SHOWN = """
    select u.id, u.member_id, m.name as member, m.erased_at, coalesce(p.name, u.product_key) as product, u.product_type,
           u.quantity, u.amount_total, coalesce(u.currency, studio.currency) as currency, u.refunded_amount,
           coalesce(u.status, 'pending') as status, u.paid_by, u.created_at, l.name as location,
           coalesce(l.timezone, studio.timezone) as timezone, c.id as class_id, c.title as class_title,
           c.start_time as class_start, sold.membership_id
    from ({}) u
    join members m on m.studio_id = $1 and m.id = u.member_id
    join studios studio on studio.studio_id = $1
    left join products p on p.studio_id = $1 and p.id = u.product_id
    left join locations l on l.studio_id = $1 and l.id = u.location_id
    left join bookings b on b.studio_id = $1 and b.id = u.booking_id
    left join classes c on c.studio_id = $1 and c.id = b.class_id
    left join lateral (
        select r.membership_id from renewals r where r.studio_id = $1 and r.purchase_id = u.id
        union all select s.membership_id from sales s where s.studio_id = $1 and s.purchase_id = u.id limit 1
    ) sold on true
    where {}
    order by u.created_at desc, u.id desc limit $2"""
_SOMEWHERE = " and ($3::uuid[] is null or u.location_id = any($3))"
# The rows of each list, with whether the rows of each location are read along an index of their own.
_KINDS = {
    "all": ("true", False),
    "all there": ("u.location_id = place.id", True),
    "status": ("coalesce(u.status, 'pending') = $4::text", False),
    "status there": ("u.location_id = place.id and coalesce(u.status, 'pending') = $4::text", True),
    "fees": (OPEN_FEE + _SOMEWHERE, False),
    "fees of member": ("u.member_id = $5::uuid and " + OPEN_FEE + _SOMEWHERE, False),
    "of member": ("u.member_id = $5::uuid" + _SOMEWHERE, False),
}


def _page(condition: str, located: bool, later: bool) -> str:
    rows = _ROWS.format(condition=condition, within=_WITHIN, beyond=_BEYOND if later else "")
    return _SHOWN.format(_AT.format(rows) if located else rows, _GIVEN)


PAGES = {
    (kind, later): _page(condition, located, later)
    for kind, (condition, located) in _KINDS.items()
    for later in (False, True)
}
ONE = _SHOWN.format("select u.* from purchases u where u.studio_id = $1 and u.id = $6::uuid" + _SOMEWHERE, _GIVEN)

# The expression of the index memberships_renewing.
_END = "coalesce({}.current_period_end, 'infinity')"
_RENEWALS = f"""
    select s.id, s.member_id, m.name as member, m.phone, s.current_period_end, s.credits_granted, s.price_id,
           s.cancel_at_period_end, p.name as product, studio.timezone,
           {RECURRING_PRICES}
    from (select e.* from memberships e
          where e.studio_id = $1 and e.status = 'active' and e.auto_renew
            and {_END.format("e")} < $3::timestamptz {{}}
          order by {_END.format("e")}, e.id limit $2) s
    join members m on m.studio_id = $1 and m.id = s.member_id
    join products p on p.studio_id = $1 and p.id = s.product_id
    join studios studio on studio.studio_id = $1
    order by s.current_period_end, s.id"""
RENEWALS = {
    False: _RENEWALS.format(""),
    True: _RENEWALS.format(
        f"""and ({_END.format("e")}, e.id) > (
            select {_END.format("c")}, c.id from memberships c where c.studio_id = $1 and c.id = $4::uuid)"""
    ),
}


class PurchaseFilters(NamedTuple):
    """``open_fees``: only fees that nobody has paid, of whatever status. A member's purchases have no other
    filter than the time."""

    status: str | None = None
    location_id: UUID | None = None
    member_id: UUID | None = None
    open_fees: bool = False
    since: datetime | None = None
    until: datetime | None = None


async def list_purchases(
    connection: Connection, access: Access, filters: PurchaseFilters, after: UUID | None, limit: int
) -> ListPage:
    places = wanted_places(access, filters.location_id)
    kind = _kind(filters, located=places is not None)
    given = (places, filters.status, filters.member_id, after, filters.since, filters.until)
    rows = await connection.fetch(PAGES[kind, after is not None], access.studio_id, limit + 1, *given)
    return list_page(rows, limit)


async def read_purchase(connection: Connection, access: Access, purchase_id: UUID) -> Record | None:
    return await connection.fetchrow(ONE, access.studio_id, 1, access.location_ids, None, None, purchase_id, None, None)


async def payments_of(connection: Connection, access: Access, purchase_id: UUID) -> list[Record]:
    """Return the money that was received and paid back for a purchase, the oldest first."""
    statement = """
        select p.received_at, p.amount, p.paid_by from purchase_payments p
        join purchases u on u.studio_id = $1 and u.id = p.purchase_id
        where p.studio_id = $1 and p.purchase_id = $2 and ($3::uuid[] is null or u.location_id = any($3))
        order by p.received_at, p.id"""
    return await connection.fetch(statement, access.studio_id, purchase_id, access.location_ids)


async def renewals_due(
    connection: Connection, access: Access, until: datetime, after: UUID | None, limit: int
) -> ListPage:
    """Return the memberships that renew before a time, the next first. They belong to no location."""
    values = [access.studio_id, limit + 1, until, *([] if after is None else [after])]
    return list_page(await connection.fetch(RENEWALS[after is not None], *values), limit)


def _kind(filters: PurchaseFilters, *, located: bool) -> str:
    if filters.member_id is not None:
        return "fees of member" if filters.open_fees else "of member"
    if filters.open_fees:
        return "fees"
    kind = "all" if filters.status is None else "status"
    return f"{kind} there" if located else kind
