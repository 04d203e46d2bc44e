"""The series of a location: list, create, change, end."""

from datetime import date, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate import clock
from studiogate.console.framework.page import action, page
from studiogate.console.framework.parse import DATES, as_id, read_date
from studiogate.console.framework.posted import SEEN, seen_text
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.framework.run_flow import run
from studiogate.console.schedule.class_pages import options_of, read_choices, with_fields
from studiogate.console.schedule.confirm import Question, ask, conflict_warnings, done, warning_texts
from studiogate.console.schedule.series_form import (
    FIELDS,
    SeriesQuestion,
    change_series,
    dates_text,
    given_series,
    pattern_text,
    read_series_form,
    series_counts,
    to_series_fields,
    typed_series_fields,
)
from studiogate.console.schedule.week import PATH, chosen_week, posted_week
from studiogate.domain.refusals import NOT_FOUND, Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.schedule import series as flow
from studiogate.flows.schedule.rows import Given
from studiogate.flows.schedule.series import SeriesChange
from studiogate.storage.schedule import classes
from studiogate.web.response import Answer

SERIES = f"{PATH}/series"
FORM = "schedule/series_form.html"
DEFAULTS = {"start": "09:00", "minutes": "60", "every_weeks": "1", "visible": "on", "allow_waitlist": "on"}


@page("GET", "/schedule/series", Permission.SCHEDULE_READ)
async def list_series(request: ConsoleRequest) -> Answer:
    """Show the series of a location that have not ended, by weekday and time."""
    week = chosen_week(request.frame.locations, request.query)
    if week is None:
        return request.render("schedule/empty.html")
    today = _today(week.zone)
    async with request.database.connection() as connection:
        rows = await classes.list_series(connection, request.access, week.place.id, today)
    rows.sort(key=lambda row: (min(row["weekdays"]), row["local_start"], row["title"]))
    shown = [{**row, "pattern": pattern_text(row), "dates": dates_text(row, today)} for row in rows]
    return request.render("schedule/series.html", week=week, rows=shown)


def _today(zone: ZoneInfo) -> date:
    return clock.now().astimezone(zone).date()


@page("GET", "/schedule/series/new", Permission.SCHEDULE)
async def new_series(request: ConsoleRequest) -> Answer:
    week = chosen_week(request.frame.locations, request.query)
    if week is None:
        return request.render("schedule/empty.html")
    first = max(week.days.first, _today(week.zone))
    given = {**DEFAULTS, "first_date": str(first), **_from_query(request)}
    options = options_of(await read_choices(request, week.place.id), {})
    back = with_fields(SERIES, {"location": str(week.place.id)})
    return request.render(FORM, week=week, row=None, given=given, options=options, back=back, seen="")


def _from_query(request: ConsoleRequest) -> dict[str, str]:
    """Return what was typed before, as a question's way back has it; switches that are missing are off."""
    query = request.query
    typed = {name: query[name] for name in FIELDS if name in query}
    if "complete" in query:
        typed |= {name: query.get(name, "") for name in FIELDS if name.startswith(("weekday_", "visible", "allow_"))}
    return typed


@action("POST", "/schedule/series", Permission.SCHEDULE)
async def create_series(request: ConsoleRequest) -> Answer:
    """Create a series and its classes; if something clashes, ask first."""
    week = posted_week(request.frame.locations, request.form)
    if week is None:
        return request.refused(NOT_FOUND)
    fields = typed_series_fields(request.form)
    back = with_fields(f"{SERIES}/new", fields)
    values = {**read_series_form(request.form, new=True), "location_id": str(week.place.id)}
    given = Given(values, strict="confirmed" not in request.form)
    saved = await run(request, lambda connection, access: flow.create(connection, access, given))
    if not isinstance(saved, Refusal):
        after = with_fields(SERIES, {"location": str(week.place.id)})
        return done(request, after, f"{values['title']}: {', '.join(series_counts(saved)) or 'no class yet'}.")
    warnings = conflict_warnings(saved)
    if warnings is None:
        return request.refused(to_series_fields(saved), back)
    texts = warning_texts(warnings, week.zone)
    question = Question(
        "Create the series anyway?", values["title"], SERIES, "Create anyway", back, fields, warnings=texts
    )
    return ask(request, question)


