"""Leads: how incoming data about a person is merged with what is stored."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.ids import parse_id
from studiogate.domain.instants import instant_text
from studiogate.domain.json_values import stored_size
from studiogate.domain.refusals import Code, Refusal

MAX_METADATA_BYTES = 16 * 1024
SUBMISSIONS_KEPT = 20
MAX_INSTANT_TEXT = 40
UTM = "utm"
FORM_SUBMISSIONS = "form_submissions"


class LeadStatus(StrEnum):
    NEW = "new"
    CONTACTED = "contacted"
    QUALIFIED = "qualified"
    UNQUALIFIED = "unqualified"
    CONVERTED = "converted"
    LOST = "lost"


class LeadState(NamedTuple):
    status: LeadStatus
    lifecycle_stage: str


def first_state(*, is_member: bool) -> LeadState:
    """Return the state of a new lead. If its email belongs to a member, it is converted at once."""
    return LeadState(LeadStatus.CONVERTED, "member") if is_member else LeadState(LeadStatus.NEW, "lead")


@dataclass(frozen=True, slots=True)
class LeadContact:
    """The values of a lead that a create request may fill in. Empty strings and None count as not given."""

    first_name: str = ""
    last_name: str = ""
    phone: str | None = None
    source: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)

    def filled_from(self, other: "LeadContact") -> "LeadContact":
        """Fill empty values from ``other``; metadata is merged, and that of ``other`` takes precedence."""
        return LeadContact(
            self.first_name or other.first_name,
            self.last_name or other.last_name,
            self.phone or other.phone,
            self.source or other.source,
            merged(self.metadata, other.metadata),
        )


def filled_within_limits(kept: LeadContact, other: LeadContact) -> LeadContact:
    """Fill empty values of a lead from its duplicate. Metadata that would grow too large stays as it is."""
    whole = LeadContact(kept.first_name, kept.last_name, kept.phone, kept.source, merged(other.metadata, kept.metadata))
    filled = whole.filled_from(replace(other, metadata={}))
    return replace(filled, metadata=kept.metadata) if metadata_too_large(filled.metadata) else filled


def merged(kept: Mapping[str, object], incoming: Mapping[str, object]) -> dict[str, object]:
    """Merge metadata member by member, incoming values taking precedence; campaign parameters likewise."""
    both = {**kept, **incoming}
    before, after = kept.get(UTM), incoming.get(UTM)
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        both[UTM] = {**before, **after}
    return both


def with_campaign(metadata: Mapping[str, object], parameters: Mapping[str, str]) -> dict[str, object]:
    """Merge ``utm_*`` parameters into ``metadata.utm``, keeping what the caller put there."""
    return merged(metadata, {UTM: dict(parameters)}) if parameters else dict(metadata)


def patched(kept: Mapping[str, object], patch: Mapping[str, object]) -> dict[str, object]:
    """Return a shallow merge in which null deletes a key."""
    return {key: value for key, value in {**kept, **patch}.items() if not (key in patch and value is None)}


def changes_submissions(kept: Mapping[str, object], patch: Mapping[str, object]) -> bool:
    """Return whether a patch changes the list of submissions, which only the system writes, instead of repeating it."""
    return FORM_SUBMISSIONS in patch and patch[FORM_SUBMISSIONS] != kept.get(FORM_SUBMISSIONS)


class FormSubmission(NamedTuple):
    form_id: UUID
    submission_id: UUID
    submitted_at: datetime


def with_submissions(metadata: Mapping[str, object], submissions: Iterable[FormSubmission]) -> dict[str, Any]:
    """Add submissions that the metadata does not list yet; it keeps the newest ``SUBMISSIONS_KEPT``, newest last."""
    known = metadata.get(FORM_SUBMISSIONS)
    before = known if isinstance(known, list) else []
    listed = {entry["submission_id"] for entry in before if _is_submission(entry)}
    added = [
        {
            "form_id": str(each.form_id),
            "submission_id": str(each.submission_id),
            "submitted_at": instant_text(each.submitted_at),
        }
        for each in submissions
        if str(each.submission_id) not in listed
    ]
    return {**metadata, FORM_SUBMISSIONS: sorted([*before, *added], key=_submitted_at)[-SUBMISSIONS_KEPT:]}


def _submitted_at(entry: object) -> datetime:
    """Return the time of a listed submission. What somebody else has stored in the list comes first."""
    try:
        at = datetime.fromisoformat(entry["submitted_at"]) if isinstance(entry, dict) else None
    except (KeyError, TypeError, ValueError):
        at = None
    return at if at is not None and at.tzinfo is not None else datetime.min.replace(tzinfo=UTC)


def metadata_too_large(metadata: Mapping[str, object]) -> bool:
    """Return whether metadata exceeds its maximum size as stored. The list of submissions that the system maintains
    is not counted; anything else that a caller stored under its key is."""
    counted = dict(metadata)
    listed = counted.get(FORM_SUBMISSIONS)
    if isinstance(listed, list) and len(listed) <= SUBMISSIONS_KEPT and all(map(_is_submission, listed)):
        del counted[FORM_SUBMISSIONS]
    return stored_size(counted, MAX_METADATA_BYTES) > MAX_METADATA_BYTES


def grows_too_large(kept: Mapping[str, object], changed: Mapping[str, object]) -> bool:
    """Return whether a change of metadata has too large a result. Metadata that was too large before may stay."""
    return changed != kept and metadata_too_large(changed)


def without_submissions(metadata: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in metadata.items() if key != FORM_SUBMISSIONS}


def _is_submission(entry: object) -> bool:
    if not isinstance(entry, dict) or set(entry) != {"form_id", "submission_id", "submitted_at"}:
        return False
    ids = all(parse_id(entry[name]) is not None for name in ("form_id", "submission_id"))
    return ids and isinstance(entry["submitted_at"], str) and len(entry["submitted_at"]) <= MAX_INSTANT_TEXT


def status_refusal(kept: str, wanted: str | None) -> Refusal | None:
    """Refuse a new status for a converted lead: one that has become a member stays converted."""
    if wanted is None or kept != LeadStatus.CONVERTED:
        return None
    return Refusal(Code.INVALID_TRANSITION, {"from": kept, "to": wanted}, "status")
