"""What staff do with one membership: pause and resume, cancel, renew automatically or not, adjust credits."""

from collections.abc import Awaitable, Callable
from uuid import UUID

from studiogate.console.framework.page import action, page, run
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.request import ConsoleRequest, UndoAction
from studiogate.console.members import words
from studiogate.console.members.form_values import only_faults, read_day, read_whole, value
from studiogate.console.members.prices import with_renewal
from studiogate.console.members.profile import address
from studiogate.domain.membership_changes import CHANGEABLE, Pause
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import refused
from studiogate.flows import membership_changes as flows
from studiogate.storage import member_profile as storage
from studiogate.storage.db.pool import Record
from studiogate.web.response import Answer

PATH = "/console/memberships"
FORMS = ("pause", "cancel", "credits")


def form_address(membership_id: UUID | str, form: str) -> str:
    return f"{PATH}/{membership_id}/{form}"


@page("GET", "/memberships/{membership_id}/{form}", Permission.SALES)
async def show_form(request: ConsoleRequest) -> Answer:
    """Show the form of a change: pause, cancel or credits."""
    form = request.params["form"]
    membership = await _read(request)
    if membership is None or form not in FORMS:
        return request.not_found()
    return request.render(
        f"members/membership_{form}.html",
        membership=with_renewal(membership),
        base=address(membership["member_id"]),
        words=words,
        is_live=membership["status"] in CHANGEABLE,
    )


async def _read(request: ConsoleRequest) -> Record | None:
    membership_id = as_id(request.params["membership_id"])
    if membership_id is None:
        return None
    async with request.database.connection() as connection:
        return await storage.read_membership(connection, request.access, membership_id)


@action("POST", "/memberships/{membership_id}/pause", Permission.SALES)
async def pause(request: ConsoleRequest) -> Answer:
    membership = await _read(request)
    if membership is None:
        return request.not_found()
    form, timezone = request.form, membership["timezone"]
    starts = read_day("starts_at", form.get("starts_at", ""), timezone)
    ends = read_day("ends_at", form.get("ends_at", ""), timezone)
    back, faults = form_address(membership["id"], "pause"), only_faults(starts, ends)
    if faults:
        return request.refused(refused(*faults), back)
    asked = Pause(value(starts), value(ends), form.get("reason", "").strip() or None)
    done = await run(request, flows.pause, membership["id"], asked)
    if isinstance(done, Refusal):
        return request.refused(done, back)
    planned = done.status != "paused"
    text = f"{membership['product']} {'will be paused' if planned else 'is paused'}."
    undo = UndoAction(form_address(membership["id"], "resume"))
    return request.go_to(address(membership["member_id"]), toast=text, undo=undo)


@action("POST", "/memberships/{membership_id}/resume", Permission.SALES)
async def resume(request: ConsoleRequest) -> Answer:
    return await _simply(request, flows.resume, "runs again")


@action("POST", "/memberships/{membership_id}/cancel", Permission.SALES)
async def cancel(request: ConsoleRequest) -> Answer:
    membership = await _read(request)
    if membership is None:
        return request.not_found()
    at_end, reason = request.form.get("when") == "period_end", request.form.get("reason", "").strip() or None
    done = await run(request, flows.cancel, membership["id"], reason, at_period_end=at_end)
    if isinstance(done, Refusal):
        return request.refused(done, form_address(membership["id"], "cancel"))
    when = "will end with its period" if at_end else "is cancelled"
    undo = UndoAction(form_address(membership["id"], "uncancel")) if at_end else None
    return request.go_to(address(membership["member_id"]), toast=f"{membership['product']} {when}.", undo=undo)


@action("POST", "/memberships/{membership_id}/uncancel", Permission.SALES)
async def uncancel(request: ConsoleRequest) -> Answer:
    return await _simply(request, flows.uncancel, "goes on")


@action("POST", "/memberships/{membership_id}/renewal", Permission.SALES)
async def renewal(request: ConsoleRequest) -> Answer:
    """Switch the automatic renewal on or off."""
    renews = request.form.get("auto_renew") == "yes"
    return await _simply(request, flows.set_renewal, "renews" if renews else "does not renew", renews)


@action("POST", "/memberships/{membership_id}/credits", Permission.SALES)
async def adjust_credits(request: ConsoleRequest) -> Answer:
    membership = await _read(request)
    if membership is None:
        return request.not_found()
    back = form_address(membership["id"], "credits")
    change = read_whole("credits", request.form.get("credits", ""))
    if not isinstance(change, int):
        return request.refused(refused(change), back)
    reason = request.form.get("reason", "")
    done = await run(request, flows.adjust_credits, membership["id"], change, reason)
    if isinstance(done, Refusal):
        return request.refused(done, back)
    text = f"{membership['product']} has {done.credits_remaining} credits now."
    undo = UndoAction(back, {"credits": str(-change), "reason": f"Undo: {reason}"[:500]})
    return request.go_to(address(membership["member_id"]), toast=text, undo=undo)


async def _simply(
    request: ConsoleRequest, flow: Callable[..., Awaitable[object]], text: str, *arguments: object
) -> Answer:
    """Run a flow that needs nothing but the membership."""
    membership = await _read(request)
    if membership is None:
        return request.not_found()
    back = address(membership["member_id"])
    done = await run(request, flow, membership["id"], *arguments)
    if isinstance(done, Refusal):
        return request.refused(done, back)
    return request.go_to(back, toast=f"{membership['product']} {text}.")
