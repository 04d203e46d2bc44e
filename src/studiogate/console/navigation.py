"""The pages that people go to: the menu, the pages of the settings, and those that only the search opens.

A page is offered if it exists and the person's role has its permission. The menu stays short: what a studio sets up
once is under Settings, which show their pages beside each of them (settings.html). A developer's menu has the partner
pages, since nothing else in the settings is theirs. ``words`` are other words by which the search finds a page.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from studiogate.domain.staff import Permission


class Group(StrEnum):
    MENU = ""
    STUDIO = "Studio"
    OFFER = "Offer"
    PEOPLE = "People"
    PARTNERS = "Partners"
    SEARCH = "Page"  # only found by searching
    ACTION = "Action"  # likewise, once something is typed


class Entry(NamedTuple):
    """A page that is offered; ``path`` is below ``/console``. None as the permission: everybody may open it.
    ``icon`` is a symbol of ui/icons.html."""

    label: str
    path: str
    permission: Permission | None
    words: str = ""
    icon: str = ""
    group: Group = Group.MENU

    @property
    def href(self) -> str:
        return "/console" + self.path

    def is_for(self, may: Callable[[Permission], bool]) -> bool:
        return self.permission is None or may(self.permission)

    def is_current(self, path: str) -> bool:
        return path == self.href or path.startswith(self.href + "/")


P, G = Permission, Group
MENU: Sequence[Entry] = (
    Entry("Today", "/today", P.SCHEDULE_READ, "front desk check-in roster walk-in attendance no-show", "today"),
    Entry("Schedule", "/schedule", P.SCHEDULE_READ, "calendar week timetable classes sub substitute cover", "calendar"),
    Entry(
        "Members",
        "/members",
        P.MEMBERS,
        "people customers clients credits sell book freeze pause suspend note merge erase gdpr export csv",
        "people",
    ),
    Entry("Leads", "/leads", P.LEADS, "prospects enquiry inquiry pipeline trial", "leads"),
    Entry("Forms", "/forms", P.SUBMISSIONS, "waiver signatures questions builder survey qr code link", "form"),
    Entry("Sales", "/sales", P.SALES, "purchases payments money fees till cash refund receipts renewals", "card"),
    Entry("Insights", "/insights", P.STUDIO, "reports figures statistics analytics attendance revenue", "chart"),
    Entry("Settings", "/settings", P.STUDIO, "set up options configuration preferences", "settings"),
)
# Group, label, path, permission, other words, and the icon of a line in a developer's menu.
OTHERS: Sequence[tuple[Group, str, str, Permission | None, str, str]] = (
    (
        G.STUDIO,
        "Studio",
        "/settings/studio",
        P.STUDIO,
        "name logo brand colour color currency time zone format 12 24 hours",
        "",
    ),
    (
        G.STUDIO,
        "Rules",
        "/settings/rules",
        P.STUDIO,
        "policy policies cancellation late fee no-show waitlist window",
        "",
    ),
    (G.STUDIO, "Mails", "/settings/mails", P.STUDIO, "email emails notifications reminders messages", ""),
    (G.OFFER, "Locations", "/settings/locations", P.SCHEDULE, "place address rooms spots spot map phone bikes", ""),
    (G.OFFER, "Class types", "/settings/class-types", P.SCHEDULE, "courses yoga pilates pictures photo", ""),
    (G.OFFER, "Instructors", "/settings/instructors", P.SCHEDULE, "teachers trainers coaches pictures photo", ""),
    (
        G.OFFER,
        "Products",
        "/settings/products",
        P.CATALOG,
        "prices pass packs memberships catalogue catalog offers",
        "",
    ),
    (
        G.PEOPLE,
        "Staff",
        "/staff",
        P.STAFF,
        "colleagues team employees roles permissions password reset accounts",
        "staff",
    ),
    (G.PEOPLE, "Audit log", "/audit", P.AUDIT_READ, "history who changed actions", ""),
    (G.PARTNERS, "Keys", "/partners/keys", P.KEYS, "api key token scopes partners developers integration", "key"),
    (G.PARTNERS, "Requests", "/partners/requests", P.REQUESTS_READ, "request log api errors partners", "form"),
    (G.PARTNERS, "Events", "/partners/events", P.EVENTS_READ, "event log api partners", "event"),
    (G.PARTNERS, "Webhooks", "/partners/webhooks", P.WEBHOOKS, "endpoints deliveries replay recover partners", "chart"),
    (G.SEARCH, "Sums of sales", "/sales/sums", P.SALES, "cash up takings day close daily total income", ""),
    (G.SEARCH, "Open fees", "/sales/fees", P.SALES, "late fee unpaid owed owes debts waive", ""),
    (G.SEARCH, "Renewals due", "/sales/renewals", P.SALES, "failed payments past due subscriptions recurring", ""),
    (G.SEARCH, "Weekly series", "/schedule/series", P.SCHEDULE_READ, "timetable recurring repeat regular classes", ""),
    (G.SEARCH, "Closures", "/schedule/closures", P.SCHEDULE_READ, "holidays vacation closed days opening hours", ""),
    (G.SEARCH, "Inbox of forms", "/forms/inbox", P.SUBMISSIONS, "submissions waivers signed answers review", ""),
    (G.SEARCH, "Import a file", "/import", P.IMPORT, "CSV or studio file upload migrate move", ""),
    (G.SEARCH, "First steps", "/welcome", P.STUDIO, "set up checklist new studio invite", ""),
    (
        G.SEARCH,
        "Your account",
        "/account",
        None,
        "password sessions studio colours dark mode second factor 2fa profile sign out log logout",
        "",
    ),
    (G.ACTION, "New class", "/schedule/classes/new", P.SCHEDULE, "add plan workshop event", ""),
    (G.ACTION, "New weekly series", "/schedule/series/new", P.SCHEDULE, "add recurring repeat classes", ""),
    (G.ACTION, "Copy a week", "/schedule/copy", P.SCHEDULE, "duplicate schedule", ""),
    (G.ACTION, "New member", "/members/new", P.MEMBERS, "add customer client person sign up register", ""),
    (G.ACTION, "New form", "/forms/new", P.FORMS, "add build survey questionnaire", ""),
    (G.ACTION, "New product", "/settings/products/new", P.CATALOG, "add price pass pack membership", ""),
    (G.ACTION, "Invite a colleague", "/staff/invite", P.STAFF, "add hire staff employee team user", ""),
    (G.ACTION, "New key", "/partners/keys/new", P.KEYS, "add api partner integration", ""),
    (G.ACTION, "New endpoint", "/partners/webhooks/new", P.WEBHOOKS, "add webhook", ""),
)
ENTRIES = (*MENU, *(Entry(label, path, needs, words, icon, group) for group, label, path, needs, words, icon in OTHERS))


def entries_of(paths: Sequence[str]) -> list[Entry]:
    return [each for each in ENTRIES if each.path in paths]


def menu_of(entries: Sequence[Entry], may: Callable[[Permission], bool]) -> list[Entry]:
    """Return the lines of the menu. Without the settings, such as for a developer, their permitted pages are lines."""
    permitted = [each for each in entries if each.is_for(may)]
    menu = [each for each in permitted if each.group is Group.MENU]
    has_settings = any(each.path == "/settings" for each in menu)
    return menu if has_settings else menu + [each for each in permitted if is_of_settings(each)]


def current_of(menu: Sequence[Entry], entries: Sequence[Entry], path: str) -> Entry | None:
    """Return the line of the menu that a page belongs to: Settings, if it is one of theirs."""
    direct = next((each for each in menu if each.is_current(path)), None)
    if direct is None and any(is_of_settings(each) and each.is_current(path) for each in entries):
        return next((each for each in menu if each.path == "/settings"), None)
    return direct


def is_of_settings(entry: Entry) -> bool:
    return entry.group not in (Group.MENU, Group.SEARCH, Group.ACTION)


def settings_of(entries: Sequence[Entry], may: Callable[[Permission], bool]) -> list[tuple[Group, list[Entry]]]:
    """Return the pages of the settings that a role permits, by group; groups without any are left out."""
    permitted = [each for each in entries if is_of_settings(each) and each.is_for(may)]
    groups = [(group, [each for each in permitted if each.group is group]) for group in Group]
    return [(group, found) for group, found in groups if found]
