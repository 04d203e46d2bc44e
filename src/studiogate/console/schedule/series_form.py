"""The form of a series: read its fields, ask what a change does, change."""

from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.console.framework.formats import clock_time, counted, full_date
from studiogate.console.framework.posted import SEEN, renamed_faults, untouched
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.schedule.class_form import (
    CHOICES,
    SWITCHES,
    TEXTS,
    ClassForm,
    number,
    to_form_fields,
    typed_fields,
)
from studiogate.console.schedule.class_pages import class_path, week_of_class
from studiogate.console.schedule.confirm import Question, ask, done, warning_texts
from studiogate.domain.fields.schedule import DAY_NAMES
from studiogate.domain.refusals import Fault, Refusal
from studiogate.flows.schedule import series as flow
from studiogate.flows.schedule.series import SavedSeries, SeriesChange
from studiogate.storage.schedule import classes
from studiogate.storage.schedule.classes import ClassDetails
from studiogate.web.response import Answer

WEEKDAYS = tuple(f"weekday_{name}" for name in DAY_NAMES)
DATES = ("first_date", "last_date")
FIELDS = (*TEXTS, *CHOICES, "capacity", *SWITCHES, "start", "minutes", "every_weeks", *DATES, *WEEKDAYS)
# The field of the form that a fault of a stored field belongs to.
FIELD_OF = {"local_start": "start"}
CHANGE = "Change the series"
NO_WEEKDAY = Fault(("weekdays",), "value_error", "Choose at least one weekday.")


def read_series_form(form: Mapping[str, str], *, new: bool) -> dict[str, Any]:
    """Return the values that were typed, by the names of the flows' fields; of a stored series, those of the fields
    that somebody changed in the form. The flow says what is wrong with them."""
    values: dict[str, object] = {name: form.get(name, "").strip() or None for name in ("description", *CHOICES)}
    values |= {name: name in form for name in SWITCHES}
    values |= {name: number(form.get(name, "")) for name in ("capacity", "minutes", "every_weeks")}
    values |= {
        "title": form.get("title", "").strip(),
        "weekdays": [name for name, field in zip(DAY_NAMES, WEEKDAYS, strict=True) if field in form],
        "local_start": form.get("start", ""),
        "last_date": form.get("last_date") or None,
    }
    if new:
        return {**values, "first_date": form.get("first_date", "")}
    same = untouched(form, FIELDS)
    others: dict[str, tuple[str, ...]] = {"local_start": ("start",), "weekdays": WEEKDAYS}
    return {name: value for name, value in values.items() if not same.issuperset(others.get(name, (name,)))}


def given_series(row: Mapping[str, Any]) -> dict[str, str]:
    given = {name: "" if row.get(name) is None else str(row[name]) for name in FIELDS if name in row}
    given |= {name: "on" if row[name] else "" for name in SWITCHES}
    given["start"] = f"{row['local_start']:%H:%M}"
    return given | {WEEKDAYS[number - 1]: "on" for number in row["weekdays"]}


def to_series_fields(refusal: Refusal) -> Refusal:
    renamed = renamed_faults(refusal, FIELD_OF)
    # The form has a field for each weekday; their group has the name of the stored field.
    faults = [NO_WEEKDAY if fault.loc[:1] == ("weekdays",) else fault for fault in renamed.faults]
    return Refusal(renamed.code, renamed.details, renamed.param, faults)


def typed_series_fields(form: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a series' form that were sent, to be sent again after a question."""
    return {name: form[name] for name in (*FIELDS, SEEN, "complete", "from_date", "location") if name in form}


def pattern_text(row: Mapping[str, Any]) -> str:
    """Return when the classes of a series take place, such as Mon, Thu at 18:00."""
    days = ", ".join(DAY_NAMES[number - 1][:3].title() for number in row["weekdays"])
    every = "" if row["every_weeks"] == 1 else f", every {row['every_weeks']} weeks"
    return f"{days} at {clock_time(row['local_start'])}{every}"


def dates_text(row: Mapping[str, Any], today: date) -> str:
    """Return from when to when a series lasts, as far as it matters today."""
    begins = f"from {full_date(row['first_date'])}" if row["first_date"] > today else ""
    ends = f"until {full_date(row['last_date'])}" if row["last_date"] else ""
    return " ".join(part for part in (begins, ends) if part)


class ChangeToAsk(NamedTuple):
    """A change of a series that is about to be asked or made: the question without its effects, where the change leads,
    and the location's zone."""

    series_id: UUID
    change: SeriesChange
    question: Question
    after: str
    zone: ZoneInfo


async def ask_about_series(request: ConsoleRequest, found: ClassDetails, form: ClassForm, back: str) -> Answer:
    """Change the series of a class, all of it or from this class on."""
    series_id, series_date = found.row["series_id"], found.row["series_date"]
    if series_id is None:
        return request.not_found()
    stored = await request.read(classes.read_series, series_id)
    if stored is None:
        return request.not_found()
    since: date | None = series_date if request.form["scope"] == "following" else None
    values = form.series_values(stored, series_date)
    title = f"Change {'this and the following classes' if since else 'all classes to come'}?"
    name, path = str(values.get("title", stored["title"])), class_path(found.row["id"])
    question = Question(title, name, path, CHANGE, back, typed_fields(request.form))
    change = SeriesChange(values, since)
    return await change_series(request, ChangeToAsk(series_id, change, question, week_of_class(found), found.zone))


async def change_series(request: ConsoleRequest, wanted: ChangeToAsk) -> Answer:
    """Carry a change out if it was confirmed, else show what it would do."""
    confirmed = "confirmed" in request.form
    carry_out = request.run if confirmed else request.try_out
    outcome = await carry_out(flow.change, wanted.series_id, wanted.change)
    if isinstance(outcome, Refusal):
        return request.refused(to_form_fields(outcome), wanted.question.back)
    if confirmed:
        return done(request, wanted.after, f"The series is changed: {', '.join(series_counts(outcome)) or 'no class'}.")
    warnings = warning_texts([each.as_json() for each in outcome.warnings], wanted.zone)
    return ask(request, wanted.question._replace(effects=series_effects(outcome), warnings=warnings))


def series_counts(saved: SavedSeries) -> list[str]:
    """Return what became of the classes of a series, in few words."""
    named = {"created": saved.created, "changed": saved.changed, "cancelled": saved.cancelled}
    return [f"{counted(number, 'class', 'classes')} {verb}" for verb, number in named.items() if number]


def series_effects(saved: SavedSeries) -> list[str]:
    """Return what would become of the classes of a series, in sentences."""
    effects = [f"{text}." for text in series_counts(saved)] or ["No class to come changes."]
    booked = saved.bookings_cancelled - saved.waiting
    if booked:
        effects.append(f"{counted(booked, 'booking')} will be cancelled free of charge; credits are returned.")
    if saved.waiting:
        effects.append(f"{counted(saved.waiting, 'member')} will be taken off the waitlist.")
    if saved.promoted:
        effects.append(f"{counted(saved.promoted, 'member')} will get a seat from the waitlist.")
    return effects
