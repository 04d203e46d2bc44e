"""Who works at a studio, and what each role may do. The other files say how an account signs in.

The table of roles is the only one: every flow of the studio's side names the permission that it needs, and the console
shows what the role permits. A front desk may run its day but not change prices; a developer sees no people's data."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.refusals import Code, Fault, Refusal


class Role(StrEnum):
    """Each with the sentence that explains it to whoever gives it to somebody."""

    text: str

    def __new__(cls, value: str, *text: str) -> "Role":
        role = str.__new__(cls, value)
        role._value_, role.text = value, "".join(text)
        return role

    OWNER = "owner", "Everything, staff and keys included."
    MANAGER = "manager", "Everything but staff, the audit log, keys and webhooks."
    FRONT_DESK = (
        "front_desk",
        "The day at the desk: check-in, bookings, members, sales, leads, forms. No prices, no settings.",
    )
    INSTRUCTOR = "instructor", "Their own classes: who comes, check-in, no-shows."
    DEVELOPER = "developer", "Keys, webhooks, events and the request log. No data of people."


class Permission(StrEnum):
    """One kind of action. ``*:read`` permissions are for pages and lists, the others for flows."""

    STUDIO = "studio"
    SCHEDULE = "schedule"
    CATALOG = "catalog"
    FORMS = "forms"
    SCHEDULE_READ = "schedule:read"
    CATALOG_READ = "catalog:read"
    ATTENDANCE = "attendance"
    BOOKINGS = "bookings"
    MEMBERS = "members"
    MEMBERS_ERASE = "members:erase"
    SALES = "sales"
    LEADS = "leads"
    SUBMISSIONS = "submissions"
    IMPORT = "import"
    STAFF = "staff"
    KEYS = "keys"
    WEBHOOKS = "webhooks"
    EVENTS_READ = "events:read"
    REQUESTS_READ = "requests:read"
    AUDIT_READ = "audit:read"


_FRONT_DESK = frozenset(
    {
        Permission.SCHEDULE_READ,
        Permission.CATALOG_READ,
        Permission.ATTENDANCE,
        Permission.BOOKINGS,
        Permission.MEMBERS,
        Permission.SALES,
        Permission.LEADS,
        Permission.SUBMISSIONS,
    }
)
_DEVELOPER = frozenset({Permission.KEYS, Permission.WEBHOOKS, Permission.EVENTS_READ, Permission.REQUESTS_READ})
_NOT_FOR_MANAGERS = frozenset(
    {Permission.STAFF, Permission.AUDIT_READ, Permission.KEYS, Permission.WEBHOOKS, Permission.REQUESTS_READ}
)
PERMISSIONS: Mapping[Role, frozenset[Permission]] = MappingProxyType(
    {
        Role.OWNER: frozenset(Permission),
        Role.MANAGER: frozenset(Permission) - _NOT_FOR_MANAGERS,
        Role.FRONT_DESK: _FRONT_DESK,
        Role.INSTRUCTOR: frozenset({Permission.SCHEDULE_READ, Permission.ATTENDANCE}),
        Role.DEVELOPER: _DEVELOPER,
    }
)


# What a signed-in person may do only shortly after they have typed their password.
DANGEROUS = frozenset({Permission.KEYS, Permission.MEMBERS_ERASE, Permission.STAFF})


class Channel(StrEnum):
    """The way by which an action of the studio's side arrives."""

    CONSOLE = "console"
    COMMAND = "command"
    IMPORT = "import"


@dataclass(frozen=True, slots=True)
class FormToken:
    """The token of a form, which the flows of one request claim: sent by another one, it has no second effect."""

    value: str
    request_id: UUID


@dataclass(frozen=True, slots=True)
class Staff:
    """The person or command behind an access, for permissions and for the audit log. ``name`` is the account's email,
    or the operating system's user who ran a command. An instructor acts only on classes of ``instructor_id``.
    ``password_is_recent`` is false for a session whose password was typed too long ago for dangerous actions. ``form``
    is the form of the console that is being sent, if any."""

    name: str
    permissions: frozenset[Permission]
    channel: Channel
    account_id: UUID | None = None
    instructor_id: UUID | None = None
    address: str | None = None
    password_is_recent: bool = True
    form: FormToken | None = None


# What a role in a studio may look like, and which changes of roles are refused.

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
    has accepted is enough only for another such invitation to go."""
    subject = next((each for each in owners if each.account_id == account_id), None)
    if subject is None:
        return None
    if any(each.has_accepted or not subject.has_accepted for each in owners if each != subject):
        return None
    return Refusal(Code.LAST_OWNER, {"studio": studio})
