"""Every staff command, and every change due to the passing of time, emits exactly these events."""

import json
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import anyio
import pytest

from tests.support import event_causes
from tests.support.event_causes import EventStudio, causing, difference, in_any_order

pytestmark = pytest.mark.anyio
studio_factory, event_studio = event_causes.studio_factory, event_causes.event_studio
WEEK = timedelta(days=7)


def promoted(position: int = 1, **more: Any) -> list[event_causes.News]:
    """Return the events of a promotion."""
    entry = {"status": "waiting", "position": position, "converted_to_booking": False, "promoted_at": None, **more}
    return [
        ("booking.updated", {"status": "waitlisted", "waitlist_position": position}),
        ("waitlist.updated", entry),
    ]


# Commands


@causing("class.updated", "booking.created", "booking.updated", "waitlist.updated")
async def test_class_capacity(event_studio: EventStudio) -> None:
    class_id, _, _ = await event_studio.full_class()
    before = await event_studio.studio.get(f"/classes/{class_id}")
    await event_studio.command("class", "capacity", class_id, 3)
    after = await event_studio.studio.get(f"/classes/{class_id}")
    changed = difference(before, after)
    assert changed == {"capacity": 1, "booked_count": 1, "available_count": 0, "waitlist_count": 1}
    assert in_any_order(await event_studio.news("staff")) == in_any_order([("class.updated", changed), *promoted()])
    await event_studio.command("class", "capacity", class_id, 3)
    assert await event_studio.news("staff") == [], "it is 3 already"


@causing("class.created", "class.updated", "booking.created", "booking.updated", "waitlist.updated")
async def test_class_create_and_change(event_studio: EventStudio) -> None:
    studio, slug = event_studio.studio, ("--studio", event_studio.studio.studio.slug)
    start = (await studio.now() + WEEK).isoformat()
    times = ("--start", start, "--minutes", 60, "--capacity", 1)
    await event_studio.command("class", "create", "--title", "Yoga", "--location", studio.location, *times, *slug)
    assert await event_studio.news("staff") == [("class.created", {})]
    class_id, _, _ = await event_studio.full_class()
    before = await studio.get(f"/classes/{class_id}")
    await event_studio.command("class", "change", class_id, "--title", "Flow", "--capacity", 2, "--start", start, *slug)
    changed = difference(before, await studio.get(f"/classes/{class_id}"))
    assert {"title", "start_time", "end_time", "capacity", "booked_count", "waitlist_count"} <= set(changed)
    assert in_any_order(await event_studio.news("staff")) == in_any_order([("class.updated", changed), *promoted()])
    await event_studio.command("class", "change", class_id, "--title", "Flow", *slug)
    assert await event_studio.news("staff") == [], "nothing differs"


@causing("class.created", "class.updated", "class.cancelled")
async def test_series(event_studio: EventStudio) -> None:
    studio, slug = event_studio.studio, ("--studio", event_studio.studio.studio.slug)
    first = await studio.now() + timedelta(days=2)
    options = ("--location", studio.location, "--minutes", 60, "--capacity", 5, "--from", f"{first:%Y-%m-%d}")
    days = ("--on", f"{first:%A}".lower(), "--until", f"{first + WEEK:%Y-%m-%d}")
    await event_studio.command("series", "create", "--title", "Yoga", *options, *days, "--at", "18:00", *slug)
    assert await event_studio.news("staff") == [("class.created", {})] * 2
    (series,) = await studio.rows("class_series")
    await event_studio.command("series", "change", series["id"], "--title", "Flow", *slug)
    assert await event_studio.news("staff") == [("class.updated", {"title": "Yoga"})] * 2
    await event_studio.command(
        "closure", "create", "--from", f"{first:%Y-%m-%d}", "--until", f"{first:%Y-%m-%d}", "--mode", "cancel", *slug
    )
    assert await event_studio.news("staff") == [("class.cancelled", {"status": "scheduled", "available_count": 5})]
    await event_studio.command("series", "end", series["id"], "--after", f"{first:%Y-%m-%d}", *slug)
    assert await event_studio.news("staff") == [("class.cancelled", {"status": "scheduled", "available_count": 5})]
    await studio.sql("update class_series set last_date = null, generated_until = null where studio_id = $1")
    await event_studio.sweep()
    created = await event_studio.news("system")
    assert set(map(repr, created)) == {repr(("class.created", {}))}


