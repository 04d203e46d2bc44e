"""A small, complete studio file for tests, and ways to change it."""

import copy
import io
import json
from collections.abc import Iterable
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from studiogate.flows import studio_file
from studiogate.flows.studio_file import Outcome
from studiogate.storage import invariants
from studiogate.storage.db.pool import Connection

Document = dict[str, Any]


def uid(*name: object) -> str:
    """Return an id derived from the name: the same name gives the same id."""
    return str(uuid5(NAMESPACE_URL, "/".join(map(str, name))))


def _class(studio: str, number: int, **more: Any) -> Document:
    return {
        "id": uid(studio, "class", number),
        "title": f"Class {number}",
        "location_id": uid(studio, "location", 0),
        "room_id": uid(studio, "room"),
        "class_type_id": uid(studio, "class_type"),
        "instructor_id": uid(studio, "instructor"),
        "start_time": f"2031-05-0{number + 1}T09:00:00Z",
        "end_time": f"2031-05-0{number + 1}T10:00:00+00:00",
        "capacity": 2,
        "spot_selection_mode": "optional",
        **more,
    }


def booking(studio: str, number: int, class_number: int, member: int, **more: Any) -> Document:
    return {
        "id": uid(studio, "booking", number),
        "class_id": uid(studio, "class", class_number),
        "member_id": uid(studio, "member", member),
        "status": "confirmed",
        "created_at": f"2031-04-01T00:00:{number:02d}Z",
        **more,
    }


def small_studio(slug: str = "north") -> Document:
    """Class 0 is full with two on its waitlist, class 1 has one booking, class 2 was cancelled."""
    return {
        "studio": {
            "id": uid(slug, "studio"),
            "name": "North",
            "slug": slug,
            "timezone": "America/New_York",
            "currency": "USD",
            "country": "US",
            "policy": {"cancellation_window_minutes": 600, "waiver_form_id": uid(slug, "form")},
        },
        **_places(slug),
        **_catalog(slug),
        **_people(slug),
        "bookings": [
            booking(slug, 0, 0, 0, class_spot_id=uid(slug, "spot", 0), membership_id=uid(slug, "membership")),
            booking(slug, 1, 0, 1, booking_source="desk"),
            booking(slug, 3, 0, 3, status="waitlisted"),
            booking(slug, 2, 0, 2, status="waitlisted"),
            booking(slug, 4, 1, 0),
            booking(slug, 5, 2, 0, status="cancelled"),
        ],
    }


def _places(slug: str) -> Document:
    return {
        "locations": [
            {"id": uid(slug, "location", number), "name": f"L{number}", "is_primary": number == 0} for number in (0, 1)
        ],
        "rooms": [
            {
                "id": uid(slug, "room"),
                "location_id": uid(slug, "location", 0),
                "name": "Room",
                "capacity": 9,
                "spots": [{"id": uid(slug, "spot", number), "label": f"S{number}", "x": 1.5} for number in (0, 1)],
            },
            {"id": uid(slug, "room", 2), "location_id": uid(slug, "location", 1), "name": "Other", "capacity": 9},
        ],
        "class_types": [{"id": uid(slug, "class_type"), "name": "Yoga", "policy": {"late_fee_amount": "5.00"}}],
        "instructors": [{"id": uid(slug, "instructor"), "name": "Ivo", "tags": ["kind", "früh"]}],
        "classes": [_class(slug, 0), _class(slug, 1), _class(slug, 2, status="cancelled")],
    }


def _catalog(slug: str) -> Document:
    return {
        "products": [
            {
                "id": uid(slug, "product"),
                "key": "pack-10",
                "name": "Ten",
                "product_type": "package",
                "credits_granted": 10,
                "location_ids": [uid(slug, "location", 1), uid(slug, "location", 0)],
                "prices": [
                    {
                        "id": uid(slug, "price"),
                        "amount": "150.00",
                        "price_type": "one_time",
                        "location_ids": [uid(slug, "location", 0)],
                    }
                ],
            }
        ],
        "purchases": [
            {
                "id": uid(slug, "purchase"),
                "member_id": uid(slug, "member", 0),
                "product_id": uid(slug, "product"),
                "product_key": "pack-10",
                "product_type": "package",
                "amount_total": "1500",
                "currency": "JPY",
                "status": "completed",
            }
        ],
    }


def _people(slug: str) -> Document:
    return {
        "members": [
            {
                "id": uid(slug, "member", number),
                "first_name": f"M{number}",
                "last_name": "Ö",
                "email": f" M{number}@{slug}.Example.com",
                "phone": "(718) 555-0100",
                "created_at": "2025-01-01T00:00:00+02:00",
            }
            for number in range(4)
        ],
        "memberships": [
            {
                "id": uid(slug, "membership"),
                "member_id": uid(slug, "member", 0),
                "product_id": uid(slug, "product"),
                "status": "active",
            }
        ],
        "leads": [{"id": uid(slug, "lead"), "email": f"m0@{slug}.example.com", "metadata": {"b": 1, "a": [1.5, None]}}],
        "forms": [
            {
                "id": uid(slug, "form"),
                "title": "Waiver",
                "slug": "waiver",
                "fields": [{"key": "z", "label": "Z", "type": "text"}, {"type": "consent", "label": "A", "key": "a"}],
                "settings": {"submit_label": "Go", "a": 1},
                "status": "published",
            }
        ],
    }


def changed(document: Document, path: str, value: Any) -> Document:
    """Return a copy with one value set, by path (``classes.0.capacity``); the value ``...`` removes it."""
    document = copy.deepcopy(document)
    *way, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
    target: Any = document
    for part in way:
        target = target[part]
    if value is ...:
        del target[last]
    elif isinstance(last, int) and last == len(target):
        target.append(value)
    else:
        target[last] = value
    return document


async def load(connection: Connection, document: Document, **options: Any) -> Outcome:
    return await studio_file.import_studio_file(connection, io.BytesIO(json.dumps(document).encode()), **options)


async def load_well(connection: Connection, *documents: Document) -> Outcome:
    """Load the documents; there must be no faults, and the doctor must find nothing afterwards."""
    for document in documents:
        outcome = await load(connection, document)
        assert outcome.faults == []
    await assert_promises_hold(connection)
    return outcome


async def assert_promises_hold(connection: Connection) -> None:
    """Check all promises except those kept by housekeeping: a file may hold a started class with waiting members."""
    for promise in invariants.PROMISES:
        if promise.level == "fault":
            assert await invariants.violations(connection, promise) == [], promise.name


async def exported(connection: Connection, slug: str = "north") -> str:
    pieces: list[str] = []
    assert await studio_file.export_studio(connection, slug, pieces.append)
    return "".join(pieces)


def places(outcome: Outcome) -> list[str]:
    return [fault.place for fault in outcome.faults]


def totals(outcome: Outcome) -> tuple[int, int, int]:
    """Return the numbers of created, updated and unchanged rows over all sections."""
    counts = outcome.sections.values()
    return (
        sum(each.created for each in counts),
        sum(each.updated for each in counts),
        sum(each.unchanged for each in counts),
    )


def updated(outcome: Outcome) -> dict[str, int]:
    return {name: counts.updated for name, counts in outcome.sections.items() if counts.updated}


def sections_reversed(document: Document) -> Document:
    names: Iterable[str] = reversed(document)
    return {name: document[name] for name in names}
