"""A small, complete studio file for tests, and ways to change it."""

import copy
import hashlib
import io
import json
from collections.abc import Iterable
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from studiogate.domain.access import operator_access
from studiogate.flows import studio_file
from studiogate.flows.studio_file import FilesBeside, Options, Outcome
from studiogate.flows.studio_file.rows import Progress, silent
from studiogate.storage import doctor, invariants
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


def with_history(document: Document, slug: str = "north") -> Document:
    """Add what has happened: a paid and cancelled booking, an ended wait, a renewal, a submission with a file."""
    seen = "2026-01-05T10:00:00+00:00"
    history = {
        "waitlist": [
            {"id": uid(slug, "entry"), "booking_id": uid(slug, "booking", 4), "position": None, "status": "converted"}
            | {"promoted_at": seen, "skip_reason": None, "created_at": seen}
        ],
        "ledger": [
            {"id": uid(slug, "line", number), "membership_id": uid(slug, "membership"), "booking_id": booking_id}
            | {"delta": delta, "reason": reason, "created_at": seen}
            for number, (booking_id, delta, reason) in enumerate(
                [
                    (None, 10, "granted"),
                    (uid(slug, "booking", 0), -1, "booked"),
                    (uid(slug, "booking", 5), -1, "booked"),
                    (uid(slug, "booking", 5), 0, "forfeited"),
                    (None, 2, "adjusted"),
                ]
            )
        ],
        "cancellations": [
            {"id": uid(slug, "receipt"), "booking_id": uid(slug, "booking", 5), "cancelled_at": seen}
            | {"cancellation_type": "late", "late": True, "graced_for_promotion": False, "credits_forfeited": 1}
            | {"credits_returned": 0, "purchase_id": uid(slug, "fee"), "receipt": {"z": "ü", "a": {"b": 1.5}}}
        ],
        "renewals": [
            {"id": uid(slug, "purchase"), "membership_id": uid(slug, "membership"), "period_start": seen}
            | {"period_end": "2026-02-05T10:00:00+00:00", "created_at": seen}
        ],
        "sales": [
            {"id": uid(slug, "purchase"), "membership_id": uid(slug, "membership"), "price_id": uid(slug, "price")}
            | {"created_at": seen}
        ],
        "submissions": [submission(slug)],
    }
    fee = {"id": uid(slug, "fee"), "member_id": uid(slug, "member", 0), "product_key": "late_cancel_fee"}
    fee |= {"product_type": "fee", "booking_id": uid(slug, "booking", 5), "status": "pending"}
    document = changed(changed(document, "memberships.0.credits_remaining", 10), "purchases.1", fee)
    document = changed(document, "bookings.0.credits_taken", 1)
    document = changed(changed(document, "bookings.5.credits_taken", 1), "bookings.4.promoted_at", seen)
    document = changed(document, "bookings.5.membership_id", uid(slug, "membership"))
    document = changed(document, "bookings.0.policy", {"late_action": "none"})
    document = changed(changed(document, "forms.0.version", 3), "forms.0.versions", [{"version": 1, "fields": []}])
    return {**document, **history}


def submission(slug: str = "north") -> Document:
    return {
        "id": uid(slug, "submission"),
        "form_id": uid(slug, "form"),
        "form_version": 1,
        "submitter_name": "M0",
        "submitter_email": f"m0@{slug}.example.com",
        "data": {"z": "yes"},
        "consents": [{"key": "a", "slug": None}],
        "status": "confirmed",
        "member_id": uid(slug, "member", 0),
        "files": [
            {"id": uid(slug, "file"), "field_key": "z", "filename": "ö.txt", "content_type": "text/plain", "size": 5}
            | {"sha256": hashlib.sha256(b"hello").hexdigest()}
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


async def load(connection: Connection, document: Document, *, progress: Progress = silent, **options: Any) -> Outcome:
    """Import a document; ``options`` are those of ``Options``."""
    return await load_text(connection, json.dumps(document), progress=progress, **options)


async def load_text(
    connection: Connection, text: str | bytes, *, progress: Progress = silent, **options: Any
) -> Outcome:
    """Import the text of a studio file."""
    file = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    access = operator_access(studio_file.studio_in(file), options.pop("operator", "operator"))
    outcome = await studio_file.import_studio_file(connection, access, file, Options(**options), progress)
    assert isinstance(outcome, Outcome)
    return outcome


async def load_well(connection: Connection, *documents: Document, files: FilesBeside | None = None) -> Outcome:
    """Load the documents; there must be no faults, and the doctor must find nothing afterwards."""
    for document in documents:
        outcome = await load(connection, document, files=files)
        assert outcome.faults == []
    await assert_promises_hold(connection)
    return outcome


async def assert_promises_hold(connection: Connection) -> None:
    """Check all promises except those kept by housekeeping: a file may hold a started class with waiting members."""
    for promise in invariants.INVARIANTS:
        if promise.level == "fault":
            assert await doctor.violations(connection, promise) == [], promise.name


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
