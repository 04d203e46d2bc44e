"""Changes of a series from the form of one of its classes or from its own: ask first, then change."""

from collections.abc import Mapping
from datetime import date
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.console.framework.formats import counted
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.framework.run_flow import run, try_out
from studiogate.console.schedule.class_form import ClassForm, to_form_fields, typed_fields
from studiogate.console.schedule.class_pages import class_path, week_of_class
from studiogate.console.schedule.confirm import Question, ask
from studiogate.console.schedule.responses import done
from studiogate.console.schedule.warning_texts import warning_texts
from studiogate.domain.access import Access
from studiogate.domain.refusals import Refusal
from studiogate.flows.schedule import series as flow
from studiogate.flows.schedule.series import SeriesChange
from studiogate.flows.schedule.series_classes import SavedSeries
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import classes
from studiogate.storage.schedule.classes import ClassDetails
from studiogate.web.response import Answer


class SeriesQuestion(NamedTuple):
    """A change of a series that is about to be asked or made, and where its form is."""

    series_id: UUID
    change: SeriesChange
    title: str
    name: str
    action: str
    back: str
    after: str
    fields: Mapping[str, str]
    zone: ZoneInfo


async def ask_about_series(request: ConsoleRequest, found: ClassDetails, form: ClassForm, back: str) -> Answer:
    """Change the series of a class, all of it or from this class on."""
    series_id, series_date = found.row["series_id"], found.row["series_date"]
    if series_id is None:
        return request.not_found()
    async with request.database.connection() as connection:
        stored = await classes.read_series(connection, request.access, series_id)
    if stored is None:
        return request.not_found()
    since: date | None = series_date if request.form["scope"] == "following" else None
    values = form.series_values(stored, series_date)
    title = f"Change {'this and the following classes' if since else 'all classes to come'}?"
    wanted = SeriesQuestion(
        series_id,
        SeriesChange(values, since),
        title,
        str(values.get("title", stored["title"])),
        class_path(found.row["id"]),
        back,
        week_of_class(found),
        typed_fields(request.form),
        found.zone,
    )
    return await change_series(request, wanted)


async def change_series(request: ConsoleRequest, wanted: SeriesQuestion) -> Answer:
    """Carry a change out if it was confirmed, else show what it would do."""
    confirmed = "confirmed" in request.form

    async def change(connection: Connection, access: Access) -> SavedSeries | Refusal:
        return await flow.change(connection, access, wanted.series_id, wanted.change)

    outcome = await (run(request, change) if confirmed else try_out(request, change))
    if isinstance(outcome, Refusal):
        return request.refused(to_form_fields(outcome), wanted.back)
    if confirmed:
        return done(request, wanted.after, f"The series is changed: {', '.join(series_counts(outcome)) or 'no class'}.")
    question = Question(
        wanted.title,
        wanted.name,
        wanted.action,
        "Change the series",
        wanted.back,
        wanted.fields,
        effects=series_effects(outcome),
        warnings=warning_texts([each.as_json() for each in outcome.warnings], wanted.zone),
    )
    return ask(request, question)


def series_counts(saved: SavedSeries) -> list[str]:
    """Return what became of the classes of a series, in few words."""
    named = {"created": saved.created, "changed": saved.changed, "cancelled": saved.cancelled}
    return [f"{counted(number, 'class', 'classes')} {verb}" for verb, number in named.items() if number]


def series_effects(saved: SavedSeries) -> list[str]:
    """Return what would become of the classes of a series, in sentences."""
    effects = [f"{text}." for text in series_counts(saved)] or ["No class to come changes."]
    if saved.bookings_cancelled:
        effects.append(
            f"{counted(saved.bookings_cancelled, 'booking')} will be cancelled free of charge; credits are returned."
        )
    if saved.promoted:
        effects.append(f"{counted(saved.promoted, 'member')} will get a seat from the waitlist.")
    return effects