@causing("class.cancelled", "booking.created", "booking.cancelled", "waitlist.updated")
async def test_class_cancel(event_studio: EventStudio) -> None:
    class_id, _, _ = await event_studio.full_class()
    before = await event_studio.studio.get(f"/classes/{class_id}")
    await event_studio.command("class", "cancel", class_id)
    changed = difference(before, await event_studio.studio.get(f"/classes/{class_id}"))
    assert changed == {"status": "scheduled", "booked_count": 1, "waitlist_count": 1}, "no seat was free before"
    expected: list[event_causes.News] = [
        ("class.cancelled", changed),
        ("booking.cancelled", {"status": "confirmed"}),
        ("booking.cancelled", {"status": "waitlisted", "waitlist_position": 1}),
        ("waitlist.updated", {"status": "waiting", "position": 1}),
    ]
    assert in_any_order(await event_studio.news("staff")) == in_any_order(expected)


@causing("booking.created", "booking.cancelled", "booking.updated", "waitlist.updated")
async def test_booking_cancel(event_studio: EventStudio) -> None:
    _, held, _ = await event_studio.full_class(waiting=2)
    await event_studio.command("booking", "cancel", held["id"], "--reason", "The instructor is ill.")
    cancelled: event_causes.News = ("booking.cancelled", {"status": "confirmed"})
    moved: event_causes.News = ("waitlist.updated", {"position": 2})
    assert in_any_order(await event_studio.news("staff")) == in_any_order([cancelled, *promoted(), moved])


@causing("booking.created", "booking.updated")
async def test_attendance(event_studio: EventStudio) -> None:
    class_id = await event_studio.studio.new_class(60)
    booked = await event_studio.studio.booked(class_id, await event_studio.studio.new_member())
    await event_studio.news()
    await event_studio.command("booking", "check-in", booked["id"])
    assert await event_studio.news("staff") == [("booking.updated", {"status": "confirmed"})]
    await event_studio.command("booking", "check-in", booked["id"], "--undo")
    assert await event_studio.news("staff") == [("booking.updated", {"status": "checked_in"})]
    await event_studio.studio.move(class_id, -10)
    await event_studio.command("booking", "no-show", booked["id"])
    assert await event_studio.news("staff") == [("booking.updated", {"status": "confirmed"})]
    await event_studio.command("booking", "no-show", booked["id"], "--undo")
    assert await event_studio.news("staff") == [("booking.updated", {"status": "no_show"})]


@causing("booking.created", "booking.cancelled", "booking.updated", "waitlist.updated")
async def test_waitlist_promote(event_studio: EventStudio) -> None:
    _, held, waiting = await event_studio.full_class(waiting=2, policy={"waitlist_mode": "manual"})
    await event_studio.studio.cancelled(held["id"])
    assert await event_studio.news() == [("booking.cancelled", {"status": "confirmed"})]
    await event_studio.command("waitlist", "promote", (await event_studio.studio.entry(waiting[1]))["id"])
    assert in_any_order(await event_studio.news("staff")) == in_any_order(promoted(2)), "the first one keeps its place"


async def renewed(event_studio: EventStudio) -> tuple[UUID, str]:
    """Return a membership and the purchase of its renewal."""
    studio, end = event_studio.studio, await event_studio.studio.now()
    price = {"amount": Decimal("49.00"), "currency": "USD", "price_type": "recurring", "interval": "week"}
    await studio.add("prices", product_id=studio.product, default=True, **price)
    member = await studio.new_member(membership=False)
    columns: dict[str, Any] = {"auto_renew": True, "current_period_end": end, "current_period_start": end - WEEK}
    membership = await studio.new_membership(member, **columns)
    before = await studio.get(f"/memberships/{membership}")
    await event_studio.sweep()
    changed = difference(before, await studio.get(f"/memberships/{membership}"))
    assert set(changed) == {"state_version", "current_period_start", "current_period_end"}
    expected: list[event_causes.News] = [("membership.updated", changed), ("purchase.created", {})]
    assert in_any_order(await event_studio.news("system")) == in_any_order(expected)
    (purchase,) = (await studio.get("/purchases", member_id=str(member)))["data"]
    return membership, purchase["id"]


