"""Field names, types and nullability of all resources, in responses and in OpenAPI, match the specification."""

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.api.app import ROUTES
from studiogate.domain.access import operator_access
from studiogate.domain.events import EventType
from studiogate.storage import events
from tests.api.test_forms_uploads import BOUNDARY, multipart
from tests.support.asgi import AsgiResponse
from tests.support.asgi import ask as send
from tests.support.direct_client import DirectResponse, ask
from tests.support.newest_rows import newest_row
from tests.support.openapi_document import served_document
from tests.support.partner_api import PartnerApi, open_partner_api
from tests.support.seed import Studio, insert, issue_key, seed_studio
from tests.support.specification import (
    ACTOR,
    ADDRESS,
    CONDITIONAL_RULE,
    FORM_FIELD,
    LATE_FEE,
    MUTATION_RESULT,
    POLICY,
    PRICE,
    RESOURCES,
    VALIDATION_REASON,
    WEBHOOK_ATTEMPT,
    WEBHOOK_SECRET,
    Fields,
)
from tests.support.webhook_studio import SECRET_KEY

pytestmark = pytest.mark.anyio
SCHEMAS = served_document()["components"]["schemas"]
NAMES = {
    "studio": "Studio",
    "location": "Location",
    "room": "Room",
    "class_type": "ClassType",
    "instructor": "Instructor",
    "class": "Class",
    "class_spot": "ClassSpot",
    "product": "Product",
    "purchase": "Purchase",
    "lead": "Lead",
    "member": "Member",
    "membership": "Membership",
    "booking": "Booking",
    "waitlist": "WaitlistEntry",
    "form": "Form",
    "form_submission": "FormSubmission",
    "booking_cancellation": "BookingCancellation",
    "booking_validation": "BookingValidation",
    "form_upload": "FormUpload",
    "webhook_endpoint": "WebhookEndpoint",
    "webhook_delivery": "WebhookDelivery",
    "webhook_replay": "WebhookReplay",
    "event_redelivery": "EventRedelivery",
    "service_key": "ServiceKey",
    # What all events are, whatever their type: the schemas of the known types are checked by their examples.
    "event": "OtherEvent",
}


def _is_uuid(value: Any) -> bool:
    return isinstance(value, str) and str(UUID(value)) == value


def _is_instant(value: Any) -> bool:
    return isinstance(value, str) and value.endswith("+00:00") and datetime.fromisoformat(value) is not None


def _is_part(fields: Fields) -> Callable[[Any], bool]:
    """Return a check that a value is an object with these fields; such a part has no ``object`` member."""
    return lambda value: "object" not in value and faults_of(value, fields) == []


def _are_parts(fields: Fields) -> Callable[[Any], bool]:
    return lambda value: all(map(_is_part(fields), value))


def _are_form_fields(value: Any) -> bool:
    rules = [each["display_when"] for each in value if each["display_when"] is not None]
    return all(faults_of(each, FORM_FIELD, extras=True) == [] for each in value) and _are_parts(CONDITIONAL_RULE)(rules)


def _are_answers(value: Any) -> bool:
    return all(isinstance(each, str) or all(isinstance(one, str) for one in each) for each in value.values())


# A check of the value, and the type in the OpenAPI document.
TYPES: Mapping[str, tuple[Any, str]] = {
    "uuid": (_is_uuid, "string"),
    "string": (lambda value: isinstance(value, str), "string"),
    "email": (lambda value: isinstance(value, str) and "@" in value, "string"),
    "instant": (_is_instant, "string"),
    "decimal": (lambda value: re.fullmatch(r"\d+(\.\d+)?", value) is not None, "string"),
    "integer": (lambda value: isinstance(value, int) and not isinstance(value, bool), "integer"),
    "number": (lambda value: isinstance(value, int | float) and not isinstance(value, bool), "number"),
    "boolean": (lambda value: isinstance(value, bool), "boolean"),
    "object": (lambda value: isinstance(value, dict), "object"),
    "array": (lambda value: isinstance(value, list), "array"),
    "strings": (lambda value: all(isinstance(each, str) for each in value), "array"),
    "any": (lambda _value: True, "any"),
    "address": (_is_part(ADDRESS), "object"),
    "prices": (_are_parts(PRICE), "array"),
    "late_fee": (_is_part(LATE_FEE), "object"),
    "policy": (_is_part(POLICY), "object"),
    "actor": (_is_part(ACTOR), "object"),
    "reasons": (_are_parts(VALIDATION_REASON), "array"),
    "attempts": (_are_parts(WEBHOOK_ATTEMPT), "array"),
    "form_fields": (_are_form_fields, "array"),
    "answers": (_are_answers, "object"),
}


