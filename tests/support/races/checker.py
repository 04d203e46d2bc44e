"""Compare the responses that partners got with the database, and the database with the promises.

The promises are checked twice: by `doctor`, as an operator would, and by plain Python here, which shares no SQL.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from typing import Any
from uuid import UUID

import asyncpg

from studiogate.flows import doctor
from tests.support.races.client import Call, History

Rows = list[dict[str, Any]]
SEATED = ("confirmed", "checked_in", "no_show")
TABLES = {
    "bookings": "created_at, id",
    "waitlist_entries": "created_at, id",
    "classes": "id",
    "memberships": "id",
    "credit_ledger": "created_at, id",
    "booking_cancellations": "cancelled_at, id",
    "idempotency_keys": "key",
    "purchases": "created_at, id",
    "events": "created_at, id",
}


async def violations(
    connection: "asyncpg.Connection[asyncpg.Record]",
    studio_id: UUID,
    history: History,
    *,
    forgiven: Collection[str] = (),
    unanswered: bool = False,
    acknowledged: History | None = None,
) -> list[str]:
    """Return all violations. ``forgiven`` are the 503 codes that the run provoked; ``unanswered`` means that some keys
    were left without a response on purpose; ``acknowledged``: only these responses must be in the database."""
    rows = await everything(connection, studio_id)
    return [
        *[f"doctor: {finding.subject}: {finding.text}" for finding in await _faults(connection)],
        *_answers(history, forgiven, unanswered),
        *_acknowledged(acknowledged or history, rows),
        *_effects(history, rows),
        *_seats(rows),
        *_waitlists(rows),
        *_credits(rows),
        *_events(rows),
    ]


async def deadlocks(connection: "asyncpg.Connection[asyncpg.Record]") -> int:
    """Return PostgreSQL's deadlock count for this database. A session reports within seconds, or when it ends."""
    counted: int = await connection.fetchval(
        "select deadlocks from pg_stat_database where datname = current_database()"
    )
    return counted


async def everything(connection: "asyncpg.Connection[asyncpg.Record]", studio_id: UUID) -> dict[str, Rows]:
    return {table: await _rows(connection, table, order, studio_id) for table, order in TABLES.items()}


async def _rows(connection: Any, table: str, order: str, studio_id: UUID) -> Rows:
    found = await connection.fetch(f"select * from {table} where studio_id = $1 order by {order}", studio_id)
    return [dict(row) for row in found]


async def _faults(connection: Any) -> list[doctor.Finding]:
    return [finding for finding in await doctor.examine(connection) if finding.level == "fault"]


def is_kept(call: Call) -> bool:
    """Return whether this response is stored with its key: a success, or a refused booking."""
    return call.status is not None and (call.status < 300 or _error_type(call) == "booking_error")


def _error_type(call: Call) -> str | None:
    return call.json["error"]["type"] if call.status is not None and call.status >= 400 else None


def _parameters(call: Call) -> tuple[str, str, str]:
    """Return what identifies a request under a key, by the contract: order, spaces, defaults and case are ignored."""
    body = {"join_waitlist": False, "class_spot_id": None, **json.loads(call.request.body or b"{}")}
    canonical = {name: value.lower() if isinstance(value, str) else value for name, value in body.items()}
    return call.request.method, call.request.path.lower(), json.dumps(canonical, sort_keys=True)


def _answers(history: History, forgiven: Collection[str], unanswered: bool) -> Iterator[str]:
    for call in history.calls:
        if call.status is not None and call.status >= 500 and call.code not in forgiven:
            yield f"{call.request.key}: {call.status} {call.code}"
        if call.status in (429, 503) and not call.says_when:
            yield f"{call.request.key}: {call.status} without Retry-After"
    for key, calls in history.by_key().items():
        if not unanswered and not any(call.known for call in calls):
            yield f"{key}: never got an answer"
        yield from _one_key(key, calls)


def _one_key(key: str, calls: list[Call]) -> Iterator[str]:
    """Check that all responses of a key are the same bytes; other parameters are refused and change nothing."""
    kept: dict[tuple[str, str, str], set[tuple[int | None, bytes]]] = defaultdict(set)
    for call in calls:
        if is_kept(call):
            kept[_parameters(call)].add((call.status, call.answer))
    if len(kept) > 1:
        yield f"{key}: answered for {len(kept)} different requests"
    for answers in kept.values():
        if len(answers) > 1:
            yield f"{key}: {len(answers)} different answers: {sorted(answers, key=str)}"
    firsts = sum(is_kept(call) and not call.replayed for call in calls)
    if firsts > 1:
        yield f"{key}: {firsts} answers claim to be the first one"
    reused = [call for call in calls if call.code == "idempotency_key_reused"]
    if any(_parameters(call) in kept for call in reused):
        yield f"{key}: the same request was refused as another one"


