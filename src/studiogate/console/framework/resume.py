"""Keep a form that cannot be sent now, because the session has ended or the password must be typed again.

The page that asks carries the form's fields; after the answer, the browser sends the form as it was. Nothing of it is
stored on the server. Passwords are never kept.
"""

import json
from collections.abc import Sequence

from studiogate.domain.refusals import Code, Refusal
from studiogate.web.response import Header

RESUMABLE = frozenset({Code.SESSION_ENDED, Code.PASSWORD_REQUIRED})
SECRET_FIELDS = frozenset({"password", "new_password", "current_password", "code"})
# htmx puts the question into the dialog, and the page's own form stays as it is.
IN_DIALOG: Sequence[Header] = (
    (b"hx-retarget", b"#dialog-content"),
    (b"hx-reswap", b"innerHTML"),
    (b"hx-trigger-after-swap", b"askAgain"),
)
Fields = Sequence[tuple[str, str]]
_PAGES = {Code.SESSION_ENDED: "account/resume_session.html", Code.PASSWORD_REQUIRED: "account/resume_password.html"}
_DIALOGS = {Code.SESSION_ENDED: "account/_ask_sign_in.html", Code.PASSWORD_REQUIRED: "account/_ask_password.html"}


def page_of(refusal: Refusal) -> str:
    """Return the template of the page that asks."""
    return _PAGES[refusal.code]


def dialog_of(refusal: Refusal) -> str:
    """Return the template of the dialog that asks, for pages with htmx."""
    return _DIALOGS[refusal.code]


def packed(fields: Fields) -> str:
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