def faults_of(value: Mapping[str, Any], fields: Fields, *, extras: bool = False) -> list[str]:
    """Return how a value deviates from its table: missing or extra fields, nulls, wrong types."""
    given, known = set(value) - {"object"}, set(fields) - {"object"}
    faults = [f"{name} is missing" for name in sorted(known - given)]
    faults += [] if extras else [f"{name} is not in the table" for name in sorted(given - known)]
    for name in known & given:
        kind, nullable = fields[name].removesuffix("?"), fields[name].endswith("?")
        if value[name] is None:
            faults += [] if nullable else [f"{name} is null"]
        elif not TYPES[kind][0](value[name]):
            faults.append(f"{name} is no {kind}: {value[name]!r}")
    return faults


def test_the_check_of_the_check() -> None:
    fee = {"amount": "15.00", "currency": "USD", "status": "pending", "purchase_id": None}
    assert _is_part(LATE_FEE)(fee)
    assert not _is_part(LATE_FEE)({**fee, "currency": None})
    assert not _is_part(LATE_FEE)({**fee, "object": "late_fee"})
    assert not _are_parts(LATE_FEE)([fee, {}])
    room = {"id": str(uuid4()), "object": "room", "location_id": str(uuid4()), "name": "a", "capacity": 1}
    room["updated_at"] = "2026-10-01T00:00:00+00:00"
    assert faults_of({**room, "active": True}, RESOURCES["room"]) == []
    assert faults_of(room, RESOURCES["room"]) == ["active is missing"]
    assert faults_of({**room, "active": None}, RESOURCES["room"]) == ["active is null"]
    assert faults_of({**room, "active": 1}, RESOURCES["room"]) == ["active is no boolean: 1"]
    assert faults_of({**room, "active": True, "x": 1}, RESOURCES["room"]) == ["x is not in the table"]


# The document


def _types(schema: Mapping[str, Any]) -> set[str]:
    """Return the JSON types that a schema allows."""
    if "$ref" in schema:
        return _types(SCHEMAS[schema["$ref"].rpartition("/")[2]])
    for name in ("anyOf", "oneOf", "allOf"):
        if name in schema:
            return {each for choice in schema[name] for each in _types(choice)}
    if "type" in schema:
        return {schema["type"]}
    values = schema.get("enum") or [schema["const"]]
    return {"string" if isinstance(each, str) else type(each).__name__ for each in values}


def _assert_described(name: str, fields: Fields) -> None:
    schema = SCHEMAS[name]
    assert set(schema["properties"]) == {*fields, *({"object"} & schema["properties"].keys())}, name
    assert set(schema["required"]) == set(schema["properties"]), name
    for field, kind in fields.items():
        expected = {TYPES[kind.removesuffix("?")][1], *(["null"] if kind.endswith("?") else [])}
        assert _types(schema["properties"][field]) == expected, f"{name}.{field}"


@pytest.mark.parametrize("resource", RESOURCES)
def test_the_document_describes_it(resource: str) -> None:
    _assert_described(NAMES[resource], RESOURCES[resource])
    assert SCHEMAS[NAMES[resource]]["properties"]["object"]["const"] == resource


PARTS = {
    "Address": ADDRESS,
    "Price": PRICE,
    "MutationResult": MUTATION_RESULT,
    "LateFee": LATE_FEE,
    "BookingPolicy": POLICY,
    "ValidationReason": VALIDATION_REASON,
    "WebhookAttempt": WEBHOOK_ATTEMPT,
    "WebhookEndpointWithSecret": {**RESOURCES["webhook_endpoint"], **WEBHOOK_SECRET},
    "EventActor": ACTOR,
}


@pytest.mark.parametrize("name", PARTS)
def test_the_document_describes_the_part(name: str) -> None:
    _assert_described(name, PARTS[name])


# Answers