class _Found:
    """A series that the path names, with its location."""

    def __init__(self, row: dict[str, Any], zone: ZoneInfo) -> None:
        self.row, self.zone = row, zone
        self.id: UUID = row["id"]
        self.path = f"{SERIES}/{row['id']}"
        self.list_href = with_fields(SERIES, {"location": str(row["location_id"])})


async def _find(request: ConsoleRequest) -> _Found | None:
    series_id = as_id(request.params["series_id"])
    if series_id is None:
        return None
    async with request.database.connection() as connection:
        row = await classes.read_series(connection, request.access, series_id)
    if row is None:
        return None
    zones = [each.timezone for each in request.frame.locations if each.id == row["location_id"]]
    return _Found(row, ZoneInfo(zones[0] if zones else request.frame.timezone))


@page("GET", "/schedule/series/{series_id}", Permission.SCHEDULE)
async def edit_series(request: ConsoleRequest) -> Answer:
    found = await _find(request)
    if found is None:
        return request.not_found()
    stored = given_series(found.row)
    seen = request.query.get(SEEN) or seen_text({name: stored.get(name, "") for name in FIELDS})
    given = {"from_date": request.query.get("from_date", ""), **stored, **_from_query(request)}
    options = options_of(await read_choices(request, found.row["location_id"]), found.row)
    back = found.list_href
    return request.render(FORM, week=None, row=found.row, given=given, options=options, back=back, seen=seen)


@action("POST", "/schedule/series/{series_id}", Permission.SCHEDULE)
async def save_series(request: ConsoleRequest) -> Answer:
    """Change a series, all of it or from a day on, after its effects were shown."""
    found = await _find(request)
    if found is None:
        return request.not_found()
    fields = typed_series_fields(request.form)
    back = with_fields(found.path, fields)
    typed = request.form.get("from_date", "")
    since = read_date(typed)
    if typed and since is None:
        fault = Fault(("from_date",), "value_error", 'must be a date such as "2026-12-24"')
        return request.refused(Refusal(Code.VALIDATION_ERROR, faults=[fault]), back)
    change = SeriesChange(read_series_form(request.form, new=False), since)
    title = f"Change the classes from {since} on?" if since else "Change all classes to come?"
    name = str(change.values.get("title", found.row["title"]))
    wanted = SeriesQuestion(found.id, change, title, name, found.path, back, found.list_href, fields, found.zone)
    return await change_series(request, wanted)


@page("GET", "/schedule/series/{series_id}/end", Permission.SCHEDULE)
async def preview_end(request: ConsoleRequest) -> Answer:
    """Show which classes would be cancelled if the series ended after a day."""
    found = await _find(request)
    if found is None:
        return request.not_found()
    after = read_date(request.query.get("last_date")) or _today(found.zone)
    async with request.database.connection() as connection:
        later = await classes.classes_of_series(connection, request.access, found.id, after + timedelta(days=1))
    return request.render(
        "schedule/series_end.html",
        row=found.row,
        after=after,
        later=later,
        back=found.path,
        dates=DATES,
    )


@action("POST", "/schedule/series/{series_id}/end", Permission.SCHEDULE)
async def end_series(request: ConsoleRequest) -> Answer:
    found = await _find(request)
    if found is None:
        return request.not_found()
    last, reason = read_date(request.form.get("last_date")), request.form.get("reason", "").strip()[:500] or None
    if last is None:
        return request.not_found()
    saved = await run(request, lambda connection, access: flow.end(connection, access, found.id, last, reason))
    if isinstance(saved, Refusal):
        return request.refused(saved, with_fields(f"{found.path}/end", {"last_date": str(last)}))
    counts = ", ".join(series_counts(saved)) or "no class was left"
    return done(request, found.list_href, f"{found.row['title']} ends on {last}: {counts}.")
