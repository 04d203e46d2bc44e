"""Submissions: whether one is verified, and the states that staff move it through."""

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


def is_verified_by_origin(access: Access, linked_member: UUID | None) -> bool:
    """A visitor who types an email is not its owner; a key, a member's signed link and staff vouch for it."""
    return access.actor is not Actor.VISITOR or linked_member is not None


def page_key(token: str, email: str, name: str | None, data: Mapping[str, Any], file_keys: Collection[str]) -> bytes:
    """Return a digest that is equal for two submissions of the same page with the same answers.

    A browser that sends a page a second time uploads its files again: of files only their number counts.
    """
    answers = {key: len(value) if key in file_keys else value for key, value in data.items()}
    return hashlib.sha256(json.dumps([token, email, name, answers], sort_keys=True).encode()).digest()


def transition_refusal(before: str, after: SubmissionStatus) -> Refusal | None:
    """Staff can change a decision, but not make it undecided again."""
    if after is not SubmissionStatus.PENDING or before == after:
        return None
    return Refusal(Code.INVALID_TRANSITION, {"from": before, "to": after.value}, "status")
