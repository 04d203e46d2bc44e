"""Change a class: by its form, by dragging it, or with another instructor; alone or with the rest of its series. Cancel
it after a look at who is affected and what they get back."""

from collections.abc import Mapping, Sequence

from studiogate.console.framework import ConsoleRequest, UndoAction, about, action, page
from studiogate.console.framework.formats import counted, day_and_time, zone
from studiogate.console.framework.posted import SEEN, seen_text
from studiogate.console.schedule import class_form, class_pages
from studiogate.console.schedule.confirm import Question, ask, done, off_waitlist, warning_texts
from studiogate.console.schedule.series_form import ask_about_series
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.bookings import staff
from studiogate.flows.bookings.staff import AffectedMember
from studiogate.flows.schedule import classes as flow
from studiogate.flows.schedule.rows import Given, Saved
from studiogate.storage.schedule.classes import ClassDetails
from studiogate.web.response import Answer

UNDOABLE = ("room_id", "instructor_id")
# What the form that takes a change back has besides the former values; the second, if the class followed its series.
UNDOES, REJOINS = "undoes", "rejoins"


@page("/schedule/classes/{class_id}/edit", Permission.SCHEDULE)
@about(class_pages.read_class)
async def edit_class(request: ConsoleRequest, found: ClassDetails) -> Answer:
    """Show the form of a class; the query has values that were typed before."""
    if found.is_cancelled:
        return request.not_found()
    row = found.row
    given = {name: "" if row.get(name) is None else str(row[name]) for name in class_form.FIELDS if name in row}
    given |= {
        **class_form.stored_times(found),
        **{name: "on" if row[name] else "" for name in ("visible", "allow_waitlist")},
    }
    seen = request.query.get(SEEN) or seen_text(given)
    return request.render(
        "schedule/class_form.html",
        found=found,
        options=class_pages.options_of(await class_pages.read_choices(request, row["location_id"]), row),
        given=given | class_form.typed_before(request.query, class_form.FIELDS),
        seen=seen,
        scope=request.query.get(class_form.SCOPE, class_form.ONLY_THIS),
        week=None,
        zone=zone(found.row["start_time"], found.zone.key),
        back=class_pages.class_path(row["id"]),
    )


@page("/schedule/classes/{class_id}/move", Permission.SCHEDULE)
@about(class_pages.read_class)
async def preview_move(request: ConsoleRequest, found: ClassDetails) -> Answer:
    """Show what would happen if a class were moved to where it was dragged."""
    fields = class_form.typed_fields(request.query)
    form = class_form.read_class_form(fields, found.zone, found)
    return request.error(form) if isinstance(form, Refusal) else await _ask(request, found, form, fields)


@action("/schedule/classes/{class_id}", Permission.SCHEDULE)
@about(class_pages.read_class)
async def change_class(request: ConsoleRequest, found: ClassDetails) -> Answer:
    """Change a class. What concerns members, other classes or a whole series is asked first."""
    fields = class_form.typed_fields(request.form)
    form = class_form.read_class_form(request.form, found.zone, found)
    back = _way_back(found, fields)
    if isinstance(form, Refusal):
        return request.refused(form, back)
    if request.form.get(class_form.SCOPE, class_form.ONLY_THIS) != class_form.ONLY_THIS:
        return await ask_about_series(request, found, form, back)
    concerns_members = bool(found.row["booked_count"] or found.row["waitlist_count"])
    if "confirmed" not in request.form and form.times is not None and concerns_members:
        return await _ask(request, found, form, fields)
    given = Given(form.class_values(found.zone), strict="confirmed" not in request.form)
    saved = await request.run(flow.change, found.row["id"], given, rejoins=REJOINS in request.form)
    if isinstance(saved, Saved):
        return _changed(request, found, form, saved)
    if saved.code is Code.SCHEDULE_CONFLICT:
        return await _ask(request, found, form, fields)
    return request.refused(class_form.to_form_fields(saved), back)


def _way_back(found: ClassDetails, fields: Mapping[str, str]) -> str:
    """Return the form with what was typed; a cancelled class has no form."""
    path = class_pages.class_path(found.row["id"])
    return path if found.is_cancelled else class_pages.with_fields(f"{path}/edit", fields)


async def _ask(
    request: ConsoleRequest, found: ClassDetails, form: class_form.ClassForm, fields: Mapping[str, str]
) -> Answer:
    """Try the change out and show its effects; the form that carries it out has the same fields."""
    class_id, back = found.row["id"], _way_back(found, fields)
    outcome = await request.try_out(flow.change, class_id, Given(form.class_values(found.zone)))
    if isinstance(outcome, Refusal):
        return request.refused(class_form.to_form_fields(outcome), back)
    members: Sequence[AffectedMember] = ()
    if form.times is not None:
        async with request.database.connection() as connection:
            between = form.times.instants(found.zone)
            members = await staff.affected_by_moving(connection, request.access, class_id, between)
    verb = "Move" if form.times is not None else "Change"
    question = Question(
        f"{verb} {found.row['title']}?",
        day_and_time(found.row["start_time"], found.zone.key),
        class_pages.class_path(class_id),
        f"{verb} the class",
        back,
        fields,
        effects=await _effects(request, found, form, members),
        warnings=warning_texts([each.as_json() for each in outcome.warnings], found.zone),
        members=[each for each in members if each.overlaps] or members,
    )
    return ask(request, question)


