"""Leads: how what is known about a person and what somebody sends about them become one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from studiogate.domain.bookings.instants import instant_text

MAX_METADATA_BYTES = 64 * 1024
SUBMISSIONS_KEPT = 20
UTM = "utm"
FORM_SUBMISSIONS = "form_submissions"


class LeadStatus(StrEnum):
    NEW = "new"
    CONTACTED = "contacted"
    QUALIFIED = "qualified"
    UNQUALIFIED = "unqualified"
    CONVERTED = "converted"
    LOST = "lost"


# ``converted`` is set by the system when a member with that email appears.
WRITABLE_STATUSES = tuple(status for status in LeadStatus if status is not LeadStatus.CONVERTED)


@dataclass(frozen=True, slots=True)
class LeadContact:
    """Of a lead, what a create may fill in. An empty text, and None, say nothing."""

    first_name: str = ""
    last_name: str = ""
    phone: str | None = None
    source: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def filled_from(self, other: "LeadContact") -> "LeadContact":
        """Only what is empty is filled; metadata merges, and what comes in wins."""
        return LeadContact(
            self.first_name or other.first_name,
            self.last_name or other.last_name,
            self.phone or other.phone,
            self.source or other.source,
            merged(self.metadata, other.metadata),
        )


def merged(kept: Mapping[str, Any], incoming: Mapping[str, Any]) -> dict[str, Any]:
    """Member by member, the incoming one wins. Campaign parameters of two visits are one set of parameters."""
    both = {**kept, **incoming}
    before, after = kept.get(UTM), incoming.get(UTM)
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        both[UTM] = {**before, **after}
    return both


def with_campaign(metadata: Mapping[str, Any], parameters: Mapping[str, str]) -> dict[str, Any]:
    """``utm_*`` under ``metadata.utm``, beside what the caller put there."""
    return merged(metadata, {UTM: dict(parameters)}) if parameters else dict(metadata)


def patched(kept: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """A shallow merge in which null deletes a key."""
    return {key: value for key, value in {**kept, **patch}.items() if not (key in patch and value is None)}


def with_submission(
    metadata: Mapping[str, Any], form_id: UUID, submission_id: UUID, submitted_at: datetime
) -> dict[str, Any]:
    """The newest submissions, the newest last."""
    known = metadata.get(FORM_SUBMISSIONS)
    before = known if isinstance(known, list) else []
    entry = {
        "form_id": str(form_id),
        "submission_id": str(submission_id),
        "submitted_at": instant_text(submitted_at),
    }
    return {**metadata, FORM_SUBMISSIONS: [*before, entry][-SUBMISSIONS_KEPT:]}


def too_large(metadata: Mapping[str, Any]) -> bool:
    return len(json.dumps(metadata, ensure_ascii=False, separators=(",", ":")).encode()) > MAX_METADATA_BYTES
