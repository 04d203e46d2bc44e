"""Submissions: whether one is verified, and the statuses that staff can set."""

import hashlib
import json
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access, Actor
from studiogate.domain.refusals import Code, Refusal

CONFIRMATIONS_PER_HOUR = 3


class SubmissionStatus(StrEnum):
    PENDING = "pending"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    SPAM = "spam"


# The submissions that count against a form's limits and satisfy a waiver.
COUNTED = frozenset({SubmissionStatus.PENDING, SubmissionStatus.CONFIRMED})


def is_verified_by_origin(access: Access, linked_member: UUID | None) -> bool:
    """Return whether the origin of a submission verifies its email: a key, staff or a member's signed link does. A
    visitor who types an email need not be its owner."""
    return access.actor is not Actor.VISITOR or linked_member is not None


def page_key(token: str, email: str, name: str | None, data: Mapping[str, Any], file_keys: Collection[str]) -> bytes:
    """Return a digest that is equal for two submissions of the same page with the same answers.

    A browser that sends a page again uploads its files again, so only the number of files is included.
    """
    answers = {key: len(value) if key in file_keys else value for key, value in data.items()}
    return hashlib.sha256(json.dumps([token, email, name, answers], sort_keys=True).encode()).digest()


def transition_refusal(before: str, after: SubmissionStatus) -> Refusal | None:
    """Refuse to return to pending: staff can change a decision, but not withdraw it."""
    if after is not SubmissionStatus.PENDING or before == after:
        return None
    return Refusal(Code.INVALID_TRANSITION, {"from": before, "to": after.value}, "status")
