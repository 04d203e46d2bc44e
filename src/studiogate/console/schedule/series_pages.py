"""The series of a location: list, create, change, end."""

from datetime import date, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from studiogate import clock
from studiogate.console.framework import ConsoleRequest, about, action, page
from studiogate.console.framework.formats import with_query
from studiogate.console.framework.parse import DATES, NO_DATE, read_date
from studiogate.console.framework.posted import SEEN, seen_text
from studiogate.console.schedule import series_form
from studiogate.console.schedule.class_form import typed_before
from studiogate.console.schedule.class_pages import options_of, read_choices, with_fields
from studiogate.console.schedule.confirm import Question, ask, conflict_texts, done
from studiogate.console.schedule.week import PATH, Week, week_of_address, week_of_form
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows.schedule import series as flow
from studiogate.flows.schedule.rows import Given
from studiogate.flows.schedule.series import SeriesChange
from studiogate.storage.schedule import classes
from studiogate.web.response import Answer

SERIES = f"{PATH}/series"
FORM = "schedule/series_form.html"
DEFAULTS = {"start": "09:00", "minutes": "60", "every_weeks": "1", "visible": "on", "allow_waitlist": "on"}


@page("/schedule/series", Permission.SCHEDULE_READ)
@about(week_of_address)
async def list_series(request: ConsoleRequest, week: Week) -> Answer:
    """Show the series of a location that have not ended, by weekday and time."""
    today = _today(week.zone)
    rows = await request.read(classes.list_series, week.place.id, today)
    rows.sort(key=lambda row: (min(row["weekdays"]), row["local_start"], row["title"]))
    shown = [
        {**row, "pattern": series_form.pattern_text(row), "dates": series_form.dates_text(row, today)} for row in rows
    ]
    return request.render("schedule/series.html", week=week, rows=shown)


def _today(zone: ZoneInfo) -> date:
    return clock.now().astimezone(zone).date()


@page("/schedule/series/new", Permission.SCHEDULE)
@about(week_of_address)
async def new_series(request: ConsoleRequest, week: Week) -> Answer:
    first = max(week.days.first, _today(week.zone))
    given = {**DEFAULTS, "first_date": str(first), **typed_before(request.query, series_form.FIELDS)}
    options = options_of(await read_choices(request, week.place.id), {})
    back = with_query(SERIES, location=week.place.id)
    return request.render(FORM, week=week, row=None, given=given, options=options, back=back, seen="")


@action("/schedule/series", Permission.SCHEDULE)
@about(week_of_form)
async def create_series(request: ConsoleRequest, week: Week) -> Answer:
    """Create a series and its classes; if something clashes, ask first."""
    fields = series_form.typed_series_fields(request.form)
    back = with_fields(f"{SERIES}/new", fields)
    values = {**series_form.read_series_form(request.form, new=True), "location_id": str(week.place.id)}
    given = Given(values, strict="confirmed" not in request.form)
    saved = await request.run(flow.create, given)
    if not isinstance(saved, Refusal):
        text = f"{values['title']}: {', '.join(series_form.series_counts(saved)) or 'no class yet'}."
        return done(request, with_query(SERIES, location=week.place.id), text)
    texts = conflict_texts(saved, week.zone)
    if texts is None:
        return request.refused(series_form.to_series_fields(saved), back)
    question = Question(
        "Create the series anyway?", values["title"], SERIES, "Create anyway", back, fields, warnings=texts
    )
    return ask(request, question)


class _Found(NamedTuple):
    """A series that the path names, with its zone, its page and the list in which it is."""

    row: dict[str, Any]
    zone: ZoneInfo
    path: str
    list_href: str


async def _find(request: ConsoleRequest) -> _Found | None:
    row = await request.read(classes.read_series, request.param_id("series_id"))
    if row is None:
        return None
    zones = [each.timezone for each in request.frame.locations if each.id == row["location_id"]]
    zone = ZoneInfo(zones[0] if zones else request.frame.timezone)
    return _Found(row, zone, f"{SERIES}/{row['id']}", with_query(SERIES, location=row["location_id"]))


@page("/schedule/series/{series_id}", Permission.SCHEDULE)
@about(_find)
async def edit_series(request: ConsoleRequest, found: _Found) -> Answer:
    stored = series_form.given_series(found.row)
    seen = request.query.get(SEEN) or seen_text({name: stored.get(name, "") for name in series_form.FIELDS})
    given = {
        "from_date": request.query.get("from_date", ""),
        **stored,
        **typed_before(request.query, series_form.FIELDS),
    }
    options = options_of(await read_choices(request, found.row["location_id"]), found.row)
    back = found.list_href
    return request.render(FORM, week=None, row=found.row, given=given, options=options, back=back, seen=seen)


@action("/schedule/series/{series_id}", Permission.SCHEDULE)
@about(_find)
async def save_series(request: ConsoleRequest, found: _Found) -> Answer:
    """Change a series, all of it or from a day on, after its effects were shown."""
    fields = series_form.typed_series_fields(request.form)
    back = with_fields(found.path, fields)
    typed = request.form.get("from_date", "")
    since = read_date(typed)
    if typed and since is None:
        return request.refused(refused(fault("from_date", NO_DATE)), back)
    change = SeriesChange(series_form.read_series_form(request.form, new=False), since)
    title = f"Change the classes from {since} on?" if since else "Change all classes to come?"
    name = str(change.values.get("title", found.row["title"]))
    question = Question(title, name, found.path, series_form.CHANGE, back, fields)
    return await series_form.change_series(
        request, series_form.ChangeToAsk(found.row["id"], change, question, found.list_href, found.zone)
    )


@page("/schedule/series/{series_id}/end", Permission.SCHEDULE)
@about(_find)
async def preview_end(request: ConsoleRequest, found: _Found) -> Answer:
    """Show which classes would be cancelled if the series ended after a day."""
    after = read_date(request.query.get("last_date")) or _today(found.zone)
    async with request.database.connection() as connection:
        next_day = after + timedelta(days=1)
        later = await classes.classes_of_series(connection, request.access, found.row["id"], next_day)
    values: dict[str, Any] = {"row": found.row, "after": after, "later": later, "back": found.path, "dates": DATES}
    return request.render("schedule/series_end.html", **values)


@action("/schedule/series/{series_id}/end", Permission.SCHEDULE)
@about(_find)
async def end_series(request: ConsoleRequest, found: _Found) -> Answer:
    last, reason = read_date(request.form.get("last_date")), request.form.get("reason", "").strip()[:500] or None
    if last is None:
        return request.not_found()
    saved = await request.run(flow.end, found.row["id"], last, reason)
    if isinstance(saved, Refusal):
        return request.refused(saved, with_query(f"{found.path}/end", last_date=last))
    counts = ", ".join(series_form.series_counts(saved)) or "no class was left"
    return done(request, found.list_href, f"{found.row['title']} ends on {last}: {counts}.")
