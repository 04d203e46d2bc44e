"""Reads every documented answer with the generated client, as it is and with values that are newer than the client."""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, sys.argv[1])
models: Any = __import__("studiogate_partner_api_client.models").models
NEW = "not_known_yet"


def newer(value: Any) -> Any:
    """Return the answer with new states, types and codes, and with a new member in each object."""
    if isinstance(value, list):
        return [newer(each) for each in value]
    if not isinstance(value, dict):
        return value
    states = ("status", "outcome", "role", "cancelled_by", "cancellation_type", "product_type", "late_action")
    changed = {name: NEW if name in states else newer(each) for name, each in value.items()}
    return {**changed, "added_later": 1}


examples = json.loads(Path("examples.json").read_text())
for name, example in examples.items():
    model = getattr(models, name, None)
    if model is None:  # a union has no class
        assert name == "Event", name
        continue
    assert model.from_dict(example).to_dict().keys() >= example.keys(), name
    model.from_dict(newer(example))
assert models.Booking.from_dict(examples["Booking"]).status is models.BookingStatus.CONFIRMED
assert models.Booking.from_dict(newer(examples["Booking"])).status == NEW
event = examples["BookingUpdatedEvent"]
log = {
    **examples["EventList"],
    "data": [event, {**event, "type": NEW, "data": {"object": {}, "previous_attributes": {}}}],
}
known, other = models.EventList.from_dict(log).data
assert isinstance(known, models.BookingUpdatedEvent), known
assert isinstance(known.data.object_, models.Booking), known
assert isinstance(other, models.OtherEvent), other
print("read")
