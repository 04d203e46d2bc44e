"""Memberships whose state changes with time or a payment, and the records of their renewals.

The members' rows are locked, so no other transaction changes their credits meanwhile.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import MembershipStatus
from studiogate.domain.memberships import Interval, MembershipState, RecurringPrice, Renewal
from studiogate.storage.db.pool import Connection, Record, TransactionConflictError
from studiogate.storage.db.statement import new_id, read_id
from studiogate.storage.housekeeping import DUE

STATE = ", ".join(f"s.{column}" for column in MembershipState._fields)

RECURRING_PRICES = """
    (select coalesce(json_agg(p), '[]') from prices p
     where p.studio_id = $1 and p.product_id = s.product_id and p.price_type = 'recurring')::text as prices"""
# The prices at which a membership may renew: its own, and the recurring ones of its product.
WITH_PRICES = f"""
    select s.id, s.member_id, s.product_id, s.price_id, {STATE}, studio.timezone, clock_timestamp() as now,
           {RECURRING_PRICES}
    from (select * from memberships where studio_id = $1 and {{}}) s
    join studios studio on studio.studio_id = $1"""
DUE_MEMBERSHIPS = WITH_PRICES.format(f"member_id = any($2) and {DUE}")
ONE_MEMBERSHIP = WITH_PRICES.format("id = $2")

MEMBERSHIP = f"select s.id, {STATE} from memberships s where s.studio_id = $1 and s.id = $2"

CHANGED = tuple(each for each in MembershipState._fields if each != "started_at")
WRITE_STATE = f"""
    update memberships set {", ".join(f"{column} = ${number}" for number, column in enumerate(CHANGED, 3))}
    where studio_id = $1 and id = $2"""

# $1 studio, $2 purchase, $3 membership, $4 and $5 the period, $6 the price. A period is purchased once: if staff have
# moved the end of a membership back to a time from which it was renewed before, no purchase is made. The purchase has
# the location of the sale, or those who sold the membership would not see it.
RENEW = """
    with bought as (
        insert into purchases (studio_id, id, member_id, product_id, product_key, product_type, quantity, amount_total,
                               currency, status, location_id)
        select $1, $2, s.member_id, s.product_id, product.key, product.product_type, 1, price.amount, price.currency,
               'pending', (
                   select sold.location_id from sales k
                   join purchases sold on sold.studio_id = $1 and sold.id = k.purchase_id
                   where k.studio_id = $1 and k.membership_id = $3)
        from memberships s
        join products product on product.studio_id = $1 and product.id = s.product_id
        join prices price on price.studio_id = $1 and price.id = $6
        where s.studio_id = $1 and s.id = $3 and not exists (
            select from renewals r where r.studio_id = $1 and r.membership_id = $3 and r.period_start = $4)
        returning id)
    insert into renewals (studio_id, membership_id, period_start, period_end, purchase_id)
    select $1, $3, $4, $5, bought.id from bought
    returning purchase_id"""

LOCK_MEMBER = """
    select m.id from members m where m.studio_id = $1 and m.id = (
        select s.member_id from memberships s where s.studio_id = $1 and s.id = $2)
    for no key update"""
HAS_MEMBERSHIP = "select exists (select from memberships where studio_id = $1 and id = $2)"


class DueMembership(NamedTuple):
    id: UUID
    price_id: UUID | None
    prices: tuple[RecurringPrice, ...]
    state: MembershipState
    timezone: ZoneInfo
    now: datetime


async def due_memberships(connection: Connection, access: Access, members: Sequence[UUID]) -> list[DueMembership]:
    rows = await connection.fetch(DUE_MEMBERSHIPS, access.studio_id, members)
    return [_due(row) for row in rows]


async def read_state(connection: Connection, access: Access, membership_id: UUID) -> MembershipState:
    (row,) = await connection.fetch(MEMBERSHIP, access.studio_id, membership_id)
    return read_row(row)


async def write_state(connection: Connection, access: Access, membership_id: UUID, state: MembershipState) -> None:
    values = [getattr(state, column) for column in CHANGED]
    await connection.execute(WRITE_STATE, access.studio_id, membership_id, *values)


async def write_statuses(connection: Connection, access: Access, states: Mapping[UUID, MembershipState]) -> None:
    """Store the status of several memberships, of which nothing else has changed."""
    statement = """
        update memberships s set status = e.status, state_version = e.state_version
        from unnest($2::uuid[], $3::text[], $4::integer[]) e(id, status, state_version)
        where s.studio_id = $1 and s.id = e.id"""
    await connection.execute(
        statement,
        access.studio_id,
        list(states),
        [state.status.value for state in states.values()],
        [state.state_version for state in states.values()],
    )


async def record_renewals(
    connection: Connection, access: Access, membership_id: UUID, price_id: UUID, renewals: Sequence[Renewal]
) -> list[UUID]:
    """Insert the purchases and ledger lines of new periods; return the ids of the purchases."""
    statement = "update memberships set price_id = $3 where studio_id = $1 and id = $2 and price_id is distinct from $3"
    await connection.execute(statement, access.studio_id, membership_id, price_id)
    purchases = []
    for renewal in renewals:
        purchase_id, period = new_id(), (renewal.period_start, renewal.period_end)
        bought = await connection.fetchval(RENEW, access.studio_id, purchase_id, membership_id, *period, price_id)
        if renewal.credits_change is not None:
            reason = "adjusted" if bought is None else "renewed"
            await add_ledger_line(connection, access, membership_id, renewal.credits_change, reason)
        if bought is not None:
            purchases.append(purchase_id)
    return purchases


async def lock_member_of(connection: Connection, access: Access, membership_id: UUID) -> UUID | None:
    member_id: UUID | None = await connection.fetchval(LOCK_MEMBER, access.studio_id, membership_id)
    if member_id is None and await connection.fetchval(HAS_MEMBERSHIP, access.studio_id, membership_id):
        raise TransactionConflictError("the membership's member was merged into another one")
    return member_id


async def find_membership(connection: Connection, access: Access, membership_id: UUID) -> DueMembership:
    """Return a membership with the prices at which it may renew. Its member must be locked."""
    (row,) = await connection.fetch(ONE_MEMBERSHIP, access.studio_id, membership_id)
    return _due(row)


async def add_ledger_line(connection: Connection, access: Access, membership_id: UUID, delta: int, reason: str) -> None:
    """Record a change of credits that belongs to no booking."""
    statement = """
        insert into credit_ledger (studio_id, id, membership_id, delta, reason) values ($1, $2, $3, $4, $5)"""
    await connection.execute(statement, access.studio_id, new_id(), membership_id, delta, reason)


def _due(row: Record) -> DueMembership:
    prices = tuple(_price(each) for each in json.loads(row["prices"]))
    return DueMembership(row["id"], row["price_id"], prices, read_row(row), ZoneInfo(row["timezone"]), row["now"])


def _price(row: dict[str, Any]) -> RecurringPrice:
    created = datetime.fromisoformat(row["created_at"])
    return RecurringPrice(read_id(row["id"]), Interval(row["interval"]), row["default"], row["active"], created)


def read_row(row: Record) -> MembershipState:
    """Return the state in a row with the columns ``STATE``."""
    values = {column: row[column] for column in MembershipState._fields}
    return MembershipState(**{**values, "status": MembershipStatus(row["status"])})
