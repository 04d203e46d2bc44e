"""Validates every documented answer with the generated pydantic models, also with values that are newer than they."""

import json
from pathlib import Path
from typing import Any

models: Any = __import__("models")
NEW = "not_known_yet"
examples = json.loads(Path("examples.json").read_text())
for name, example in examples.items():
    getattr(models, name).model_validate(example)
assert models.Booking.model_validate(examples["Booking"]).status == "confirmed"
assert models.Booking.model_validate({**examples["Booking"], "status": NEW, "added_later": 1}).status == NEW


def inner(value: Any) -> Any:
    return inner(value.root) if hasattr(value, "root") else value


event = examples["BookingUpdatedEvent"]
assert type(inner(models.Event.model_validate(event))) is models.BookingUpdatedEvent
other = {**event, "type": NEW, "data": {"object": {}, "previous_attributes": {}}}
assert type(inner(models.Event.model_validate(other))) is models.OtherEvent
print("read")
