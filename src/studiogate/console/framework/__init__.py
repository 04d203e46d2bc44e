"""What every page of the console uses: routes, requests, forms, templates, answers."""

from studiogate.console.framework.actions import Action, Done, Form, Subject, Values, page_of, show_about
from studiogate.console.framework.page import Audience, about, action, page
from studiogate.console.framework.refusals import Resolution, shown, status_of
from studiogate.console.framework.request import ORIGIN_ONLY, ConsoleRequest, Refused, UndoAction, is_own_path, own_page
from studiogate.console.framework.templating import WITH_FRAMES

__all__ = [
    "ORIGIN_ONLY", "WITH_FRAMES", "Action", "Audience", "ConsoleRequest", "Done", "Form", "Refused", "Resolution",
    "Subject", "UndoAction", "Values", "about", "action", "is_own_path", "own_page", "page", "page_of", "show_about",
    "shown", "status_of",
]  # fmt: skip
