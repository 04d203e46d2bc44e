"""The people who work at the studio: invite, roles, sessions, and links with which they choose a password."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from studiogate.console.framework import Action, ConsoleRequest, Done, Form, Subject, about, action, page
from studiogate.console.framework.formats import counted
from studiogate.console.framework.inputs import Row
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.posted import renamed_faults
from studiogate.domain.refusals import Fault, Refusal
from studiogate.domain.staff import UNLIMITED, Grant, Permission, Role
from studiogate.domain.staff.tokens import link_path
from studiogate.domain.staff_input import refused
from studiogate.flows.staff import roles
from studiogate.flows.staff.roles import Invitation
from studiogate.flows.staff.sessions import IssuedLink
from studiogate.storage import staff
from studiogate.storage.accounts import accounts, sessions
from studiogate.web.public_address import known_address
from studiogate.web.response import Answer

STAFF = "/console/staff"
FIELDS = {"location_ids": "locations", "instructor_id": "instructor"}
# What each role may do, in the order in which they are offered.
ROLES: Mapping[Role, str] = {role: role.text for role in Role}


def name_of(row: Row) -> str:
    return str(row["name"] or row["email"])


def role_name(role: str) -> str:
    return role.replace("_", " ").capitalize()


PERSON = Subject(
    "account",
    "/staff/{account_id}",
    Permission.STAFF,
    staff.read_person,
    lambda row: f"{STAFF}/{row['id']}",
    name_of,
    {"roles": ROLES, "role_name": role_name},
)


@page("/staff", Permission.STAFF)
async def show_staff(request: ConsoleRequest) -> Answer:
    people = await request.read(staff.list_staff)
    own = request.signed_in.session.account_id
    return request.render("staff/list.html", people=people, own=own, roles=ROLES, role_name=role_name)


@page("/staff/{account_id}", Permission.STAFF)
@about(PERSON.of_path)
async def show_person(request: ConsoleRequest, row: Row) -> Answer:
    return await _person(request, row)


async def _person(request: ConsoleRequest, row: Row, **link: object) -> Answer:
    """Show somebody; ``link`` is one that was made just now and is shown once."""
    own = request.signed_in.session.account_id
    async with request.database.connection() as connection:
        beyond = await accounts.beyond(connection, own, [row["id"]])
        open_sessions = await sessions.list_sessions(connection, row["id"], request.access.studio_id)
    values = {"own": own, "is_beyond": bool(beyond), "sessions": open_sessions, "url": None, **link}
    return request.render("staff/person.html", **{**PERSON.shown(row), **values})


# Who works here, as what: the forms of an invitation and of a role.


async def _grant_form(request: ConsoleRequest, template: str, row: Row, **values: Any) -> Answer:
    instructors = await request.read(staff.list_instructors)
    typed = request.posted.lists if request.typed is not None else {}
    values |= {
        "roles": ROLES,
        "role_name": role_name,
        "unlimited": UNLIMITED,
        "instructors": instructors,
        "chosen": typed.get("role", [row["role"]])[0],
        "at": typed["locations"] if "locations" in typed else [str(each) for each in row["location_ids"] or ()],
        "whose": typed.get("instructor", [str(row["instructor_id"] or "")])[0],
    }
    return request.render(template, **values)


def _grant(request: ConsoleRequest) -> Grant | Refusal:
    """Return the role that the form says. What a role cannot have is left out, as the form hides it."""
    given, lists = request.form.get("role"), request.posted.lists
    if given not in set(Role):
        return refused(Fault(("role",), "missing", "Choose what they may do."))
    role = Role(given)
    # What is no id stays a limit, of an unknown location, which is refused: without any limit it would be all of them.
    limits = [as_id(each) or UUID(int=0) for each in lists.get("locations", ())] if role not in UNLIMITED else []
    instructor = as_id(request.form.get("instructor")) if role is Role.INSTRUCTOR else None
    return Grant(role, tuple(limits) or None, instructor)


NOBODY: Row = {"role": Role.FRONT_DESK.value, "location_ids": None, "instructor_id": None}


@page("/staff/invite", Permission.STAFF)
async def show_invitation(request: ConsoleRequest) -> Answer:
    return await _grant_form(request, "staff/invite.html", NOBODY)


@action("/staff/invite", Permission.STAFF)
async def invite(request: ConsoleRequest) -> Answer:
    """Invite somebody. Where no mail is sent, the answer is the page with the link: nothing else ever shows it."""
    grant = _grant(request)
    if isinstance(grant, Refusal):
        return request.refused(grant, f"{STAFF}/invite")
    return await _invite(request, request.form.get("email", ""), grant, f"{STAFF}/invite")


@action("/staff/{account_id}/invitation", Permission.STAFF)
@about(PERSON.of_path)
async def invite_again(request: ConsoleRequest, row: Row) -> Answer:
    """Make another link for somebody who has not accepted yet; earlier ones end."""
    grant = Grant(Role(row["role"]), row["location_ids"] and tuple(row["location_ids"]), row["instructor_id"])
    return await _invite(request, row["email"], grant, PERSON.address(row))


async def _invite(request: ConsoleRequest, email: str, grant: Grant, back: str) -> Answer:
    invited = await request.run(roles.invite, Invitation(email, grant, mail=request.sends_mail))
    if isinstance(invited, Refusal):
        return request.refused(renamed_faults(invited, FIELDS), back)
    if invited.link is not None:
        return await _with_link(request, invited.account_id, invited.link, "invitation")
    then = "A mail with a link is on its way." if request.sends_mail and invited.is_new else "They sign in as before."
    if invited.is_new and not request.sends_mail:
        then = "They work for another studio too: ask the operator of this installation for the link."
    return request.redirect(f"{STAFF}/{invited.account_id}", toast=f"{invited.email} is invited. {then}")


async def _with_link(request: ConsoleRequest, account_id: UUID, link: IssuedLink, kind: str) -> Answer:
    """Show somebody with a link for them. No drawer: the link belongs to their page."""
    row = await request.read(staff.read_person, account_id)
    url = known_address(request.runtime.settings) + link_path(link.token)
    return await _person(request, row, url=url, expires_at=link.expires_at, kind=kind)


@page("/staff/{account_id}/role", Permission.STAFF)
@about(PERSON.of_path)
async def show_role(request: ConsoleRequest, row: Row) -> Answer:
    return await _grant_form(request, "staff/role.html", row, **PERSON.shown(row))


@action("/staff/{account_id}/role", Permission.STAFF)
@about(PERSON.of_path)
async def change_role(request: ConsoleRequest, row: Row) -> Answer:
    grant = _grant(request)
    if not isinstance(grant, Refusal):
        changed = await request.run(roles.change_role, row["id"], grant)
        if not isinstance(changed, Refusal):
            text = f"{name_of(row)} is {role_name(grant.role).lower()} now."
            return request.redirect(PERSON.address(row), toast=text)
        grant = changed
    return request.refused(renamed_faults(grant, FIELDS), f"{PERSON.address(row)}/role")


@action("/staff/{account_id}/reset-link", Permission.STAFF)
@about(PERSON.of_path)
async def make_reset_link(request: ConsoleRequest, row: Row) -> Answer:
    """Make a link that sets a new password. The page with it is the answer itself: nothing else ever shows it."""
    made = await request.run(roles.make_reset_link, row["id"], mail=request.sends_mail)
    if isinstance(made, Refusal):
        return request.refused(made, PERSON.address(row))
    return await _with_link(request, row["id"], made, "reset")


@action("/staff/{account_id}/sessions/{session_id}/end", Permission.STAFF)
@about(PERSON.of_path)
async def end_session(request: ConsoleRequest, row: Row) -> Answer:
    ended = await request.run(roles.end_sessions, row["id"], request.param_id("session_id"))
    if isinstance(ended, Refusal):
        return request.refused(ended, PERSON.address(row))
    return request.redirect(PERSON.address(row), toast="The session has ended.")


def _ended(done: Done) -> str:
    return counted(done.result, "session")


ACTIONS = (
    Action(
        PERSON,
        "disable",
        roles.disable,
        lambda done: f"{name_of(done.row)} cannot sign in to this studio any more. {_ended(done)} ended.",
        form=Form(
            "Take the access away",
            "Take the access away",
            "Their sessions in this studio end at once. What they did stays in the audit log. You can give the access "
            "back at any time.",
            "danger",
        ),
        is_offered=lambda row: bool(row["state"] != "disabled"),
        undo="enable",
    ),
    Action(
        PERSON,
        "enable",
        roles.enable,
        lambda done: f"{name_of(done.row)} can sign in again.",
        is_offered=lambda row: bool(row["state"] == "disabled"),
    ),
    Action(PERSON, "end-sessions", roles.end_sessions, lambda done: f"{_ended(done)} of {name_of(done.row)} ended."),
)
