"""How refusals are shown: the status of each, its text, and the button that resolves it.

A form that cannot be sent now, because the session has ended or the password must be typed again, is kept: the page
that asks carries its fields, and after the answer the browser sends the form as it was. Nothing of it is stored on the
server. Passwords are never kept.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from studiogate.console.framework.words import WORDS, by_value
from studiogate.domain.refusals import Code, Refusal
from studiogate.web.response import Header

OTHERS = 409
STATUS: Mapping[str, int] = WORDS["status"]
TEXTS: Mapping[str, str] = WORDS["texts"]
DETAILS: Mapping[str, str] = WORDS["details"]
# Where one value of a detail, not the code, says what happened, and what it means for the person who was refused.
TEXTS_BY_DETAIL, ADVICE = by_value("texts_by_detail"), by_value("advice")
MAX_LISTED = 20  # values of a detail that is a list


class Resolution(NamedTuple):
    """A link that leads to what resolves a refusal, such as selling a membership; it may open in the drawer."""

    label: str
    href: str
    in_drawer: bool = False


class ShownRefusal(NamedTuple):
    """A refusal as the templates show it; ``faults`` has the messages of each field, by its name."""

    code: str
    text: str
    faults: Mapping[str, str]
    other_faults: tuple[str, ...]
    resolution: Resolution | None


def status_of(refusal: Refusal) -> int:
    return STATUS.get(refusal.code, OTHERS)


def shown(refusal: Refusal, fields: Mapping[str, object], resolution: Resolution | None = None) -> ShownRefusal:
    """Return a refusal with each fault beside its field; those of no field of the form are listed above it."""
    faults: dict[str, str] = {}
    others: list[str] = []
    for fault in refusal.faults:
        name = str(fault.loc[0]) if fault.loc else ""
        if name in fields:
            faults.setdefault(name, fault.msg)
        else:
            others.append(f"{'.'.join(map(str, fault.loc))}: {fault.msg}" if fault.loc else fault.msg)
    others += [text.format(_listed(refusal.details[name])) for name, text in DETAILS.items() if name in refusal.details]
    named = [(name, str(value)) for name, value in refusal.details.items()]
    others += [ADVICE[each].format(**refusal.details) for each in named if each in ADVICE]
    by_detail = (TEXTS_BY_DETAIL[each] for each in named if each in TEXTS_BY_DETAIL)
    text = next(by_detail, TEXTS.get(refusal.code, refusal.message))
    return ShownRefusal(refusal.code.value, text, faults, tuple(others), resolution)


def _listed(detail: object) -> object:
    if not isinstance(detail, list):
        return detail
    return ", ".join(map(str, detail[:MAX_LISTED])) + (", …" if len(detail) > MAX_LISTED else "")


SECRET_FIELDS = frozenset({"password", "new_password", "current_password", "code"})
# htmx puts the question into the dialog, and the page's own form stays as it is.
IN_DIALOG: Sequence[Header] = (
    (b"hx-retarget", b"#dialog-content"),
    (b"hx-reswap", b"innerHTML"),
    (b"hx-trigger-after-swap", b"askAgain"),
)
# The templates that ask: as a page, and as a dialog for pages with htmx.
QUESTIONS: Mapping[Code, tuple[str, str]] = {
    Code.SESSION_ENDED: ("account/resume_session.html", "account/_ask_sign_in.html"),
    Code.PASSWORD_REQUIRED: ("account/resume_password.html", "account/_ask_password.html"),
}


def packed(fields: Sequence[tuple[str, str]]) -> str:
    """Return the fields of a form as the text of one hidden field."""
    return json.dumps([[name, value] for name, value in fields if name not in SECRET_FIELDS], ensure_ascii=False)


def unpacked(text: str) -> list[tuple[str, str]]:
    """Return the fields of a kept form; none if the text is not one of ours."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return []
    is_ours = isinstance(fields, list) and all(
        isinstance(each, list) and len(each) == 2 and all(isinstance(part, str) for part in each) for each in fields
    )
    return [(name, value) for name, value in fields] if is_ours else []
