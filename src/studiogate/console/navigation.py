"""The menu of the console. An entry is shown if its page exists and the person's role has its permission."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from studiogate.domain.staff import Permission


class Group(StrEnum):
    DESK = ""
    STUDIO = "Studio"
    DEVELOPERS = "Developers"


class Entry(NamedTuple):
    """A line of the menu; ``path`` is that of its page, below ``/console``. ``icon`` is a symbol of ui/icons.html."""

    label: str
    path: str
    permission: Permission
    icon: str
    group: Group = Group.DESK

    @property
    def href(self) -> str:
        return "/console" + self.path

    def is_for(self, may: Callable[[Permission], bool]) -> bool:
        return may(self.permission)

    def is_current(self, path: str) -> bool:
        return path == self.href or path.startswith(self.href + "/")


ENTRIES: Sequence[Entry] = (
    Entry("Today", "/today", Permission.SCHEDULE_READ, "today"),
    Entry("Schedule", "/schedule", Permission.SCHEDULE_READ, "calendar"),
    Entry("Members", "/members", Permission.MEMBERS, "people"),
    Entry("Sales", "/sales", Permission.SALES, "card"),
    Entry("Leads", "/leads", Permission.LEADS, "leads"),
    Entry("Forms", "/forms", Permission.FORMS, "form"),
    Entry("Catalog", "/catalog", Permission.CATALOG, "tag", Group.STUDIO),
    Entry("Insights", "/insights", Permission.STUDIO, "chart", Group.STUDIO),
    Entry("Settings", "/settings", Permission.STUDIO, "settings", Group.STUDIO),
    Entry("Staff", "/staff", Permission.STAFF, "staff", Group.STUDIO),
    Entry("Partners", "/partners", Permission.KEYS, "key", Group.DEVELOPERS),
    Entry("Events", "/events", Permission.EVENTS_READ, "event", Group.DEVELOPERS),
)


def entries_of(paths: Sequence[str]) -> list[Entry]:
    return [each for each in ENTRIES if each.path in paths]


def grouped(entries: Sequence[Entry], may: Callable[[Permission], bool]) -> list[tuple[Group, list[Entry]]]:
    """Return the entries that a role permits, by group; groups without any are left out."""
    groups = [(group, [each for each in entries if each.group is group and each.is_for(may)]) for group in Group]
    return [(group, found) for group, found in groups if found]
