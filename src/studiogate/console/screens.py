"""All modules that declare pages of the console. A new screen is imported here."""

from collections.abc import Sequence

from studiogate.console import home, palette, sales, staff
from studiogate.console.account import forgotten, links, profile, resume, second_factor, sign_in, theme
from studiogate.console.desk import attendance, booking, class_page, live, today, waiver, walk_in
from studiogate.console.framework.page import ROUTES, Route
from studiogate.console.members import actions, book, downloads, erase, forms, lists, merge, sell
from studiogate.console.members import profile as member_profile
from studiogate.console.schedule import (
    cancel_class,
    change_class,
    class_pages,
    closure_pages,
    copy_pages,
    new_class,
    series_pages,
    week_page,
)
from studiogate.console.set_up import first_studio, imports

SCREENS = (
    home,
    palette,
    sign_in,
    links,
    forgotten,
    resume,
    profile,
    second_factor,
    theme,
    first_studio,
    imports,
    staff,
    week_page,
    class_pages,
    new_class,
    change_class,
    cancel_class,
    copy_pages,
    series_pages,
    closure_pages,
    lists,
    member_profile,
    actions,
    sell,
    book,
    forms,
    downloads,
    merge,
    erase,
    sales,
    today,
    attendance,
    booking,
    walk_in,
    waiver,
    class_page,
    live,
)


def routes() -> Sequence[Route]:
    """Return the routes of all screens, and of no other module that happens to be imported."""
    names = tuple(each.__name__ for each in SCREENS)
    declared = [route for each in SCREENS for action in getattr(each, "ACTIONS", ()) for route in action.routes]
    return [*declared, *(route for route in ROUTES if route.handler.__module__ in names)]
