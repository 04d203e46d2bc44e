"""The few things of the demo studio that a tutorial can name: a test proves that they exist at any moment."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from studiogate.demo.seed import read
from studiogate.domain.bookings.states import SEAT_HOLDING

# Far enough away that the booking can still be cancelled free of charge, a day later too.
SOONEST = timedelta(hours=48)
SEATS_LEFT = 3


@dataclass(frozen=True)
class Landmarks:
    """``member_id`` holds credits, has no bookings and may book both classes; the ids of places and forms never change.

    The classes are days ahead of the file's moment: to name upcoming ones later, make the file of that later moment.
    A studio loaded up to three weeks before has that bookable class too, though it may not yet be full where we say so.
    """

    member_id: str
    member_email: str
    bookable_class_id: str
    full_class_id: str
    primary_location_id: str
    waiver_form_id: str


def landmarks(studio_file: dict[str, Any], now: datetime) -> Landmarks:
    """Read off a studio file, at the moment that it was made for."""
    seated, waiting = _counts(studio_file["bookings"])
    ahead = [row for row in studio_file["classes"] if _open(row) and read(row["start_time"]) >= now + SOONEST]
    member = studio_file["members"][0]
    primary = studio_file["locations"][0]
    return Landmarks(
        member_id=member["id"],
        member_email=member["email"],
        bookable_class_id=_first(row for row in ahead if _easily_booked(row, primary["id"], seated)),
        full_class_id=_first(row for row in ahead if seated[row["id"]] == row["capacity"] and waiting[row["id"]]),
        primary_location_id=primary["id"],
        waiver_form_id=next(row["id"] for row in studio_file["forms"] if row["slug"] == "liability-waiver"),
    )


def _first(rows: Iterable[dict[str, Any]]) -> str:
    return str(next(iter(rows))["id"])


def _counts(bookings: list[dict[str, Any]]) -> tuple[Counter[str], Counter[str]]:
    seated = Counter(row["class_id"] for row in bookings if row["status"] in SEAT_HOLDING)
    waiting = Counter(row["class_id"] for row in bookings if row["status"] == "waitlisted")
    return seated, waiting


def _open(row: dict[str, Any]) -> bool:
    return row["status"] == "scheduled" and bool(row["visible"])


def _easily_booked(row: dict[str, Any], location_id: str, seated: Counter[str]) -> bool:
    """In a mat class at lunch time: no spot to choose, no policy of its own, plenty of room."""
    plain = row["spot_selection_mode"] is None and row["policy"] is None and row["location_id"] == location_id
    return plain and row["title"] == "Lunch Hour Mat" and row["capacity"] - seated[row["id"]] >= SEATS_LEFT
