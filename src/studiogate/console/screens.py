"""All modules that declare pages of the console. A new screen is imported here."""

from collections.abc import Sequence

from studiogate.console import home, sales, staff
from studiogate.console.account import links, profile, resume, sign_in
from studiogate.console.desk import booking, class_page, live, today, waiver, walk_in
from studiogate.console.framework.page import ROUTES, Route
from studiogate.console.members import actions, book, downloads, forms, lists, merge, sell
from studiogate.console.members import profile as member_profile
from studiogate.console.schedule import change_class, class_pages, closure_pages, copy_pages, series_pages, week
from studiogate.console.set_up import first_studio, imports

SCREENS = (
    home, sign_in, links, resume, profile, first_studio, imports, staff,
    week, class_pages, change_class, copy_pages, series_pages, closure_pages,
    lists, member_profile, actions, sell, book, forms, downloads, merge, sales,
    today, booking, walk_in, waiver, class_page, live,
)  # fmt: skip


def routes() -> Sequence[Route]:
    """Return the routes of all screens, and of no other module that happens to be imported."""
    names = tuple(each.__name__ for each in SCREENS)
    declared = [route for each in SCREENS for action in getattr(each, "ACTIONS", ()) for route in action.routes]
    return [*declared, *(route for route in ROUTES if route.handler.__module__ in names)]
