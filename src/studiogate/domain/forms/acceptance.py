"""Who can see a form, and whether it currently accepts submissions."""

from datetime import datetime
from enum import StrEnum

from studiogate.domain.access import Access, Scope
from studiogate.domain.forms.settings import FormSettings
from studiogate.domain.forms.states import FormStatus
from studiogate.domain.refusals import Code, Refusal


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
    """Return why the form accepts no submissions at this time, other than being full; None if it accepts them."""
    if status != FormStatus.PUBLISHED:
        return NotAccepting.NOT_PUBLISHED
    if settings.opens_at is not None and now < settings.opens_at:
        return NotAccepting.NOT_OPEN_YET
    return None if settings.open_at(now) else NotAccepting.CLOSED


def count_reason(settings: FormSettings, *, has_submitted: bool, in_all: int) -> NotAccepting | None:
    """Return why the form accepts no further submission, or None. ``has_submitted``: this email has submitted before;
    ``in_all``: the number of submissions so far."""
    if has_submitted and not settings.allow_multiple:
        return NotAccepting.ALREADY_SUBMITTED
    return None if settings.has_room_after(in_all) else NotAccepting.FULL


def not_accepting(reason: NotAccepting) -> Refusal:
    return Refusal(Code.FORM_NOT_ACCEPTING_SUBMISSIONS, {"reason": reason.value})
