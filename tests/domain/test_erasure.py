"""What redacting leaves of a person: every kind of resource, wherever it is in an answer, and nobody else's."""

import json

import pytest

from studiogate.domain.erasure import EVENTS_OF_PEOPLE, redacted, redacted_event
from studiogate.domain.events import EventType

ID, OTHER = "1", "2"
VALUE = "zq-value"
RESOURCES = {
    "member": ("name", "first_name", "last_name", "email", "phone", "membership_type"),
    "lead": ("email", "first_name", "last_name", "phone", "source", "metadata"),
    "form_submission": ("submitter_name", "submitter_email", "data"),
    "membership": ("pause_reason", "cancellation_reason"),
    "booking_cancellation": ("reason",),
    "form_upload": ("filename",),
}
# Resources of events that say nothing about who a person is: at most they have the member's id.
NOBODY = {"booking", "waitlist_entry", "purchase", "form", "webhook_endpoint"} | {
    *("class", "class_type", "instructor", "location", "room", "product", "studio"),
}


def resource(kind: str, row_id: str = ID) -> dict[str, object]:
    return {"id": row_id, "object": kind, **dict.fromkeys(RESOURCES[kind], VALUE), "created_at": "now"}


@pytest.mark.parametrize("kind", RESOURCES)
def test_a_resource_loses_what_names_the_person(kind: str) -> None:
    left = redacted(resource(kind), {ID})
    assert VALUE not in json.dumps(left)
    assert list(left) == list(resource(kind)), "the same members in the same order"
    assert (left["id"], left["object"], left["created_at"]) == (ID, kind, "now")


@pytest.mark.parametrize("kind", RESOURCES)
def test_a_resource_of_somebody_else_stays(kind: str) -> None:
    assert redacted(resource(kind, OTHER), {ID}) == resource(kind, OTHER)


def test_resources_are_found_at_any_depth_and_by_their_member() -> None:
    receipt = {**resource("booking_cancellation", OTHER), "member_id": ID}
    answer = {"data": [{"object": "booking", "id": "3", "member_id": ID, "note": [receipt, resource("lead")]}]}
    left = redacted(answer, {ID})
    assert VALUE not in json.dumps(left)
    assert left["data"][0]["member_id"] == ID


def test_an_event_keeps_which_fields_changed() -> None:
    object_, previous = redacted_event(resource("member"), {"email": VALUE, "role": "lead"}, {ID})
    assert object_["email"] is None
    assert previous == {"email": None, "role": "lead"}


def test_addresses_say_nothing_and_belong_to_nobody() -> None:
    assert redacted(resource("lead"), {ID})["email"] == "1@erased.invalid"


def test_every_type_of_people_is_redacted() -> None:
    resources = {each.resource for each in EventType}
    people = {each.resource for each in EVENTS_OF_PEOPLE}
    assert people == resources - NOBODY, "a new resource is of people, and redacted, or says nothing about them"
    assert resources >= NOBODY
    assert people <= set(RESOURCES), "and its fields are among those that are tried here"
    assert set(EVENTS_OF_PEOPLE) == {each for each in EventType if each.resource in people}
