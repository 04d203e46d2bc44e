"""All modules that declare pages of the console. A new screen is imported here."""

from collections.abc import Sequence

from studiogate.console import audit, home, insights, leads, staff
from studiogate.console.account import profile, sign_in
from studiogate.console.desk import booking, booking_actions, live, today, walk_in
from studiogate.console.forms import builder, pages, submissions
from studiogate.console.framework.page import ROUTES, Route
from studiogate.console.members import actions, book, forms, lists, merge
from studiogate.console.members import profile as member_profile
from studiogate.console.partners import keys as partner_keys
from studiogate.console.partners import requests, webhooks
from studiogate.console.sales import purchases, sums
from studiogate.console.schedule import change_class, class_pages, closure_pages, series_pages, week
from studiogate.console.set_up import imports, steps
from studiogate.console.settings import kinds, mails, offer, product_actions, products, rules
from studiogate.console.settings import studio as settings_studio

SCREENS = (
    home, sign_in, profile, steps, imports,
    staff, audit, settings_studio, rules, mails,
    week, class_pages, change_class, series_pages, closure_pages,
    leads, sums, insights,
    lists, member_profile, actions, book, forms, merge, purchases,
    pages, builder, submissions,
    today, booking, booking_actions, walk_in, live,
    partner_keys, requests, webhooks,
    kinds, offer, products, product_actions,
)  # fmt: skip


def routes() -> Sequence[Route]:
    """Return the routes of all screens, and of no other module that happens to be imported."""
    names = tuple(each.__name__ for each in SCREENS)
    declared = [route for each in SCREENS for action in getattr(each, "ACTIONS", ()) for route in action.routes]
    return [*declared, *(route for route in ROUTES if route.handler.__module__ in names)]