@causing("membership.updated", "purchase.created", "purchase.updated")
async def test_purchase_mark(event_studio: EventStudio) -> None:
    _, purchase = await renewed(event_studio)
    before, version = {"purchase": "pending", "membership": "active"}, 2
    for marked, becomes in (("failed", "past_due"), ("completed", "active")):
        await event_studio.command("purchase", "mark", purchase, marked)
        expected: list[event_causes.News] = [
            ("purchase.updated", {"status": before["purchase"]}),
            ("membership.updated", {"status": before["membership"], "state_version": version}),
        ]
        assert in_any_order(await event_studio.news("staff")) == in_any_order(expected)
        before, version = {"purchase": marked, "membership": becomes}, version + 1


async def sold(event_studio: EventStudio, *options: object) -> tuple[str, str]:
    """Sell a membership of a weekly price; return it and its purchase, after their events."""
    studio = event_studio.studio
    price = {"amount": Decimal("49.00"), "currency": "USD", "price_type": "recurring", "interval": "week"}
    await studio.add("prices", product_id=studio.product, **price)
    await studio.change("products", studio.product, credits_granted=8)
    member = await studio.new_member(membership=False)
    words = ("--member", member, "--product", studio.product, "--studio", studio.studio.slug)
    await event_studio.command("membership", "sell", *words, *options)
    assert in_any_order(await event_studio.news("staff")) == [("membership.created", {}), ("purchase.created", {})]
    (membership,) = await studio.rows("memberships", "member_id = $2", member)
    (purchase,) = await studio.rows("purchases", "member_id = $2", member)
    return str(membership["id"]), str(purchase["id"])


@causing("membership.created", "membership.updated", "purchase.created")
async def test_membership_commands(event_studio: EventStudio) -> None:
    membership, _ = await sold(event_studio)
    later = (await event_studio.studio.now() + WEEK).isoformat()
    commands: list[tuple[tuple[object, ...], set[str]]] = [
        (("pause", "--from", later, "--reason", "A journey."), {"pause_starts_at", "pause_reason"}),
        (("resume",), {"pause_starts_at", "pause_reason"}),
        (("pause",), {"status", "paused_at", "pause_starts_at"}),
        (("resume",), {"status", "paused_at", "pause_starts_at"}),
        (("credits", "--add", 2, "--reason", "A gift."), {"credits_remaining"}),
        (("cancel", "--at-period-end"), {"cancel_at_period_end"}),
        (("cancel", "--undo"), {"cancel_at_period_end"}),
        (("cancel",), {"status", "cancelled_at", "ended_at"}),
    ]
    for (verb, *options), fields in commands:
        before = await event_studio.studio.get(f"/memberships/{membership}")
        await event_studio.command("membership", verb, membership, *options)
        changed = difference(before, await event_studio.studio.get(f"/memberships/{membership}"))
        assert set(changed) == fields | {"state_version"}
        assert await event_studio.news("staff") == [("membership.updated", changed)]


@causing("membership.created", "membership.updated", "purchase.created")
async def test_membership_renewal(event_studio: EventStudio) -> None:
    membership, _ = await sold(event_studio)
    await event_studio.command("membership", "renewal", membership, "off")
    assert await event_studio.news("staff") == [("membership.updated", {"auto_renew": True, "state_version": 1})]
    await event_studio.command("membership", "renewal", membership, "off")
    assert await event_studio.news("staff") == [], "it is off already"


@causing("membership.created", "membership.updated", "purchase.created", "purchase.updated")
async def test_purchase_commands(event_studio: EventStudio) -> None:
    _, purchase = await sold(event_studio, "--pending")
    await event_studio.command("purchase", "mark", purchase, "failed")
    failed: list[event_causes.News] = [
        ("purchase.updated", {"status": "pending"}),
        ("membership.updated", {"status": "active", "state_version": 1}),
    ]
    assert in_any_order(await event_studio.news("staff")) == in_any_order(failed)
    await event_studio.command("purchase", "mark", purchase, "completed")
    await event_studio.news("staff")
    await event_studio.command("purchase", "refund", purchase, "--amount", "9.00", "--reason", "Late opening.")
    refunded = {"status": "completed", "refunded_amount": None}
    assert await event_studio.news("staff") == [("purchase.updated", refunded)]
    member = (await event_studio.studio.row("purchases", purchase))["member_id"]
    words = ("--studio", event_studio.studio.studio.slug, "--member", member)
    await event_studio.command(
        "purchase", "record", *words, "--item", "fee", "--type", "fee", "--amount", "5.00", "--pending"
    )
    assert await event_studio.news("staff") == [("purchase.created", {})]
    (fee,) = await event_studio.studio.rows("purchases", "product_type = 'fee'")
    await event_studio.command("fee", "waive", fee["id"], "--reason", "First time.")
    assert await event_studio.news("staff") == [("purchase.updated", {"status": "pending"})]