def _acknowledged(history: History, rows: dict[str, Rows]) -> Iterator[str]:
    """Check that every response that must be stored is in the database, byte for byte, with its effect."""
    remembered = {row["key"]: row for row in rows["idempotency_keys"]}
    bookings = {str(row["id"]): row for row in rows["bookings"]}
    receipts = {row["receipt"]: row for row in rows["booking_cancellations"]}
    for call in history.calls:
        if not is_kept(call):
            continue
        row = remembered.get(call.request.key)
        if row is None or (row["status"], row["body"]) != (call.status, call.answer):
            yield f"{call.request.key}: the answer {call.outcome} is not what is remembered"
        if call.status == 201:
            yield from _made(call, bookings.get(call.json["id"]))
        if call.status == 200 and call.request.method == "DELETE":
            held = bookings.get(call.json["booking_id"])
            if call.answer.decode() not in receipts or held is None or held["status"] != "cancelled":
                yield f"{call.request.key}: acknowledged a cancellation that is not there"


def _made(call: Call, row: dict[str, Any] | None) -> Iterator[str]:
    wanted = json.loads(call.request.body)
    if row is None:
        yield f"{call.request.key}: acknowledged booking {call.json['id']} is not there"
    elif (str(row["class_id"]), str(row["member_id"])) != (wanted["class_id"].lower(), wanted["member_id"].lower()):
        yield f"{call.request.key}: booking {row['id']} is for somebody or something else"


def _effects(history: History, rows: dict[str, Rows]) -> Iterator[str]:
    """Check that each key has one effect and each effect one key, that nothing is partial, and that refusals made no
    booking."""
    sent = history.by_key()
    for row in rows["idempotency_keys"]:
        if row["key"] not in sent or row["status"] is None:
            yield f"{row['key']}: is remembered with {row['status']}, sent {len(sent.get(row['key'], []))} times"
    bodies = [json.loads(row["body"]) for row in rows["idempotency_keys"] if row["status"] in (200, 201)]
    made = Counter(body["id"] for body in bodies if body["object"] == "booking")
    cancelled = Counter(body["booking_id"] for body in bodies if body["object"] == "booking_cancellation")
    for row in rows["bookings"]:
        if row["booking_source"] == "partner_api" and made[str(row["id"])] != 1:
            yield f"booking {row['id']}: made by {made[str(row['id'])]} keys"
    for booking_id, times in cancelled.items():
        if times != 1:
            yield f"booking {booking_id}: cancelled by {times} keys"
    receipts = Counter(row["booking_id"] for row in rows["booking_cancellations"])
    for row in rows["bookings"]:
        if receipts[row["id"]] != (row["status"] == "cancelled"):
            yield f"booking {row['id']}: is {row['status']} with {receipts[row['id']]} receipts"
    fees = Counter(row["booking_id"] for row in rows["purchases"] if row["product_type"] == "fee")
    yield from (f"booking {booking_id}: {times} fees" for booking_id, times in fees.items() if times > 1)


def _seats(rows: dict[str, Rows]) -> Iterator[str]:
    seated = Counter(row["class_id"] for row in rows["bookings"] if row["status"] in SEATED)
    for row in rows["classes"]:
        if seated[row["id"]] > row["capacity"]:
            yield f"class {row['id']}: {seated[row['id']]} in {row['capacity']} seats"
        if seated[row["id"]] != row["booked_count"]:
            yield f"class {row['id']}: counts {row['booked_count']}, has {seated[row['id']]}"
    live = [row for row in rows["bookings"] if row["status"] != "cancelled"]
    for (class_id, member_id), times in Counter((row["class_id"], row["member_id"]) for row in live).items():
        if times > 1:
            yield f"class {class_id}: member {member_id} is in it {times} times"
    spots = Counter((row["class_id"], row["class_spot_id"]) for row in live if row["class_spot_id"])
    yield from (
        f"class {class_id}: spot {spot} held {times} times" for (class_id, spot), times in spots.items() if times > 1
    )


