"""Payments that an import marks: the memberships that they pay for become past_due and usable again."""

import json
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from studiogate.domain.access import operator_access
from studiogate.domain.fields.catalog import PurchaseStatus
from studiogate.flows import purchases
from studiogate.storage.studio_file import effects
from tests.support.studio_files import Document, exported, load, load_well, small_studio, uid, with_history

pytestmark = pytest.mark.anyio

Connection = asyncpg.Connection
STUDIO = {"id": uid("north", "studio")}
SEEN = "2026-01-05T10:00:00+00:00"
MEMBERSHIP = uid("north", "membership")


def purchase(number: int) -> str:
    return uid("north", "payment", number)


def studio_with(renewals: int = 0, sales: int = 0, **membership: Any) -> Document:
    """Return a studio with a membership that was sold and renewed, each time by a pending purchase of its own."""
    document = small_studio()
    document["memberships"][0] |= membership
    row = {"member_id": uid("north", "member", 0), "product_id": uid("north", "product"), "product_key": "pack-10"}
    row |= {"product_type": "package", "status": "pending"}
    document["purchases"] = [row | {"id": purchase(number)} for number in range(renewals + sales)]
    document["renewals"] = [
        {"id": purchase(number), "membership_id": MEMBERSHIP, "period_start": f"2026-0{number + 1}-05T10:00:00Z"}
        | {"period_end": f"2026-0{number + 2}-05T10:00:00Z"}
        for number in range(renewals)
    ]
    document["sales"] = [
        {"id": purchase(renewals + number), "membership_id": MEMBERSHIP, "price_id": uid("north", "price")}
        for number in range(sales)
    ]
    return document


def marked(**statuses: str | None) -> Document:
    """Return a file that gives purchases a status, by ``p`` and their number."""
    rows = [{"id": purchase(int(name[1:])), "status": status} for name, status in statuses.items()]
    return {"studio": STUDIO, "purchases": rows}


async def state(connection: Connection) -> tuple[str, int]:
    row = await connection.fetchrow("select status, state_version from memberships where id = $1", MEMBERSHIP)
    assert row is not None
    return row["status"], row["state_version"]


async def events(connection: Connection) -> list[tuple[str, str, Any]]:
    rows = await connection.fetch("delete from events returning type, actor, previous_attributes")
    found = [(row["type"], row["actor"], json.loads(row["previous_attributes"])) for row in rows]
    return sorted(found, key=lambda event: event[0])


async def entries(connection: Connection) -> list[tuple[str, str, Any]]:
    rows = await connection.fetch(
        "delete from audit_log where subject_type = 'membership' returning channel, action, changes::text as changes"
    )
    return [(row["channel"], row["action"], json.loads(row["changes"])) for row in rows]


@pytest.mark.parametrize("paid_by", [{"renewals": 1}, {"sales": 1}])
async def test_a_failed_payment_makes_its_membership_past_due_until_it_is_completed(
    connection: Connection, paid_by: dict[str, int]
) -> None:
    await load_well(connection, studio_with(**paid_by))
    outcome = await load_well(connection, marked(p0="failed"))
    assert outcome.effects == {"memberships_settled": 1}
    assert await state(connection) == ("past_due", 2)
    assert await events(connection) == [
        ("membership.updated", "staff", {"status": "active", "state_version": 1}),
        ("purchase.updated", "staff", {"status": "pending"}),
    ]
    assert await entries(connection) == [("import", "membership.change", {"status": ["active", "past_due"]})]
    await load_well(connection, marked(p0="completed"))
    assert await state(connection) == ("active", 3)
    assert await events(connection) == [
        ("membership.updated", "staff", {"status": "past_due", "state_version": 2}),
        ("purchase.updated", "staff", {"status": "failed"}),
    ]
    assert await entries(connection) == [("import", "membership.change", {"status": ["past_due", "active"]})]


async def test_all_purchases_of_a_membership_count(connection: Connection) -> None:
    await load_well(connection, studio_with(renewals=2, sales=1))
    await load_well(connection, marked(p0="failed", p1="failed", p2="failed"))
    assert await state(connection) == ("past_due", 2), "one change, however many payments failed"
    await load_well(connection, marked(p0="completed", p2="cancelled"))
    assert await state(connection) == ("past_due", 2)
    await load_well(connection, marked(p1=None))
    assert await state(connection) == ("active", 3)


async def test_a_paused_membership_is_paused_again_and_an_ended_one_stays(connection: Connection) -> None:
    await load_well(connection, studio_with(renewals=1, status="paused", paused_at=SEEN))
    await load_well(connection, marked(p0="failed"))
    assert (await state(connection))[0] == "past_due"
    await load_well(connection, marked(p0="completed"))
    assert (await state(connection))[0] == "paused"
    await load_well(connection, {"studio": STUDIO, "memberships": [{"id": MEMBERSHIP, "status": "cancelled"}]})
    outcome = await load_well(connection, marked(p0="failed"))
    assert (await state(connection))[0] == "cancelled"
    assert outcome.effects == {}


