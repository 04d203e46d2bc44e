"""What a role in a studio may look like, and which changes of roles are refused."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import Role

MAX_STAFF = 500
# Owners act on all of a studio, developers on nothing that has a location: a limit would promise what does not hold.
UNLIMITED = frozenset({Role.OWNER, Role.DEVELOPER})


@dataclass(frozen=True, slots=True)
class Grant:
    """A role in a studio; ``location_ids`` limits it (None: all locations)."""

    role: Role
    location_ids: tuple[UUID, ...] | None = None
    instructor_id: UUID | None = None


class Known(NamedTuple):
    """The rows of the studio that a grant may name, as far as it names them."""

    locations: Collection[UUID]
    instructors: Collection[UUID]


class Owner(NamedTuple):
    """An owner who is not disabled; ``has_accepted``: has chosen a password."""

    account_id: UUID
    has_accepted: bool


def grant_faults(grant: Grant, known: Known) -> list[Fault]:
    """Return everything that is wrong with a role."""
    faults = [
        Fault(("location_ids", number), "not_found", "There is no such location")
        for number, each in enumerate(grant.location_ids or ())
        if each not in known.locations
    ]
    if grant.location_ids is not None and grant.role in UNLIMITED:
        faults.append(Fault(("location_ids",), "not_allowed", f"The role {grant.role} cannot be limited to locations"))
    if grant.location_ids == ():
        faults.append(Fault(("location_ids",), "too_short", "Give at least one location, or none for all of them"))
    if grant.role is Role.INSTRUCTOR and grant.instructor_id is None:
        faults.append(Fault(("instructor_id",), "missing", "The role instructor needs the instructor whose classes"))
    elif grant.role is not Role.INSTRUCTOR and grant.instructor_id is not None:
        faults.append(Fault(("instructor_id",), "not_allowed", "Only the role instructor has an instructor"))
    elif grant.instructor_id is not None and grant.instructor_id not in known.instructors:
        faults.append(Fault(("instructor_id",), "not_found", "There is no such instructor"))
    return faults


def refusal_without_owner(owners: Collection[Owner], account_id: UUID, studio: str) -> Refusal | None:
    """Return the refusal if the account is the studio's last owner and is about to be none. An invitation that nobody
    has accepted keeps no studio going: it is enough for another such invitation to go, not for an owner who accepted.
    """
    subject = next((each for each in owners if each.account_id == account_id), None)
    if subject is None:
        return None
    if any(each.has_accepted or not subject.has_accepted for each in owners if each != subject):
        return None
    return Refusal(Code.LAST_OWNER, {"studio": studio})
