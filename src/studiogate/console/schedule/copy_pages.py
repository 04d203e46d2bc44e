"""Copy a week: choose the other week, see what would be created and skipped, copy."""

from collections.abc import Mapping
from datetime import timedelta

from studiogate.console.framework import ConsoleRequest, about, action, page
from studiogate.console.framework.formats import counted, with_query
from studiogate.console.framework.parse import DATES, NO_DATE, read_date
from studiogate.console.framework.words import WORDS
from studiogate.console.schedule.confirm import done
from studiogate.console.schedule.week import PATH, Week, week_of_address, week_of_form
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.schedule.copy_week import week_of
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows.schedule import copy_week as flow
from studiogate.flows.schedule.copy_week import WeekCopy
from studiogate.web.response import Answer

REASONS: Mapping[str, str] = WORDS["skipped"]


@page("/schedule/copy", Permission.SCHEDULE)
@about(week_of_address)
async def preview_copy(request: ConsoleRequest, week: Week) -> Answer:
    """Show which classes of a week would be created in another one, and which are skipped."""
    target = read_date(request.query.get("target")) or week.days.first + timedelta(weeks=1)
    wanted = WeekCopy(week.place.id, week.days.first, target)
    planned = await request.read(flow.preview, wanted)
    copies = () if isinstance(planned, Refusal) else planned.copies
    problem = planned.message if isinstance(planned, Refusal) else None
    if isinstance(planned, Refusal) and planned.code is Code.VALIDATION_ERROR:
        problem = "Choose another week."
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


@action("/schedule/copy", Permission.SCHEDULE)
@about(week_of_form)
async def copy_week(request: ConsoleRequest, week: Week) -> Answer:
    target = read_date(request.form.get("target"))
    back = with_query(f"{PATH}/copy", location=week.place.id, week=week.days.first)
    if target is None:
        return request.refused(refused(fault("target", NO_DATE)), back)
    copied = await request.run(flow.copy_week, WeekCopy(week.place.id, week.days.first, target))
    if isinstance(copied, Refusal):
        return request.refused(copied, back)
    return done(request, week.href(week=str(target)), f"{counted(len(copied.created), 'class', 'classes')} copied.")
