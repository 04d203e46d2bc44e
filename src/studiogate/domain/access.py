"""The caller's identity and permissions: an argument that every storage function requires."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import DANGEROUS, Channel, Permission, Staff

OPERATOR = "operator"


class Scope(StrEnum):
    # Without a docstring, which the OpenAPI document would show. ``grants`` is what it and `key create --help` say.
    _value_: str
    grants: str

    def __new__(cls, value: str, grants: str = "") -> "Scope":
        scope = str.__new__(cls, value)
        scope._value_, scope.grants = value, grants
        return scope

    STUDIO_READ = "studio:read", "studio and locations"
    SCHEDULE_READ = "schedule:read", "rooms, class types, instructors, classes and their spots"
    CATALOG_READ = "catalog:read", "products and prices"
    FORMS_READ = "forms:read", "published forms"
    FORMS_WRITE = "forms:write", "create and update forms, see drafts and archived forms"
    FORM_SUBMISSIONS_READ = "form_submissions:read", "read submissions"
    FORM_SUBMISSIONS_WRITE = "form_submissions:write", "create submissions"
    LEADS_READ = "leads:read", "read leads"
    LEADS_WRITE = "leads:write", "create and update leads"
    MEMBERS_READ = "members:read", "members and memberships"
    MEMBERS_WRITE = "members:write", "create members"
    BOOKINGS_READ = "bookings:read", "bookings, waitlist and cancellation receipts"
    BOOKINGS_WRITE = "bookings:write", "create bookings"
    BOOKINGS_CANCEL = "bookings:cancel", "cancel bookings"
    PURCHASES_READ = "purchases:read", "purchases"
    WEBHOOKS_MANAGE = "webhooks:manage", "webhook endpoints and deliveries"
    EVENTS_READ = "events:read", "the event log"


SCOPE_GRANTS = {scope: scope.grants for scope in Scope}


class Actor(StrEnum):
    """Who makes a change, as events name it."""

    PARTNER = "partner"
    STAFF = "staff"
    VISITOR = "visitor"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Access:
    """What a credential may access: a studio, scopes, and the permitted locations (None: all of them). ``actor`` is
    recorded in the events of every change made with this access. ``staff`` is who acts for the studio itself; a
    partner's key, a visitor and background jobs have none, and so no permission of the studio's side. ``address`` is
    where a partner's request came from, if it writes."""

    studio_id: UUID
    credential_id: str
    scopes: frozenset[str]
    location_ids: tuple[UUID, ...] | None
    actor: Actor = Actor.PARTNER
    staff: Staff | None = None
    address: str | None = None

    @property
    def restricted(self) -> bool:
        return self.location_ids is not None

    def permits(self, location_id: UUID | None) -> bool:
        """Return whether something at this location may be seen; None is the studio as a whole."""
        return self.location_ids is None or location_id in self.location_ids

    def within(self, location_ids: Iterable[UUID] | None) -> "Access":
        return replace(self, location_ids=None if location_ids is None else tuple(location_ids))

    def refusal_without(self, scope: str) -> Refusal | None:
        if scope in self.scopes:
            return None
        return Refusal(Code.INSUFFICIENT_SCOPE, {"required_scope": scope})

    def refusal_without_permission(self, permission: Permission) -> Refusal | None:
        if self.staff is None or permission not in self.staff.permissions:
            return Refusal(Code.PERMISSION_DENIED, {"required_permission": permission.value})
        if permission in DANGEROUS and not self.staff.password_is_recent:
            return Refusal(Code.PASSWORD_REQUIRED)
        return None

    def refusal_without_all_locations(self, permission: Permission) -> Refusal | None:
        """Refuse what concerns the whole studio to staff who are limited to some of its locations."""
        if not self.restricted:
            return None
        return Refusal(Code.PERMISSION_DENIED, {"required_permission": permission.value, "required_locations": "all"})

    def may_act_on_class_of(self, instructor_id: UUID | None) -> bool:
        """Return whether staff may act on the class of this instructor. Instructors act on their own classes only."""
        if self.staff is None:
            return False
        own = self.own_instructor_id
        return Permission.BOOKINGS in self.staff.permissions if own is None else own == instructor_id

    @property
    def own_instructor_id(self) -> UUID | None:
        """The instructor to whose classes this access is limited; None if it is not limited in this way."""
        return None if self.staff is None else self.staff.instructor_id


def operator_access(studio_id: UUID, name: str = OPERATOR, channel: Channel = Channel.COMMAND) -> Access:
    """Return the access of commands on the server: everything in one studio. ``name`` is the account there."""
    staff = Staff(name, frozenset(Permission), channel)
    return Access(studio_id, OPERATOR, frozenset(Scope), None, Actor.STAFF, staff)


def staff_access(studio_id: UUID, staff: Staff, location_ids: tuple[UUID, ...] | None) -> Access:
    """Return the access of a staff account in one studio; its permissions say what it may change there."""
    return Access(studio_id, f"staff {staff.account_id}", frozenset(Scope), location_ids, Actor.STAFF, staff)


def system_access(studio_id: UUID) -> Access:
    """Return the access of background jobs (housekeeping, deliveries): everything in one studio."""
    return Access(studio_id, "system", frozenset(Scope), None, Actor.SYSTEM)


def visitor_access(studio_id: UUID) -> Access:
    """Return the access of a visitor on a hosted page: read and submit the published forms of one studio."""
    scopes = frozenset({Scope.FORMS_READ, Scope.FORM_SUBMISSIONS_WRITE})
    return Access(studio_id, "visitor", scopes, None, Actor.VISITOR)


def unknown_scopes(scopes: Iterable[str]) -> list[str]:
    return [scope for scope in scopes if scope not in set(Scope)]