def resources_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every resource in a response, including those inside lists and events."""
    if isinstance(value, dict):
        kind = value.get("object")
        if isinstance(kind, str) and kind in RESOURCES and value.keys() != MUTATION_RESULT.keys():
            yield value
        for each in value.values():
            yield from resources_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from resources_in(each)


class Seen(dict[str, set[str]]):
    """The resources seen so far, and which of their nullable fields had a value and which were null."""

    def note(self, answer: DirectResponse | AsgiResponse, also: Fields | None = None) -> Any:
        """Compare a response with the tables; ``also`` are fields that only this response has."""
        assert answer.status < 300, answer.body
        body = answer.json()
        for found in resources_in(body):
            kind = found["object"]
            assert faults_of(found, {**RESOURCES[kind], **(also or {})}) == [], kind
            self.setdefault(kind, set()).update(found)
        if isinstance(body, dict) and body.get("object") == "list":
            assert list(body) == ["object", "data", "has_more", "next_cursor"]
        return body


@pytest.fixture
async def studio_api(database_url: str, tmp_path: Path) -> AsyncIterator[PartnerApi]:
    async for opened in open_partner_api(database_url, secret_key=SECRET_KEY, data_dir=tmp_path):
        yield opened


async def log_of_everything(api: PartnerApi, studio: Studio) -> None:
    """Replace the seed's events by events about real resources."""
    await api.connection.execute("delete from webhook_attempts; delete from webhook_deliveries; delete from events")
    access = operator_access(studio.studio_id)
    for type_ in EventType:
        row_id = await newest_row(api.connection, studio.studio_id, type_)
        await events.emit(api.connection, access, type_, events.Change(row_id))
    api.app._runtime.sequencer.kick(studio.studio_id)
    await api.app._runtime.sequencer.settled()


async def test_every_read_answers_by_the_tables(studio_api: PartnerApi) -> None:
    """Each list, and each row of it by its id; for keys with and without locations."""
    studio = await seed_studio(studio_api.connection)
    address = "line1 = '155 Bedford Avenue', country = 'US', latitude = 40.7, longitude = -74, phone = '+12125550123'"
    await studio_api.connection.execute(f"update locations set {address} where is_primary")
    for table in ("class_types", "instructors"):
        await studio_api.connection.execute(f"update {table} set picture = '{'5f0c2e9a' * 4}.jpg'")
    seen = Seen()
    deliveries = f"/webhook-endpoints/{studio.first('endpoint')}/deliveries"
    tried = await ask(studio_api.app, "GET", deliveries, await issue_key(studio_api.connection, studio))
    assert seen.note(tried)["data"][0]["attempts"] != []
    await log_of_everything(studio_api, studio)
    singles = {route.path for route in ROUTES if "GET" in (route.methods or ()) and route.path.count("{") == 1}
    for locations in (None, studio.ids["location"][:1]):
        key = await issue_key(studio_api.connection, studio, locations=locations)
        for path in ("/studio", "/key"):
            seen.note(await ask(studio_api.app, "GET", path, key))
        for path in sorted(route.path for route in ROUTES if route.path.count("/") == 1):
            if "GET" not in next(iter(route.methods or ()) for route in ROUTES if route.path == path):
                continue
            listed = seen.note(await ask(studio_api.app, "GET", path, key))
            for row in listed.get("data", []):
                single = next((each for each in singles if re.fullmatch(path + r"/\{\w+\}", each)), None)
                assert single is not None, path
                read = await ask(studio_api.app, "GET", f"{path}/{row['id']}", key)
                assert seen.note(read) == row, "a list shows what GET shows"
        for class_id in studio.ids["class"][:1]:
            seen.note(await ask(studio_api.app, "GET", f"/classes/{class_id}/spots", key))
        for member_id in studio.ids["member"]:
            held = seen.note(await ask(studio_api.app, "GET", f"/members/{member_id}/memberships", key))
            for row in held["data"]:
                assert seen.note(await ask(studio_api.app, "GET", f"/memberships/{row['id']}", key)) == row
        path = f"/forms/{studio.first('form')}/submissions"
        for row in seen.note(await ask(studio_api.app, "GET", path, key))["data"]:
            assert seen.note(await ask(studio_api.app, "GET", f"{path}/{row['id']}", key)) == row
    written = {"booking_cancellation", "booking_validation", "form_upload", "webhook_replay", "event_redelivery"}
    assert set(RESOURCES) - set(seen) == written


async def test_every_write_answers_by_the_tables(studio_api: PartnerApi) -> None:
    api, seen = studio_api, Seen()
    studio = await seed_studio(api.connection)
    key = await issue_key(api.connection, studio)

    async def write(method: str, path: str, body: Any = None) -> Any:
        headers = {"Idempotency-Key": f"table-{uuid4()}"}
        return seen.note(await ask(api.app, method, path, key, body=body, headers=headers))

    lead = await write("POST", "/leads", {"email": "table@example.com", "first_name": "Ta"})
    for method, path in (("PATCH", f"/leads/{lead['id']}"), ("POST", f"/leads/{lead['id']}/update")):
        assert faults_of(await write(method, path, {"status": "contacted"}), MUTATION_RESULT) == []
    assert faults_of(lead, MUTATION_RESULT) == []
    person = {"email": "table@example.com", "first_name": "Ta", "last_name": "Ble", "phone": "+12125550123"}
    await write("POST", "/members", person)
    rule = {"field_key": "a", "op": "is_not_empty", "value": None}
    fields = [
        {"key": "a", "label": "A", "type": "text"},
        {"key": "file", "label": "F", "type": "file_upload", "display_when": rule},
    ]
    form = await write("POST", "/forms", {"title": "Table", "fields": fields, "status": "published"})
    form = await write("PUT", f"/forms/{form['id']}", {"description": "A table"})
    path = f"/forms/{form['id']}/submissions"
    await write("POST", path, {"submitter_email": "table@example.com", "data": {"a": "b"}})
    uploading = [("content-type", f"multipart/form-data; boundary={BOUNDARY}")]
    file = multipart(b"table", "file", "a.txt")
    path = f"/forms/{form['id']}/uploads"
    seen.note(await send(api.app, "POST", path, key=key, headers=uploading, body=[file]))
    assert set(seen) == {"member", "form", "form_submission", "form_upload"}