def _waitlists(rows: dict[str, Rows]) -> Iterator[str]:
    bookings = {row["id"]: row for row in rows["bookings"]}
    waiting: dict[UUID, list[int]] = defaultdict(list)
    for row in rows["waitlist_entries"]:  # in join order
        if row["status"] == "waiting":
            waiting[row["class_id"]].append(row["position"])
        if (row["status"] == "waiting") != (bookings[row["booking_id"]]["status"] == "waitlisted"):
            yield f"entry {row['id']}: {row['status']}, its booking {bookings[row['booking_id']]['status']}"
    for row in rows["classes"]:
        positions = waiting[row["id"]]
        if positions != list(range(1, len(positions) + 1)) or row["waitlist_count"] != len(positions):
            yield f"class {row['id']}: positions in join order {positions}, counts {row['waitlist_count']}"


def overtakings(rows: dict[str, Rows]) -> Iterator[str]:
    """Yield bookings that got a seat while an earlier one waited. Only for runs in which all members stay eligible: the
    times are those of the decisions, which are serialized by the class's lock."""
    left = {row["booking_id"]: row["cancelled_at"] for row in rows["booking_cancellations"]}
    queues: dict[UUID, list[tuple[Any, Any]]] = defaultdict(list)
    for row in rows["waitlist_entries"]:
        queues[row["class_id"]].append((row["created_at"], row["promoted_at"] or left.get(row["booking_id"])))
    waited = {row["booking_id"]: row for row in rows["waitlist_entries"]}
    for row in rows["bookings"]:
        entry = waited.get(row["id"])
        seated_at = row["created_at"] if entry is None else entry["promoted_at"]
        if seated_at is None:
            continue
        passed = [
            since for since, until in queues[row["class_id"]] if since < row["created_at"] and _later(until, seated_at)
        ]
        if passed:
            yield f"class {row['class_id']}: booking {row['id']} got its seat past {len(passed)} who waited"


def _later(until: Any, instant: Any) -> bool:
    return until is None or until > instant


def _credits(rows: dict[str, Rows]) -> Iterator[str]:
    """Check that the remaining credits are those of the ledger: granted, less those taken by bookings and kept."""
    lines: dict[UUID, list[str]] = defaultdict(list)
    moved: Counter[UUID] = Counter()
    for line in rows["credit_ledger"]:
        lines[line["booking_id"]].append(line["reason"])
        moved[line["membership_id"]] += line["delta"]
    counted = {row["id"] for row in rows["memberships"] if row["credits_remaining"] is not None}
    for row in rows["memberships"]:
        if row["id"] not in counted:
            continue
        if row["credits_remaining"] < 0:
            yield f"membership {row['id']}: {row['credits_remaining']} credits"
        if moved[row["id"]] != row["credits_remaining"]:
            yield f"membership {row['id']}: {moved[row['id']]} in the ledger, {row['credits_remaining']} remain"
    for row in rows["bookings"]:
        yield from _credit_of(row, lines[row["id"]], row["membership_id"] in counted)


def _credit_of(row: dict[str, Any], lines: list[str], counted: bool) -> Iterator[str]:
    taken = sum(reason in ("booked", "promoted") for reason in lines)
    settled = len(lines) - taken
    if row["status"] in SEATED and (taken, settled) != (int(counted), 0):
        yield f"booking {row['id']}: {row['status']} with ledger {lines}"
    if row["status"] == "waitlisted" and lines:
        yield f"booking {row['id']}: waits, but paid: {lines}"
    if row["status"] == "cancelled" and taken != settled:
        yield f"booking {row['id']}: cancelled with ledger {lines}"


def _events(rows: dict[str, Rows]) -> Iterator[str]:
    """Check that each booking that a partner made has one event of its creation, and as many of its cancellation and
    promotion as there were."""
    seen: Counter[tuple[UUID, str]] = Counter()
    for row in rows["events"]:
        promotes = row["type"] == "booking.updated" and '"waitlisted"' in row["previous_attributes"]
        seen[row["subject"], "promoted" if promotes else row["type"]] += 1
    promoted = {row["booking_id"] for row in rows["waitlist_entries"] if row["status"] == "converted"}
    for row in rows["bookings"]:
        happened = {
            "booking.created": 1,
            "booking.cancelled": int(row["status"] == "cancelled"),
            "promoted": int(row["id"] in promoted),
        }
        response = {name: seen[row["id"], name] for name in happened}
        if row["booking_source"] == "partner_api" and response != happened:
            yield f"booking {row['id']}: events {response} instead of {happened}"