async def test_a_changed_membership_has_one_event(connection: Connection) -> None:
    await load_well(connection, studio_with(renewals=1))
    both = marked(p0="failed") | {"memberships": [{"id": MEMBERSHIP, "auto_renew": True}]}
    await load_well(connection, both)
    (membership, _) = await events(connection)
    assert membership == ("membership.updated", "staff", {"status": "active", "auto_renew": False, "state_version": 1})


async def test_other_changes_of_a_purchase_leave_its_membership_alone(connection: Connection) -> None:
    await load_well(connection, studio_with(renewals=1, status="past_due"))
    for change in ({"status": "completed"}, {"amount_total": "12.00", "currency": "USD"}):
        outcome = await load_well(connection, {"studio": STUDIO, "purchases": [{"id": purchase(0), **change}]})
        assert outcome.effects == {}
    assert await state(connection) == ("past_due", 1)


async def test_a_dry_run_counts_and_a_round_trip_changes_nothing(connection: Connection) -> None:
    await load_well(connection, studio_with(renewals=1))
    outcome = await load(connection, marked(p0="failed"), dry_run=True)
    assert outcome.effects == {"memberships_settled": 1}
    assert await state(connection) == ("active", 1)
    await load_well(connection, marked(p0="failed"))
    text = await exported(connection)
    await load_well(connection, json.loads(text))
    assert await exported(connection) == text
    assert await events(connection) != []
    await load_well(connection, json.loads(text))
    assert await events(connection) == []


async def test_memberships_are_settled_in_batches(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effects, "BATCH", 2)
    document = studio_with()
    members = [member["id"] for member in document["members"]]
    document["memberships"] = [
        {"id": uid("many", n), "member_id": members[n % 4], "product_id": uid("north", "product"), "status": "active"}
        for n in range(5)
    ]
    document["bookings"] = []
    row = {"product_id": uid("north", "product"), "product_key": "pack-10", "product_type": "package"}
    document["purchases"] = [
        row | {"id": purchase(n), "member_id": members[n % 4], "status": "pending"} for n in range(5)
    ]
    document["renewals"] = [
        {"id": purchase(n), "membership_id": uid("many", n), "period_start": SEEN, "period_end": "2026-02-05T10:00:00Z"}
        for n in range(5)
    ]
    await load_well(connection, document)
    outcome = await load_well(connection, marked(p0="failed", p1="failed", p2="failed", p3="failed", p4="failed"))
    assert outcome.effects == {"memberships_settled": 5}
    assert await connection.fetchval("select count(*) from memberships where status = 'past_due'") == 5


@pytest.mark.parametrize(
    ("section", "row", "place"),
    [
        ("purchases", {"id": purchase(0), "member_id": uid("north", "member", 1)}, "purchases[0].member_id"),
        ("purchases", {"id": purchase(1), "member_id": uid("north", "member", 1)}, "purchases[0].member_id"),
        ("purchases", {"id": purchase(1), "product_id": uid("other product")}, "purchases[0].product_id"),
        ("memberships", {"id": MEMBERSHIP, "product_id": uid("other product")}, "memberships[0].product_id"),
    ],
)
async def test_what_was_sold_stays_with_its_member_and_product(
    connection: Connection, section: str, row: Document, place: str
) -> None:
    document = studio_with(renewals=1, sales=1)
    document["products"].append({**document["products"][0], "id": uid("other product"), "key": "other", "prices": []})
    await load_well(connection, document)
    outcome = await load(connection, {"studio": STUDIO, section: [row]}, overwrite=True)
    assert [fault.place for fault in outcome.faults] == [place]
    assert "cannot change" in outcome.faults[0].message


async def test_a_fee_stays_with_its_booking_s_member(connection: Connection) -> None:
    await load_well(connection, {**with_history(small_studio()), "submissions": []})
    fee = {"id": uid("north", "fee"), "member_id": uid("north", "member", 1)}
    outcome = await load(connection, {"studio": STUDIO, "purchases": [fee]}, overwrite=True)
    assert [(each.place, each.message) for each in outcome.faults] == [
        ("purchases[0].member_id", "cannot change: the purchase is the fee of a booking")
    ]


async def test_a_purchase_that_is_sale_and_renewal_can_be_marked(connection: Connection) -> None:
    await load_well(connection, {**with_history(small_studio()), "submissions": []})
    access = operator_access(UUID(uid("north", "studio")))
    marked = await purchases.mark(connection, access, UUID(uid("north", "purchase")), PurchaseStatus.FAILED)
    assert marked is PurchaseStatus.FAILED
