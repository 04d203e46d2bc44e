"""What the studio's people and a partner do on the day of loading, through the ordinary flows.

It fills the event log and the audit log with real entries: sales, check-ins, a promotion from the waitlist, a waived
fee. The seed determines who does what; the rows that are created here have new ids.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from studiogate.demo.at_the_desk import DESK_STEPS
from studiogate.demo.behind_the_desk import OFFICE_STEPS
from studiogate.demo.day import Day, Step
from studiogate.demo.seed import Seed
from studiogate.demo.staff import FRONT_DESK, MANAGER, STAFF, Colleague
from studiogate.domain.access import Access, Scope, operator_access, staff_access
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import PERMISSIONS, Channel, Grant, Staff
from studiogate.flows.staff import roles
from studiogate.flows.staff.roles import Invitation
from studiogate.storage.db.pool import Connection

STEPS: Sequence[Step] = (*DESK_STEPS, *OFFICE_STEPS)


async def act(connection: Connection, studio_id: UUID, credential_id: str, now: datetime, seed: int) -> list[str]:
    """Let the day happen; return the steps that were refused, with the code. None are, unless the studio differs."""
    chance = Seed(seed)
    accounts = {each.email: await _invite(connection, studio_id, chance, each) for each in STAFF}
    partner = Access(studio_id, credential_id, frozenset(Scope), None)
    at_work = {each.email: _access(studio_id, chance, each, accounts[each.email]) for each in STAFF}
    day = Day(connection, chance, now, at_work[FRONT_DESK.email], at_work[MANAGER.email], partner)
    outcomes = [(step.__name__, await step(day)) for step in STEPS]
    return [f"{name}: {outcome.code}" for name, outcome in outcomes if isinstance(outcome, Refusal)]


async def _invite(connection: Connection, studio_id: UUID, seed: Seed, colleague: Colleague) -> UUID:
    """Not by a command, which would issue a link: nobody is to hold one that was not asked for."""
    wanted = Invitation(colleague.email, _grant(seed, colleague), name=colleague.name)
    invited = await roles.invite(connection, operator_access(studio_id, "demo", Channel.IMPORT), wanted)
    if isinstance(invited, Refusal):
        raise ValueError(f"{colleague.email} cannot work at the demo studio: {invited.code}")
    return invited.account_id


def _grant(seed: Seed, colleague: Colleague) -> Grant:
    locations = tuple(UUID(seed.uuid("location", key)) for key in colleague.locations) or None
    instructor = UUID(seed.uuid("instructor", colleague.instructor)) if colleague.instructor else None
    return Grant(colleague.role, locations, instructor)


def _access(studio_id: UUID, seed: Seed, colleague: Colleague, account_id: UUID) -> Access:
    grant = _grant(seed, colleague)
    permissions = PERMISSIONS[colleague.role]
    staff = Staff(colleague.email, permissions, Channel.CONSOLE, account_id, grant.instructor_id)
    return staff_access(studio_id, staff, grant.location_ids)
