"""Slugs and states of forms."""

import re
import unicodedata
from collections.abc import Collection
from enum import StrEnum

from studiogate.domain.names import MAX_NAME
from studiogate.domain.refusals import Code, Refusal

SLUG_PATTERN = r"^[a-z0-9](-?[a-z0-9])*$"
MAX_SLUG = 100
MAX_SLUG_FROM_TITLE = 60


class FormStatus(StrEnum):
    DRAFT = "draft"
    PUBLISHED = "published"
    ARCHIVED = "archived"


ONWARD = {
    FormStatus.DRAFT: FormStatus.PUBLISHED,
    FormStatus.PUBLISHED: FormStatus.ARCHIVED,
    FormStatus.ARCHIVED: FormStatus.DRAFT,
}


def slug_of(title: str) -> str:
    """Return a slug made from the ASCII letters and digits of a title."""
    plain = unicodedata.normalize("NFKD", title[:MAX_NAME]).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return words[:MAX_SLUG_FROM_TITLE].strip("-") or "form"


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