@causing("form.created", "form.submitted", "form_submission.updated")
async def test_a_submission_is_decided(event_studio: EventStudio) -> None:
    form = await event_studio.act("POST", "/forms", {"title": "Cause", "status": "published", "fields": []})
    path = f"/forms/{form['id']}/submissions"
    submission = await event_studio.act("POST", path, {"submitter_email": "a@example.com", "data": {}})
    assert in_any_order(await event_studio.news()) == [("form.created", {}), ("form.submitted", {})]
    await event_studio.command("submission", "spam", submission["id"])
    assert await event_studio.news("staff") == [("form_submission.updated", {"status": "pending"})]
    await event_studio.command("submission", "confirm", submission["id"])
    assert await event_studio.news("staff") == [("form_submission.updated", {"status": "spam"})]
    await event_studio.command("submission", "confirm", submission["id"])
    assert await event_studio.news("staff") == [], "nothing changed"


@causing()
async def test_keys_have_no_events(event_studio: EventStudio) -> None:
    key = uuid4().hex
    await event_studio.command(
        "key", "create", "--studio", event_studio.studio.studio.slug, "--name", key, "--scope", "leads:read"
    )
    (credential,) = await event_studio.studio.rows("credentials", "name = $2", key)
    await event_studio.command("key", "rotate", credential["id"])
    await event_studio.command("key", "revoke", credential["id"])
    assert await event_studio.news("staff") == []


async def exported(event_studio: EventStudio, file: Path) -> dict[str, Any]:
    await event_studio.command("export", "--studio", event_studio.studio.studio.slug, "--output", file)
    document: dict[str, Any] = json.loads(await anyio.Path(file).read_text())
    return document


async def imported(event_studio: EventStudio, file: Path, **sections: Any) -> None:
    await anyio.Path(file).write_text(json.dumps({"studio": {"id": str(event_studio.studio.id)}, **sections}))
    await event_studio.command("import", file)


@causing(
    "class.created",
    "form.created",
    "form.submitted",
    "lead.created",
    "lead.updated",
    "member.created",
    "membership.created",
    "purchase.created",
    "booking.created",
)
async def test_an_import_creates(event_studio: EventStudio, tmp_path: Path) -> None:
    """Every new row has its event; the lead of a new member is converted."""
    lead = await event_studio.act("POST", "/leads", {"email": "both@example.com"})
    assert await event_studio.news() == [("lead.created", {})]
    member, class_id, form = str(uuid4()), str(uuid4()), str(uuid4())
    now = await event_studio.studio.now()
    begin, end = (now + WEEK).isoformat(), (now + WEEK + timedelta(hours=1)).isoformat()
    sale = {"product_id": str(event_studio.studio.product), "product_key": "k", "product_type": "package"}
    await imported(
        event_studio,
        tmp_path / "studio.json",
        members=[{"id": member, "email": "both@example.com", "first_name": "B", "last_name": "Oth"}],
        memberships=[
            {
                "id": str(uuid4()),
                "member_id": member,
                "product_id": str(event_studio.studio.product),
                "status": "active",
            }
        ],
        purchases=[{"id": str(uuid4()), "member_id": member, **sale}],
        leads=[{"id": str(uuid4()), "email": "other@example.com"}],
        classes=[{"id": class_id, "title": "New", "start_time": begin, "end_time": end, "capacity": 1}],
        forms=[{"id": form, "title": "New", "slug": "new", "status": "published"}],
        submissions=[{"id": str(uuid4()), "form_id": form, "submitter_email": "x@example.com"}],
        bookings=[{"id": str(uuid4()), "class_id": class_id, "member_id": member, "status": "confirmed"}],
    )
    expected: list[event_causes.News] = [
        *((f"{word}.created", {}) for word in ("booking", "class", "form", "lead", "member", "membership", "purchase")),
        ("form.submitted", {}),
        ("lead.updated", {"status": "new", "lifecycle_stage": "lead"}),
    ]
    assert in_any_order(await event_studio.news("staff")) == in_any_order(expected)
    assert (await event_studio.studio.get(f"/leads/{lead['id']}"))["status"] == "converted"


