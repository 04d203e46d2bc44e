"""The page between a form and its effect: what would change, who is affected, what clashes."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from studiogate.console.framework.request import ConsoleRequest
from studiogate.flows.bookings.affected import AffectedMember
from studiogate.storage.schedule.classes import BookedClass
from studiogate.web.response import Answer

NAMED = 60


class Question(NamedTuple):
    """What a person is asked before a change: its effects, the form that carries it out, and the way back."""

    title: str
    subtitle: str
    action: str
    button: str
    back: str
    fields: Mapping[str, str]
    effects: Sequence[str] = ()
    warnings: Sequence[str] = ()
    members: Sequence[AffectedMember] = ()
    classes: Sequence[BookedClass] = ()
    kind: str = "primary"
    asks_reason: bool = False


def ask(request: ConsoleRequest, question: Question) -> Answer:
    """Show a question."""
    more: dict[str, Any] = {
        "members": question.members[:NAMED],
        "unnamed": max(0, len(question.members) - NAMED),
    }
    return request.render("schedule/confirm.html", question=question, **more)
