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
    SEARCH = "Search"  # only found by searching


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


ENTRIES: Sequence[Entry] = (
    Entry("Today", "/today", Permission.SCHEDULE_READ, "front desk check-in roster walk-in", "today"),
    Entry("Schedule", "/schedule", Permission.SCHEDULE_READ, "calendar week classes timetable", "calendar"),
    Entry("Members", "/members", Permission.MEMBERS, "people customers clients memberships credits", "people"),
    Entry("Leads", "/leads", Permission.LEADS, "prospects enquiries pipeline trial", "leads"),
    Entry("Forms", "/forms", Permission.SUBMISSIONS, "waiver inbox submissions signatures questions builder", "form"),
    Entry("Sales", "/sales", Permission.SALES, "purchases payments fees till cash renewals refund revenue", "card"),
    Entry("Insights", "/insights", Permission.STUDIO, "reports figures statistics analytics attendance", "chart"),
    Entry("Settings", "/settings", Permission.STUDIO, "set up options configuration preferences", "settings"),
    Entry(
        "Studio",
        "/settings/studio",
        Permission.STUDIO,
        "name logo colour currency time zone 12 24 hours",
        "",
        Group.STUDIO,
    ),
    Entry(
        "Rules",
        "/settings/rules",
        Permission.STUDIO,
        "policy policies cancellation late fee no-show waitlist window",
        "",
        Group.STUDIO,
    ),
    Entry(
        "Mails", "/settings/mails", Permission.STUDIO, "email emails notifications reminders messages", "", Group.STUDIO
    ),
    Entry(
        "Locations",
        "/settings/locations",
        Permission.SCHEDULE,
        "place address rooms spots spot map phone",
        "",
        Group.OFFER,
    ),
    Entry(
        "Class types", "/settings/class-types", Permission.SCHEDULE, "courses yoga pilates pictures", "", Group.OFFER
    ),
    Entry(
        "Instructors",
        "/settings/instructors",
        Permission.SCHEDULE,
        "teachers trainers coaches pictures",
        "",
        Group.OFFER,
    ),
    Entry(
        "Products",
        "/settings/products",
        Permission.CATALOG,
        "prices price pass packs memberships catalog catalogue",
        "",
        Group.OFFER,
    ),
    Entry(
        "Staff",
        "/staff",
        Permission.STAFF,
        "colleagues team roles invite invitation permissions password reset accounts",
        "staff",
        Group.PEOPLE,
    ),
    Entry("Audit log", "/audit", Permission.AUDIT_READ, "history who changed actions", "", Group.PEOPLE),
    Entry(
        "Keys",
        "/partners/keys",
        Permission.KEYS,
        "api key token scopes partners developers integration",
        "key",
        Group.PARTNERS,
    ),
    Entry(
        "Requests",
        "/partners/requests",
        Permission.REQUESTS_READ,
        "request log api errors partners",
        "form",
        Group.PARTNERS,
    ),
    Entry("Events", "/partners/events", Permission.EVENTS_READ, "event log api partners", "event", Group.PARTNERS),
    Entry(
        "Webhooks",
        "/partners/webhooks",
        Permission.WEBHOOKS,
        "endpoints deliveries replay recover partners",
        "chart",
        Group.PARTNERS,
    ),
    Entry("Import a file", "/import", Permission.IMPORT, "CSV or studio file", "", Group.SEARCH),
    Entry("First steps", "/welcome", Permission.STUDIO, "import, invite, partner key", "", Group.SEARCH),
    Entry("Your account", "/account", None, "password, sessions, studio, colours", "", Group.SEARCH),
)


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
    return entry.group not in (Group.MENU, Group.SEARCH)


def settings_of(entries: Sequence[Entry], may: Callable[[Permission], bool]) -> list[tuple[Group, list[Entry]]]:
    """Return the pages of the settings that a role permits, by group; groups without any are left out."""
    permitted = [each for each in entries if is_of_settings(each) and each.is_for(may)]
    groups = [(group, [each for each in permitted if each.group is group]) for group in Group]
    return [(group, found) for group, found in groups if found]