@causing(
    "class.updated",
    "form.created",
    "form.updated",
    "form.submitted",
    "form_submission.updated",
    "lead.created",
    "lead.updated",
    "member.created",
    "member.updated",
    "membership.updated",
    "booking.created",
    "booking.updated",
    "booking.cancelled",
    "waitlist.updated",
)
async def test_an_import_changes(event_studio: EventStudio, tmp_path: Path) -> None:
    """Every changed row has one event with exactly what changed, and so has everything that follows."""
    class_id = await event_studio.studio.new_class(capacity=1)
    held = await event_studio.studio.booked(
        class_id, await event_studio.studio.new_member(None)
    )  # which took no credit
    waits = [await event_studio.studio.waits(class_id, await event_studio.studio.new_member()) for _ in range(2)]
    member = await event_studio.act("POST", "/members", {"email": "a@example.com", "first_name": "A", "last_name": "B"})
    membership = str(await event_studio.studio.new_membership(UUID(member["id"])))
    lead = await event_studio.act("POST", "/leads", {"email": "l@example.com"})
    form = await event_studio.act("POST", "/forms", {"title": "Cause", "status": "published", "fields": []})
    path = f"/forms/{form['id']}/submissions"
    submission = await event_studio.act("POST", path, {"submitter_email": "s@example.com", "data": {}})
    await event_studio.news()
    paths = (f"/classes/{class_id}", f"/memberships/{membership}")
    before = [await event_studio.studio.get(path) for path in paths]
    await imported(
        event_studio,
        tmp_path / "studio.json",
        members=[{"id": member["id"], "first_name": "Changed", "suspended": True}],
        memberships=[{"id": membership, "auto_renew": True}],
        leads=[{"id": lead["id"], "status": "contacted"}],
        classes=[{"id": str(class_id), "title": "Moved"}],
        forms=[{"id": form["id"], "title": "New"}],
        submissions=[{"id": submission["id"], "status": "rejected"}],
        bookings=[{"id": held["id"], "status": "cancelled"}],
    )
    after = [await event_studio.studio.get(path) for path in paths]
    moved, renewed_by_itself = map(difference, before, after)
    assert set(moved) == {"title", "waitlist_count"}, "one place was given up and taken by who waited"
    expected: list[event_causes.News] = [
        ("member.updated", {"name": "A B", "first_name": "A"}),
        ("membership.updated", renewed_by_itself),
        ("lead.updated", {"status": "new"}),
        ("class.updated", moved),
        ("form.updated", {"title": "Cause", "version": 1}),
        ("form_submission.updated", {"status": "pending"}),
        ("booking.cancelled", {"status": "confirmed"}),
        *promoted(),
        ("waitlist.updated", {"position": 2}),
    ]
    assert in_any_order(await event_studio.news("staff")) == in_any_order(expected)
    assert (await event_studio.studio.get(f"/bookings/{waits[0]['id']}"))["status"] == "confirmed"


@causing("lead.created", "member.created")
async def test_an_import_that_changes_nothing(event_studio: EventStudio, tmp_path: Path) -> None:
    await event_studio.act("POST", "/leads", {"email": "l@example.com"})
    await event_studio.act("POST", "/members", {"email": "a@example.com", "first_name": "A", "last_name": "B"})
    await event_studio.news()
    document = await exported(event_studio, tmp_path / "studio.json")
    await event_studio.command("import", tmp_path / "studio.json")
    assert await event_studio.news("staff") == []
    assert await exported(event_studio, tmp_path / "again.json") == document


# The passing of time


