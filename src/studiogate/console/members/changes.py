"""Create a member, change the profile, suspend, and add a note."""

from collections.abc import Mapping

from studiogate.console.framework.page import action, page
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.posted import SEEN, seen_text, untouched
from studiogate.console.framework.refusals import Resolution
from studiogate.console.framework.request import ConsoleRequest, UndoAction, own_page
from studiogate.console.framework.run_flow import run
from studiogate.console.members.profile import address, member_of, no_member, show
from studiogate.domain.members import NEW_MEMBER
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.members import staff as flows
from studiogate.web.response import Answer


@page("GET", "/members/new", Permission.MEMBERS)
async def show_new(request: ConsoleRequest) -> Answer:
    return request.render("members/new.html")


@action("POST", "/members/new", Permission.MEMBERS)
async def create(request: ConsoleRequest) -> Answer:
    given = {name: each for name, each in _given(request).items() if each is not None and each != ""}
    made = await run(request, flows.create, given)
    if isinstance(made, Refusal):
        return request.refused(_plain(made), "/console/members/new", resolution_of(made))
    return request.go_to(address(made["id"]), toast=f"Created {made['name']}.")


@page("GET", "/members/{member_id}/change", Permission.MEMBERS)
async def show_change(request: ConsoleRequest) -> Answer:
    """Show the profile's form. After a refusal it still says what it showed first."""
    async with request.database.connection() as connection:
        member = await member_of(connection, request)
    if member is None:
        return await no_member(request)
    seen = (request.typed or {}).get(SEEN) or seen_text({name: member[name] or "" for name in NEW_MEMBER})
    return show(request, "members/change.html", member, seen=seen)


@action("POST", "/members/{member_id}/change", Permission.MEMBERS)
async def change(request: ConsoleRequest) -> Answer:
    member_id = as_id(request.params["member_id"])
    changed = await run(request, flows.change, member_id, _given(request)) if member_id else NOT_FOUND
    if isinstance(changed, Refusal):
        back = address(request.params["member_id"], "change")
        return request.refused(_plain(changed), back, resolution_of(changed))
    return request.go_to(address(changed["id"]), toast="Saved.")


def _given(request: ConsoleRequest) -> Mapping[str, object]:
    """Return the fields that were typed; an empty one that is not required is cleared."""
    same = untouched(request.form, NEW_MEMBER)
    posted = {name: request.form[name] for name in NEW_MEMBER if name in request.form and name not in same}
    return {name: None if not NEW_MEMBER[name].required and not each.strip() else each for name, each in posted.items()}


def _plain(refusal: Refusal) -> Refusal:
    """Return a refusal whose faults name the fields of the form, not the members of a JSON body."""
    faults = [each._replace(loc=each.loc[1:]) if each.loc[:1] == ("body",) else each for each in refusal.faults]
    return Refusal(refusal.code, refusal.details, refusal.param, faults)


def resolution_of(refusal: Refusal) -> Resolution | None:
    """Return the link to the member whose email was given again."""
    other = as_id(str(refusal.details.get("member_id")))
    if refusal.code is not Code.MEMBER_EXISTS or other is None:
        return None
    return Resolution("Open that member", address(other))


@page("GET", "/members/{member_id}/note", Permission.MEMBERS)
async def show_note(request: ConsoleRequest) -> Answer:
    return await show_member(request, "members/note.html")


@action("POST", "/members/{member_id}/note", Permission.MEMBERS)
async def add_note(request: ConsoleRequest) -> Answer:
    member_id = as_id(request.params["member_id"])
    done = await run(request, flows.add_note, member_id, request.form.get("note", "")) if member_id else NOT_FOUND
    if isinstance(done, Refusal):
        return request.refused(_plain(done), address(request.params["member_id"], "note"))
    return request.go_to(address(done), toast="Added the note.")


@page("GET", "/members/{member_id}/suspend", Permission.MEMBERS)
async def show_suspend(request: ConsoleRequest) -> Answer:
    return await show_member(request, "members/suspend.html")


@action("POST", "/members/{member_id}/suspend", Permission.MEMBERS)
async def suspend(request: ConsoleRequest) -> Answer:
    return await _set_suspended(request, suspended=True)


@action("POST", "/members/{member_id}/unsuspend", Permission.MEMBERS)
async def unsuspend(request: ConsoleRequest) -> Answer:
    return await _set_suspended(request, suspended=False)


async def _set_suspended(request: ConsoleRequest, *, suspended: bool) -> Answer:
    member_id, reason = as_id(request.params["member_id"]), request.form.get("reason", "").strip() or None
    flow = flows.suspend if suspended else flows.unsuspend
    done = await run(request, flow, member_id, reason) if member_id else NOT_FOUND
    if isinstance(done, Refusal):
        return request.refused(done, address(request.params["member_id"]))
    undo = UndoAction(address(done, "unsuspend" if suspended else "suspend"))
    text = "Suspended: no new bookings are possible." if suspended else "The suspension has ended."
    return request.go_to(own_page(request.form.get("next")) or address(done), toast=text, undo=undo)


async def show_member(request: ConsoleRequest, template: str, **values: object) -> Answer:
    """Show a form about the member that the path names."""
    async with request.database.connection() as connection:
        member = await member_of(connection, request)
    return await no_member(request) if member is None else show(request, template, member, **values)
