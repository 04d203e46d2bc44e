"""The rules of the studio's bookings: every member of its policy with what it does. Before they are saved, they are
compared with the last 90 days."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from studiogate.console import policies
from studiogate.console.framework import ConsoleRequest, UndoAction, Values, action, page
from studiogate.console.framework.formats import counted
from studiogate.console.framework.posted import SEEN, seen_text, untouched
from studiogate.console.policies import GROUPS, UNIT, UNITS, Facts, Typed
from studiogate.console.settings.countries import CHOICES
from studiogate.domain.bookings.policy import LOOKS_BACK, POLICY_MEMBERS, LeadTimes, Policy, effects_of, policy_faults
from studiogate.domain.refusals import Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows import studio as flows
from studiogate.storage import studio as storage
from studiogate.storage.policy_effects import form_titles, lead_times
from studiogate.web.response import Answer

PATH = "/console/settings/rules"


class Stored(NamedTuple):
    members: dict[str, object]
    policy: Policy
    facts: Facts


async def _read(request: ConsoleRequest) -> Stored:
    async with request.database.connection() as connection:
        row = await storage.read_settings(connection, request.access)
        forms = await form_titles(connection, request.access)
    members = {} if row is None else json.loads(row["policy"])
    return Stored(members, Policy.from_json(members), Facts(request.frame.currency, forms))


def _given(request: ConsoleRequest, stored: Stored) -> dict[str, object | Fault]:
    """Return the members that the form changes. A time is changed if its number or its unit is."""
    form = request.form
    same = untouched(form, [*POLICY_MEMBERS, *(name + UNIT for name in POLICY_MEMBERS if name + UNIT in form)])
    names = [
        each
        for each in POLICY_MEMBERS
        if each in form and not (each in same and (each + UNIT in same or each + UNIT not in form))
    ]
    return policies.read(form, names, stored.policy, stored.facts.currency)


@page("/settings/rules", Permission.STUDIO)
async def show(request: ConsoleRequest) -> Answer:
    stored = await _read(request)
    return await _page(request, stored, stored.policy)


@action("/settings/rules/preview", Permission.STUDIO)
async def preview(request: ConsoleRequest) -> Answer:
    """Show the page with what the typed rules would have done; nothing is saved."""
    stored = await _read(request)
    given = _given(request, stored)
    faults = [each for each in given.values() if isinstance(each, Fault)]
    found = policy_faults({**stored.members, **given}, stored.facts.currency)
    if faults or found:
        return request.refused(refused(*faults or (fault(name, text) for name, text in found)), PATH)
    request.typed = request.form
    return await _page(request, stored, Policy.from_json({**stored.members, **given}))


@action("/settings/rules", Permission.STUDIO)
async def save(request: ConsoleRequest) -> Answer:
    stored = await _read(request)
    given = _given(request, stored)
    faults = [each for each in given.values() if isinstance(each, Fault)]
    saved = refused(*faults) if faults else await request.run(flows.change_rules, given)
    if isinstance(saved, Refusal):
        return request.refused(_by_member(saved), PATH)
    if not given:
        return request.redirect(PATH, toast="Nothing was changed.")
    undo = UndoAction(PATH, _fields([(name, policies.typed_of(stored.policy, name)) for name in given]))
    return request.redirect(PATH, toast="The rules are saved. They apply to bookings from now on.", undo=undo)


def _by_member(refusal: Refusal) -> Refusal:
    """Return a refusal of the policy with its faults beside the inputs of its members."""
    faults = [each._replace(loc=each.loc[each.loc[:1] == ("policy",) :]) for each in refusal.faults]
    return Refusal(refusal.code, refusal.details, refusal.param, faults)


def _fields(typed: Sequence[tuple[str, Typed]]) -> dict[str, str]:
    """Return the fields of a form that sets members to these values."""
    values = {name: each.value for name, each in typed}
    return values | {name + UNIT: each.unit for name, each in typed if policies.rule_of(name).kind == "minutes"}


async def _page(request: ConsoleRequest, stored: Stored, policy: Policy) -> Answer:
    leads = await request.read(lead_times, LOOKS_BACK)
    typed = [(name, policies.typed_of(stored.policy, name)) for name in POLICY_MEMBERS]
    values: Values = {
        "groups": [(title, names) for title, names in GROUPS if names],
        "rules": {name: policies.rule_of(name) for name in POLICY_MEMBERS},
        "fields": dict(typed),
        "sentences": {name: policies.rule_of(name).says(policy, stored.facts) for name in POLICY_MEMBERS},
        "seen": (request.typed or {}).get(SEEN) or seen_text(_fields(typed)),
        "units": UNITS,
        "options": {"form": list(stored.facts.forms.items()), "currency": CHOICES["currency"]},
        "effects": _effects(stored.policy, policy, leads),
        "is_changed": policy != stored.policy,
    }
    return request.render("settings/rules.html", **values)


def _effects(now: Policy, then: Policy, leads: LeadTimes) -> list[str]:
    """Return what these rules would have made of the last 90 days, beside what the present ones make of them."""
    was, becomes = effects_of(now, leads), effects_of(then, leads)
    newest = "the newest of " if leads.is_cut else ""
    days = f"{newest}the last {LOOKS_BACK.days} days"
    cancelled = counted(len(leads.cancelled), "cancellation")
    booked = counted(len(leads.booked), "booking")
    lines = [
        (cancelled, "late", was.late, becomes.late, leads.cancelled),
        (booked, "refused because booking has not opened", was.too_early, becomes.too_early, leads.booked),
        (booked, "refused because booking has closed", was.too_late, becomes.too_late, leads.booked),
    ]
    shown = [
        f"Of {count} in {days}, {after} would have been {what}" + (f" instead of {before}." if before != after else ".")
        for count, what, before, after, among in lines
        if among and (before or after)
    ]
    if not leads.cancelled and not leads.booked:
        return [f"Nobody has booked or cancelled in the last {LOOKS_BACK.days} days: there is nothing to compare with."]
    return shown or [f"{booked} and {cancelled} in {days}: nothing late and nothing refused."]
