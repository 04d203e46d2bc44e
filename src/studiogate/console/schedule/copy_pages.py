"""Copy a week: choose the other week, see what would be created and skipped, copy."""

from datetime import timedelta

from studiogate.console.framework.formats import counted
from studiogate.console.framework.page import action, page
from studiogate.console.framework.parse import DATES, read_date
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.framework.run_flow import run
from studiogate.console.schedule.class_pages import with_fields
from studiogate.console.schedule.confirm import done
from studiogate.console.schedule.week import PATH, chosen_week, posted_week
from studiogate.domain.refusals import NOT_FOUND, Code, Fault, Refusal
from studiogate.domain.schedule.copy_week import SkipReason, week_of
from studiogate.domain.staff import Permission
from studiogate.flows.schedule import copy_week as flow
from studiogate.flows.schedule.copy_week import WeekCopy
from studiogate.web.response import Answer

COPY = f"{PATH}/copy"
REASONS = {
    SkipReason.PAST: "in the past",
    SkipReason.SERIES: "its series creates it",
    SkipReason.EXISTS: "is there already",
    SkipReason.CLOSED: "closed that day",
    SkipReason.INACTIVE: "uses something deactivated",
    SkipReason.CLASH: "clashes",
}


@page("GET", "/schedule/copy", Permission.SCHEDULE)
async def preview_copy(request: ConsoleRequest) -> Answer:
    """Show which classes of a week would be created in another one, and which are skipped."""
    week = chosen_week(request.frame.locations, request.query)
    if week is None:
        return request.render("schedule/empty.html")
    target = read_date(request.query.get("target")) or week.days.first + timedelta(weeks=1)
    wanted = WeekCopy(week.place.id, week.days.first, target)
    async with request.database.connection() as connection:
        planned = await flow.preview(connection, request.access, wanted)
    problem = _problem(planned) if isinstance(planned, Refusal) else None
    copies = () if isinstance(planned, Refusal) else planned.copies
    return request.render(
        "schedule/copy.html",
        week=week,
        target=week_of(target).first,
        copies=copies,
        created=sum(each.skipped is None for each in copies),
        reasons=REASONS,
        problem=problem,
        dates=DATES,
    )


def _problem(refusal: Refusal) -> str:
    return "Choose another week." if refusal.code is Code.VALIDATION_ERROR else refusal.message


@action("POST", "/schedule/copy", Permission.SCHEDULE)
async def copy_week(request: ConsoleRequest) -> Answer:
    """Copy the week that was previewed."""
    week = posted_week(request.frame.locations, request.form)
    target = read_date(request.form.get("target"))
    if week is None:
        return request.refused(NOT_FOUND)
    back = with_fields(COPY, {"location": str(week.place.id), "week": str(week.days.first)})
    if target is None:
        fault = Fault(("target",), "value_error", 'must be a date such as "2026-12-24"')
        return request.refused(Refusal(Code.VALIDATION_ERROR, faults=[fault]), back)
    wanted = WeekCopy(week.place.id, week.days.first, target)
    copied = await run(request, lambda connection, access: flow.copy_week(connection, access, wanted))
    if isinstance(copied, Refusal):
        return request.refused(copied, back)
    return done(request, week.href(week=str(target)), f"{counted(len(copied.created), 'class', 'classes')} copied.")
