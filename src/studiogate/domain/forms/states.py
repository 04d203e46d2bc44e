"""States of forms and submissions, slugs, and whether a form is visible and accepts submissions."""

import hashlib
import json
from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access, Actor, Scope
from studiogate.domain.forms.settings import FormSettings
from studiogate.domain.refusals import Code, Refusal

SLUG_PATTERN = r"^[a-z0-9](-?[a-z0-9])*$"
MAX_SLUG = 100


class FormStatus(StrEnum):
    DRAFT = "draft"
    PUBLISHED = "published"
    ARCHIVED = "archived"


ONWARD = {
    FormStatus.DRAFT: FormStatus.PUBLISHED,
    FormStatus.PUBLISHED: FormStatus.ARCHIVED,
    FormStatus.ARCHIVED: FormStatus.DRAFT,
}


def free_slug(wanted: str, taken: Collection[str]) -> str:
    """Return the wanted slug, with a number appended if another form has it."""
    if wanted not in taken:
        return wanted
    number = 2
    while f"{wanted}-{number}" in taken:
        number += 1
    return f"{wanted}-{number}"


def transition_refusal(before: str, after: str, *, has_submissions: bool) -> Refusal | None:
    """Refuse an invalid change of status. A published form may become a draft again only if it has no submissions."""
    back = (before, after) == (FormStatus.PUBLISHED, FormStatus.DRAFT) and not has_submissions
    if before == after or back or ONWARD[FormStatus(before)] == after:
        return None
    return Refusal(Code.INVALID_TRANSITION, {"from": before, "to": after}, "status")


# The form was saved in the builder, or published, by somebody else meanwhile.
DRAFT_CHANGED = Refusal(Code.INVALID_TRANSITION, {"draft": "changed"})

CONFIRMATIONS_PER_HOUR = 3


class SubmissionStatus(StrEnum):
    PENDING = "pending"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    SPAM = "spam"


# The submissions that count against a form's limits and satisfy a waiver.
COUNTED = frozenset({SubmissionStatus.PENDING, SubmissionStatus.CONFIRMED})


def is_verified_by_origin(access: Access, linked_member: UUID | None) -> bool:
    """Return whether the origin of a submission verifies its email: a key, staff or a signed link does."""
    return access.actor is not Actor.VISITOR or linked_member is not None


def page_key(token: str, email: str, name: str | None, data: Mapping[str, Any], file_keys: Collection[str]) -> bytes:
    """Return a digest that is equal for two submissions of the same page with the same answers. A browser that sends a
    page again uploads its files again, so only the number of files is included."""
    answers = {key: len(value) if key in file_keys else value for key, value in data.items()}
    return hashlib.sha256(json.dumps([token, email, name, answers], sort_keys=True).encode()).digest()


def submission_transition_refusal(before: str, after: SubmissionStatus) -> Refusal | None:
    """Refuse to return to pending: staff can change a decision, but not withdraw it."""
    if after is not SubmissionStatus.PENDING or before == after:
        return None
    return Refusal(Code.INVALID_TRANSITION, {"from": before, "to": after.value}, "status")


class NotAccepting(StrEnum):
    """Why a form accepts no submission: ``details.reason`` of ``form_not_accepting_submissions``."""

    NOT_PUBLISHED = "not_published"
    NOT_OPEN_YET = "not_open_yet"
    CLOSED = "closed"
    FULL = "full"
    ALREADY_SUBMITTED = "already_submitted"


def manages_forms(access: Access) -> bool:
    """Return whether this access includes unpublished forms and the settings that are internal to the studio."""
    return Scope.FORMS_WRITE in access.scopes


def exists_for(access: Access, status: str) -> bool:
    """Return whether a form with this status is visible to this access."""
    return status == FormStatus.PUBLISHED or manages_forms(access)


def closed_reason(status: str, settings: FormSettings, now: datetime) -> NotAccepting | None:
    """Return why the form accepts no submissions at this time, other than being full; None if it accepts them. It is
    open from ``opens_at`` (inclusive) until ``closes_at`` (exclusive)."""
    if status != FormStatus.PUBLISHED:
        return NotAccepting.NOT_PUBLISHED
    if settings.opens_at is not None and now < settings.opens_at:
        return NotAccepting.NOT_OPEN_YET
    return NotAccepting.CLOSED if settings.closes_at is not None and now >= settings.closes_at else None


def count_reason(settings: FormSettings, *, has_submitted: bool, in_all: int) -> NotAccepting | None:
    """Return why the form accepts no further submission, if this email has submitted, or there are ``in_all``."""
    if has_submitted and not settings.allow_multiple:
        return NotAccepting.ALREADY_SUBMITTED
    most = settings.max_submissions
    return NotAccepting.FULL if most is not None and in_all >= most else None


def not_accepting(reason: NotAccepting) -> Refusal:
    return Refusal(Code.FORM_NOT_ACCEPTING_SUBMISSIONS, {"reason": reason.value})
