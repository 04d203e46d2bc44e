"""Check that the rows which a new or changed row refers to exist, are permitted and are in use."""

import json
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.bookings.policy import policy_faults
from studiogate.domain.refusals import Fault

NOUNS = {"location_id": "location", "room_id": "room", "class_type_id": "class type", "instructor_id": "instructor"}
MAX_LISTED = 50  # policies that do not fit a new currency


class Referenced(NamedTuple):
    """A row that exists, as far as a row that refers to it is concerned."""

    active: bool
    name: str
    capacity: int | None = None
    location_id: UUID | None = None


References = Mapping[str, Referenced]


def reference_faults(values: Mapping[str, object], found: References, forms: Collection[str]) -> Iterator[Fault]:
    """Yield a fault for each reference of ``values`` to a row that is missing, not permitted or deactivated. ``found``
    has the permitted rows by field, ``forms`` the ids of the forms that exist among ``waiver_form_ids``."""
    for field, noun in NOUNS.items():
        if values.get(field) is None:
            continue
        if field not in found:
            yield Fault((field,), "not_found", f"is the id of no {noun} of the studio")
        elif not found[field].active:
            yield Fault((field,), "inactive", f"is the id of a {noun} that has been deactivated")
    for form_id in waiver_form_ids(values):
        if form_id not in forms:
            yield Fault(("policy", "waiver_form_id"), "not_found", "is the id of no form of the studio")


def waiver_form_ids(values: Mapping[str, Any]) -> list[str]:
    """Return the form that a given policy requires, if any."""
    form_id = json.loads(values.get("policy") or "{}").get("waiver_form_id")
    return [form_id] if form_id else []


def currency_faults(currency: str, policies: Mapping[str, Mapping[str, object]]) -> Iterator[Fault]:
    """Yield a fault for each stored policy, by the name of its row, whose amounts do not fit a new currency; the first
    ``MAX_LISTED``."""
    faults = (
        Fault(("currency",), "value_error", f"does not fit {member} in the policy of {owner}, which {message}")
        for owner, policy in policies.items()
        for member, message in policy_faults(policy, currency)
    )
    yield from islice(faults, MAX_LISTED)