async def _effects(
    request: ConsoleRequest, found: ClassDetails, form: class_form.ClassForm, members: Sequence[AffectedMember]
) -> list[str]:
    effects = []
    zone = found.zone
    if form.times is not None:
        start, _ = form.times.instants(zone)
        effects.append(f"New time: {day_and_time(start, zone.key)}, {form.times.minutes} minutes.")
    new = [name for name in UNDOABLE if name in form.values and form.values[name] != _text(found.row[name])]
    if new:
        choices = await class_pages.read_choices(request, found.row["location_id"])
        names = {str(each.id): each.name for each in (*choices.rooms, *choices.instructors)}
        effects += [f"New {name.removesuffix('_id')}: {names.get(str(form.values[name]), 'none')}." for name in new]
    booked = sum(not each.is_waiting for each in members)
    if booked:
        effects.append(f"{counted(booked, 'booking')} {'moves' if booked == 1 else 'move'} with the class.")
    busy = sum(each.overlaps for each in members)
    if busy:
        effects.append(f"{counted(busy, 'member')} {'has' if busy == 1 else 'have'} another class at the new time.")
    if found.row["series_id"] is not None and not found.row["detached"]:
        effects.append("The class leaves its series: later changes of the series do not concern it.")
    return effects


def _changed(request: ConsoleRequest, found: ClassDetails, form: class_form.ClassForm, saved: Saved) -> Answer:
    """Lead to the week of the changed class, with the way to take a move or a substitution back."""
    href = class_pages.week_of_class(found, None if form.times is None else form.times.day)
    title = form.values.get("title") or found.row["title"]
    is_undone, is_moved = UNDOES in request.form, form.times is not None
    text = f"{title} is {'moved' if is_moved else 'changed'}."
    if is_undone:
        text = f"The {'move' if is_moved else 'change'} is undone."
    if saved.promoted:
        text += f" {counted(saved.promoted, 'member')} got a seat from the waitlist."
    return done(request, href, text, None if is_undone else _undo(found, form))


def _undo(found: ClassDetails, form: class_form.ClassForm) -> UndoAction | None:
    """Return the form that restores time, room and instructor, if only these have changed."""
    row = found.row
    other = {
        name for name, value in form.values.items() if name not in UNDOABLE and _text(row.get(name)) != _text(value)
    }
    fields = {
        name: _text(row[name]) or ""
        for name in UNDOABLE
        if name in form.values and _text(form.values[name]) != _text(row[name])
    }
    if form.times is not None:
        fields |= class_form.stored_times(found)
    if other or not fields or found.has_started:
        return None
    marks = {"confirmed": "on", UNDOES: "on"}
    if row["series_id"] is not None and not row["detached"]:
        marks[REJOINS] = "on"
    return UndoAction(class_pages.class_path(row["id"]), {**fields, **marks})


def _text(value: object) -> str | None:
    return None if value is None else str(value)


@page("/schedule/classes/{class_id}/cancel", Permission.SCHEDULE)
@about(class_pages.read_class)
async def preview_cancel(request: ConsoleRequest, found: ClassDetails) -> Answer:
    """Show who would be affected if the class were cancelled now."""
    if found.is_cancelled or found.has_ended:
        return request.not_found()
    members = await request.read(staff.affected_by_cancelling, found.row["id"])
    question = Question(
        f"Cancel {found.row['title']}?",
        day_and_time(found.row["start_time"], found.zone.key),
        class_pages.class_path(found.row["id"], "/cancel"),
        "Cancel the class",
        class_pages.class_path(found.row["id"]),
        {},
        effects=_effects_of_cancelling(members or ()),
        members=members or (),
        kind="danger",
        asks_reason=True,
    )
    return ask(request, question)


def _effects_of_cancelling(members: Sequence[AffectedMember]) -> list[str]:
    booked = sum(not each.is_waiting for each in members)
    waiting = len(members) - booked
    returned = sum(each.credits_returned for each in members)
    effects = [f"{counted(booked, 'booking')} will be cancelled." if booked else "Nobody has booked it."]
    if waiting:
        effects.append(f"{counted(waiting, 'member')} will be taken off the waitlist.")
    if returned:
        effects.append(f"{counted(returned, 'credit')} will be returned.")
    if booked:
        effects.append("Nobody pays a fee.")
    return [*effects, "A cancelled class cannot be restored."]


@action("/schedule/classes/{class_id}/cancel", Permission.SCHEDULE)
@about(class_pages.read_class)
async def cancel_class(request: ConsoleRequest, found: ClassDetails) -> Answer:
    class_id, reason = found.row["id"], request.form.get("reason", "").strip() or None
    outcome = await request.run(staff.cancel_class, class_id, reason)
    if isinstance(outcome, Refusal):
        # A class that is cancelled by now is shown; there is no question any more.
        return request.refused(outcome, class_pages.class_path(class_id, "/cancel" if outcome.faults else ""))
    text = f"{found.row['title']} is cancelled: {counted(outcome.bookings_cancelled - outcome.waiting, 'booking')}"
    text += f", {counted(outcome.credits_returned, 'credit')} returned{off_waitlist(outcome.waiting)}."
    return done(request, class_pages.week_of_class(found), text)
