"""The classes of series after an import: they follow as they do when staff change a series, a closure or a time zone.

Must run when everything else is written and announced: what happens here has events and audit entries of its own.
"""

from dataclasses import dataclass, field

from studiogate.domain.access import Access
from studiogate.domain.refusals import Refusal
from studiogate.domain.studio_file.rows import Fault
from studiogate.flows.schedule import series_classes
from studiogate.flows.schedule.series_classes import SavedSeries
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import series as storage
from studiogate.storage.schedule.series import Series
from studiogate.storage.studio_file import schedule_effects
from studiogate.storage.studio_file.schedule_effects import AffectedSeries


@dataclass(slots=True)
class Followed:
    """What became of the classes of series, and what is wrong with it or worth a warning."""

    effects: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    warnings: list[Fault] = field(default_factory=list)

    def add(self, affected: AffectedSeries, saved: SavedSeries) -> None:
        counts = {"classes_created": saved.created, "classes_changed": saved.changed}
        counts |= {"classes_cancelled": saved.cancelled, "promoted": saved.promoted}
        for name, count in counts.items():
            self.effects[name] = self.effects.get(name, 0) + count
        self.warnings += [Fault(_place(affected), each.message, affected.n or 0) for each in saved.warnings]


async def follow(connection: Connection, access: Access, *, studio_existed: bool) -> Followed:
    """Make the classes of changed and new series agree with them. A studio that is new has the classes of its file:
    only series that never had any get them now, unannounced."""
    followed = Followed()
    for affected in await schedule_effects.series_to_follow(connection) if studio_existed else ():
        outcome = await _agree(connection, access, affected)
        if isinstance(outcome, Refusal):
            followed.faults.append(Fault(_place(affected), _why(outcome), affected.n or 0))
        else:
            followed.add(affected, outcome)
    for affected in await schedule_effects.new_series(connection):
        series = await _locked(connection, access, affected)
        warnings = await series_classes.series_warnings(connection, access, series) if studio_existed else ()
        created = await series_classes.create_missing(connection, access, series, announce=studio_existed)
        followed.add(affected, SavedSeries(series.id, warnings, created))
    return followed


async def _agree(connection: Connection, access: Access, affected: AffectedSeries) -> SavedSeries | Refusal:
    if affected.moved:
        await storage.raise_revision(connection, access, affected.id)
    series = await _locked(connection, access, affected)
    if not affected.agrees:  # only a closure has changed
        return SavedSeries(series.id, created=await series_classes.create_missing(connection, access, series))
    return await series_classes.agree(connection, access, series, affected.changed)


async def _locked(connection: Connection, access: Access, affected: AffectedSeries) -> Series:
    series = await storage.lock_series(connection, access, affected.id)
    if series is None:
        raise LookupError(f"no series {affected.id}")
    return series


def _place(affected: AffectedSeries) -> str:
    """Return the place in the file; a series that is not in it follows from its location or from a closure."""
    return affected.place or f"series {affected.id}"


def _why(refusal: Refusal) -> str:
    facts = refusal.details
    if "spots_chosen" in facts:
        return f"members of the class {facts['class_id']} have chosen spots: cancel these bookings, or keep the room"
    return f"{facts['booked_count']} seats of the class {facts['class_id']} are taken: choose a larger capacity"