@causing("class.updated", "booking.created", "booking.cancelled", "waitlist.updated")
async def test_a_class_starts_and_ends(event_studio: EventStudio) -> None:
    class_id, _, _ = await event_studio.full_class()
    await event_studio.studio.move(class_id, -10)
    await event_studio.sweep()
    expected: list[event_causes.News] = [
        ("booking.cancelled", {"status": "waitlisted", "waitlist_position": 1}),
        ("waitlist.updated", {"status": "waiting", "position": 1}),
        ("class.updated", {"status": "scheduled"}),
    ]
    assert in_any_order(await event_studio.news("system")) == in_any_order(expected)
    await event_studio.studio.move(class_id, -60)
    await event_studio.sweep()
    assert await event_studio.news("system") == [("class.updated", {"status": "in_progress"})]
    await event_studio.sweep()
    assert await event_studio.news("system") == []


@causing("booking.created", "booking.cancelled", "booking.updated", "waitlist.updated")
async def test_a_seat_is_filled(event_studio: EventStudio) -> None:
    """By the sweep, for a member who became eligible again."""
    _, held, (waiting,) = await event_studio.full_class()
    await event_studio.studio.change("members", waiting["member_id"], suspended=True)
    await event_studio.studio.cancelled(held["id"])
    await event_studio.studio.change("members", waiting["member_id"], suspended=False)
    await event_studio.news()
    await event_studio.sweep()
    assert in_any_order(await event_studio.news("system")) == in_any_order(promoted(skip_reason="member_suspended"))


@causing("membership.updated", "purchase.created")
async def test_memberships_end_and_renew(event_studio: EventStudio) -> None:
    await renewed(event_studio)
    now = await event_studio.studio.now()
    member = await event_studio.studio.new_member(membership=False)
    ending = await event_studio.studio.new_membership(member, current_period_end=now)
    paused = await event_studio.studio.new_membership(member, pause_starts_at=now)
    before = {each: await event_studio.studio.get(f"/memberships/{each}") for each in (ending, paused)}
    await event_studio.sweep()
    after = {each: await event_studio.studio.get(f"/memberships/{each}") for each in (ending, paused)}
    assert [after[each]["status"] for each in (ending, paused)] == ["expired", "paused"]
    expected = [("membership.updated", difference(before[each], after[each])) for each in (ending, paused)]
    assert in_any_order(await event_studio.news("system")) == in_any_order(expected)
    await event_studio.sweep()
    assert await event_studio.news("system") == []


@causing("webhook_endpoint.disabled")
async def test_an_endpoint_is_disabled(event_studio: EventStudio) -> None:
    made = await event_studio.act("POST", "/webhook-endpoints", {"url": "https://partner.example/hook"})
    since = await event_studio.studio.now() - WEEK
    await event_studio.studio.change("webhook_endpoints", made["id"], failing_since=since)
    before = await event_studio.studio.get(f"/webhook-endpoints/{made['id']}")
    await event_studio.sweep()
    changed = difference(before, await event_studio.studio.get(f"/webhook-endpoints/{made['id']}"))
    assert set(changed) == {"enabled", "disabled_reason", "disabled_at"}
    assert await event_studio.news("system") == [("webhook_endpoint.disabled", changed)]


@causing("webhook_endpoint.disabled")
async def test_a_partner_and_staff_disable_an_endpoint(event_studio: EventStudio) -> None:
    """Once per transition: enabling it, or disabling it again, is not announced."""
    made = await event_studio.act("POST", "/webhook-endpoints", {"url": "https://partner.example/hook"})
    path = f"/webhook-endpoints/{made['id']}"
    await event_studio.act("PATCH", path, {"enabled": True, "description": "Ours"})
    before = await event_studio.studio.get(path)
    await event_studio.act("PATCH", path, {"enabled": False, "description": "Off"})
    changed = difference(before, await event_studio.studio.get(path))
    assert set(changed) == {"enabled", "disabled_at", "description"}
    assert await event_studio.news() == [("webhook_endpoint.disabled", changed)]
    for body in ({"enabled": False}, {"enabled": False, "description": "Still off"}, {"enabled": True}):
        await event_studio.act("PATCH", path, body)
    assert await event_studio.news() == []
    slug = (await event_studio.studio.get("/studio"))["slug"]
    await event_studio.command("webhook", "disable", made["id"], "--studio", slug)
    disabled = ("webhook_endpoint.disabled", {"enabled": True, "disabled_at": None})
    assert await event_studio.news("staff") == [disabled]
    await event_studio.command("webhook", "disable", made["id"], "--studio", slug)
    assert await event_studio.news("staff") == []
