"""The demo studio at a few difficult dates, and functions to read its rows."""

from collections import defaultdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from studiogate.demo import demo_files, demo_studio_file
from studiogate.flows.studio_file import FilesBeside
from studiogate.storage.upload_folder import UploadFolder

Row = dict[str, Any]

MOMENTS = (
    datetime(2026, 2, 3, 6, 0, tzinfo=UTC),  # early in the shortest month
    datetime(2026, 3, 5, 15, 30, tzinfo=UTC),  # the clocks go forward on 8 March
    datetime(2026, 10, 30, 3, 59, tzinfo=UTC),  # and back on 1 November; still the evening before in New York
    datetime(2027, 1, 1, 5, 0, tzinfo=UTC),
    datetime(2028, 2, 29, 23, 15, tzinfo=UTC),
)
LIVE = {"confirmed", "checked_in", "no_show", "waitlisted"}
SEATED = LIVE - {"waitlisted"}


@cache
def studio_at(now: datetime) -> Row:
    return demo_studio_file(now)


def moment(text: str) -> datetime:
    assert text.endswith("Z")
    return datetime.fromisoformat(text)


def by_id(rows: list[Row]) -> dict[str, Row]:
    return {row["id"]: row for row in rows}


def bookings_by_class(studio: Row, statuses: set[str]) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = defaultdict(list)
    for booking in studio["bookings"]:
        if booking["status"] in statuses:
            grouped[booking["class_id"]].append(booking)
    return grouped


def with_files_beside(folder: Path) -> FilesBeside:
    """Put the files of the demo studio beside its studio file; return them with an empty upload folder."""
    beside = folder / "demo.files"
    beside.mkdir()
    for name, content in demo_files().items():
        (beside / name).write_bytes(content)
    return FilesBeside(beside, UploadFolder(folder / "data"))
