"""Cancel a class after a look at who is affected and what they get back."""

from collections.abc import Sequence

from studiogate.console.framework.formats import counted, day_and_time
from studiogate.console.framework.page import action, page
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.framework.run_flow import run
from studiogate.console.schedule.class_pages import class_path, read_class, week_of_class
from studiogate.console.schedule.confirm import Question, ask
from studiogate.console.schedule.responses import done
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.bookings import staff
from studiogate.flows.bookings.staff import AffectedMember
from studiogate.web.response import Answer


@page("GET", "/schedule/classes/{class_id}/cancel", Permission.SCHEDULE)
async def preview_cancel(request: ConsoleRequest) -> Answer:
    """Show who would be affected if the class were cancelled now."""
    found = await read_class(request)
    if found is None or found.is_cancelled or found.has_ended:
        return request.not_found()
    async with request.database.connection() as connection:
        members = await staff.affected_by_cancelling(connection, request.access, found.row["id"])
    question = Question(
        f"Cancel {found.row['title']}?",
        day_and_time(found.row["start_time"], found.zone.key),
        class_path(found.row["id"], "/cancel"),
        "Cancel the class",
        class_path(found.row["id"]),
        {},
        effects=_effects(members or ()),
        members=members or (),
        kind="danger",
        asks_reason=True,
    )
    return ask(request, question)


def _effects(members: Sequence[AffectedMember]) -> list[str]:
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


@action("POST", "/schedule/classes/{class_id}/cancel", Permission.SCHEDULE)
async def cancel_class(request: ConsoleRequest) -> Answer:
    """Cancel a class with all its bookings."""
    found = await read_class(request)
    if found is None:
        return request.not_found()
    class_id, reason = found.row["id"], request.form.get("reason", "").strip() or None
    outcome = await run(request, lambda connection, access: staff.cancel_class(connection, access, class_id, reason))
    if isinstance(outcome, Refusal):
        # A class that is cancelled by now is shown; there is no question any more.
        return request.refused(outcome, class_path(class_id, "/cancel" if outcome.faults else ""))
    text = f"{found.row['title']} is cancelled: {counted(outcome.bookings_cancelled, 'booking')}"
    return done(request, week_of_class(found), f"{text}, {counted(outcome.credits_returned, 'credit')} returned.")