async def test_bookings_answer_by_the_tables(studio_api: PartnerApi) -> None:
    """With a late fee, and without."""
    api, seen = studio_api, Seen()
    studio = await seed_studio(api.connection)
    key = await issue_key(api.connection, studio)
    member = studio.first("member")
    await _give_membership(api, studio, str(member))
    for policy in ({}, {"late_action": "fee", "late_fee_amount": "15.00", "cancellation_window_minutes": 20_000}):
        class_id = await _coming_class(api, studio, policy)
        wanted = {"class_id": class_id, "member_id": str(member)}
        validation = seen.note(await ask(api.app, "POST", "/bookings/validate", key, body=wanted))
        assert validation["bookable"], validation
        once, again = ({"Idempotency-Key": f"table-{uuid4()}"} for _ in range(2))
        booked = seen.note(await ask(api.app, "POST", "/bookings", key, body=wanted, headers=once))
        path = f"/bookings/{booked['id']}"
        refused = seen.note(await ask(api.app, "POST", "/bookings/validate", key, body=wanted))
        assert [each["code"] for each in refused["reasons"]] == ["already_booked"]
        preview = seen.note(await ask(api.app, "GET", path + "/cancellation-preview", key))
        receipt = seen.note(await ask(api.app, "DELETE", path, key, headers=again))
        assert seen.note(await ask(api.app, "GET", path + "/cancellation", key)) == receipt
        for fee in (preview["late_fee"], receipt["late_fee"]):
            assert (fee is not None) == bool(policy)
    assert set(seen) == {"booking", "booking_cancellation", "booking_validation"}


async def test_endpoints_answer_by_the_tables(studio_api: PartnerApi) -> None:
    """Only two responses contain the secret."""
    api, seen = studio_api, Seen()
    studio = await seed_studio(api.connection)
    await log_of_everything(api, studio)
    key = await issue_key(api.connection, studio)
    body = {"url": "https://partner.example/hook"}
    made = seen.note(await ask(api.app, "POST", "/webhook-endpoints", key, body=body), WEBHOOK_SECRET)
    path = f"/webhook-endpoints/{made['id']}"
    seen.note(await ask(api.app, "PATCH", path, key, body={"description": "Table"}))
    seen.note(await ask(api.app, "POST", path + "/rotate-secret", key), WEBHOOK_SECRET)
    assert seen.note(await ask(api.app, "GET", path, key))["previous_secret_expires_at"] is not None
    assert (await ask(api.app, "POST", path + "/test", key)).status == 202
    (tested,) = seen.note(await ask(api.app, "GET", path + "/deliveries", key))["data"]
    assert tested["event_id"] is None
    since = {"since": tested["created_at"]}
    seen.note(await ask(api.app, "POST", path + "/replay", key, body=since))
    (event, *_) = (await ask(api.app, "GET", "/events", key)).json()["data"]
    seen.note(await ask(api.app, "POST", f"/events/{event['id']}/redeliver", key))
    assert set(seen) == {"webhook_endpoint", "webhook_delivery", "webhook_replay", "event_redelivery"}


async def _give_membership(api: PartnerApi, studio: Studio, member_id: str) -> None:
    await insert(
        api.connection,
        "memberships",
        studio_id=studio.studio_id,
        member_id=UUID(member_id),
        product_id=studio.ids["product"][2],
        status="active",
        started_at=datetime.fromisoformat("2020-01-01T00:00:00+00:00"),
    )


async def _coming_class(api: PartnerApi, studio: Studio, policy: Mapping[str, Any]) -> str:
    class_id: UUID = await api.connection.fetchval(
        """
        insert into classes (studio_id, id, title, start_time, end_time, capacity, policy)
        values ($1, gen_random_uuid(), 'x', now() + interval '9 days', now() + interval '217 hours', 5, $2)
        returning id""",
        studio.studio_id,
        json.dumps(policy),
    )
    return str(class_id)
