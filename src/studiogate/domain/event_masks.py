"""What people of the studio see of an event's content: a role that sees no members sees no names in events either.

Masking keeps what is known to say nothing about a person (ids, states, times, counts, amounts) and masks everything
else, so a field that is added later is masked until it is named here."""

from collections.abc import Mapping
from types import MappingProxyType

from studiogate.domain.access import Access, Scope
from studiogate.domain.audit import MASK
from studiogate.domain.events import EventType
from studiogate.domain.keys import GIVING_NEEDS
from studiogate.domain.staff import Permission

# The address of an endpoint may contain a secret.
NEEDS: Mapping[str, Permission] = MappingProxyType({**GIVING_NEEDS, Scope.WEBHOOKS_MANAGE: Permission.WEBHOOKS})
SHOWN = frozenset([
    "id", "object", "type", "status", "actor", "data", "previous_attributes", "api_version", "sequence",
    "class_id", "member_id", "class_spot_id", "product_id", "booking_id", "form_id", "lead_id", "studio_id",
    "moved_to_booking_id", "moved_from_booking_id", "merged_member_id", "waitlist_position", "position",
    "converted_to_booking", "skip_reason", "form_version", "verified", "role",
    "lifecycle_stage", "auto_renew", "state_version", "current_period_start", "current_period_end",
    "cancel_at_period_end", "cancel_at", "credits_granted", "credits_remaining", "product_type",
    "quantity", "amount_total", "currency", "refunded_amount", "enabled", "disabled_reason", "failing_since",
    "created_at", "updated_at", "joined_at", "promoted_at", "erased_at", "started_at", "paused_at",
    "pause_starts_at", "pause_ends_at", "cancelled_at", "ended_at", "disabled_at", "previous_secret_expires_at",
])  # fmt: skip
# Parts of an event that hold fields themselves; in any other place, an object or a list is masked as a whole.
NESTED = frozenset({"data", "object", "actor", "previous_attributes"})


def sees(access: Access, type_: str) -> bool:
    """Return whether a person sees the whole content of events of a type; messages that are no events hold nobody."""
    needed = NEEDS.get(EventType(type_).scope) if type_ in set(EventType) else None
    return needed is None or access.refusal_without_permission(needed) is None


def masked(event: Mapping[str, object]) -> dict[str, object]:
    """Return an event, or a part of one, with everything masked that may say who a person is."""
    return {name: _shown(name, value) for name, value in event.items()}


def _shown(name: str, value: object) -> object:
    if value is None:
        return None
    if isinstance(value, dict):
        return masked(value) if name in NESTED else MASK
    return value if name in SHOWN and not isinstance(value, list) else MASK
