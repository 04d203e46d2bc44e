"""The pages that people go to: the menu, the pages of the settings, and those that only the search opens.

A page is offered if it exists and the person's role has its permission. The menu stays short: what a studio sets up
once is under Settings, which show their pages beside each of them (settings.html). A developer's menu has the partner
pages, since nothing else in the settings is theirs. The pages are declared in ``navigation.toml``.
"""

import tomllib
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
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
    """A page that is offered. None as the permission: everybody may open it."""

    label: str
    path: str
    permission: Permission | None
    group: Group
    words: str = ""
    icon: str = ""
    about: str = ""

    @property
    def href(self) -> str:
        return "/console" + self.path

    def is_for(self, may: Callable[[Permission], bool]) -> bool:
        return self.permission is None or may(self.permission)

    def is_current(self, path: str) -> bool:
        return path == self.href or path.startswith(self.href + "/")


def _entry(group: str, permission: str = "", **written: str) -> Entry:
    needs = Permission(permission) if permission else None
    return Entry(permission=needs, group=Group[group.upper()], **written)


_PAGES = tomllib.loads((Path(__file__).parent / "navigation.toml").read_text(encoding="utf-8"))
ENTRIES = tuple(_entry(group, **page) for group, pages in _PAGES.items() for page in pages)


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
